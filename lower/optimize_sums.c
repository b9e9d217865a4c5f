/* Passes of the optimized level over partial sums: what is used at all, which values could stay
 * partial and which do, and what loops accumulate. */
#include "lower/emit.h"
#include "lower/optimize.h"

/* ---------------------------------------------------------------- 2: uses */

static bool find_live(const pass *p, const lop *o)
{
	if (o->kind != LOP_COMPUTE && o->kind != LOP_COLLECTIVE)
		return true;
	for (lval_id v = o->results, end = v + o->n_results; v < end; v++)
		if (p->f[v].uses)
			return true;
	return o->kind == LOP_COMPUTE && !p->c->p->nodes.p[o->node].pure;
}

void pass_count_uses(pass *p)
{
	const lowered *l = p->in;
	for (lop_id i = l->ops.n; i-- > 0;) {
		const lop *o = &l->ops.p[i];
		p->live[i] = find_live(p, o);
		if (!p->live[i])
			continue;
		const lop *reads = is_reshard(o) && p->f[o->results].again != ID_NONE
			? &l->ops.p[p->f[o->results].again]
			: o;
		for (uint32_t k = 0; k < reads->n_operands; k++) {
			fact *f = &p->f[p->f[operand_of(l, reads, k)].alias];
			f->uses++;
			f->user = i;
		}
	}
}

/* ---------------------------------------------------------------- 3, 4: partial sums */

static sharding_id sharding_of(const pass *p, lval_id v) { return p->in->vals.p[v].sharding; }

/* Reads a partial sum that nothing else reads, in the region where it was made. */
static const fact *partial_operand(const pass *p, const lop *o, uint32_t i)
{
	lval_id v = p->f[operand_of(p->in, o, i)].alias;
	const fact *f = &p->f[v];
	return f->partial && f->uses == 1 && p->in->ops.p[p->in->vals.p[v].def].region == o->region
		? f
		: NULL;
}

static bool widens(const pass *p, const lop *o)
{
	const ir_type *from = type_get(p->c->p->m, p->in->vals.p[operand_of(p->in, o, 0)].type),
				  *to = type_get(p->c->p->m, p->in->vals.p[o->results].type);
	return !elem_is_int(from->elem) && !elem_is_int(to->elem) &&
		elem_bits(to->elem) >= elem_bits(from->elem);
}

/* The partial sum is where the op reads it: no reshard would have to move behind the op. */
static const fact *in_place(const pass *p, const lop *o, uint32_t i)
{
	const fact *f = partial_operand(p, o, i);
	return f && f->at == sharding_of(p, p->f[operand_of(p->in, o, i)].alias) ? f : NULL;
}

/* The same elements: a sum from zero over dims of one element is a reshape. */
static bool only_reshapes(const pass *p, const lop *o)
{
	const program *prog = p->c->p;
	const node *n = &prog->nodes.p[o->node];
	if (n->op_kind == OP_RESHAPE)
		return true;
	const pval_id *slots = node_slots(prog, n);
	return n->n_operands == 2 && n->n_results == 1 &&
		pval_type(prog, slots[0])->elements == pval_type(prog, slots[2])->elements &&
		emit_reduction(prog->m, n->op) == OP_ADD && is_splat_zero(prog, slots[1]);
}

/* A sum of two partial sums that a number divides or multiplies, as a mean is: what is done in
 * front of the collective is one kernel then, with the sum, and nothing is left behind it. */
static const fact *scaled_sum(const pass *p, const lop *o)
{
	const fact *f = in_place(p, o, 0);
	const lval *v = &p->in->vals.p[p->f[operand_of(p->in, o, 0)].alias];
	const ir_type *ty = type_get(p->c->p->m, p->in->vals.p[o->results].type);
	bool scales = f && f->sum && kind_of(p, &p->in->ops.p[v->def]) == OP_ADD &&
		!elem_is_int(ty->elem) &&
		is_splat_constant(p->c->p, p->in->vals.p[operand_of(p->in, o, 1)].origin);
	return scales ? f : NULL;
}

