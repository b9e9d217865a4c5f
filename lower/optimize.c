/* The optimized level: textbook rewrites of the placed program, read from one set of arrays and
 * written to another.
 *
 *   1 forward   equal reshards of one value become one; a reshard back to where the value came from is the value
 *   2 backward  use counts of what is left: dead code goes
 *   3 forward   which values could stay partial sums (linear ops on all_reduce results with one use)
 *   4 backward  which do: those that flow into a sum of partial sums over the same axes; at the
 * levels that are costed also
 *               those that a loop accumulates: they are reduced behind the loop
 *   5 forward   write: chains of reshards are planned again from end to end, all_reduce + all_slice becomes
 *               reduce_scatter, a sum of partial sums is reduced once, and a scalar's broadcast (the zeros that a scatter
 *               adds to) is not moved but made again where it is wanted
 *
 * Gathers of parameters are not shared between uses: holding a gathered parameter from forward to
 * backward is what sharding parameters is meant to avoid. XLA does share them: at the compiled
 * level equal gathers are one, on TPU where they are near to each other. And there only sums of
 * what has just been reduced are reduced once, not what a scatter wrote with what another op made,
 * and nothing on CPU. */
#include "lower/optimize.h"

#include <stdlib.h>

struct optimizer *optimizer_new(void)
{
	struct optimizer *o = xcalloc(1, sizeof *o);
	index_init(&o->seen);
	index_init(&o->scatter_index);
	return o;
}

void optimizer_forget(struct optimizer *o)
{
	for (uint32_t i = 0; i < o->scatters.n; i++)
		free(o->scatters.p[i]);
	o->scatters.n = 0;
	index_clear(&o->scatter_index);
}

void optimizer_free(struct optimizer *o)
{
	if (!o)
		return;
	optimizer_forget(o);
	vec_release(&o->facts);
	vec_release(&o->moved);
	vec_release(&o->height);
	vec_release(&o->readings);
	vec_release(&o->loops);
	vec_release(&o->live);
	vec_release(&o->linear);
	index_release(&o->seen);
	index_release(&o->scatter_index);
	vec_release(&o->scatters);
	free(o);
}

/* ---------------------------------------------------------------- 5: writing */

static lval_id now_of(const pass *p, lval_id v) { return p->f[p->f[v].alias].now; }
static lop_id moved_region(const pass *p, const lop *o)
{
	return o->region == ID_NONE ? ID_NONE : p->moved[o->region];
}

static lval_id write_all_reduce(pass *p, const collective_step *s, lval_id v, const lop *like)
{
	return lowered_add_collective(
		p->out, s, v, p->out->vals.p[v].bytes, like->node, moved_region(p, like));
}

/* Read by a reshard alone, and not by one inside a loop around which v was made. */
static bool feeds_reshard(const pass *p, lval_id v)
{
	const lop *ops = p->in->ops.p;
	const fact *f = &p->f[v];
	return f->uses == 1 && is_reshard(&ops[f->user]) &&
		p->f[ops[f->user].results].again == ID_NONE &&
		ops[f->user].region == ops[p->in->vals.p[v].def].region;
}

/* v := all_reduce(x), now or by the reshards that follow. */
static void finish_reduce(pass *p, lval_id v, lval_id x, const collective_step *s, const lop *like)
{
	p->f[v].now = x;
	if (feeds_reshard(p, v))
		p->f[v].pending = s;
	else
		p->f[v].now = write_all_reduce(p, s, x, like);
}

static lval_id write_step(
	pass *p, const collective_step *s, lval_id x, int64_t bytes, node_id by, lop_id region)
{
	bool by_axis = s->kind == COLL_REDUCE_SCATTER && p->target == TARGET_TPU &&
		cache_reduces_whole(p->c, s->axes);
	const split_entry *e =
		p->level == LEVEL_EXACT ? cache_split(p->c, s, p->out->vals.p[x].type, by_axis) : NULL;
	for (uint32_t i = 0; e && i < e->n; i++)
		x = lowered_add_collective(p->out, &e->steps[i], x, e->bytes[i], by, region);
	return e ? x : lowered_add_collective(p->out, s, x, bytes, by, region);
}

