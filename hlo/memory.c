/* Peak memory of temporaries in the order of the schedule.
 *
 * A value is one array of one instruction's result. Values that share a buffer are joined: tuples
 * and their elements, bitcasts, updates in place, what a loop carries (operand, parameter, root of
 * the body, result), operands and results of calls and branches, the halves of asynchronous ops,
 * declared aliases. A buffer lives from the first instruction that makes it to the last one that
 * reads it, seen from the outermost computation it reaches; a called computation adds the peak of
 * the buffers that are its own. A result may take the place of an operand of the same size that
 * dies there.
 *
 * No temporaries: arguments and results of the program, constants, arrays outside the device's main
 * memory. */
#include "hlo/state.h"

#include <stdlib.h>

typedef struct buffer {
	uint32_t parent;     /* union-find */
	hlo_comp_id home;    /* of the root: outermost computation of its values */
	uint32_t from, to;   /* of the root: positions in home */
	bool outside, taken; /* of the root: no temporary; its place was taken by a result */
	int64_t bytes;
	hlo_id maker; /* at `from` */
} buffer;

typedef struct memory {
	hlo_simulation *s;
	const hlo_module *m;
	uint32_t *first; /* by instruction: its first value */
	buffer *b;       /* by value */
	hlo_id *caller; /* by computation: the only instruction that calls it; ID_NONE none, ID_NONE - 1
	                   several */
	uint32_t *depth;   /* by computation: callers above it */
	int64_t *peak;     /* by computation: of the buffers that are its own; -1 unknown */
	uint32_t *at;      /* where that peak is */
	VEC(uint32_t) own; /* values that are roots, by home */
	uint32_t *own_first;
} memory;

static uint32_t find(memory *x, uint32_t v)
{
	while (x->b[v].parent != v)
		v = x->b[v].parent = x->b[x->b[v].parent].parent;
	return v;
}

static void join(memory *x, uint32_t a, uint32_t b)
{
	a = find(x, a), b = find(x, b);
	if (a == b)
		return;
	if (a > b) { /* the earlier value stays */
		uint32_t t = a;
		a = b, b = t;
	}
	x->b[b].parent = a;
	x->b[a].outside |= x->b[b].outside;
	x->b[a].bytes = MAX(x->b[a].bytes, x->b[b].bytes);
}

static uint32_t leaves(const memory *x, hlo_id i) { return x->first[i + 1] - x->first[i]; }

/* All values of one instruction with those of another, from given leaves on. */
static void join_range(memory *x, hlo_id a, uint32_t from_a, hlo_id b, uint32_t from_b, uint32_t n)
{
	for (uint32_t k = 0; k < n && from_a + k < leaves(x, a) && from_b + k < leaves(x, b); k++)
		join(x, x->first[a] + from_a + k, x->first[b] + from_b + k);
}
static void join_all(memory *x, hlo_id a, hlo_id b) { join_range(x, a, 0, b, 0, leaves(x, b)); }

/* Instructions whose called computations run in the schedule, with buffers of their own. */
static bool runs_callees(const hlo_module *m, hlo_id i)
{
	uint32_t op = m->instrs.p[i].op;
	return op == HLO_WHILE || op == HLO_CONDITIONAL || op == HLO_CALL || op == HLO_ASYNC_START;
}
static bool called_once(const memory *x, hlo_comp_id c) { return x->caller[c] < ID_NONE - 1; }

static void find_callers(memory *x)
{
	const hlo_module *m = x->m;
	memset(x->caller, 0xff, (m->comps.n + 1) * sizeof *x->caller);
	for (hlo_id i = 0; i < m->instrs.n; i++)
		for (uint32_t k = 0; runs_callees(m, i) && k < m->instrs.p[i].n_called; k++) {
			hlo_comp_id c = m->called.p[m->instrs.p[i].called + k];
			x->caller[c] = x->caller[c] == ID_NONE ? i : ID_NONE - 1;
		}
	for (hlo_comp_id c = 0; c < m->comps.n; c++) {
		uint32_t d = 0;
		for (hlo_comp_id up = c; called_once(x, up); up = m->instrs.p[x->caller[up]].comp)
			d++;
		x->depth[c] = d;
	}
}

