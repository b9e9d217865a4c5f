/* Reads instructions of HLO text. Sugar of asynchronous ops (slice-start for async-start of a
 * computation that holds one slice) becomes what it stands for. */
#include "hlo/read.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- names of the computation being
 * read */

enum { FIRST_SLOTS = 1 << 10 };

static void grow_slots(hlo_reader *r)
{
	struct hlo_slot *old = r->slots;
	uint32_t n = r->n_slots;
	r->n_slots = n ? 2 * n : FIRST_SLOTS;
	r->slots = xcalloc(r->n_slots, sizeof *r->slots);
	for (uint32_t i = 0; i < n; i++) {
		if (old[i].stamp != r->stamp)
			continue;
		uint32_t k = (uint32_t)old[i].hash & (r->n_slots - 1);
		while (r->slots[k].stamp == r->stamp)
			k = (k + 1) & (r->n_slots - 1);
		r->slots[k] = old[i];
	}
	free(old);
}

static hlo_id find_name(const hlo_reader *r, str name, uint64_t hash)
{
	if (!r->n_slots)
		return ID_NONE;
	for (uint32_t k = (uint32_t)hash & (r->n_slots - 1); r->slots[k].stamp == r->stamp;
		 k = (k + 1) & (r->n_slots - 1))
		if (r->slots[k].hash == hash && str_equal(hlo_name(r->m, r->slots[k].id), name))
			return r->slots[k].id;
	return ID_NONE;
}

static void add_name(hlo_reader *r, hlo_id id, uint64_t hash)
{
	if (2 * ++r->used >= r->n_slots)
		grow_slots(r);
	uint32_t k = (uint32_t)hash & (r->n_slots - 1);
	while (r->slots[k].stamp == r->stamp)
		k = (k + 1) & (r->n_slots - 1);
	r->slots[k] = (struct hlo_slot){.id = id, .stamp = r->stamp, .hash = hash};
}

/* ---------------------------------------------------------------- instructions */

/* slice-start, slice-update, slice-done: the op in front of the suffix; HLO_UNKNOWN when it is
 * none. */
static uint32_t sugar_of(str text, uint32_t *half, uint32_t *base_n)
{
	static const struct {
		const char *suffix;
		uint32_t op;
	} halves[] = {
		{"-start", HLO_ASYNC_START}, {"-update", HLO_ASYNC_UPDATE}, {"-done", HLO_ASYNC_DONE}};
	for (size_t i = 0; i < COUNT_OF(halves); i++) {
		size_t n = strlen(halves[i].suffix);
		if (text.n <= n || memcmp(text.p + text.n - n, halves[i].suffix, n))
			continue;
		uint32_t base = hlo_find_op((str){text.p, text.n - n});
		if (base == HLO_UNKNOWN || base == HLO_PARAMETER ||
			hlo_op_flags(base) & (HLOF_START | HLOF_DONE))
			return HLO_UNKNOWN;
		*half = halves[i].op;
		*base_n = (uint32_t)(text.n - n);
		return base;
	}
	return HLO_UNKNOWN;
}

static status read_operands(hlo_reader *r, hlo_id i)
{
	hlo_instr *in = &r->m->instrs.p[i];
	in->operands = r->m->operands.n;
	while (!hlo_take(r, ')')) {
		hlo_shape_id printed = ID_NONE;
		if (in->n_operands)
			TRY(hlo_expect(r, ','));
		hlo_skip(r);
		if (*r->lex.p != '%' && hlo_at_shape(r)) {
			TRY(hlo_read_shape(r, &printed));
			hlo_skip(r);
		}
		const char *at = r->lex.p;
		str name;
		TRY(hlo_read_name(r, "the name of an operand", &name));
		hlo_id operand = find_name(r, name, hash_bytes(name.p, name.n, 0));
		if (operand == ID_NONE)
			return hlo_error(r, at, ST_ERR_INVALID,
				"no instruction '" STR_FMT "' above this one in its computation", STR_ARG(name));
		if (printed != ID_NONE &&
			!hlo_shapes_compatible(r->m, printed, r->m->instrs.p[operand].shape))
			return hlo_error(r, at, ST_ERR_INVALID,
				"the operand is printed with another shape than '" STR_FMT "' has", STR_ARG(name));
		if (in->n_operands == MAX_OPERANDS)
			return hlo_error(r, at, ST_ERR_LIMIT, "more than %d operands", MAX_OPERANDS);
		vec_push(&r->m->operands, operand);
		in->n_operands++;
	}
	return ST_OK;
}

/* What stands in parentheses after the opcode. */
static status read_arguments(hlo_reader *r, hlo_id i)
{
	hlo_instr *in = &r->m->instrs.p[i];
	const char *open = r->lex.p;
	if (in->op == HLO_CONSTANT) {
		str text;
		if (*open != '(')
			return hlo_expect(r, '(');
		TRY(hlo_balanced(r, &text));
		in->literal = hlo_at(r, text.p + 1);
		in->literal_n = (uint32_t)text.n - 2;
		return ST_OK;
	}
	TRY(hlo_expect(r, '('));
	if (in->op != HLO_PARAMETER)
		return read_operands(r, i);
	hlo_skip(r);
	const char *at = r->lex.p;
	TRY(hlo_number(r, &in->number));
	if (in->number < 0 || in->number >= MAX_OPERANDS)
		return hlo_error(r, at, ST_ERR_LIMIT, "parameter number %lld, expected 0 to %d",
			(long long)in->number, MAX_OPERANDS - 1);
	return hlo_expect(r, ')');
}