/* Do an all_reduce and the slice behind it become a reduce_scatter? Over all devices XLA for TPU
 * would make an all_reduce of it again. Our own program has that where memory is no question, else
 * a reduce_scatter axis by axis (write_step): it keeps no whole sum, but has one link where the
 * other has two. In a torus of three dims the all_reduce has more links still. */
static bool forms_scatter(const pass *p, const collective_step *reduce)
{
	if (p->level == LEVEL_COMPILED)
		return p->target != TARGET_CPU;
	return p->level != LEVEL_EXACT || p->target != TARGET_TPU ||
		!cache_reduces_whole(p->c, reduce->axes) ||
		(p->c->torus_dims == 2 && p->c->reshards_after_forward);
}

/* Are these the last axes of the mesh, all of their devices? Their groups are neighbours then. */
static bool are_last_axes(const lower_cache *c, axes a)
{
	const device_mesh *mesh = &c->t->meshes.p[c->mesh];
	int64_t found = 1, all = axes_product(a);
	for (uint32_t k = mesh->n_axes; k-- && found < all;) {
		if (!overlaps_any(a, mesh_full_axis(c->t, c->mesh, k)))
			return false;
		found *= mesh->axis_sizes[k];
	}
	return found == all;
}

/* Does XLA for GPU split a sum over all devices, of which v is a slice by some of the axes? Its
 * AllReduceSplitter wants these to be the last ones, and one reader of the slice. It also wants
 * another all_reduce over the same devices as one of the two that come out, which is not asked
 * here: training steps have one. */
static bool splits_reduce(const pass *p, const scatter_entry *s, lval_id v)
{
	return p->target == TARGET_GPU && p->c->mesh != ID_NONE && p->f[v].uses == 1 &&
		axes_product(s->reduced) == p->c->t->meshes.p[p->c->mesh].n_devices && !s->has_rest &&
		are_last_axes(p->c, s->scatter.axes);
}

/* Does a sum of an op, which is wanted as v, become this scatter? XLA's partitioner scatters sums
 * of contractions, convolutions too, along the axes by which the result is cut, and reduces them
 * over the others behind that. Sums of all other ops are scattered over all of their axes or not at
 * all, but where XLA for GPU splits the sum. No sum is scattered along two dims:
 * ReduceScatterCreator wants a slice of one. */
static bool scatters(const pass *p, const lop *reducer, const scatter_entry *s, lval_id v)
{
	uint16_t kind = kind_of(p, reducer);
	if (p->level != LEVEL_COMPILED)
		return !s->left.n;
	if (s->n_dims > 1)
		return false;
	return !s->left.n || kind == OP_DOT_GENERAL || kind == OP_DOT || kind == OP_CONVOLUTION ||
		splits_reduce(p, s, v);
}

/* x, perhaps an unfinished sum over `reduce`, from one sharding to another on behalf of o. */
static lval_id write_plan(pass *p, lval_id x, const collective_step *reduce, const lop *reducer,
	sharding_id from, lval_id v, const lop *o)
{
	const lval *to = &p->in->vals.p[v];
	const reshard_entry *e = cache_reshard(p->c, from, to->sharding, to->type);
	lop_id region = moved_region(p, o);
	uint32_t i = 0;
	if (reduce) {
		const scatter_entry *s =
			forms_scatter(p, reduce) && e->plan.n && e->plan.steps[0].kind == COLL_ALL_SLICE
			? pass_find_scatter(p, reduce->axes, &e->plan.steps[0], to->type)
			: NULL;
		if (s && scatters(p, reducer, s, v)) {
			x = write_step(p, &s->scatter, x, s->scatter_bytes, reducer->node, region);
			if (s->left.n)
				x = write_all_reduce(
					p, cache_reduce_step(p->c, s->left, s->scatter.out), x, reducer);
			if (s->has_rest)
				x = lowered_add_collective(p->out, &s->rest, x, s->rest_bytes, o->node, region);
			i = 1;
		} else {
			x = write_all_reduce(p, reduce, x, reducer);
		}
	}
	for (; i < e->plan.n; i++)
		x = write_step(p, &e->plan.steps[i], x, e->bytes[i], o->node, region);
	p->out->vals.p[x].sharding = to->sharding;
	return x;
}