/* A callee with several callers stands for itself: what goes in and out is its callers'. */
static void keep_apart(memory *x, hlo_comp_id c)
{
	const hlo_module *m = x->m;
	for (uint32_t k = 0; k < m->comps.p[c].n_params; k++)
		for (uint32_t l = 0; l < leaves(x, hlo_param(m, c, k)); l++)
			x->b[find(x, x->first[hlo_param(m, c, k)] + l)].outside = true;
	for (uint32_t l = 0; l < leaves(x, m->comps.p[c].root); l++)
		x->b[find(x, x->first[m->comps.p[c].root] + l)].outside = true;
}

static void join_call(memory *x, hlo_id i)
{
	const hlo_module *m = x->m;
	const hlo_instr *in = &m->instrs.p[i];
	bool loop = in->op == HLO_WHILE;
	if (loop)
		join_all(x, i, hlo_operand(m, i, 0));
	for (uint32_t k = 0; k < in->n_called; k++) {
		hlo_comp_id c = m->called.p[in->called + k];
		const hlo_comp *callee = &m->comps.p[c];
		if (!called_once(x, c)) {
			keep_apart(x, c);
			continue;
		}
		bool condition = loop && c == hlo_called(m, i, HLO_ATTR_CONDITION);
		if (in->op == HLO_CONDITIONAL)
			join_all(x, hlo_param(m, c, 0), hlo_operand(m, i, k + 1));
		for (uint32_t p = 0; in->op != HLO_CONDITIONAL && p < callee->n_params; p++)
			join_all(x, hlo_param(m, c, p), hlo_operand(m, i, p));
		if (!condition)
			join_all(x, i, callee->root);
	}
}

/* The tuple of a start: element 0 is the operands, which begin at operand `first` of the one that
 * brings them, element 1 the result of what it runs, where it is bound already. */
static void join_bound(memory *x, hlo_id i, uint32_t first)
{
	const hlo_module *m = x->m;
	const hlo_instr *in = &m->instrs.p[i];
	hlo_id root = hlo_async_wrapped(m, hlo_async_start(m, i));
	hlo_comp_id c = m->instrs.p[root].comp;
	const hlo_shape *s = hlo_shape_of(m, i);
	uint32_t leaf = 0;
	for (uint32_t k = first; k < in->n_operands; k++) {
		join_range(x, i, leaf, hlo_operand(m, i, k), 0, leaves(x, hlo_operand(m, i, k)));
		leaf += leaves(x, hlo_operand(m, i, k));
	}
	if (!called_once(x, c)) {
		keep_apart(x, c);
		return;
	}
	for (uint32_t k = first; k < in->n_operands; k++)
		join_all(x, hlo_param(m, c, k - first), hlo_operand(m, i, k));
	if (m->shapes.p[m->parts.p[s->children + 1]].n_leaves == leaves(x, root))
		join_range(x, i, hlo_child_leaf(m, s, 1), root, 0, leaves(x, root));
}

static void join_done(memory *x, hlo_id i)
{
	const hlo_module *m = x->m;
	hlo_id before = hlo_operand(m, i, 0), root = hlo_async_wrapped(m, hlo_async_start(m, i));
	const hlo_shape *s = hlo_shape_of(m, before);
	if (m->shapes.p[m->parts.p[s->children + 1]].n_leaves == leaves(x, i))
		join_range(x, i, 0, before, hlo_child_leaf(m, s, 1), leaves(x, i));
	else if (called_once(x, m->instrs.p[root].comp))
		join_all(x, i, root);
}

/* An update hands on what is before it; one that brings operands shares the context, which the
 * start has made. */
static void join_update(memory *x, hlo_id i)
{
	const hlo_module *m = x->m;
	hlo_id before = hlo_operand(m, i, 0);
	if (!hlo_async_binds(m, i)) {
		join_all(x, i, before);
		return;
	}
	join_bound(x, i, 1);
	const hlo_shape *to = hlo_shape_of(m, i), *from = hlo_shape_of(m, before);
	if (to->n_children < 3 || from->n_children < 3)
		return;
	uint32_t at = hlo_child_leaf(m, to, 2), of = hlo_child_leaf(m, from, 2);
	join_range(x, i, at, before, of, MIN(leaves(x, i) - at, leaves(x, before) - of));
}

