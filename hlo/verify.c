/* Rules between instructions of an HLO module: parameters, tuples, called computations without
 * recursion, and the asynchronous ones. An asynchronous chain is start, any updates, done; each of
 * them has one user, the next one; the start's tuple holds the operands and the result of what it
 * wraps; an op that has halves of its own (copy-start) is not wrapped by the generic ones. An error
 * stands at the later instruction and names both. */
#include "hlo/read.h"

#include <stdlib.h>

typedef struct verifier {
	hlo_module *m;
	diag *d;
	uint8_t *depth; /* of a computation: 0 not seen, 255 being visited, else nesting of what it
	                   calls + 1 */
} verifier;

static status fault(const verifier *v, hlo_id i, const char *fmt, ...) PRINTF_LIKE(3, 4);
static status fault(const verifier *v, hlo_id i, const char *fmt, ...)
{
	char msg[400];
	va_list args;
	va_start(args, fmt);
	vsnprintf(msg, sizeof msg, fmt, args);
	va_end(args);
	return diag_at(
		v->d, v->m->text.p, v->m->text.n, v->m->instrs.p[i].name, ST_ERR_INVALID, "%s", msg);
}

static str opcode_of(const hlo_module *m, hlo_id i)
{
	return hlo_text(m, m->instrs.p[i].op_at, m->instrs.p[i].op_n);
}
/* %name (opcode), as arguments of a format */
#define WHO_FMT "'%.*s' (%.*s)"
#define WHO(i) STR_ARG(hlo_name(m, i)), STR_ARG(opcode_of(m, i))

/* ---------------------------------------------------------------- asynchronous */

static bool is_async(uint32_t op)
{
	return op == HLO_ASYNC_START || op == HLO_ASYNC_UPDATE || op == HLO_ASYNC_DONE;
}

static bool has_own_halves(uint32_t op)
{
	return op == HLO_ALL_GATHER || op == HLO_ALL_REDUCE || op == HLO_COLLECTIVE_PERMUTE ||
		op == HLO_COPY || op == HLO_SEND || op == HLO_RECV;
}

static uint32_t done_of(uint32_t op)
{
	return op == HLO_ALL_GATHER_START        ? HLO_ALL_GATHER_DONE
		: op == HLO_ALL_REDUCE_START         ? HLO_ALL_REDUCE_DONE
		: op == HLO_COLLECTIVE_PERMUTE_START ? HLO_COLLECTIVE_PERMUTE_DONE
		: op == HLO_COPY_START               ? HLO_COPY_DONE
											 : HLO_UNKNOWN;
}

static status check_wrapped(const verifier *v, hlo_id i)
{
	const hlo_module *m = v->m;
	const hlo_instr *in = &m->instrs.p[i];
	if (in->n_called != 1)
		return fault(
			v, i, WHO_FMT " names %u computations, expected calls= with one", WHO(i), in->n_called);
	const hlo_comp *c = &m->comps.p[m->called.p[in->called]];
	const hlo_instr *root = &m->instrs.p[c->root];
	for (hlo_id k = c->first; k < c->first + c->n; k++)
		if (k != c->root && m->instrs.p[k].op != HLO_PARAMETER)
			return fault(v, k,
				WHO_FMT " stands beside " WHO_FMT " in the computation of " WHO_FMT
						": one op and its parameters are expected",
				WHO(k), WHO(c->root), WHO(i));
	if (root->op == HLO_PARAMETER || is_async(root->op))
		return fault(
			v, i, WHO_FMT " wraps " WHO_FMT ", which does nothing by itself", WHO(i), WHO(c->root));
	if (has_own_halves(root->op))
		return fault(v, i,
			WHO_FMT " wraps " WHO_FMT ", for which %s-start and -done are opcodes of their own",
			WHO(i), WHO(c->root), hlo_op_text((hlo_op)root->op));
	if (c->n_params != in->n_operands && !hlo_async_is_bound_later(m, i))
		return fault(v, i,
			WHO_FMT " has %u operands, the computation of " WHO_FMT " has %u parameters", WHO(i),
			in->n_operands, WHO(c->root), c->n_params);
	return ST_OK;
}