/* The broadcast of a scalar once more, as v is wanted. */
static lval_id write_again(pass *p, const lop *broadcast, lval_id v, const lop *o)
{
	const lowered *l = p->in;
	const lval *made = &l->vals.p[broadcast->results], *to = &l->vals.p[v];
	uint32_t rank = type_get(p->c->p->m, l->vals.p[operand_of(l, broadcast, 0)].type)->rank;
	sharding_id slots[2] = {p->c->replicated[rank], to->sharding};
	lop_id n = lowered_add_op(p->out, LOP_COMPUTE, broadcast->node, moved_region(p, o));
	p->out->ops.p[n].plan = &cache_node(p->c, broadcast->node, slots)->plan;
	lowered_add_operand(p->out, n, now_of(p, operand_of(l, broadcast, 0)));
	return lowered_add_result(p->out, n, made->origin, to->sharding, to->type, to->bytes);
}

static void write_reshards(pass *p, const lop *o)
{
	const lowered *l = p->in;
	lval_id v = o->results;
	if (p->f[v].again != ID_NONE) {
		p->f[v].now = write_again(p, &l->ops.p[p->f[v].again], v, o);
		return;
	}
	lval_id from = p->f[operand_of(l, o, 0)].alias, base = p->f[from].base;
	if (p->f[v].need) {
		p->f[v].now = p->f[from].now;
		return;
	}
	if (feeds_reshard(p, v)) {
		p->f[v].base = base; /* the last of the chain plans it from end to end */
		return;
	}
	p->f[v].now = write_plan(p, p->f[base].now, p->f[base].pending, &l->ops.p[l->vals.p[base].def],
		l->vals.p[base].sharding, v, o);
}

/* The result of an op on partial sums: still one, or summed here and brought to where it is wanted.
 */
static void finish_partial(pass *p, const lop *o)
{
	lval_id v = o->results, x = p->f[v].now;
	const fact *f = &p->f[v];
	if (!f->partial || (!f->sum && !f->need))
		return;
	lval *now = &p->out->vals.p[x];
	if (now->sharding != f->at) {
		sharding_id slots[3] = {f->at, f->at, f->at};
		if (kind_of(p, o) == OP_TRANSPOSE)
			slots[0] = p->f[p->f[operand_of(p->in, o, 0)].alias].at;
		p->out->ops.p[now->def].plan = &cache_node(p->c, o->node, slots)->plan;
		now->sharding = f->at;
		now->bytes = cache_bytes(p->c, now->origin, f->at);
	}
	if (f->need)
		return;
	const collective_step *s = cache_reduce_step(p->c, f->partial->axes, f->at);
	if (f->at == p->in->vals.p[v].sharding)
		finish_reduce(p, v, x, s, o);
	else
		p->f[v].now = write_plan(p, x, s, o, f->at, v, o);
}

static void reduce_carried(pass *p, lval_id v, const lop *end)
{
	const fact *f = &p->f[v];
	if (f->carried_as == ID_NONE || feeds_reshard(p, v)) {
		finish_reduce(p, v, f->now, f->carried, end);
		return;
	}
	int64_t bytes = type_bytes(p->c, f->carried->out, f->carried_as);
	lval_id x =
		lowered_add_collective(p->out, f->carried, f->now, bytes, end->node, moved_region(p, end));
	lval *to = &p->out->vals.p[x];
	to->type = f->carried_as;
	p->out->ops.p[to->def].bytes = bytes;
	p->f[v].now = x;
}