static void join_first_class(memory *x, hlo_id i)
{
	const hlo_module *m = x->m;
	const hlo_instr *in = &m->instrs.p[i];
	const hlo_shape *s = hlo_shape_of(m, i);
	switch (in->op) {
	case HLO_ALL_GATHER_START:
	case HLO_COLLECTIVE_PERMUTE_START:
		if (s->n_children > 1) {
			uint32_t leaf = 0;
			for (uint32_t k = 0; k < in->n_operands && leaf < hlo_child_leaf(m, s, 1); k++) {
				join_range(x, i, leaf, hlo_operand(m, i, k), 0, leaves(x, hlo_operand(m, i, k)));
				leaf += leaves(x, hlo_operand(m, i, k));
			}
		}
		break;
	case HLO_ALL_GATHER_DONE:
	case HLO_COLLECTIVE_PERMUTE_DONE: {
		hlo_id start = hlo_operand(m, i, 0);
		join_range(x, i, 0, start, hlo_child_leaf(m, hlo_shape_of(m, start), 1), leaves(x, i));
		break;
	}
	case HLO_ALL_REDUCE_DONE:
	case HLO_COPY_DONE:
		join_range(x, i, 0, hlo_operand(m, i, 0), 0, leaves(x, i));
		break; /* a copy-start holds target, source */
	case HLO_COPY_START: join_range(x, i, 1, hlo_operand(m, i, 0), 0, 1); break;
	default: break;
	}
}

/* {{0}: (2, {}), {1}: (0, {1})}: leaf of the result in the buffer of an operand's. */
static void join_declared(memory *x, hlo_id i)
{
	const hlo_module *m = x->m;
	str text = hlo_word(m, i, HLO_ATTR_OUTPUT_ALIAS);
	int64_t path[2][16], operand = -1;
	uint32_t n[2] = {0, 0}, side = 0;
	for (size_t p = 1; p < text.n; p++) {
		char c = text.p[p];
		if (c == '{') {
			n[side] = 0;
		} else if (c == '(') {
			side = 1;
			operand = -1;
		} else if (c >= '0' && c <= '9') {
			int64_t v = 0;
			for (; p < text.n && text.p[p] >= '0' && text.p[p] <= '9' && v < 1 << 24; p++)
				v = 10 * v + text.p[p] - '0';
			p--;
			if (side && operand < 0)
				operand = v;
			else if (n[side] < COUNT_OF(path[0]))
				path[side][n[side]++] = v;
		} else if (c == ')') {
			uint32_t a = 0, b = 0;
			const hlo_shape *out = hlo_shape_of(m, i);
			for (uint32_t k = 0; k < n[0] && out->kind == HLO_TUPLE && path[0][k] < out->n_children;
				 k++) {
				a += hlo_child_leaf(m, out, (uint32_t)path[0][k]);
				out = &m->shapes.p[m->parts.p[out->children + (uint32_t)path[0][k]]];
			}
			if (operand >= 0 && operand < m->instrs.p[i].n_operands) {
				const hlo_shape *in = hlo_shape_of(m, hlo_operand(m, i, (uint32_t)operand));
				for (uint32_t k = 0;
					 k < n[1] && in->kind == HLO_TUPLE && path[1][k] < in->n_children; k++) {
					b += hlo_child_leaf(m, in, (uint32_t)path[1][k]);
					in = &m->shapes.p[m->parts.p[in->children + (uint32_t)path[1][k]]];
				}
				join_range(x, i, a, hlo_operand(m, i, (uint32_t)operand), b, out->n_leaves);
			}
			side = n[0] = n[1] = 0;
		}
	}
}

/* Through bitcasts and updates down to the parameter whose buffer a result of a fusion changes in
 * place. */
static hlo_id updated_param(const hlo_module *m, hlo_id v)
{
	bool updates = false;
	for (uint32_t step = 0; step < 64; step++) {
		const hlo_instr *in = &m->instrs.p[v];
		hlo_id target = hlo_in_place_operand(m, v);
		updates |= target != ID_NONE;
		if (in->op == HLO_PARAMETER)
			return updates ? v : ID_NONE;
		if (target != ID_NONE)
			v = target;
		else if ((in->op == HLO_BITCAST || in->op == HLO_RESHAPE) && in->n_operands)
			v = hlo_operand(m, v, 0);
		else
			return ID_NONE;
	}
	return ID_NONE;
}