/* The tuple of a start, or of the update that binds the operands from `first` on. */
static status check_tuple(const verifier *v, hlo_id i, hlo_id root, uint32_t first)
{
	const hlo_module *m = v->m;
	const hlo_instr *in = &m->instrs.p[i];
	uint32_t n = in->n_operands - first;
	const hlo_shape *s = &m->shapes.p[in->shape];
	if (s->kind != HLO_TUPLE || s->n_children < 2)
		return fault(v, i, WHO_FMT " of " WHO_FMT " has no tuple of operands, result and context",
			WHO(i), WHO(root));
	hlo_shape_id ins = m->parts.p[s->children], out = m->parts.p[s->children + 1];
	const hlo_shape *list = &m->shapes.p[ins];
	bool flat =
		n == 1 && hlo_shapes_compatible(m, ins, m->instrs.p[hlo_operand(m, i, first)].shape);
	if (!flat && (list->kind != HLO_TUPLE || list->n_children != n))
		return fault(v, i, "element 0 of " WHO_FMT " does not hold the %u operands of " WHO_FMT,
			WHO(i), n, WHO(root));
	for (uint32_t k = 0; !flat && k < n; k++)
		if (!hlo_shapes_compatible(
				m, m->parts.p[list->children + k], m->instrs.p[hlo_operand(m, i, first + k)].shape))
			return fault(v, i,
				"element 0 of " WHO_FMT " has another shape for operand %u than " WHO_FMT, WHO(i),
				k, WHO(hlo_operand(m, i, first + k)));
	const hlo_shape *result = &m->shapes.p[out];
	bool later =
		result->kind == HLO_TUPLE && !result->n_children; /* bound by an update or by the done */
	if (!later && !hlo_shapes_compatible(m, out, m->instrs.p[root].shape))
		return fault(
			v, i, "element 1 of " WHO_FMT " is not the result of " WHO_FMT, WHO(i), WHO(root));
	return ST_OK;
}

static status check_start(const verifier *v, hlo_id i)
{
	TRY(check_wrapped(v, i));
	return check_tuple(v, i, hlo_async_wrapped(v->m, i), 0);
}

/* An update that brings operands: its start has none, and it is the first that does. */
static status check_bound(const verifier *v, hlo_id i)
{
	const hlo_module *m = v->m;
	hlo_id before = hlo_operand(m, i, 0), start = hlo_async_start(m, i);
	for (hlo_id at = before; at != start; at = hlo_operand(m, at, 0))
		if (hlo_async_binds(m, at))
			return fault(v, i, WHO_FMT " has operands, " WHO_FMT " has brought them already",
				WHO(i), WHO(at));
	hlo_id root = hlo_async_wrapped(m, start);
	uint32_t params = m->comps.p[m->instrs.p[root].comp].n_params;
	if (!hlo_async_is_bound_later(m, start) || m->instrs.p[i].n_operands != params + 1)
		return fault(v, i,
			WHO_FMT " brings %u operands, " WHO_FMT " has %u and the computation of " WHO_FMT
					" %u parameters",
			WHO(i), m->instrs.p[i].n_operands - 1, WHO(start), m->instrs.p[start].n_operands,
			WHO(root), params);
	return check_tuple(v, i, root, 1);
}

/* The op that sugar names: slice of slice-done; empty for the generic opcodes. */
static str sugar_base(const hlo_module *m, hlo_id i)
{
	str text = opcode_of(m, i);
	if (str_starts(text, "async-"))
		return (str){"", 0};
	while (text.n && text.p[text.n - 1] != '-')
		text.n--;
	return (str){text.p, text.n ? text.n - 1 : 0};
}

