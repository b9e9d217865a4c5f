/* Facts of lowering that depend on interned inputs only: plans of nodes, reshards, local sizes.
 * Looked up in the loop that builds a per-device program; computed once each. */
#include "lower/internal.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- plain shardings */

static sharding_id make_plain(lower_cache *c, sharding_id id, bool *unreduced)
{
	sharding_edit e;
	sharding_to_edit(c->t, id, &e);
	for (uint32_t d = 0; d < e.rank; d++) {
		e.dims[d].closed = true;
		e.dims[d].priority = -1;
	}
	e.mesh = c->mesh;
	e.replicated.n = 0;
	*unreduced = e.unreduced.n;
	c->unreduced |= *unreduced;
	return sharding_intern(c->t, &e);
}

sharding_id cache_find_plain(lower_cache *c, sharding_id id)
{
	while (c->plain.n < c->t->shardings.n)
		vec_push(&c->plain, (struct plain_entry){SHARDING_NONE, SHARDING_NONE, false});
	bool unreduced;
	sharding_id plain = make_plain(c, id, &unreduced);
	c->plain.p[id] = (struct plain_entry){plain, c->plain.p[id].bare, unreduced};
	return plain;
}

sharding_id cache_bare(lower_cache *c, sharding_id plain)
{
	cache_plain(c, plain, 0);
	if (c->plain.p[plain].bare != SHARDING_NONE)
		return c->plain.p[plain].bare;
	sharding_edit e;
	sharding_to_edit(c->t, plain, &e);
	for (uint32_t d = 0; d < e.rank; d++) {
		axes_buf *l = &e.dims[d].axes;
		uint32_t n = 0;
		for (uint32_t i = 0; i < l->n; i++)
			if (axis_size(l->a[i]) > 1)
				l->a[n++] = l->a[i];
		l->n = n;
	}
	sharding_id bare = sharding_intern(c->t, &e);
	c->plain.p[plain].bare = bare;
	return bare;
}

/* ---------------------------------------------------------------- arguments and results of main */

static sharding_id make_io(const lower_cache *c, sharding_id id, const ir_type *ty)
{
	if (id == SHARDING_NONE || ty->kind != TYPE_TENSOR)
		return id;
	sharding_edit e;
	sharding_to_edit(c->t, sharding_divisible_part(c->t, id, ty), &e);
	for (uint32_t d = 0; d < e.rank; d++) {
		axes_buf *l = &e.dims[d].axes;
		for (uint32_t i = 0; i < l->n && !e.dims[d].closed; i++)
			if (axis_size(l->a[i]) != c->t->meshes.p[e.mesh].axis_sizes[axis_index(l->a[i])])
				l->n = i;
	}
	return sharding_intern(c->t, &e);
}

sharding_id cache_io(lower_cache *c, sharding_id id, type_id type)
{
	struct io_entry *e = &c->io[hash_mix((uint64_t)id << 32 | type) & (IO_SLOTS - 1)];
	if (!e->known || e->in != id || e->type != type)
		*e = (struct io_entry){id, make_io(c, id, type_get(c->p->m, type)), type, true};
	return e->out;
}

/* ---------------------------------------------------------------- sizes */

int64_t type_bytes(const lower_cache *c, sharding_id id, type_id type)
{
	return sharding_local_bytes(c->t, id, type_get(c->p->m, type));
}

int64_t cache_bytes(lower_cache *c, pval_id v, sharding_id plain)
{
	if (c->bytes[v].sharding != plain)
		c->bytes[v] = (struct byte_entry){plain, type_bytes(c, plain, c->p->vals.p[v].type)};
	return c->bytes[v].bytes;
}

/* ---------------------------------------------------------------- reshards */

/* The steps of one leg after the other. */
static void plan_reshard(lower_cache *c, sharding_id from, sharding_id to, type_id type,
	bool partitioner, reshard_plan *out)
{
	enum { MAX_LEGS = 4 };
	const int64_t *dims = type_get(c->p->m, type)->dims;
	reshard_plan legs[MAX_LEGS];
	uint32_t n = 0, n_steps = 0;
	while (n < MAX_LEGS && from != to) {
		bool last = !partitioner || n + 1 == MAX_LEGS;
		sharding_id half = last ? SHARDING_NONE : partition_halfway(c->t, from, to);
		half = half == SHARDING_NONE ? to : cache_plain(c, half, 0);
		reshard_steps(c->t, from, half, dims, &c->mem, &legs[n]);
		n_steps += legs[n++].n;
		from = half;
	}
	collective_step *steps = arena_array(&c->mem, collective_step, n_steps);
	*out = (reshard_plan){0, steps};
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < legs[i].n; k++)
			steps[out->n++] = legs[i].steps[k];
}