static void join_fusion(memory *x, hlo_id i)
{
	const hlo_module *m = x->m;
	hlo_id root = m->comps.p[m->called.p[m->instrs.p[i].called]].root;
	const hlo_instr *r = &m->instrs.p[root];
	bool tuple = r->op == HLO_TUPLE_OP;
	uint32_t leaf = 0;
	for (uint32_t k = 0; k < (tuple ? r->n_operands : 1); k++) {
		hlo_id v = tuple ? hlo_operand(m, root, k) : root, p = updated_param(m, v);
		if (p != ID_NONE)
			join_range(x, i, leaf, hlo_operand(m, i, (uint32_t)m->instrs.p[p].number), 0, 1);
		leaf += leaves(x, v);
	}
	join_declared(x, i);
}

static void join_values(memory *x, hlo_id i)
{
	const hlo_module *m = x->m;
	const hlo_instr *in = &m->instrs.p[i];
	uint32_t leaf = 0;
	switch (in->op) {
	case HLO_TUPLE_OP:
		for (uint32_t k = 0; k < in->n_operands; k++) {
			join_range(x, i, leaf, hlo_operand(m, i, k), 0, leaves(x, hlo_operand(m, i, k)));
			leaf += leaves(x, hlo_operand(m, i, k));
		}
		return;
	case HLO_GET_TUPLE_ELEMENT:
		join_range(x, i, 0, hlo_operand(m, i, 0),
			hlo_child_leaf(m, hlo_shape_of(m, hlo_operand(m, i, 0)), (uint32_t)in->number),
			leaves(x, i));
		return;
	case HLO_FUSION: join_fusion(x, i); return;
	case HLO_CUSTOM_CALL: join_declared(x, i); return;
	case HLO_WHILE:
	case HLO_CONDITIONAL:
	case HLO_CALL: join_call(x, i); return;
	case HLO_ASYNC_START: join_bound(x, i, 0); return;
	case HLO_ASYNC_UPDATE: join_update(x, i); return;
	case HLO_ASYNC_DONE: join_done(x, i); return;
	default: break;
	}
	if (hlo_op_flags((hlo_op)in->op) & HLOF_ALIAS && in->n_operands)
		join_all(x, i, hlo_operand(m, i, 0));
	else if (hlo_in_place_operand(m, i) != ID_NONE)
		join_all(x, i, hlo_in_place_operand(m, i));
	else
		join_first_class(x, i);
}

/* ---------------------------------------------------------------- live ranges */

/* The instruction of the buffer's home through which computation of i is reached. */
static hlo_id seen_from(const memory *x, hlo_id i, hlo_comp_id home)
{
	hlo_comp_id c = x->m->instrs.p[i].comp;
	while (c != home && called_once(x, c)) {
		i = x->caller[c];
		c = x->m->instrs.p[i].comp;
	}
	return i;
}

/* Computations of one tree of calls are ancestors of each other: the outermost is the one with the
 * smallest depth. */
static void find_homes(memory *x)
{
	const hlo_module *m = x->m;
	for (hlo_id i = 0; i < m->instrs.n; i++)
		for (uint32_t v = x->first[i]; v < x->first[i + 1]; v++) {
			buffer *b = &x->b[find(x, v)];
			hlo_comp_id c = m->instrs.p[i].comp;
			if (b->home == ID_NONE || x->depth[c] < x->depth[b->home])
				b->home = c;
		}
}

static void extend(memory *x, buffer *b, hlo_id at, bool makes)
{
	hlo_id i = seen_from(x, at, b->home);
	uint32_t position = i - x->m->comps.p[b->home].first;
	if (makes && (b->maker == ID_NONE || position < b->from)) {
		b->from = position;
		b->maker = at;
	}
	b->to = MAX(b->to, position);
}