static status check_next(const verifier *v, hlo_id i)
{
	const hlo_module *m = v->m;
	const hlo_instr *in = &m->instrs.p[i];
	bool binds = hlo_async_binds(m, i);
	if (in->n_operands != 1 && !binds)
		return fault(v, i, WHO_FMT " has %u operands, expected the start or update before it",
			WHO(i), in->n_operands);
	hlo_id before = hlo_operand(m, i, 0);
	uint32_t op = m->instrs.p[before].op;
	if (op != HLO_ASYNC_START && op != HLO_ASYNC_UPDATE)
		return fault(v, i, WHO_FMT " follows " WHO_FMT ", expected a start or an update", WHO(i),
			WHO(before));
	if (binds)
		return check_bound(v, i);
	if (op == HLO_ASYNC_START && hlo_async_is_bound_later(m, before))
		return fault(v, i, WHO_FMT " follows " WHO_FMT ", expected an update with its operands",
			WHO(i), WHO(before));
	const hlo_shape *s = hlo_shape_of(m, before);
	if (in->op == HLO_ASYNC_UPDATE &&
		!hlo_shapes_compatible(m, in->shape, m->instrs.p[before].shape))
		return fault(v, i, WHO_FMT " has another shape than " WHO_FMT, WHO(i), WHO(before));
	hlo_id start = hlo_async_start(m, i);
	hlo_id wrapped = hlo_async_wrapped(m, start);
	const hlo_shape *bound = s->kind == HLO_TUPLE && s->n_children > 1
		? &m->shapes.p[m->parts.p[s->children + 1]]
		: NULL;
	hlo_shape_id result = !bound || (bound->kind == HLO_TUPLE && !bound->n_children)
		? m->instrs.p[wrapped].shape
		: m->parts.p[s->children + 1];
	if (in->op == HLO_ASYNC_DONE && !hlo_shapes_compatible(m, in->shape, result))
		return fault(
			v, i, WHO_FMT " has another shape than the result of " WHO_FMT, WHO(i), WHO(start));
	str base = sugar_base(m, i);
	if (base.n && !str_is(base, hlo_op_text((hlo_op)m->instrs.p[wrapped].op)))
		return fault(
			v, i, WHO_FMT " belongs to " WHO_FMT ", which runs another op", WHO(i), WHO(start));
	if (in->n_called && m->called.p[in->called] != m->called.p[m->instrs.p[start].called] &&
		!base.n)
		return fault(v, i, WHO_FMT " calls another computation than " WHO_FMT, WHO(i), WHO(start));
	return ST_OK;
}

static status check_one_user(const verifier *v, hlo_id i)
{
	const hlo_module *m = v->m;
	const hlo_instr *in = &m->instrs.p[i];
	const hlo_id *users = m->users.p + in->users;
	bool update = in->op == HLO_ASYNC_UPDATE;
	if (!in->n_users)
		return fault(v, i,
			update ? WHO_FMT " of " WHO_FMT " has no user, expected an update or a done"
				   : WHO_FMT " of " WHO_FMT " has no user, expected its done",
			WHO(i),
			WHO(update                          ? hlo_async_start(m, i)
					: in->op == HLO_ASYNC_START ? hlo_async_wrapped(m, i)
												: i));
	if (in->n_users > 1)
		return fault(v, users[1],
			WHO_FMT " is a second user of " WHO_FMT ", which " WHO_FMT " follows already",
			WHO(users[1]), WHO(i), WHO(users[0]));
	uint32_t next = m->instrs.p[users[0]].op, want = done_of(in->op);
	bool right =
		want == HLO_UNKNOWN ? next == HLO_ASYNC_UPDATE || next == HLO_ASYNC_DONE : next == want;
	return right
		? ST_OK
		: fault(v, users[0], WHO_FMT " uses " WHO_FMT ", which only its update or done may",
			  WHO(users[0]), WHO(i));
}

static status check_first_class_done(const verifier *v, hlo_id i)
{
	const hlo_module *m = v->m;
	const hlo_instr *in = &m->instrs.p[i];
	if (in->n_operands != 1)
		return fault(v, i, WHO_FMT " has %u operands, expected its start", WHO(i), in->n_operands);
	hlo_id start = hlo_operand(m, i, 0);
	if (done_of(m->instrs.p[start].op) != in->op)
		return fault(v, i, WHO_FMT " follows " WHO_FMT ", expected its start", WHO(i), WHO(start));
	return ST_OK;
}

hlo_id hlo_async_start(const hlo_module *m, hlo_id i)
{
	for (;;) {
		uint32_t op = m->instrs.p[i].op;
		bool first_class = hlo_op_flags((hlo_op)op) & HLOF_DONE && m->instrs.p[i].n_operands;
		if (op != HLO_ASYNC_UPDATE && op != HLO_ASYNC_DONE && !first_class)
			return i;
		i = hlo_operand(m, i, 0);
	}
}