const reshard_entry *cache_reshard(lower_cache *c, sharding_id from, sharding_id to, type_id type)
{
	bool partitioner = c->planner == PLANNER_XLA;
	uint64_t h = hash_combine((uint64_t)from << 32 | to, (uint64_t)type << 1 | partitioner);
	uint32_t id;
	for (uint32_t it = index_first(&c->reshard_index, h);
		 index_next(&c->reshard_index, h, &it, &id);) {
		const reshard_entry *e = c->reshards.p[id];
		if (e->from == from && e->to == to && e->type == type && e->partitioner == partitioner)
			return e;
	}
	reshard_entry *e = arena_array(&c->mem, reshard_entry, 1);
	*e = (reshard_entry){.from = from, .to = to, .type = type, .partitioner = partitioner};
	plan_reshard(c, from, to, type, partitioner, &e->plan);
	int64_t *bytes = arena_array(&c->mem, int64_t, e->plan.n);
	for (uint32_t i = 0; i < e->plan.n; i++)
		bytes[i] = type_bytes(c, e->plan.steps[i].out, type);
	e->bytes = bytes;
	index_add(&c->reshard_index, h, c->reshards.n);
	vec_push(&c->reshards, e);
	return e;
}

const reshard_plan *lower_reshard(lower_cache *c, sharding_id from, sharding_id to, type_id type)
{
	uint32_t rank = type_get(c->p->m, type)->rank;
	return &cache_reshard(c, cache_plain(c, from, rank), cache_plain(c, to, rank), type)->plan;
}

const collective_step *cache_reduce_step(lower_cache *c, axes list, sharding_id at)
{
	uint64_t h = hash_combine(hash_bytes(list.a, list.n * sizeof *list.a, at), list.n);
	uint32_t id;
	for (uint32_t it = index_first(&c->step_index, h); index_next(&c->step_index, h, &it, &id);)
		if (c->reduce_steps.p[id]->in == at && axes_equal(c->reduce_steps.p[id]->axes, list))
			return c->reduce_steps.p[id];
	axis_ref *a = arena_array(&c->mem, axis_ref, list.n);
	memcpy(a, list.a, list.n * sizeof *a);
	collective_step *s = arena_array(&c->mem, collective_step, 1);
	*s = (collective_step){.kind = COLL_ALL_REDUCE, .in = at, .out = at, .axes = {a, list.n}};
	index_add(&c->step_index, h, c->reduce_steps.n);
	vec_push(&c->reduce_steps, s);
	return s;
}

/* ---------------------------------------------------------------- nodes */

static bool is_dot(uint16_t kind) { return kind == OP_DOT_GENERAL || kind == OP_DOT; }

static bool is_planned(const lower_cache *c, const node *n)
{
	return n->kind == NODE_OP && n->rule != RULE_NONE && !rule_get(c->p->rules, n->rule)->custom &&
		!is_reshard_op(n->op_kind);
}

static uint64_t node_hash(const program *p, const node *n)
{
	uint64_t h =
		hash_combine(hash_combine(n->rule, n->elementwise ? 0 : n->op_kind), halo_hash(p, n));
	for (uint32_t i = 0; i < (uint32_t)n->n_operands + n->n_results; i++)
		h = hash_combine(h, p->vals.p[p->slots.p[n->slots + i]].type);
	return h;
}

static bool same_class(const program *p, const node *a, const node *b)
{
	if (a->rule != b->rule || a->n_operands != b->n_operands || a->n_results != b->n_results ||
		a->elementwise != b->elementwise || !halo_alike(p, a, b) || !emit_alike(p, a, b))
		return false;
	for (uint32_t i = 0; i < (uint32_t)a->n_operands + a->n_results; i++)
		if (p->vals.p[p->slots.p[a->slots + i]].type != p->vals.p[p->slots.p[b->slots + i]].type)
			return false;
	return true;
}