static void find_ranges(memory *x)
{
	const hlo_module *m = x->m;
	for (hlo_id i = 0; i < m->instrs.n; i++)
		for (uint32_t v = x->first[i]; v < x->first[i + 1]; v++)
			extend(x, &x->b[find(x, v)], i, true);
	for (hlo_id i = 0; i < m->instrs.n; i++) {
		uint32_t op = m->instrs.p[i].op;
		if (op == HLO_TUPLE_OP || op == HLO_GET_TUPLE_ELEMENT ||
			op == HLO_BITCAST) /* read nothing themselves; their users do */
			continue;
		for (uint32_t k = 0; k < m->instrs.p[i].n_operands; k++) {
			hlo_id o = hlo_operand(m, i, k);
			for (uint32_t v = x->first[o]; v < x->first[o + 1]; v++)
				extend(x, &x->b[find(x, v)], i, false);
		}
	}
}

static bool is_temporary(const buffer *b)
{
	return !b->outside && b->bytes > 0 && b->home != ID_NONE;
}

/* ---------------------------------------------------------------- peaks */

static void group_by_home(memory *x, uint32_t n_values)
{
	uint32_t n = x->m->comps.n;
	for (uint32_t v = 0; v < n_values; v++)
		if (x->b[v].parent == v && is_temporary(&x->b[v]))
			x->own_first[x->b[v].home + 1]++;
	for (uint32_t c = 0; c < n; c++)
		x->own_first[c + 1] += x->own_first[c];
	vec_reserve(&x->own, x->own_first[n] + 1);
	x->own.n = x->own_first[n];
	uint32_t *next = xmalloc((n + 1) * sizeof *next);
	memcpy(next, x->own_first, (n + 1) * sizeof *next);
	for (uint32_t v = 0; v < n_values; v++)
		if (x->b[v].parent == v && is_temporary(&x->b[v]))
			x->own.p[next[x->b[v].home]++] = v;
	free(next);
}

/* A buffer made at i may take the place of an operand that dies there. */
static void take_places(memory *x, hlo_comp_id c, int64_t *delta)
{
	const hlo_module *m = x->m;
	for (uint32_t k = x->own_first[c]; k < x->own_first[c + 1]; k++) {
		buffer *made = &x->b[x->own.p[k]];
		hlo_id i = made->maker;
		if (i == ID_NONE || m->instrs.p[i].comp != c)
			continue;
		for (uint32_t o = 0; o < m->instrs.p[i].n_operands; o++) {
			hlo_id operand = hlo_operand(m, i, o);
			if (leaves(x, operand) != 1)
				continue;
			buffer *b = &x->b[find(x, x->first[operand])];
			if (b == made || !is_temporary(b) || b->home != c || b->taken || b->to != made->from ||
				b->bytes != made->bytes || !hlo_may_share(m, i, o))
				continue;
			b->taken = true;
			delta[b->to] -= b->bytes;
			delta[b->to + 1] += b->bytes;
			break;
		}
	}
}

static int64_t peak_of(memory *x, hlo_comp_id c);

/* What the computations that an instruction runs need beside the buffers of its own computation. */
static int64_t inside(memory *x, hlo_id i)
{
	const hlo_instr *in = &x->m->instrs.p[i];
	int64_t most = 0;
	for (uint32_t k = 0; runs_callees(x->m, i) && k < in->n_called; k++)
		most = MAX(most, peak_of(x, x->m->called.p[in->called + k]));
	return most;
}

static int64_t peak_of(memory *x, hlo_comp_id c)
{
	const hlo_comp *comp = &x->m->comps.p[c];
	if (x->peak[c] >= 0)
		return x->peak[c];
	int64_t *delta = xcalloc(comp->n + 2, sizeof *delta), live = 0, peak = 0;
	for (uint32_t k = x->own_first[c]; k < x->own_first[c + 1]; k++) {
		const buffer *b = &x->b[x->own.p[k]];
		delta[b->from] = sat_add(delta[b->from], b->bytes);
		delta[b->to + 1] -= b->bytes;
	}
	take_places(x, c, delta);
	for (uint32_t p = 0; p < comp->n; p++) {
		live = sat_add(live, delta[p]);
		int64_t here = sat_add(live, inside(x, comp->first + p));
		if (comp->entry)
			vec_push(&x->s->curve, here);
		if (here > peak) {
			peak = here;
			x->at[c] = p;
		}
	}
	free(delta);
	return x->peak[c] = peak;
}