/* The operand whose partial sum the op's result is too; for sums the first of two. */
static const fact *partial_source(const pass *p, const lop *o, bool *sum)
{
	const fact *a, *b;
	*sum = false;
	uint16_t kind = kind_of(p, o);
	if (p->level == LEVEL_COMPILED && (kind != OP_ADD || p->target == TARGET_CPU || o->nest))
		return NULL; /* what is nested is no partial sum */
	bool exact = p->level == LEVEL_EXACT;
	if (exact && (o->nest || kind == OP_SUBTRACT || kind == OP_CONVERT || kind == OP_NEGATE))
		return NULL; /* these may be nested where costs are asked for */
	if (exact && (kind == OP_DIVIDE || kind == OP_MULTIPLY)) {
		a = scaled_sum(p, o);
		*sum = a;
		return a;
	}
	switch (kind) {
	case OP_ADD:
	case OP_SUBTRACT:
		a = partial_operand(p, o, 0);
		b = partial_operand(p, o, 1);
		*sum = a && b && a->at == b->at && a->scattered == b->scattered &&
			axes_equal(a->partial->axes, b->partial->axes);
		return *sum ? a : NULL;
	case OP_CONVERT: return widens(p, o) ? partial_operand(p, o, 0) : NULL;
	case OP_NEGATE: return partial_operand(p, o, 0);
	case OP_TRANSPOSE:
		/* Compilers compute the transpose of a product as the product of the sides exchanged, where
		 * no collective is in between. Else a weight's gradient has another order of dims than the
		 * weight and its state, and they copy these. */
		a = exact ? partial_operand(p, o, 0) : in_place(p, o, 0);
		*sum = exact && a;
		return a;
	case OP_RESHAPE:
	case OP_REDUCE: return only_reshapes(p, o) ? in_place(p, o, 0) : NULL;
	case OP_DIVIDE:
		return p->f[p->f[operand_of(p->in, o, 1)].alias].partial ? NULL : in_place(p, o, 0);
	case OP_MULTIPLY:
		a = in_place(p, o, 0);
		b = in_place(p, o, 1);
		return a && b ? NULL : a ? a : b;
	default: return NULL;
	}
}

/* The sharding with its dims where the transpose puts them. */
static sharding_id transposed(const pass *p, const lop *o, sharding_id at)
{
	uint32_t n;
	const int64_t *from = op_ints(p->c->p->m, p->c->p->nodes.p[o->node].op, "permutation", &n);
	sharding_edit old, new;
	sharding_to_edit(p->c->t, at, &old);
	new = old;
	for (uint32_t d = 0; d < n && d < old.rank; d++)
		new.dims[d] = old.dims[from[d]];
	return sharding_intern(p->c->t, &new);
}

void pass_find_partial(pass *p)
{
	const lowered *l = p->in;
	for (uint32_t i = 0; i < p->o->linear.n; i++) {
		const lop *o = &l->ops.p[p->o->linear.p[i]];
		if (o->n_results != 1 || !p->f[o->results].uses)
			continue;
		fact *f = &p->f[o->results];
		if (is_all_reduce(o)) {
			bool plain = sharding_of(p, operand_of(l, o, 0)) == sharding_of(p, o->results);
			f->scattered = p->level == LEVEL_COMPILED && kind_of(p, o) == OP_SCATTER;
			f->partial = plain && o->reduction == 0 ? o->step : NULL;
			f->at = sharding_of(p, o->results);
			continue;
		}
		if (p->level == LEVEL_COMPILED && o->kind == LOP_COLLECTIVE &&
			o->coll == COLL_COLLECTIVE_PERMUTE)
			continue; /* XLA sums first what it adds as it was reduced, or its own part */
		const fact *from = is_reshard(o) ? partial_operand(p, o, 0)
			: o->kind == LOP_COMPUTE     ? partial_source(p, o, &f->sum)
										 : NULL;
		if (!from)
			continue;
		f->partial = from->partial;
		f->scattered = from->scattered;
		p->sums |= f->sum;
		bool moves = is_reshard(o) || from->at != sharding_of(p, operand_of(l, o, 0));
		f->at = !moves                                        ? sharding_of(p, o->results)
			: kind_of(p, o) == OP_TRANSPOSE && !is_reshard(o) ? transposed(p, o, from->at)
															  : from->at;
	}
}

void pass_choose_partial(pass *p)
{
	const lowered *l = p->in;
	for (uint32_t i = p->o->linear.n; i-- > 0;) {
		const lop *o = &l->ops.p[p->o->linear.p[i]];
		if (o->n_results != 1 || is_all_reduce(o))
			continue;
		const fact *f = &p->f[o->results];
		if (!f->partial || (!f->sum && !f->need))
			continue;
		for (uint32_t k = 0; k < o->n_operands; k++)
			if (partial_operand(p, o, k))
				p->f[p->f[operand_of(l, o, k)].alias].need = true;
	}
}

/* ---------------------------------------------------------------- 4: what loops accumulate */

enum { MAX_TERMS = 64 };

/* What is added up in an iteration, and whether what the loop carries is among it. */
typedef struct terms {
	lop_id loop;
	lval_id carried; /* ID_NONE: may not be among it */
	bool found;
	uint32_t n;
	lval_id val[MAX_TERMS];
} terms;

/* Reduced in that region, where it is, and read once. */
static bool is_term(const pass *p, lval_id v, lop_id region)
{
	const fact *f = &p->f[v];
	const lop *def = &p->in->ops.p[p->in->vals.p[v].def];
	return f->uses == 1 && def->region == region && f->partial && !f->need &&
		f->at == sharding_of(p, v) && (f->sum || is_all_reduce(def));
}