/* The start of sugar: its attributes and called computations belong to the op inside. */
static void note_sugar(hlo_reader *r, hlo_id i, uint32_t base, uint32_t base_n)
{
	hlo_module *m = r->m;
	hlo_instr *in = &m->instrs.p[i];
	struct hlo_sugar s = {.start = i,
		.comp = m->comps.n,
		.op = (uint16_t)base,
		.called = in->called,
		.n_called = in->n_called,
		.op_n = base_n};
	vec_push(&m->comps,
		(hlo_comp){.name = in->name, .name_n = in->name_n, .made = true, .root = ID_NONE});
	vec_push(&r->sugar, s);
	in->called = m->called.n;
	in->n_called = 1;
	vec_push(&m->called, s.comp);
}

status hlo_read_instr(hlo_reader *r, hlo_comp_id comp)
{
	hlo_module *m = r->m;
	hlo_instr in = {.comp = comp};
	str name;
	bool root = lex_at_word(&r->lex, "ROOT");
	if (root)
		r->lex.p += 4;
	hlo_skip(r);
	const char *at = r->lex.p;
	TRY(hlo_read_name(r, "an instruction or '}'", &name));
	in.name = hlo_at(r, name.p);
	in.name_n = (uint32_t)name.n;
	uint64_t hash = hash_bytes(name.p, name.n, 0);
	if (find_name(r, name, hash) != ID_NONE)
		return hlo_error(r, at, ST_ERR_INVALID, "'" STR_FMT "' is defined twice in its computation",
			STR_ARG(name));
	TRY(hlo_expect(r, '='));
	TRY(hlo_read_shape(r, &in.shape));
	hlo_skip(r);
	const char *op_at = r->lex.p;
	str op = lex_suffix(&r->lex);
	if (!op.n)
		return hlo_expected(r, "an opcode");
	uint32_t kind = hlo_find_op(op), half = 0, base_n = 0,
			 base = kind == HLO_UNKNOWN ? sugar_of(op, &half, &base_n) : HLO_UNKNOWN;
	in.op = (uint16_t)(base == HLO_UNKNOWN ? kind : half);
	in.op_at = hlo_at(r, op_at);
	in.op_n = (uint32_t)op.n;
	hlo_id id = m->instrs.n;
	if (id == ID_NONE - 1)
		return hlo_error(r, at, ST_ERR_LIMIT, "too many instructions");
	vec_push(&m->instrs, in);
	TRY(read_arguments(r, id));
	TRY(hlo_read_attrs(r, id));
	if (in.op == HLO_GET_TUPLE_ELEMENT)
		m->instrs.p[id].number = hlo_int(m, id, HLO_ATTR_INDEX, -1);
	if (base != HLO_UNKNOWN && half == HLO_ASYNC_START)
		note_sugar(r, id, base, base_n);
	add_name(r, id, hash);
	hlo_comp *c = &m->comps.p[comp];
	c->n++;
	c->n_params += in.op == HLO_PARAMETER;
	if (root && c->root != ID_NONE)
		return hlo_error(r, at, ST_ERR_INVALID,
			"a second ROOT in its computation, after '" STR_FMT "'", STR_ARG(hlo_name(m, c->root)));
	if (root)
		c->root = id;
	return ST_OK;
}

/* Computations of the sugar seen in the computation just read: parameters like the operands, then
 * the op. */
status hlo_make_sugar(hlo_reader *r)
{
	hlo_module *m = r->m;
	for (uint32_t k = 0; k < r->sugar.n; k++) {
		struct hlo_sugar s = r->sugar.p[k];
		hlo_instr start = m->instrs.p[s.start];
		const hlo_shape *tuple = &m->shapes.p[start.shape];
		if (tuple->kind != HLO_TUPLE || tuple->n_children < 2)
			return hlo_error(r, r->lex.text + start.op_at, ST_ERR_INVALID,
				"'" STR_FMT "' (" STR_FMT ") has no tuple of operands and result",
				STR_ARG(hlo_name(m, s.start)), STR_ARG(hlo_text(m, start.op_at, start.op_n)));
		hlo_comp *c = &m->comps.p[s.comp];
		c->first = m->instrs.n;
		c->n = start.n_operands + 1;
		c->n_params = start.n_operands;
		c->root = c->first + start.n_operands;
		for (uint32_t i = 0; i < start.n_operands; i++) {
			hlo_instr p = m->instrs.p[m->operands.p[start.operands + i]];
			vec_push(&m->instrs,
				(hlo_instr){.name = p.name,
					.name_n = p.name_n,
					.op_at = p.op_at,
					.op_n = p.op_n,
					.op = HLO_PARAMETER,
					.shape = p.shape,
					.comp = s.comp,
					.number = i});
		}
		uint32_t operands = m->operands.n;
		for (uint32_t i = 0; i < start.n_operands; i++)
			vec_push(&m->operands, m->comps.p[s.comp].first + i);
		vec_push(&m->instrs,
			(hlo_instr){.name = start.name,
				.name_n = start.name_n,
				.op_at = start.op_at,
				.op_n = s.op_n,
				.op = s.op,
				.shape = m->parts.p[tuple->children + 1],
				.comp = s.comp,
				.operands = operands,
				.n_operands = start.n_operands,
				.attrs = start.attrs,
				.n_attrs = start.n_attrs,
				.called = s.called,
				.n_called = s.n_called});
	}
	r->sugar.n = 0;
	return ST_OK;
}