static void list_live(memory *x, hlo_comp_id c, uint32_t level)
{
	uint32_t at = x->at[c];
	for (uint32_t k = x->own_first[c]; k < x->own_first[c + 1]; k++) {
		const buffer *b = &x->b[x->own.p[k]];
		if (b->from <= at && at <= b->to && !(b->taken && b->to == at))
			vec_push(&x->s->live, (hlo_live){b->maker, b->bytes});
	}
	hlo_id i = x->m->comps.p[c].first + at;
	hlo_comp_id worst = ID_NONE;
	for (uint32_t k = 0; runs_callees(x->m, i) && k < x->m->instrs.p[i].n_called; k++) {
		hlo_comp_id to = x->m->called.p[x->m->instrs.p[i].called + k];
		if (worst == ID_NONE || x->peak[to] > x->peak[worst])
			worst = to;
	}
	if (worst != ID_NONE && level < MAX_NESTING)
		list_live(x, worst, level + 1);
}

static int by_size(const void *a, const void *b)
{
	const hlo_live *x = a, *y = b;
	return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1)
		: x->instr < y->instr   ? -1
								: x->instr > y->instr;
}

static void mark_outside(memory *x)
{
	const hlo_module *m = x->m;
	const hlo_comp *entry = &m->comps.p[m->entry];
	for (hlo_id i = 0; i < m->instrs.n; i++) {
		const hlo_shape *s = hlo_shape_of(m, i);
		bool outside = m->instrs.p[i].op == HLO_CONSTANT ||
			(m->instrs.p[i].op == HLO_PARAMETER && m->comps.p[m->instrs.p[i].comp].entry);
		for (uint32_t k = 0; k < s->n_leaves; k++) {
			const hlo_shape *leaf = hlo_leaf(m, s, k);
			buffer *b = &x->b[x->first[i] + k];
			b->bytes = leaf->bytes;
			b->outside = outside || !hlo_in_main_memory(&x->s->dev, leaf->space);
		}
	}
	for (uint32_t k = 0; k < leaves(x, entry->root); k++)
		x->b[x->first[entry->root] + k].outside = true;
}

void hlo_measure_memory(hlo_simulation *s)
{
	const hlo_module *m = s->m;
	memory x = {.s = s, .m = m, .first = xmalloc((m->instrs.n + 1) * sizeof *x.first)};
	uint64_t n = 0;
	for (hlo_id i = 0; i < m->instrs.n; i++) {
		x.first[i] = (uint32_t)n;
		n += hlo_shape_of(m, i)->n_leaves;
	}
	x.first[m->instrs.n] = (uint32_t)n;
	x.b = xcalloc(n + 1, sizeof *x.b);
	for (uint32_t v = 0; v < n; v++)
		x.b[v] = (buffer){.parent = v, .home = ID_NONE, .maker = ID_NONE};
	x.caller = xmalloc((m->comps.n + 1) * sizeof *x.caller);
	x.depth = xcalloc(m->comps.n + 1, sizeof *x.depth);
	x.peak = xmalloc((m->comps.n + 1) * sizeof *x.peak);
	x.at = xcalloc(m->comps.n + 1, sizeof *x.at);
	x.own_first = xcalloc(m->comps.n + 2, sizeof *x.own_first);
	memset(x.peak, 0xff, (m->comps.n + 1) * sizeof *x.peak);
	mark_outside(&x);
	find_callers(&x);
	for (hlo_id i = 0; i < m->instrs.n; i++)
		join_values(&x, i);
	find_homes(&x);
	find_ranges(&x);
	group_by_home(&x, (uint32_t)n);
	s->temporary = peak_of(&x, m->entry);
	list_live(&x, m->entry, 0);
	if (s->live.n)
		qsort(s->live.p, s->live.n, sizeof *s->live.p, by_size);
	free(x.first);
	free(x.b);
	free(x.caller);
	free(x.depth);
	free(x.peak);
	free(x.at);
	free(x.own_first);
	vec_release(&x.own);
}