static uint32_t find_class(lower_cache *c, node_id n)
{
	const program *p = c->p;
	uint64_t h = node_hash(p, &p->nodes.p[n]);
	uint32_t id;
	for (uint32_t it = index_first(&c->class_index, h); index_next(&c->class_index, h, &it, &id);)
		if (same_class(p, &p->nodes.p[c->classes.p[id]], &p->nodes.p[n]))
			return id;
	index_add(&c->class_index, h, c->classes.n);
	vec_push(&c->classes, n);
	return c->classes.n - 1;
}

/* Results of a reduction are all reduced alike by the one op of its body; contractions and gathers
 * add. */
static uint8_t reduction_of(const module *m, op_id o)
{
	enum { ADD, MAX, MIN, OTHER };
	const ir_op *op = op_at(m, o);
	if ((op->kind != OP_REDUCE && op->kind != OP_SCATTER && op->kind != OP_REDUCE_WINDOW) ||
		!op->n_regions)
		return ADD;
	uint8_t found = UINT8_MAX;
	for (op_id b = op_region(m, o, 0)->first; b != ID_NONE; b = op_at(m, b)->next) {
		uint16_t kind = op_at(m, b)->kind;
		if (op_infos[kind].flags & OPF_TERMINATOR)
			continue;
		uint8_t one = kind == OP_ADD ? ADD
			: kind == OP_MAXIMUM     ? MAX
			: kind == OP_MINIMUM     ? MIN
									 : OTHER;
		found = found == UINT8_MAX || found == one ? one : OTHER;
	}
	return found == UINT8_MAX ? OTHER : found;
}

static type_id slot_type_id(const lower_cache *c, const node *n, uint32_t slot)
{
	return c->p->vals.p[c->p->slots.p[n->slots + slot]].type;
}

/* An op that the program of one device may have to run on whole operands. */
static bool has_parts(const lower_cache *c, const node *n, const sharding_id *at)
{
	if (n->kind != NODE_OP || is_reshard_op(n->op_kind) || !n->n_operands)
		return false;
	for (uint32_t i = 0; i < (uint32_t)n->n_operands + n->n_results; i++)
		if (!sharding_is_replicated(c->t, at[i]) || sharding_get(c->t, at[i])->n_unreduced)
			return true;
	return false;
}

/* Is an operand cut along a dim that the op needs all of? */
static bool needs_more(const lower_cache *c, const node *n, const sharding_id *slots)
{
	const rule *r = rule_get(c->p->rules, n->rule);
	for (uint32_t i = 0; i < n->n_operands; i++) {
		const sharding *s = sharding_get(c->t, slots[i]);
		for (uint32_t d = 0; d < s->rank; d++) {
			const struct rule_dim *dim = &r->dims[r->tensor_first[i] + d];
			for (uint32_t k = 0; k < dim->n; k++)
				if (r->factor_types[r->dim_factors[dim->first + k]] == FACTOR_NEED_REPLICATION &&
					sharding_dim(s, d).n)
					return true;
		}
	}
	return false;
}

/* XLA for GPU and CPU transforms whole values (jax 0.10.2); libtpu makes products of it first. What
 * finds the largest of parts takes whole ones where some devices have the same part. */
static bool works_whole(const lower_cache *c, node_id id, sharding_id in)
{
	const node *n = &c->p->nodes.p[id];
	if (n->op_kind == OP_FFT)
		return c->target != TARGET_TPU;
	if (n->op_kind != OP_CHLO_TOP_K)
		return false;
	switch (top_k_way_of_op(c->p, id, c->target)) {
	case TOP_K_SORT: return false;
	case TOP_K_WHOLE:
	case TOP_K_PACKED: return true;
	case TOP_K_OF_PARTS: break;
	}
	int64_t parts = 1;
	const sharding *s = sharding_get(c->t, in);
	for (uint32_t d = 0; d < s->rank; d++)
		parts *= sharding_dim_parts(s, d);
	return parts < c->t->meshes.p[c->mesh].n_devices;
}

/* A top_k that works where its operand is, cut along the dim that it looks through: each result has
 * the largest of a device's part, and is gathered. Returns what it is gathered to, of which the
 * largest are taken again; SHARDING_NONE: it does not. */