hlo_id hlo_async_wrapped(const hlo_module *m, hlo_id start)
{
	return m->comps.p[m->called.p[m->instrs.p[start].called]].root;
}

bool hlo_async_binds(const hlo_module *m, hlo_id update)
{
	const hlo_instr *in = &m->instrs.p[update];
	return in->op == HLO_ASYNC_UPDATE && in->n_operands > 1;
}

bool hlo_async_is_bound_later(const hlo_module *m, hlo_id start)
{
	const hlo_instr *in = &m->instrs.p[start];
	return in->op == HLO_ASYNC_START && !in->n_operands &&
		m->comps.p[m->instrs.p[hlo_async_wrapped(m, start)].comp].n_params;
}

/* ---------------------------------------------------------------- calls */

static status check_callee(const verifier *v, hlo_id i, hlo_comp_id comp, uint32_t params)
{
	const hlo_module *m = v->m;
	const hlo_comp *c = &m->comps.p[comp];
	if (c->n_params == params)
		return ST_OK;
	return fault(v, i, WHO_FMT " passes %u operands to '" STR_FMT "', which has %u parameters",
		WHO(i), params, STR_ARG(hlo_text(m, c->name, c->name_n)), c->n_params);
}

static status check_result(const verifier *v, hlo_id i, hlo_comp_id comp)
{
	const hlo_module *m = v->m;
	hlo_id root = m->comps.p[comp].root;
	return hlo_shapes_compatible(m, m->instrs.p[i].shape, m->instrs.p[root].shape)
		? ST_OK
		: fault(v, i, WHO_FMT " has another shape than the root " WHO_FMT " of what it calls",
			  WHO(i), WHO(root));
}

static status check_calls(const verifier *v, hlo_id i)
{
	const hlo_module *m = v->m;
	const hlo_instr *in = &m->instrs.p[i];
	const hlo_comp_id *called = m->called.p + in->called;
	switch (in->op) {
	case HLO_WHILE:
		if (in->n_operands != 1 || in->n_called != 2 ||
			hlo_called(m, i, HLO_ATTR_CONDITION) == ID_NONE ||
			hlo_called(m, i, HLO_ATTR_BODY) == ID_NONE)
			return fault(v, i, WHO_FMT " expects one operand, condition= and body=", WHO(i));
		TRY(check_callee(v, i, called[0], 1));
		TRY(check_callee(v, i, called[1], 1));
		if (!hlo_shapes_compatible(m, in->shape, m->instrs.p[hlo_operand(m, i, 0)].shape))
			return fault(v, i, WHO_FMT " has another shape than its operand " WHO_FMT, WHO(i),
				WHO(hlo_operand(m, i, 0)));
		return check_result(v, i, hlo_called(m, i, HLO_ATTR_BODY));
	case HLO_CONDITIONAL:
		if (!in->n_called || in->n_operands != in->n_called + 1)
			return fault(v, i,
				WHO_FMT
				" has %u operands and %u branches, expected an index and one operand per branch",
				WHO(i), in->n_operands, in->n_called);
		for (uint32_t k = 0; k < in->n_called; k++) {
			TRY(check_callee(v, i, called[k], 1));
			TRY(check_result(v, i, called[k]));
		}
		return ST_OK;
	case HLO_CALL:
	case HLO_FUSION:
		if (in->n_called != 1)
			return fault(
				v, i, WHO_FMT " names %u computations, expected one", WHO(i), in->n_called);
		TRY(check_callee(v, i, called[0], in->n_operands));
		return check_result(v, i, called[0]);
	case HLO_GET_TUPLE_ELEMENT: {
		const hlo_shape *s = in->n_operands == 1 ? hlo_shape_of(m, hlo_operand(m, i, 0)) : NULL;
		if (!s || s->kind != HLO_TUPLE || in->number < 0 || in->number >= s->n_children)
			return fault(v, i, WHO_FMT " expects one tuple and an index= inside it", WHO(i));
		if (!hlo_shapes_compatible(m, in->shape, m->parts.p[s->children + (uint32_t)in->number]))
			return fault(v, i, WHO_FMT " has another shape than element %lld of " WHO_FMT, WHO(i),
				(long long)in->number, WHO(hlo_operand(m, i, 0)));
		return ST_OK;
	}
	case HLO_TUPLE_OP: {
		const hlo_shape *s = hlo_shape_of(m, i);
		if (s->kind != HLO_TUPLE || s->n_children != in->n_operands)
			return fault(v, i, WHO_FMT " has %u operands and another number of elements", WHO(i),
				in->n_operands);
		for (uint32_t k = 0; k < in->n_operands; k++)
			if (!hlo_shapes_compatible(
					m, m->parts.p[s->children + k], m->instrs.p[hlo_operand(m, i, k)].shape))
				return fault(v, i, "element %u of " WHO_FMT " has another shape than " WHO_FMT, k,
					WHO(i), WHO(hlo_operand(m, i, k)));
		return ST_OK;
	}
	default: return ST_OK;
	}
}

