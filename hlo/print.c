/* Printer of HLO text. Shapes, literals and attribute values are printed as they were read; what is
 * put together again is which instructions there are, their opcodes and operands, so that
 * asynchronous ops can be written as sugar or spelled out.
 *
 * Of the attributes of an asynchronous op some belong to the instruction itself (metadata, the
 * compiler's configuration), the others to the op inside. */
#define _GNU_SOURCE /* memmem */
#include "hlo/read.h"

#include <stdlib.h>

struct printer {
	const hlo_module *m;
	hlo_form form;
	strbuf *out;
	bool operand_shapes, index_comments;
	char **comp_names; /* by computation: of those made for sugar, else NULL */
	bool *left_out;    /* by computation: what sugar stands for */
	bool *as_sugar;    /* by instruction: a start that is written as sugar */
};

static const char *text_at(const struct printer *p, uint32_t at) { return p->m->text.p + at; }

/* ---------------------------------------------------------------- where things are in the text */

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/* Beginning of a name with what stands in front of it: %, and ROOT or ENTRY. */
static uint32_t begin_of(const struct printer *p, uint32_t name, const char *word)
{
	uint32_t at = name, n = (uint32_t)strlen(word);
	if (at && *text_at(p, at - 1) == '%')
		at--;
	uint32_t before = at;
	while (before && is_space(*text_at(p, before - 1)))
		before--;
	return before >= n && !memcmp(text_at(p, before - n), word, n) ? before - n : at;
}

static bool has_percent(const struct printer *p, uint32_t name)
{
	return name && *text_at(p, name - 1) == '%';
}

/* Text of the shape of an instruction that stands in the text. */
static str shape_text(const struct printer *p, hlo_id i)
{
	const hlo_instr *in = &p->m->instrs.p[i];
	uint32_t from = in->name + in->name_n, to = in->op_at;
	while (from < to && *text_at(p, from) != '=')
		from++;
	from++;
	while (from < to && is_space(*text_at(p, from)))
		from++;
	while (to > from && is_space(*text_at(p, to - 1)))
		to--;
	return hlo_text(p->m, from, to - from);
}

/* Element k of the text of a tuple, without the comments that number elements. */
static str child_text(str tuple, uint32_t k)
{
	uint32_t depth = 0, child = 0;
	size_t from = 1, i = 0;
	for (; i < tuple.n; i++) {
		char c = tuple.p[i];
		bool ends = (depth == 1 && c == ',') || (depth == 1 && c == ')');
		if (ends && child == k)
			break;
		if (depth == 1 && c == ',') {
			child++;
			from = i + 1;
		}
		depth += c == '(' || c == '{' || c == '[';
		depth -= c == ')' || c == '}' || c == ']';
	}
	str s = {tuple.p + from, i - from};
	while (s.n && is_space(s.p[s.n - 1]))
		s.n--;
	while (s.n && is_space(s.p[0]))
		s = (str){s.p + 1, s.n - 1};
	const char *end = s.n > 2 && !memcmp(s.p, "/*", 2) ? memmem(s.p, s.n, "*/", 2) : NULL;
	return end ? (str){end + 2, s.n - (size_t)(end + 2 - s.p)} : s;
}

static str attr_key(const struct printer *p, const hlo_attr *a)
{
	uint32_t end = a->at;
	while (end && (is_space(*text_at(p, end - 1)) || *text_at(p, end - 1) == '='))
		end--;
	uint32_t from = end;
	while (from && !is_space(*text_at(p, from - 1)) && *text_at(p, from - 1) != ',')
		from--;
	return hlo_text(p->m, from, end - from);
}

/* Behind the arguments and the attributes. */
static uint32_t end_of(const struct printer *p, hlo_id i)
{
	const hlo_instr *in = &p->m->instrs.p[i];
	uint32_t at = in->op_at + in->op_n, depth = 0;
	if (in->n_attrs)
		return p->m->attrs.p[in->attrs + in->n_attrs - 1].at +
			p->m->attrs.p[in->attrs + in->n_attrs - 1].n;
	if (in->op == HLO_CONSTANT)
		return in->literal + in->literal_n + 1;
	for (; at < p->m->text.n; at++) {
		char c = *text_at(p, at);
		depth += c == '(' || c == '{' || c == '[';
		depth -= c == ')' || c == '}' || c == ']';
		if (c == ')' && depth == 0)
			return at + 1;
	}
	return at;
}

/* ---------------------------------------------------------------- attributes */