static sharding_id find_candidates(const lower_cache *c, node_id id, sharding_id *at)
{
	const node *n = &c->p->nodes.p[id];
	if (n->op_kind != OP_CHLO_TOP_K || c->planner == PLANNER_SHARDY)
		return SHARDING_NONE;
	const sharding *s = sharding_get(c->t, at[0]);
	uint32_t last = s->rank - 1;
	if (!s->rank || !s->dims[last].n || s->n_unreduced)
		return SHARDING_NONE;
	const ir_type *keys = type_get(c->p->m, slot_type_id(c, n, 0)),
				  *found = type_get(c->p->m, slot_type_id(c, n, n->n_operands));
	bool takes = c->planner == PLANNER_EXACT
		? top_k_moves_less(keys, found->dims[last], sharding_dim_parts(s, last))
		: top_k_way_of_op(c->p, id, c->target) == TOP_K_OF_PARTS && !works_whole(c, id, at[0]);
	if (!takes)
		return SHARDING_NONE;
	for (uint32_t r = 0; r < n->n_results; r++)
		at[n->n_operands + r] = at[0];
	sharding_edit e;
	sharding_to_edit(c->t, at[0], &e);
	e.dims[last].axes.n = 0;
	return sharding_intern(c->t, &e);
}

/* Of a convolution, what explicit_op.windowed, wide and depthwise say. */
static void find_windows(const lower_cache *c, const node *n, explicit_op *op)
{
	const module *m = c->p->m;
	op_id o = n->op;
	const ir_type *kernel = type_get(m, slot_type_id(c, n, 1));
	static const char *const names[] = {"dimension_numbers.input_spatial_dimensions",
		"dimension_numbers.kernel_spatial_dimensions",
		"dimension_numbers.output_spatial_dimensions"};
	bool features = op_int(m, o, "feature_group_count", 1) > 1,
		 grouped = features || op_int(m, o, "batch_group_count", 1) > 1;
	int64_t of_group = op_int(m, o, "dimension_numbers.kernel_input_feature_dimension", 0);
	op->depthwise = features && kernel->dims[of_group] == 1;
	for (uint32_t i = 0; i < COUNT_OF(names); i++) {
		uint32_t n_dims;
		const int64_t *dims = op_ints(m, o, names[i], &n_dims);
		op->windowed[i] = grouped ? UINT32_MAX : 0;
		for (uint32_t k = 0; k < n_dims; k++) {
			op->windowed[i] |= 1u << dims[k];
			op->wide |= i == 1 && kernel->dims[dims[k]] > 1;
		}
	}
}

/* XLA's partitioner sums a convolution's parts of images, and the parts that its windows are cut
 * into, one after the other (libtpu 0.0.51; one sum where windows have one place). all: what is
 * summed over, which loses the windows' axes where there are others, too. */
static void split_sum(const lower_cache *c, const explicit_op *op, sharding_id input, axes_buf *all,
	axes_buf *windows)
{
	const sharding *s = sharding_get(c->t, input);
	axes_buf cut, images, of_windows;
	cut.n = windows->n = 0;
	for (uint32_t d = 0; d < s->rank; d++)
		for (uint32_t i = 0; op->windowed[0] >> d & 1 && i < sharding_dim(s, d).n; i++)
			cut.a[cut.n++] = sharding_dim(s, d).a[i];
	axes_sort_merge(&cut);
	axes_difference(axes_of(all), axes_of(&cut), &images);
	axes_difference(axes_of(all), axes_of(&images), &of_windows);
	if (!images.n || !of_windows.n)
		return;
	*all = images;
	*windows = of_windows;
}

/* Does a dim of one of a rule's tensors have a factor that another tensor has, too? */
static bool shares_factor(const rule *r, uint32_t tensor, uint32_t dim, uint32_t other)
{
	const struct rule_dim *d = &r->dims[r->tensor_first[tensor] + dim];
	for (uint32_t i = r->tensor_first[other]; i < r->tensor_first[other + 1]; i++)
		for (uint32_t k = 0; k < r->dims[i].n; k++)
			for (uint32_t j = 0; j < d->n; j++)
				if (r->dim_factors[r->dims[i].first + k] == r->dim_factors[d->first + j])
					return true;
	return false;
}

/* XLA's partitioner gathers what a scatter has added up, and sums all of it, where a dim that its
 * indices have too is cut and is wanted cut further by axes to sum over (libtpu 0.0.51, XLA for
 * CPU; tests/cli/test_scatters.py). Returns the sharding without these dims, or at. */