static void write_op(pass *p, lop_id id)
{
	const lowered *l = p->in;
	const lop *o = &l->ops.p[id];
	lowered *out = p->out;
	lop_id n = out->ops.n;
	vec_reserve(&out->ops, n + 1);
	lop *copy = &out->ops.p[out->ops.n++];
	*copy = *o;
	copy->region = moved_region(p, o);
	copy->operands = out->operands.n;
	copy->results = out->vals.n;
	p->moved[id] = n;
	if (o->kind == LOP_COMPUTE && p->c->node_width[o->node])
		vec_push(&p->c->work->widths, n);
	vec_reserve(&out->operands, out->operands.n + o->n_operands);
	vec_reserve(&out->vals, out->vals.n + o->n_results);
	fact *f = p->f;
	const lval_id *operands = l->operands.p + o->operands;
	lval_id *reads = out->operands.p + out->operands.n, first = out->vals.n;
	lval *vals = out->vals.p;
	for (uint32_t k = 0; k < o->n_operands; k++) {
		reads[k] = f[f[operands[k]].alias].now;
		vals[reads[k]].n_uses++;
	}
	out->operands.n += o->n_operands;
	for (uint32_t r = 0; r < o->n_results; r++) {
		vals[first + r] = l->vals.p[o->results + r];
		vals[first + r].def = n;
		vals[first + r].n_uses = 0;
		f[o->results + r].now = first + r;
	}
	out->vals.n += o->n_results;
	if (p->sums && o->kind == LOP_COMPUTE && o->n_results == 1)
		finish_partial(p, o);
	for (lval_id v = o->results; o->kind == LOP_REGION_END && v < o->results + o->n_results; v++)
		if (p->f[v].carried)
			reduce_carried(p, v, o);
}

/* ---------------------------------------------------------------- what stays as it is: stretches
 * of ops between collectives */

typedef struct stretch {
	lop_id first, n_ops;
	lval_id first_val, n_vals;
	uint32_t first_operand, n_operands;
	uint32_t ops, vals, operands; /* how much later they are in the new program, modulo 2^32 */
} stretch;

static bool is_kept(const pass *p, lop_id id)
{
	const lop *o = &p->in->ops.p[id];
	return p->live[id] && o->kind == LOP_COMPUTE &&
		!(p->sums && o->n_results == 1 && p->f[o->results].partial);
}

/* From first on, up to end. Operands and results of neighbours are neighbours too. */
static stretch find_kept(const pass *p, lop_id first, lop_id end)
{
	stretch t = {.first = first};
	while (first + t.n_ops < end && is_kept(p, first + t.n_ops))
		t.n_ops++;
	if (!t.n_ops)
		return t;
	const lop *from = &p->in->ops.p[first], *last = &from[t.n_ops - 1];
	t.first_val = from->results;
	t.n_vals = last->results + last->n_results - from->results;
	t.first_operand = from->operands;
	t.n_operands = last->operands + last->n_operands - from->operands;
	t.ops = p->out->ops.n - first;
	t.vals = p->out->vals.n - from->results;
	t.operands = p->out->operands.n - from->operands;
	return t;
}

static void write_kept_ops(pass *p, const stretch *t)
{
	const lop *from = &p->in->ops.p[t->first];
	lop_id region = moved_region(p, from),
		   first = p->out->ops.n; /* no border of a region is among them */
	vec_reserve(&p->out->ops, first + t->n_ops);
	lop *to = memcpy(p->out->ops.p + first, from, t->n_ops * sizeof *to);
	for (uint32_t k = 0; k < t->n_ops; k++) {
		to[k].region = region;
		to[k].operands += t->operands;
		to[k].results += t->vals;
		if (p->c->node_width[to[k].node])
			vec_push(&p->c->work->widths, first + k);
	}
	p->out->ops.n += t->n_ops;
}