static bool of_instruction(str key)
{
	static const char *const keys[] = {"metadata", "backend_config", "frontend_attributes",
		"sharding", "control-predecessors", "origin", "statistics", "async_execution_thread"};
	for (size_t i = 0; i < COUNT_OF(keys); i++)
		if (str_is(key, keys[i]))
			return true;
	return false;
}

enum { OWN = 1, INNER = 2 };
static void print_attrs(struct printer *p, hlo_id i, uint32_t which)
{
	const hlo_instr *in = &p->m->instrs.p[i];
	for (uint32_t k = 0; k < in->n_attrs; k++) {
		const hlo_attr *a = &p->m->attrs.p[in->attrs + k];
		str key = attr_key(p, a);
		if (!(which & (of_instruction(key) ? OWN : INNER)))
			continue;
		strbuf_printf(p->out, ", " STR_FMT "=", STR_ARG(key));
		strbuf_str(p->out, hlo_text(p->m, a->at, a->n));
	}
}

/* ---------------------------------------------------------------- instructions */

static void print_name(struct printer *p, hlo_id i)
{
	const hlo_instr *in = &p->m->instrs.p[i];
	if (has_percent(p, in->name))
		strbuf_putc(p->out, '%');
	strbuf_str(p->out, hlo_text(p->m, in->name, in->name_n));
}

static void print_arguments(struct printer *p, hlo_id i)
{
	const hlo_instr *in = &p->m->instrs.p[i];
	strbuf_putc(p->out, '(');
	if (in->op == HLO_CONSTANT)
		strbuf_str(p->out, hlo_text(p->m, in->literal, in->literal_n));
	if (in->op == HLO_PARAMETER)
		strbuf_i64(p->out, in->number);
	for (uint32_t k = 0; k < in->n_operands; k++) {
		hlo_id operand = hlo_operand(p->m, i, k);
		strbuf_puts(p->out, k ? ", " : "");
		if (k && k % 5 == 0 && p->index_comments)
			strbuf_printf(p->out, "/*index=%u*/", k);
		if (p->operand_shapes) {
			strbuf_str(p->out, shape_text(p, operand));
			strbuf_putc(p->out, ' ');
		}
		print_name(p, operand);
	}
	strbuf_putc(p->out, ')');
}

static bool is_half(const hlo_module *m, hlo_id i)
{
	uint16_t op = m->instrs.p[i].op;
	return op == HLO_ASYNC_START || op == HLO_ASYNC_UPDATE || op == HLO_ASYNC_DONE;
}

/* start, update or done of a generic or sugared pair. */
static void print_half(struct printer *p, hlo_id i)
{
	const hlo_module *m = p->m;
	hlo_id start = hlo_async_start(m, i), inner = hlo_async_wrapped(m, start);
	uint16_t op = m->instrs.p[i].op;
	bool sugar = p->as_sugar[start], was_sugar = m->comps.p[m->instrs.p[inner].comp].made;
	const char *half = op == HLO_ASYNC_START ? "-start"
		: op == HLO_ASYNC_UPDATE             ? "-update"
											 : "-done";
	if (sugar)
		strbuf_str(p->out, hlo_text(m, m->instrs.p[inner].op_at, m->instrs.p[inner].op_n));
	else
		strbuf_puts(p->out, "async");
	strbuf_puts(p->out, half);
	print_arguments(p, i);
	if (!sugar && op == HLO_ASYNC_START) {
		strbuf_printf(p->out, ", calls=%%");
		hlo_comp_id c = m->instrs.p[inner].comp;
		if (was_sugar)
			strbuf_puts(p->out, p->comp_names[c]);
		else
			strbuf_str(p->out, hlo_text(m, m->comps.p[c].name, m->comps.p[c].name_n));
	}
	if (sugar && op != HLO_ASYNC_DONE)
		print_attrs(p, inner, was_sugar ? INNER : INNER | OWN);
	print_attrs(p, i, OWN);
}

static void print_instr(struct printer *p, hlo_id i)
{
	const hlo_instr *in = &p->m->instrs.p[i];
	strbuf_puts(p->out, p->m->comps.p[in->comp].root == i ? "  ROOT " : "  ");
	print_name(p, i);
	strbuf_puts(p->out, " = ");
	strbuf_str(p->out, shape_text(p, i));
	strbuf_putc(p->out, ' ');
	if (p->form != HLO_AS_READ && is_half(p->m, i)) {
		print_half(p, i);
	} else {
		strbuf_str(p->out, hlo_text(p->m, in->op_at, in->op_n));
		print_arguments(p, i);
		print_attrs(p, i, OWN | INNER);
	}
	strbuf_putc(p->out, '\n');
}

/* ---------------------------------------------------------------- computations */