static sharding_id gathered_first(
	lower_cache *c, const node *n, sharding_id at, sharding_id wanted, axes reduce)
{
	enum { INDICES = 1, RESULT = 3 };
	const rule *r = rule_get(c->p->rules, n->rule);
	const sharding *s = sharding_get(c->t, at), *w = sharding_get(c->t, wanted);
	sharding_edit e;
	sharding_to_edit(c->t, at, &e);
	bool some = false;
	for (uint32_t d = 0; d < s->rank; d++) {
		axes has = sharding_dim(s, d), wants = sharding_dim(w, d);
		if (!has.n || wants.n <= has.n || !axes_equal((axes){wants.a, has.n}, has) ||
			!overlaps_any(reduce, wants.a[has.n]) || !shares_factor(r, RESULT, d, INDICES))
			continue;
		e.dims[d].axes.n = 0;
		some = true;
	}
	return some ? sharding_intern(c->t, &e) : at;
}

/* Computes with at; a plan of no op keeps everything where it is. */
static plan_entry *make_plan(lower_cache *c, node_id id, const sharding_id *slots)
{
	const node *n = &c->p->nodes.p[id];
	uint32_t n_slots = (uint32_t)n->n_operands + n->n_results;
	plan_entry *e = arena_array(&c->mem, plan_entry, 1);
	sharding_id *key = arena_array(&c->mem, sharding_id, n_slots),
				*at = arena_array(&c->mem, sharding_id, n_slots);
	memcpy(key, slots, n_slots * sizeof *key);
	memcpy(at, slots, n_slots * sizeof *at);
	*e = (plan_entry){.class = c->node_class[id],
		.n_slots = n_slots,
		.planner = c->planner,
		.slots = key,
		.plan = {.at = at}};
	axes_buf reduce = {.n = 0}, windows = {.n = 0};
	sharding_id after = SHARDING_NONE, largest = SHARDING_NONE;
	if (is_planned(c, n)) {
		arena_mark mark = arena_save(&c->scratch);
		int64_t *sizes = arena_array(&c->scratch, int64_t, n_slots);
		sharding_id *in = arena_array(&c->scratch, sharding_id, n_slots);
		memcpy(in, slots, n_slots * sizeof *in);
		for (uint32_t i = 0; i < n_slots; i++)
			sizes[i] = pval_type(c->p, c->p->slots.p[n->slots + i])->elements;
		explicit_op op = {.rule = rule_get(c->p->rules, n->rule),
			.op_kind = n->op_kind,
			.sizes = sizes,
			.in = in,
			.mesh = c->mesh,
			.partitioner = c->planner == PLANNER_XLA,
			.whole = works_whole(c, id, slots[0])};
		if (n->op_kind == OP_CONVOLUTION)
			find_windows(c, n, &op);
		if (is_dot(n->op_kind)) {
			in[2] = cache_plain(c, explicit_dot_result(c->t, &op, &c->scratch), 0);
			if (in[2] != slots[2])
				e->via = in[2];
		}
		after = largest = find_candidates(c, id, at);
		if (largest == SHARDING_NONE)
			after = explicit_shardings(c->t, &op, &c->scratch, at, &reduce);
		if (op.wide && op.partitioner)
			split_sum(c, &op, at[0], &reduce, &windows);
		arena_rewind(&c->scratch, mark);
	}
	int64_t *bytes = arena_array(&c->mem, int64_t, n_slots);
	for (uint32_t i = 0; i < n_slots; i++)
		at[i] = cache_plain(c, at[i], type_get(c->p->m, slot_type_id(c, n, i))->rank);
	e->plan.whole = c->planner == PLANNER_EXACT && largest == SHARDING_NONE && is_planned(c, n) &&
		needs_more(c, n, slots);
	if (c->planner == PLANNER_EXACT && has_parts(c, n, at) &&
		!emit_runs_on_parts(c->p, c->t, id, &(node_plan){.at = at, .reduce = axes_of(&reduce)})) {
		for (uint32_t i = 0; i < n_slots; i++)
			at[i] = c->replicated[type_get(c->p->m, slot_type_id(c, n, i))->rank];
		reduce.n = 0;
		e->via = SHARDING_NONE;
		e->plan.whole = true;
	}
	for (uint32_t i = 0; i < n_slots; i++)
		bytes[i] = type_bytes(c, i < n->n_operands || largest == SHARDING_NONE ? at[i] : largest,
			slot_type_id(c, n, i));
	e->bytes = bytes;
	if (c->planner != PLANNER_SHARDY && is_planned(c, n))
		e->halo = halo_of(c, n, at);
	if (reduce.n) {
		collective_step *steps = arena_array(&c->mem, collective_step, n->n_results);
		for (uint32_t i = 0; i < n->n_results; i++) {
			sharding_id summed = at[n->n_operands + i];
			if (c->planner == PLANNER_XLA && n->op_kind == OP_SCATTER && n->n_operands == 3)
				summed = gathered_first(c, n, summed, slots[n->n_operands], axes_of(&reduce));
			steps[i] = *cache_reduce_step(c, axes_of(&reduce), summed);
			if (summed != at[n->n_operands + i])
				e->gather_first =
					cache_reshard(c, at[n->n_operands], summed, slot_type_id(c, n, n->n_operands));
		}
		e->plan.reduce = steps[0].axes;
		e->reduce = steps;
		if (windows.n)
			e->reduce_windows = cache_reduce_step(c, axes_of(&windows), at[n->n_operands]);
	}
	if (after != SHARDING_NONE) {
		e->gather = arena_array(&c->mem, const reshard_entry *, n->n_results);
		for (uint32_t i = n->n_operands; i < n_slots; i++)
			e->gather[i - n->n_operands] =
				cache_reshard(c, at[i], cache_plain(c, after, 0), slot_type_id(c, n, i));
	}
	e->still = n->n_results == 1 && !e->gather && !e->halo && !e->reduce &&
		e->via == SHARDING_NONE && same_slots(at, key, n_slots);
	return e;
}