static void write_kept_vals(pass *p, const stretch *t)
{
	lval_id first = p->out->vals.n;
	vec_reserve(&p->out->vals, first + t->n_vals);
	lval *to = p->out->vals.p + first;
	fact *f = p->f + t->first_val;
	if (t->n_vals)
		memcpy(to, p->in->vals.p + t->first_val, t->n_vals * sizeof *to);
	for (uint32_t k = 0; k < t->n_vals; k++) {
		to[k].def += t->ops;
		to[k].n_uses = 0;
		f[k].now = first + k;
	}
	p->out->vals.n += t->n_vals;
}

/* Behind write_kept_vals: ops read each other's results. */
static void write_kept_operands(pass *p, const stretch *t)
{
	vec_reserve(&p->out->operands, p->out->operands.n + t->n_operands);
	const lval_id *from = p->in->operands.p + t->first_operand;
	lval_id *to = p->out->operands.p + p->out->operands.n;
	lval *vals = p->out->vals.p;
	const fact *f = p->f;
	for (uint32_t k = 0; k < t->n_operands; k++) {
		to[k] = f[f[from[k]].alias].now;
		vals[to[k]].n_uses++;
	}
	p->out->operands.n += t->n_operands;
}

/* Returns the first op behind them. */
static lop_id write_kept(pass *p, lop_id first, lop_id end)
{
	stretch t = find_kept(p, first, end);
	if (t.n_ops) {
		write_kept_ops(p, &t);
		write_kept_vals(p, &t);
		write_kept_operands(p, &t);
	}
	return first + t.n_ops;
}

/* ---------------------------------------------------------------- all of it */

static void write_all(pass *p)
{
	const lowered *l = p->in;
	lop_id start = l->starts.n ? l->starts.p[0] : ID_NONE; /* the next one */
	for (lop_id i = 0; (i = write_kept(p, i, MIN(start, l->ops.n))) < l->ops.n; i++) {
		const lop *o = &l->ops.p[i];
		for (; start <= i;
			 start = p->out->starts.n < l->starts.n ? l->starts.p[p->out->starts.n] : ID_NONE)
			vec_push(&p->out->starts, p->out->ops.n);
		if (!p->live[i])
			continue;
		if (is_reshard(o)) {
			write_reshards(p, o);
		} else if (is_all_reduce(o)) {
			lval_id v = o->results, x = now_of(p, operand_of(l, o, 0));
			if (p->f[v].need) {
				p->f[v].now = x;
				continue;
			}
			if (o->reduction == 0) {
				finish_reduce(p, v, x, o->step, o);
			} else {
				p->f[v].now = write_all_reduce(p, o->step, x, o);
				p->out->ops.p[p->out->ops.n - 1].reduction = o->reduction;
			}
		} else {
			write_op(p, i);
		}
	}
	for (uint32_t i = 0; i < l->results.n; i++)
		vec_push(&p->out->results, now_of(p, l->results.p[i]));
}

void lowered_optimize(
	lower_cache *c, lower_level level, lower_target target, const lowered *placed, lowered *out)
{
	struct optimizer *o = c->work->optimizer;
	vec_reserve(&o->facts, placed->vals.n);
	vec_reserve(&o->moved, placed->ops.n);
	vec_reserve(&o->live, placed->ops.n);
	vec_reserve(&out->ops, placed->ops.n);
	vec_reserve(&out->vals, placed->vals.n);
	vec_reserve(&out->operands, placed->operands.n);
	pass p = {.c = c,
		.o = o,
		.f = o->facts.p,
		.in = placed,
		.out = out,
		.moved = o->moved.p,
		.live = o->live.p,
		.level = level,
		.target = target};
	p.regions = c->work->regions;
	c->work->widths.n = 0;
	pass_share_reshards(&p);
	pass_count_uses(&p);
	if (p.all_reduces)
		pass_find_partial(&p);
	if (p.sums)
		pass_choose_partial(&p);
	if ((level == LEVEL_EXACT || (level == LEVEL_COMPILED && target != TARGET_CPU)) &&
		p.all_reduces && p.regions)
		pass_find_carried(&p);
	write_all(&p);
}