/* The computation that sugar stands for: a parameter per operand and the op. */
static void print_made(struct printer *p, hlo_comp_id c, hlo_id start)
{
	const hlo_module *m = p->m;
	const hlo_comp *comp = &m->comps.p[c];
	const hlo_instr *root = &m->instrs.p[comp->root];
	str result = child_text(shape_text(p, start), 1);
	strbuf_printf(p->out, "%%%s (", p->comp_names[c]);
	for (uint32_t k = 0; k < comp->n_params; k++) {
		strbuf_printf(p->out, "%sparam_%u: ", k ? ", " : "", k);
		strbuf_str(p->out, shape_text(p, comp->first + k));
	}
	strbuf_puts(p->out, ") -> ");
	strbuf_str(p->out, result);
	strbuf_puts(p->out, " {\n");
	for (uint32_t k = 0; k < comp->n_params; k++) {
		strbuf_printf(p->out, "  %%param_%u = ", k);
		strbuf_str(p->out, shape_text(p, comp->first + k));
		strbuf_printf(p->out, " parameter(%u)\n", k);
	}
	strbuf_puts(p->out, "  ROOT %inner = ");
	strbuf_str(p->out, result);
	strbuf_putc(p->out, ' ');
	strbuf_str(p->out, hlo_text(m, root->op_at, root->op_n));
	for (uint32_t k = 0; k < comp->n_params; k++) {
		strbuf_puts(p->out, k ? ", " : "(");
		if (p->operand_shapes) {
			strbuf_str(p->out, shape_text(p, comp->first + k));
			strbuf_putc(p->out, ' ');
		}
		strbuf_printf(p->out, "%%param_%u", k);
	}
	strbuf_puts(p->out, comp->n_params ? ")" : "()");
	print_attrs(p, comp->root, INNER);
	strbuf_puts(p->out, "\n}\n\n");
}

static void print_comp(struct printer *p, hlo_comp_id c)
{
	const hlo_module *m = p->m;
	const hlo_comp *comp = &m->comps.p[c];
	if (p->form == HLO_GENERIC)
		for (hlo_id i = comp->first; i < comp->first + comp->n; i++)
			if (m->instrs.p[i].op == HLO_ASYNC_START &&
				m->comps.p[m->instrs.p[hlo_async_wrapped(m, i)].comp].made)
				print_made(p, m->instrs.p[hlo_async_wrapped(m, i)].comp, i);
	uint32_t from = begin_of(p, comp->name, "ENTRY"),
			 to = begin_of(p, m->instrs.p[comp->first].name, "ROOT");
	while (to > from && is_space(*text_at(p, to - 1)))
		to--;
	strbuf_str(p->out, hlo_text(m, from, to - from));
	strbuf_putc(p->out, '\n');
	for (hlo_id i = comp->first; i < comp->first + comp->n; i++)
		print_instr(p, i);
	uint32_t close = end_of(p, comp->first + comp->n - 1), end;
	while (close < m->text.n && *text_at(p, close) != '}')
		close++;
	for (end = close;
		 end < m->text.n && *text_at(p, end) != '\n';) /* with the attributes of the computation */
		end++;
	strbuf_str(p->out, hlo_text(m, close, end - close));
	strbuf_putc(p->out, '\n');
}

/* ---------------------------------------------------------------- which pairs are sugar */

static bool name_taken(const struct printer *p, const char *name, hlo_comp_id before)
{
	for (uint32_t c = 0; c < p->m->comps.n; c++) {
		const hlo_comp *comp = &p->m->comps.p[c];
		if (!comp->made && str_is(hlo_text(p->m, comp->name, comp->name_n), name))
			return true;
		if (comp->made && c < before && p->comp_names[c] && !strcmp(p->comp_names[c], name))
			return true;
	}
	return false;
}

/* async_NAME for the start NAME, with a number where that is taken. */
static void name_made(struct printer *p)
{
	for (uint32_t c = 0; c < p->m->comps.n; c++) {
		const hlo_comp *comp = &p->m->comps.p[c];
		strbuf name;
		if (!comp->made)
			continue;
		strbuf_init(&name);
		strbuf_printf(&name, "async_" STR_FMT, STR_ARG(hlo_text(p->m, comp->name, comp->name_n)));
		size_t n = name.n;
		for (uint32_t k = 1; name_taken(p, name.p, c); k++) {
			name.n = n;
			strbuf_printf(&name, ".%u", k);
		}
		p->comp_names[c] = xmalloc(name.n + 1);
		memcpy(p->comp_names[c], name.p, name.n + 1);
		strbuf_release(&name);
	}
}