/* Operands that the cost model reads by position. */
static uint32_t least_operands(uint32_t op)
{
	switch (op) {
	case HLO_DOT:
	case HLO_CONVOLUTION:
	case HLO_RAGGED_DOT:
	case HLO_DYNAMIC_UPDATE_SLICE:
	case HLO_GATHER:
	case HLO_REDUCE_WINDOW: return 2;
	case HLO_SCATTER:
	case HLO_SELECT_AND_SCATTER: return 3;
	case HLO_COPY_START:
	case HLO_ALL_REDUCE:
	case HLO_ALL_REDUCE_START:
	case HLO_ALL_GATHER:
	case HLO_ALL_GATHER_START:
	case HLO_REDUCE_SCATTER:
	case HLO_ALL_TO_ALL:
	case HLO_COLLECTIVE_PERMUTE:
	case HLO_COLLECTIVE_PERMUTE_START:
	case HLO_BITCAST:
	case HLO_RESHAPE:
	case HLO_OPT_BARRIER:
	case HLO_DYNAMIC_SLICE:
	case HLO_SLICE:
	case HLO_DOMAIN:
	case HLO_ADD_DEPENDENCY:
	case HLO_SET_DIMENSION_SIZE: return 1;
	default: return 0;
	}
}

static status check_instr(const verifier *v, hlo_id i)
{
	const hlo_module *m = v->m;
	const hlo_instr *in = &m->instrs.p[i];
	if (in->n_operands < least_operands(in->op))
		return fault(v, i, WHO_FMT " has %u operands, expected %u or more", WHO(i), in->n_operands,
			least_operands(in->op));
	TRY(check_calls(v, i));
	if (in->op == HLO_ASYNC_START)
		TRY(check_start(v, i));
	if (in->op == HLO_ASYNC_UPDATE || in->op == HLO_ASYNC_DONE)
		TRY(check_next(v, i));
	if (in->op == HLO_ASYNC_START || in->op == HLO_ASYNC_UPDATE || done_of(in->op) != HLO_UNKNOWN)
		TRY(check_one_user(v, i));
	bool done = hlo_op_flags((hlo_op)in->op) & HLOF_DONE;
	if (done && in->op != HLO_SEND_DONE && in->op != HLO_RECV_DONE)
		TRY(check_first_class_done(v, i));
	return ST_OK;
}

static status check_params(const verifier *v, hlo_comp *c)
{
	hlo_module *m = v->m;
	c->params = m->params.n;
	for (uint32_t k = 0; k < c->n_params; k++)
		vec_push(&m->params, ID_NONE);
	hlo_id *of = m->params.p + c->params;
	for (hlo_id i = c->first; i < c->first + c->n; i++) {
		const hlo_instr *in = &m->instrs.p[i];
		if (in->op != HLO_PARAMETER)
			continue;
		if (in->number >= c->n_params)
			return fault(v, i, WHO_FMT " has number %lld of %u parameters", WHO(i),
				(long long)in->number, c->n_params);
		if (of[in->number] != ID_NONE)
			return fault(v, i, WHO_FMT " has the number of " WHO_FMT, WHO(i), WHO(of[in->number]));
		of[in->number] = i;
	}
	return ST_OK;
}