const plan_entry *cache_find_plan(
	lower_cache *c, node_id n, const sharding_id *slots, uint32_t n_slots)
{
	uint32_t class = c->node_class[n];
	uint64_t h = (uint64_t) class << 2 | c->planner;
	for (uint32_t i = 0; i < n_slots; i++)
		h = (h ^ slots[i]) * 0x9e3779b97f4a7c15ull ^ h >> 29;
	h = hash_mix(h);
	uint32_t id;
	for (uint32_t it = index_first(&c->plan_index, h); index_next(&c->plan_index, h, &it, &id);) {
		const plan_entry *e = c->plans.p[id];
		if (e->class == class && e->planner == c->planner && same_slots(e->slots, slots, n_slots))
			return c->last[n] = e;
	}
	plan_entry *e = make_plan(c, n, slots);
	index_add(&c->plan_index, h, c->plans.n);
	vec_push(&c->plans, e);
	return c->last[n] = e;
}

/* ---------------------------------------------------------------- the cache */

static uint64_t next_facts(void)
{
	static _Atomic uint64_t number;
	return ++number;
}

lower_cache *lower_cache_new(const program *p, sharding_table *t)
{
	lower_cache *c = xcalloc(1, sizeof *c);
	c->p = p;
	c->t = t;
	c->mesh = p->mesh;
	c->torus_dims = 2;
	const device_mesh *m = c->mesh == ID_NONE ? NULL : &t->meshes.p[c->mesh];
	for (uint32_t i = 0; m && i < m->n_axes; i++)
		c->ones |= m->axis_sizes[i] == 1;
	arena_init(&c->mem);
	c->facts = next_facts();
	arena_init(&c->scratch);
	arena_init(&c->keep);
	index_init(&c->reshard_index);
	index_init(&c->plan_index);
	index_init(&c->class_index);
	index_init(&c->step_index);
	index_init(&c->split_index);
	sharding_edit e;
	for (uint32_t rank = 0; rank <= MAX_RANK; rank++) {
		sharding_edit_init(&e, c->mesh, rank, true);
		c->replicated[rank] = sharding_intern(t, &e);
	}
	c->node_class = xcalloc(p->nodes.n + 1, sizeof *c->node_class);
	c->last = xcalloc(p->nodes.n + 1, sizeof *c->last);
	c->node_reduction = xcalloc(p->nodes.n + 1, sizeof *c->node_reduction);
	c->given = xcalloc(p->nodes.n + 1, sizeof *c->given);
	c->node_width = xcalloc(p->nodes.n + 1, sizeof *c->node_width);
	c->onto = xmalloc((p->nodes.n + 1) * sizeof *c->onto);
	memset(c->onto, 0xff, (p->nodes.n + 1) * sizeof *c->onto); /* ID_NONE */
	c->bytes = xcalloc(p->vals.n + 1, sizeof *c->bytes);
	c->io = xcalloc(IO_SLOTS, sizeof *c->io);
	c->now = xcalloc(p->vals.n + 1, sizeof *c->now);
	c->was = xmalloc((p->vals.n + 1) * sizeof *c->was);
	memset(c->was, 0xff, (p->vals.n + 1) * sizeof *c->was); /* no sharding */
	for (node_id n = p->main_first; n < p->main_end; n++) {
		c->node_class[n] = find_class(c, n);
		c->node_reduction[n] = reduction_of(p->m, p->nodes.p[n].op);
		c->given[n] = given_step(c, n);
		if (c->node_reduction[n] == 0)
			scatter_find_onto(p, n, c->onto);
		uint16_t kind = p->nodes.p[n].op_kind;
		bool rounds = (is_dot(kind) || kind == OP_CONVOLUTION) &&
			op_precision(p->m, p->nodes.p[n].op) == PRECISION_DEFAULT;
		c->node_width[n] = rounds   ? NODE_ROUNDS
			: kind == OP_CONVERT    ? NODE_CONVERTS
			: kind == OP_CHLO_TOP_K ? NODE_KEYS
									: 0;
	}
	c->work = xcalloc(1, sizeof *c->work);
	c->work->current = xcalloc(p->vals.n + 1, sizeof *c->work->current);
	c->work->optimizer = optimizer_new();
	return c;
}