/* Nothing of the pair would be lost: one op on the parameters in order, called from here alone,
 * without halves of its own. */
static bool can_be_sugar(const struct printer *p, hlo_id start, const uint32_t *calls)
{
	const hlo_module *m = p->m;
	hlo_id inner = hlo_async_wrapped(m, start);
	const hlo_instr *in = &m->instrs.p[inner];
	const hlo_comp *comp = &m->comps.p[in->comp];
	char half[128];
	if (comp->made)
		return true;
	if (in->op == HLO_UNKNOWN || in->op == HLO_PARAMETER || in->op == HLO_CONSTANT ||
		is_half(m, inner) || hlo_op_flags((hlo_op)in->op) & (HLOF_START | HLOF_DONE) ||
		calls[in->comp] != 1 || comp->n != comp->n_params + 1 ||
		comp->root != comp->first + comp->n - 1 || in->n_operands != comp->n_params ||
		in->n_operands != m->instrs.p[start].n_operands)
		return false;
	snprintf(half, sizeof half, STR_FMT "-start", STR_ARG(hlo_text(m, in->op_at, in->op_n)));
	if (hlo_find_op(str_of(half)) != HLO_UNKNOWN)
		return false;
	for (uint32_t k = 0; k < in->n_operands; k++)
		if (m->instrs.p[hlo_operand(m, inner, k)].op != HLO_PARAMETER ||
			m->instrs.p[hlo_operand(m, inner, k)].number != k)
			return false;
	for (uint32_t k = 0; k < in->n_attrs; k++)
		for (uint32_t j = 0; j < m->instrs.p[start].n_attrs; j++)
			if (str_equal(attr_key(p, &m->attrs.p[in->attrs + k]),
					attr_key(p, &m->attrs.p[m->instrs.p[start].attrs + j])))
				return false;
	return true;
}

static void find_sugar(struct printer *p)
{
	const hlo_module *m = p->m;
	uint32_t *calls = xcalloc(m->comps.n + 1, sizeof *calls);
	for (uint32_t k = 0; k < m->called.n; k++)
		calls[m->called.p[k]]++;
	for (hlo_id i = 0; i < m->instrs.n; i++)
		if (m->instrs.p[i].op == HLO_ASYNC_START && can_be_sugar(p, i, calls)) {
			p->as_sugar[i] = true;
			p->left_out[m->instrs.p[hlo_async_wrapped(m, i)].comp] = true;
		}
	free(calls);
}

/* Are operands printed with their shapes? As the first one of the text is. */
static bool prints_shapes(const hlo_module *m)
{
	for (hlo_id i = 0; i < m->instrs.n; i++) {
		const hlo_instr *in = &m->instrs.p[i];
		uint32_t at = in->op_at + in->op_n;
		if (!in->n_operands || m->comps.p[in->comp].made)
			continue;
		while (at < m->text.n && (m->text.p[at] == '(' || is_space(m->text.p[at])))
			at++;
		const hlo_instr *operand = &m->instrs.p[hlo_operand(m, i, 0)];
		return !(m->text.p[at] == '%' ||
			!memcmp(
				m->text.p + at, m->text.p + operand->name, MIN(operand->name_n, m->text.n - at)));
	}
	return false;
}

void hlo_print(const hlo_module *m, hlo_form form, strbuf *out)
{
	struct printer p = {.m = m, .form = form, .out = out, .operand_shapes = prints_shapes(m)};
	uint32_t head = (uint32_t)m->text.n;
	p.index_comments = memmem(m->text.p, m->text.n, "/*index=", 8) != NULL;
	p.comp_names = xcalloc(m->comps.n + 1, sizeof *p.comp_names);
	p.left_out = xcalloc(m->comps.n + 1, sizeof *p.left_out);
	p.as_sugar = xcalloc(m->instrs.n + 1, sizeof *p.as_sugar);
	if (form == HLO_GENERIC)
		name_made(&p);
	if (form == HLO_SUGAR)
		find_sugar(&p);
	for (uint32_t c = 0; c < m->comps.n; c++)
		if (!m->comps.p[c].made)
			head = MIN(head, begin_of(&p, m->comps.p[c].name, "ENTRY"));
	strbuf_str(out, hlo_text(m, 0, head));
	for (uint32_t c = 0; c < m->comps.n; c++) {
		if (m->comps.p[c].made || p.left_out[c])
			continue;
		print_comp(&p, c);
		strbuf_putc(out, '\n');
	}
	for (uint32_t c = 0; c < m->comps.n; c++)
		free(p.comp_names[c]);
	free(p.comp_names);
	free(p.left_out);
	free(p.as_sugar);
}