/* Nesting of calls below a computation; recursion is an error. */
static status check_depth(verifier *v, hlo_comp_id id, uint32_t level)
{
	const hlo_module *m = v->m;
	const hlo_comp *c = &m->comps.p[id];
	uint32_t deepest = 0;
	v->depth[id] = 255;
	for (hlo_id i = c->first; i < c->first + c->n; i++) {
		const hlo_instr *in = &m->instrs.p[i];
		for (uint32_t k = 0; k < in->n_called; k++) {
			hlo_comp_id to = m->called.p[in->called + k];
			if (v->depth[to] == 255)
				return fault(v, i, WHO_FMT " calls '" STR_FMT "', which it is part of", WHO(i),
					STR_ARG(hlo_text(m, m->comps.p[to].name, m->comps.p[to].name_n)));
			if (level >= MAX_NESTING)
				return fault(v, i, WHO_FMT " is nested deeper than the limit of %d calls", WHO(i),
					MAX_NESTING);
			if (!v->depth[to])
				TRY(check_depth(v, to, level + 1));
			deepest = MAX(deepest, v->depth[to]);
		}
	}
	if (level + deepest > MAX_NESTING)
		return fault(v, c->first,
			"calls below '" STR_FMT "' are nested deeper than the limit of %d",
			STR_ARG(hlo_text(m, c->name, c->name_n)), MAX_NESTING);
	v->depth[id] = (uint8_t)(deepest + 1);
	return ST_OK;
}

static int64_t largest_id(const hlo_module *m, hlo_id i)
{
	const hlo_attr *a = hlo_attr_find(m, i, HLO_ATTR_REPLICA_GROUPS);
	uint32_t n;
	const int64_t *pairs = hlo_ints(m, i, HLO_ATTR_PAIRS, &n);
	int64_t largest = a ? m->groups.p[a->numbers].max_id : -1;
	for (uint32_t k = 0; k < n; k++)
		largest = MAX(largest, pairs[k]);
	return largest;
}

/* Ids of groups and pairs lie inside what they count; a header that names no count gets one that
 * holds them. */
static status check_groups(const verifier *v, bool counted)
{
	hlo_module *m = v->m;
	for (hlo_id i = 0; i < m->instrs.n; i++) {
		int64_t id = is_async(m->instrs.p[i].op)
			? -1
			: largest_id(m, i); /* sugar: the op inside has the groups */
		hlo_id_mode mode = hlo_ids_of(m, i);
		bool replicas = mode == HLO_IDS_REPLICA || mode == HLO_IDS_REPLICA_ALL_PARTITIONS;
		int64_t *count = replicas ? &m->n_replicas : &m->n_partitions;
		int64_t limit = mode == HLO_IDS_GLOBAL ? m->n_partitions * m->n_replicas : *count;
		if (id < limit)
			continue;
		if (counted)
			return fault(v, i, WHO_FMT " groups id %lld, the module has %lld %s", WHO(i),
				(long long)id, (long long)limit,
				mode == HLO_IDS_GLOBAL ? "devices"
					: replicas         ? "replicas"
									   : "partitions");
		*count = id + 1;
		if (m->n_partitions * m->n_replicas > HLO_MAX_DEVICES)
			return fault(v, i, WHO_FMT " groups id %lld: more than %d devices", WHO(i),
				(long long)id, HLO_MAX_DEVICES);
	}
	return ST_OK;
}

status hlo_verify(hlo_module *m, bool counted, diag *d)
{
	verifier v = {.m = m, .d = d, .depth = xcalloc(m->comps.n + 1, 1)};
	status st = ST_OK;
	for (hlo_comp_id c = 0; c < m->comps.n && st == ST_OK; c++)
		st = check_params(&v, &m->comps.p[c]);
	for (hlo_comp_id c = 0; c < m->comps.n && st == ST_OK; c++)
		if (!v.depth[c])
			st = check_depth(&v, c, 0);
	for (hlo_id i = 0; i < m->instrs.n && st == ST_OK; i++)
		st = check_instr(&v, i);
	if (st == ST_OK)
		st = check_groups(&v, counted);
	free(v.depth);
	return st;
}