static bool collect_terms(const pass *p, lval_id v, terms *t);

static bool collect_converted(const pass *p, lval_id v, terms *t)
{
	lval_id carried = t->carried;
	t->carried = ID_NONE;
	bool all = collect_terms(p, v, t);
	t->carried = carried;
	return all;
}

/* The all_reduces whose sum v is, possibly converted or transposed, all over the same axes and made
 * and read in that loop alone, and what is carried once, as it is; false when something else is in
 * it. */
static bool collect_terms(const pass *p, lval_id v, terms *t)
{
	const lowered *l = p->in;
	v = p->f[v].alias;
	if (v == t->carried && !t->found)
		return t->found = true;
	const lop *def = &l->ops.p[l->vals.p[v].def];
	const fact *f = &p->f[v];
	if (f->uses != 1 || def->region != t->loop || t->n == MAX_TERMS)
		return false;
	if (is_term(p, v, t->loop)) {
		t->val[t->n++] = v;
		return axes_equal(f->partial->axes, p->f[t->val[0]].partial->axes);
	}
	uint16_t kind = def->kind == LOP_COMPUTE && !def->nest ? kind_of(p, def) : OP_UNKNOWN;
	if (kind == OP_TRANSPOSE || kind == OP_RESHAPE || (kind == OP_CONVERT && widens(p, def)))
		return collect_converted(p, operand_of(l, def, 0), t);
	return kind == OP_ADD && collect_terms(p, operand_of(l, def, 0), t) &&
		collect_terms(p, operand_of(l, def, 1), t);
}

/* What it is reduced as behind the loop: GPU keeps the narrow type that was reduced in it. */
static type_id narrow_type(const pass *p, lval_id added)
{
	const lop *def = &p->in->ops.p[p->in->vals.p[added].def];
	bool widened = p->level == LEVEL_COMPILED && p->target == TARGET_GPU &&
		def->kind == LOP_COMPUTE && kind_of(p, def) == OP_CONVERT;
	return widened ? p->in->vals.p[operand_of(p->in, def, 0)].type : ID_NONE;
}

static bool starts_with_zeros(const pass *p, const lop *loop, lval_id carried)
{
	lval_id start = p->f[operand_of(p->in, loop, carried - loop->results)].alias;
	return is_splat_zero(p->c->p, p->in->vals.p[start].origin);
}

/* The loop adds the terms to what it carries, and does nothing else with it. XLA moves one term
 * that is added last and leaves the others; in our own program all stay partial, however they are
 * added up, since a sum of partial and whole ones would be wrong. */
static void carry(pass *p, lop_id loop, lval_id carried, lval_id yielded, lval_id result)
{
	const lowered *l = p->in;
	const lop *add = &l->ops.p[l->vals.p[yielded].def];
	if (add->kind != LOP_COMPUTE || kind_of(p, add) != OP_ADD || add->nest || add->region != loop ||
		p->f[yielded].uses != 1 || p->f[carried].uses != 1)
		return;
	bool exact = p->level == LEVEL_EXACT;
	terms t = {.loop = loop, .carried = exact ? carried : ID_NONE};
	lval_id a = p->f[operand_of(l, add, 0)].alias, b = p->f[operand_of(l, add, 1)].alias,
			last = b == carried ? a : b;
	if (!exact && a != carried && b != carried)
		return;
	if (!collect_terms(p, exact ? yielded : last, &t) || !t.n || t.found != exact)
		return;
	if (exact && !starts_with_zeros(p, l->ops.p + loop, carried))
		return; /* every device would add its start value */
	for (uint32_t i = exact ? 0 : t.n - 1; i < t.n; i++)
		p->f[t.val[i]].need = true;
	p->f[result].carried =
		cache_reduce_step(p->c, p->f[t.val[0]].partial->axes, sharding_of(p, result));
	p->f[result].carried_as = narrow_type(p, last);
}

/* A sum of all_reduces over the iterations is reduced once, behind the loop. */
void pass_find_carried(pass *p)
{
	const lowered *l = p->in;
	p->o->loops.n = 0;
	for (lop_id i = 0; i < l->ops.n; i++) {
		const lop *end = &l->ops.p[i];
		if (end->kind == LOP_REGION)
			vec_push(&p->o->loops, i);
		if (end->kind != LOP_REGION_END)
			continue;
		lop_id loop = vec_pop(&p->o->loops);
		const lop *start = &l->ops.p[loop];
		if (kind_of(p, end) != OP_WHILE || start->n_results != end->n_operands ||
			end->n_results != end->n_operands)
			continue;
		for (uint32_t k = 0; k < end->n_operands; k++)
			carry(p, loop, start->results + k, p->f[operand_of(l, end, k)].alias, end->results + k);
	}
}