void lower_cache_mark(lower_cache *c, const node_id *nodes, uint32_t n)
{
	c->marks = xrealloc(c->marks, (n + 1) * sizeof *c->marks);
	c->n_marks = n;
	memcpy(c->marks, nodes, n * sizeof *nodes);
	c->marks[n] = ID_NONE;
}

void lower_cache_device(
	lower_cache *c, lower_target target, uint32_t torus_dims, int64_t slice_devices)
{
	c->target = target;
	c->torus_dims = torus_dims;
	c->slice_devices = slice_devices;
}
void lower_cache_reshard_after_forward(lower_cache *c, bool on) { c->reshards_after_forward = on; }

void lower_cache_limit(lower_cache *c, size_t bytes) { c->limit = bytes; }

void cache_bound(lower_cache *c)
{
	size_t indexed = (size_t)(c->reshard_index.cap + c->plan_index.cap + c->step_index.cap +
						 c->split_index.cap) *
			(sizeof(uint64_t) + sizeof(uint32_t)) +
		nest_index_bytes(c);
	if (!c->limit || c->mem.used_bytes + indexed <= c->limit)
		return;
	arena_release(&c->mem);
	arena_init(&c->mem);
	c->facts = next_facts();
	index_clear(&c->reshard_index);
	index_clear(&c->plan_index);
	index_clear(&c->step_index);
	index_clear(&c->split_index);
	c->reshards.n = c->plans.n = c->reduce_steps.n = c->splits.n = 0;
	memset(c->last, 0, c->p->nodes.n * sizeof *c->last);
	optimizer_forget(c->work->optimizer);
	nest_forget(c);
}

void lower_cache_free(lower_cache *c)
{
	if (!c)
		return;
	free(c->marks);
	nesting_free(c->nesting);
	arena_release(&c->mem);
	arena_release(&c->scratch);
	arena_release(&c->keep);
	index_release(&c->reshard_index);
	index_release(&c->plan_index);
	index_release(&c->class_index);
	index_release(&c->step_index);
	index_release(&c->split_index);
	vec_release(&c->reshards);
	vec_release(&c->plans);
	vec_release(&c->classes);
	vec_release(&c->reduce_steps);
	vec_release(&c->splits);
	vec_release(&c->plain);
	free(c->node_class);
	free(c->last);
	free(c->node_reduction);
	free(c->node_width);
	free(c->given);
	free(c->onto);
	free(c->bytes);
	free(c->io);
	free(c->now);
	free(c->was);
	free(c->work->current);
	vec_release(&c->work->placed.ops);
	vec_release(&c->work->placed.vals);
	vec_release(&c->work->placed.operands);
	vec_release(&c->work->placed.results);
	vec_release(&c->work->placed.starts);
	vec_release(&c->work->slots);
	vec_release(&c->work->values);
	vec_release(&c->work->open);
	vec_release(&c->work->first_use);
	vec_release(&c->work->fetched);
	vec_release(&c->work->widths);
	vec_release(&c->work->rounded);
	optimizer_free(c->work->optimizer);
	free(c->work);
	free(c);
}
