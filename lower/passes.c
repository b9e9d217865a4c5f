/* The two passes that place communication in a module: sdy-insert-explicit-reshards and
 * sdy-reshard-to-collectives. */
#include "lower/internal.h"

#include <stdlib.h>

typedef struct inserter {
	module *m;
	sharding_table *t;
	rule_table rules;
	arena mem;
	bool full;
} inserter;

/* ---------------------------------------------------------------- shardings of values */

static bool is_computation(const ir_op *o)
{
	return o->kind == OP_SDY_MANUAL_COMPUTATION || o->kind == OP_SDY_NAMED_COMPUTATION;
}

static sharding_id listed(const module *m, op_id o, const char *name, uint32_t i)
{
	attr_id a = op_attr(m, o, name);
	return a != ID_NONE && attr_get(m, a)->kind == ATTR_SHARDINGS && i < attr_get(m, a)->n
		? attr_get(m, a)->shardings[i]
		: SHARDING_NONE;
}

/* A computation's sharding as its body sees it: without the manual axes. */
static sharding_id inside(module *m, op_id o, sharding_id id)
{
	attr_id names = op_attr(m, o, "manual_axes");
	if (id == SHARDING_NONE || names == ID_NONE)
		return id;
	sharding_edit e;
	sharding_to_edit(m->shardings, id, &e);
	uint64_t manual = 0;
	for (uint32_t i = 0; i < attr_get(m, names)->n; i++) {
		uint32_t axis = mesh_axis_find(
			m->shardings, e.mesh, attr_get(m, attr_get(m, names)->children[i].value)->text);
		if (axis != ID_NONE)
			manual |= 1ull << axis;
	}
	for (uint32_t d = 0; d < e.rank + 2; d++) {
		axes_buf *l = d < e.rank ? &e.dims[d].axes : d == e.rank ? &e.replicated : &e.unreduced;
		uint32_t n = 0;
		for (uint32_t i = 0; i < l->n; i++)
			if (!(manual >> axis_index(l->a[i]) & 1))
				l->a[n++] = l->a[i];
		l->n = n;
	}
	return sharding_intern(m->shardings, &e);
}

static sharding_id sharding_of(module *m, value_id v)
{
	const ir_value *at = value_at(m, v);
	op_id o = at->is_arg ? m->regions.p[at->def].parent : at->def;
	if (o == ID_NONE || (at->is_arg && op_at(m, o)->kind == OP_FUNC))
		return at->sharding;
	if (at->is_arg && op_at(m, o)->kind == OP_WHILE && at->index < op_at(m, o)->n_results)
		return value_at(m, op_result(m, o, at->index))->sharding;
	if (!is_computation(op_at(m, o)))
		return at->sharding;
	return at->is_arg ? inside(m, o, listed(m, o, "in_shardings", at->index))
					  : listed(m, o, "out_shardings", at->index);
}

/* What an op with a rule sees in an operand: Shardy looks through propagation barriers there, not
 * at returns and edges. */
static sharding_id operand_sharding(module *m, op_id o, uint32_t i)
{
	value_id v = op_operand(m, o, i);
	for (op_id def;
		 (def = value_def(m, v)) != ID_NONE && op_at(m, def)->kind == OP_SDY_PROPAGATION_BARRIER;)
		v = op_operand(m, def, 0);
	return sharding_of(m, v);
}

static axes unreduced_of(const sharding_table *t, sharding_id id)
{
	return id == SHARDING_NONE ? (axes){NULL, 0} : sharding_unreduced(sharding_get(t, id));
}

static bool same_mesh_axes(const sharding_table *t, mesh_id a, mesh_id b)
{
	const device_mesh *x = &t->meshes.p[a], *y = &t->meshes.p[b];
	return x->n_axes == y->n_axes &&
		!memcmp(x->axis_names, y->axis_names, x->n_axes * sizeof *x->axis_names) &&
		!memcmp(x->axis_sizes, y->axis_sizes, x->n_axes * sizeof *x->axis_sizes);
}

/* The same data on the same devices. */
static bool is_equivalent(const sharding_table *t, sharding_id a, sharding_id b)
{
	if (a != SHARDING_NONE && b != SHARDING_NONE &&
		!axes_equal(unreduced_of(t, a), unreduced_of(t, b)))
		return false;
	if (sharding_is_replicated(t, a) || sharding_is_replicated(t, b))
		return sharding_is_replicated(t, a) && sharding_is_replicated(t, b);
	const sharding *x = sharding_get(t, a), *y = sharding_get(t, b);
	if (x->rank != y->rank ||
		x->mesh != y->mesh) /* the same mesh under another name is another one here */
		return false;
	for (uint32_t d = 0; d < x->rank; d++)
		if (!axes_equal(sharding_dim(x, d), sharding_dim(y, d)))
			return false;
	return true;
}

static sharding_id replicated_sharding(sharding_table *t, mesh_id mesh, uint32_t rank, bool closed)
{
	sharding_edit e;
	sharding_edit_init(&e, mesh, rank, closed);
	return sharding_intern(t, &e);
}

static sharding_id closed_replicated(sharding_table *t, mesh_id mesh, uint32_t rank)
{
	return replicated_sharding(t, mesh, rank, true);
}

/* ---------------------------------------------------------------- new ops */

static op_id new_sharded(module *m, op_kind kind, value_id v, sharding_id sh)
{
	type_id type = value_at(m, v)->type;
	loc_id loc = value_at(m, v)->is_arg ? value_at(m, v)->loc : op_at(m, value_at(m, v)->def)->loc;
	op_id o = op_new(m, kind, 0, &v, 1, &type, 1, 0, loc);
	value_get(m, op_result(m, o, 0))->sharding = sh;
	return o;
}

static void print_axes_by_dim(
	const sharding_table *t, mesh_id mesh, const axes *dims, uint32_t rank, strbuf *out)
{
	strbuf_putc(out, '[');
	for (uint32_t d = 0; d < rank; d++) {
		strbuf_puts(out, d ? ", " : "");
		axes_print(t, mesh, dims[d], out);
	}
	strbuf_putc(out, ']');
}

static void set_axes_attr(
	module *m, op_id o, const char *name, const char *mnemonic, const strbuf *text)
{
	strbuf whole;
	strbuf_init(&whole);
	strbuf_printf(&whole, "#sdy<%s" STR_FMT ">", mnemonic, (int)text->n, text->p);
	const char *p = arena_strdup(&m->mem, whole.p, whole.n);
	attr a = {.kind = ATTR_ENUM,
		.type = ID_NONE,
		.text = {p, whole.n},
		.word = {p + strlen("#sdy<") + strlen(mnemonic), text->n}};
	op_attr_set(m, o, name, attr_new(m, &a));
	strbuf_release(&whole);
}

static op_id new_all_reduce(module *m, value_id v, axes list, sharding_id sh)
{
	op_id o = new_sharded(m, OP_SDY_ALL_REDUCE, v, sh);
	strbuf text;
	strbuf_init(&text);
	axes_print(m->shardings, sharding_get(m->shardings, sh)->mesh, list, &text);
	set_axes_attr(m, o, "reduction_axes", "axis_ref_list", &text);
	strbuf_release(&text);
	return o;
}

static void insert_after_value(module *m, op_id o, value_id v)
{
	const ir_value *at = value_at(m, v);
	if (!at->is_arg)
		op_insert_after(m, o, at->def);
	else
		op_insert_before(m, o, m->regions.p[at->def].first);
}

/* Before the op that stood behind `op` when its group began; ID_NONE: at the end of the region. */
static void insert_at(module *m, op_id o, op_id next, region_id r)
{
	if (next == ID_NONE)
		op_append(m, o, r);
	else
		op_insert_before(m, o, next);
}

/* ---------------------------------------------------------------- unreduced axes */

static sharding_id with_unreduced(sharding_table *t, sharding_id id, axes l)
{
	sharding_edit e;
	sharding_to_edit(t, id, &e);
	axes_copy(&e.unreduced, l);
	return sharding_intern(t, &e);
}

typedef void (*place_fn)(module *m, op_id made, op_id user, value_id read);
static void place_before_user(module *m, op_id made, op_id user, value_id read)
{
	(void)read;
	op_insert_before(m, made, user);
}
static void place_after_value(module *m, op_id made, op_id user, value_id read)
{
	(void)user;
	insert_after_value(m, made, read);
}

/* Sums operand i over its unreduced axes that the target does not take as such. */
static void reduce_operand(inserter *s, op_id o, uint32_t i, sharding_id target, place_fn place)
{
	value_id v = op_operand(s->m, o, i);
	sharding_id from = sharding_of(s->m, v);
	axes_buf missing, kept;
	axes_difference(unreduced_of(s->t, from), unreduced_of(s->t, target), &missing);
	if (!missing.n)
		return;
	axes_sort_merge(&missing);
	axes_difference(unreduced_of(s->t, from), axes_of(&missing), &kept);
	op_id made =
		new_all_reduce(s->m, v, axes_of(&missing), with_unreduced(s->t, from, axes_of(&kept)));
	place(s->m, made, o, v);
	op_set_operand(s->m, o, i, op_result(s->m, made, 0));
}

/* What the axes of a dim have beyond a prefix. */
static bool beyond_prefix(axes prefix, axes all, axes_buf *out)
{
	out->n = 0;
	if (axes_prefix(prefix, all) == PREFIX_NOT)
		return false;
	axis_ref rest;
	if (prefix.n && prefix.a[prefix.n - 1] != all.a[prefix.n - 1] &&
		axis_suffix_without_overlap(all.a[prefix.n - 1], prefix.a[prefix.n - 1], &rest))
		out->a[out->n++] = rest;
	for (uint32_t i = prefix.n; i < all.n; i++)
		out->a[out->n++] = all.a[i];
	return true;
}

static op_id new_replicated_to_unreduced(
	inserter *s, value_id v, const axes_buf *l, sharding_id sh, sharding_id from)
{
	op_id o = new_sharded(s->m, OP_SDY_REPLICATED_TO_UNREDUCED, v, sh);
	strbuf text;
	strbuf_init(&text);
	axes_print(s->t, sharding_get(s->t, from)->mesh, axes_of(l), &text);
	set_axes_attr(s->m, o, "axes", "axis_ref_list", &text);
	strbuf_release(&text);
	return o;
}

static op_id new_sharded_to_unreduced(inserter *s, value_id v, const axes *dims, sharding_id to)
{
	op_id o = new_sharded(s->m, OP_SDY_SHARDED_TO_UNREDUCED, v, to);
	const sharding *sh = sharding_get(s->t, to);
	strbuf text;
	strbuf_init(&text);
	print_axes_by_dim(s->t, sh->mesh, dims, sh->rank, &text);
	set_axes_attr(s->m, o, "axes", "list_of_axis_ref_lists", &text);
	strbuf_release(&text);
	return o;
}

/* What becomes unreduced on the way from one sharding to another. */
typedef struct unreduced_plan {
	sharding_id between; /* what a reshard makes first: dims as they are where what goes there
	                        becomes unreduced, else as wanted */
	sharding_id from;    /* what is sharded then */
	axes dims[MAX_RANK]; /* axes of every dim that become unreduced */
	axes_buf replicated; /* other axes that do */
	bool any_sharded;
} unreduced_plan;

/* false: nothing does. */
static bool plan_unreduced(inserter *s, sharding_id from, sharding_id to, unreduced_plan *p)
{
	axes_buf added, sharded = {.n = 0}, part, missing;
	axes_difference(unreduced_of(s->t, to), unreduced_of(s->t, from), &added);
	if (from == SHARDING_NONE || !added.n)
		return false;
	const sharding *a = sharding_get(s->t, from), *b = sharding_get(s->t, to);
	sharding_edit e, in;
	bool moves = false;
	sharding_to_edit(s->t, to, &e);
	sharding_to_edit(s->t, from, &in);
	if (mesh_same_devices(s->t, a->mesh, b->mesh))
		e.mesh = a->mesh; /* one mesh under two names */
	axes_copy(&e.unreduced, sharding_unreduced(a));
	axes_copy(&e.replicated, sharding_replicated(a));
	for (uint32_t d = 0; d < a->rank; d++) {
		p->dims[d] = (axes){NULL, 0};
		if (beyond_prefix(sharding_dim(b, d), sharding_dim(a, d), &part)) {
			axes_difference(axes_of(&part), axes_of(&added), &missing);
			if (!missing.n) {
				axis_ref *kept = arena_array(&s->mem, axis_ref, part.n);
				memcpy(kept, part.a, part.n * sizeof *kept);
				p->dims[d] = (axes){kept, part.n};
				for (uint32_t i = 0; i < part.n; i++)
					sharded.a[sharded.n++] = part.a[i];
				if (part.n)
					e.dims[d] = in.dims[d];
				continue;
			}
		}
		moves |= !axes_equal(sharding_dim(a, d), sharding_dim(b, d));
	}
	p->between = sharding_intern(s->t, &e);
	p->from = moves ? p->between : from;
	p->any_sharded = sharded.n != 0;
	axes_difference(axes_of(&added), axes_of(&sharded), &p->replicated);
	return true;
}

/* The value with the target's unreduced axes: a reshard where dims change otherwise, then
 * replicated axes, then those that shard the ends of dims. Itself when none are added. */
static value_id to_unreduced(inserter *s, op_id user, value_id v, sharding_id to, place_fn place)
{
	module *m = s->m;
	sharding_id from = sharding_of(m, v);
	unreduced_plan p;
	if (!plan_unreduced(s, from, to, &p))
		return v;
	if (p.from != from) {
		op_id made = new_sharded(m, OP_SDY_RESHARD, v, p.between);
		place(m, made, user, v);
		v = op_result(m, made, 0);
	}
	if (p.replicated.n) {
		axes_sort_merge(&p.replicated);
		sharding_edit e;
		sharding_to_edit(s->t, p.between, &e);
		axes_copy(&e.replicated, sharding_replicated(sharding_get(s->t, to)));
		for (uint32_t i = 0; i < p.replicated.n; i++)
			e.unreduced.a[e.unreduced.n++] = p.replicated.a[i];
		axes_sort_merge(&e.unreduced);
		op_id made =
			new_replicated_to_unreduced(s, v, &p.replicated, sharding_intern(s->t, &e), from);
		place(m, made, user, v);
		v = op_result(m, made, 0);
	}
	if (p.any_sharded) {
		op_id made = new_sharded_to_unreduced(s, v, p.dims, to);
		place(m, made, user, v);
		v = op_result(m, made, 0);
	}
	return v;
}

/* A reshard to more unreduced axes is made of the ops that make them. */
static bool reshard_to_unreduced(inserter *s, op_id o)
{
	if (op_at(s->m, o)->kind != OP_SDY_RESHARD)
		return false;
	value_id from = op_operand(s->m, o, 0), result = op_result(s->m, o, 0);
	value_id v = to_unreduced(s, o, from, sharding_of(s->m, result), place_before_user);
	if (v == from)
		return false;
	value_replace_uses(s->m, result, v, ID_NONE);
	op_erase(s->m, o);
	return true;
}

/* ---------------------------------------------------------------- data flow, calls and returns */

/* Brings operand i to a target sharding. */
static void reshard_operand(inserter *s, op_id o, uint32_t i, sharding_id target, place_fn place)
{
	module *m = s->m;
	if (value_type(m, op_operand(m, o, i))->kind != TYPE_TENSOR)
		return;
	reduce_operand(s, o, i, target, place);
	value_id v = to_unreduced(s, o, op_operand(m, o, i), target, place);
	sharding_id from = sharding_of(m, v);
	if (v != op_operand(m, o, i))
		op_set_operand(m, o, i, v);
	if (!s->full || is_equivalent(s->t, from, target))
		return;
	if (target == SHARDING_NONE)
		target =
			closed_replicated(s->t, sharding_get(s->t, from)->mesh, sharding_get(s->t, from)->rank);
	op_id made = new_sharded(m, OP_SDY_RESHARD, v, target);
	place(m, made, o, v);
	op_set_operand(m, o, i, op_result(m, made, 0));
}

static void reshard_yielded(inserter *s, op_id o, uint32_t region, uint32_t i, sharding_id target)
{
	op_id end = region < op_at(s->m, o)->n_regions
		? region_terminator(s->m, op_at(s->m, o)->regions + region)
		: ID_NONE;
	if (end != ID_NONE && i < op_at(s->m, end)->n_operands)
		reshard_operand(s, end, i, target, place_after_value);
}

static void reshard_data_flow(inserter *s, op_id o)
{
	module *m = s->m;
	uint16_t kind = op_at(m, o)->kind;
	for (uint32_t i = 0; i < op_at(m, o)->n_results; i++) {
		sharding_id target = sharding_of(m, op_result(m, o, i));
		if (is_computation(op_at(m, o))) {
			reshard_yielded(s, o, 0, i, inside(m, o, target));
			continue;
		}
		if (kind != OP_CASE && i < op_at(m, o)->n_operands)
			reshard_operand(s, o, i, target, place_after_value);
		if (kind == OP_WHILE)
			reshard_yielded(s, o, 1, i, target);
		for (uint32_t r = 0; kind == OP_CASE && r < op_at(m, o)->n_regions; r++)
			reshard_yielded(s, o, r, i, target);
	}
	if (is_computation(op_at(m, o)))
		for (uint32_t i = 0; i < op_at(m, o)->n_operands; i++)
			reshard_operand(s, o, i, listed(m, o, "in_shardings", i), place_after_value);
}

/* The mesh of a sharding that others can be on as well; ID_NONE: it has none, or is on a single
 * device. */
static mesh_id mesh_to_share(const sharding_table *t, sharding_id id)
{
	return id == SHARDING_NONE || t->meshes.p[sharding_get(t, id)->mesh].maximal
		? ID_NONE
		: sharding_get(t, id)->mesh;
}

static mesh_id mesh_of_operands(const inserter *s, op_id o)
{
	mesh_id mesh = ID_NONE;
	for (uint32_t i = 0; i < op_at(s->m, o)->n_operands && mesh == ID_NONE; i++)
		mesh = mesh_to_share(s->t, sharding_of(s->m, op_operand(s->m, o, i)));
	return mesh;
}

static void reshard_call(inserter *s, op_id o)
{
	module *m = s->m;
	const func *f = module_func_named(m, op_text(m, o, "callee"));
	if (!f || !op_at(m, f->op)->n_regions ||
		op_region(m, f->op, 0)->n_args != op_at(m, o)->n_operands)
		return;
	value_id args = op_region(m, f->op, 0)->args;
	mesh_id mesh = ID_NONE;
	for (uint32_t i = 0; i < op_at(m, o)->n_operands && mesh == ID_NONE; i++)
		mesh = mesh_to_share(s->t, value_at(m, args + i)->sharding);
	bool any = mesh != ID_NONE;
	if (!any && (mesh = mesh_of_operands(s, o)) == ID_NONE)
		return;
	bool was = s->full;
	s->full = true; /* also in the minimal version, so that one function serves all calls */
	for (uint32_t i = 0; i < op_at(m, o)->n_operands; i++) {
		sharding_id target = value_at(m, args + i)->sharding;
		if (target == SHARDING_NONE || !any) /* single devices alone say nothing */
			target = replicated_sharding(s->t, mesh, value_type(m, args + i)->rank, !any);
		reshard_operand(s, o, i, target, place_after_value);
	}
	s->full = was;
}

/* ---------------------------------------------------------------- ops with a rule */

/* The mesh on which most tensors of an op are sharded; ID_NONE when there is none, they differ in
 * axes, or it is maximal. A mesh without axes goes with any. */
static mesh_id common_mesh(const inserter *s, const sharding_id *in, uint32_t n)
{
	mesh_id first = ID_NONE, best = ID_NONE;
	uint32_t best_count = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (in[i] == SHARDING_NONE)
			continue;
		mesh_id mesh = sharding_get(s->t, in[i])->mesh;
		if (s->t->meshes.p[mesh].maximal)
			return ID_NONE;
		if (!s->t->meshes.p[mesh].n_axes)
			continue;
		if (first != ID_NONE && !same_mesh_axes(s->t, first, mesh))
			return ID_NONE;
		if (first == ID_NONE)
			first = mesh;
		uint32_t count = 0;
		for (uint32_t k = 0; k <= i; k++)
			count += in[k] != SHARDING_NONE && !sharding_is_replicated(s->t, in[k]) &&
				sharding_get(s->t, in[k])->mesh == mesh;
		if (count > best_count) {
			best = mesh;
			best_count = count;
		}
	}
	return best != ID_NONE ? best : first;
}

static sharding_id on_mesh(sharding_table *t, sharding_id id, mesh_id mesh)
{
	if (sharding_is_replicated(t, id) || mesh_same_devices(t, sharding_get(t, id)->mesh, mesh))
		return id;
	sharding_edit e;
	sharding_to_edit(t, id, &e);
	e.mesh = mesh;
	return sharding_intern(t, &e);
}

/* The first sharding of a result writes down that the others have none: they are open from then on.
 */
static void set_result_sharding(inserter *s, op_id o, uint32_t r, sharding_id id)
{
	value_get(s->m, op_result(s->m, o, r))->sharding = id;
	for (uint32_t i = 0; i < op_at(s->m, o)->n_results; i++) {
		ir_value *v = value_get(s->m, op_result(s->m, o, i));
		if (v->sharding == SHARDING_NONE && type_get(s->m, v->type)->kind == TYPE_TENSOR)
			v->sharding = replicated_sharding(
				s->t, sharding_get(s->t, id)->mesh, type_get(s->m, v->type)->rank, false);
	}
}

static void insert_around(
	inserter *s, op_id o, const explicit_op *x, const sharding_id *at, const axes_buf *reduce)
{
	module *m = s->m;
	uint32_t n = op_at(m, o)->n_operands;
	for (uint32_t i = 0; i < n; i++) {
		if (at[i] == x->in[i] && !x->changed[i])
			continue;
		op_id made = new_sharded(m, OP_SDY_RESHARD, op_operand(m, o, i), at[i]);
		op_insert_before(m, made, o);
		op_set_operand(m, o, i, op_result(m, made, 0));
	}
	op_id next = op_at(m, o)->next;
	for (uint32_t r = 0; r < op_at(m, o)->n_results; r++) {
		value_id v = op_result(m, o, r);
		if (at[n + r] == x->in[n + r] && !x->changed[n + r])
			continue;
		sharding_id old = value_at(m, v)->sharding;
		if (old == SHARDING_NONE)
			old = closed_replicated(s->t, x->mesh, value_type(m, v)->rank);
		op_id made = new_sharded(m, OP_SDY_RESHARD, v, old);
		insert_at(m, made, next, op_at(m, o)->parent);
		value_replace_uses(m, v, op_result(m, made, 0), made);
		set_result_sharding(s, o, r, at[n + r]);
	}
	if (!reduce->n)
		return;
	next = op_at(m, o)->next;
	for (uint32_t r = 0; r < op_at(m, o)->n_results; r++) {
		value_id v = op_result(m, o, r);
		sharding_id sh = value_at(m, v)->sharding;
		if (sh == SHARDING_NONE)
			sh = closed_replicated(s->t, x->mesh, value_type(m, v)->rank);
		op_id made = new_all_reduce(m, v, axes_of(reduce), sh);
		insert_at(m, made, next, op_at(m, o)->parent);
		value_replace_uses(m, v, op_result(m, made, 0), made);
	}
}

/* Asked before operands are reduced: one that has to be makes a concatenate differ. */
static bool is_full(const inserter *s, op_id o)
{
	module *m = s->m;
	uint16_t kind = op_at(m, o)->kind;
	if (s->full ||
		(kind == OP_UNKNOWN && str_is(strtab_get(&m->strs, op_at(m, o)->name), "mhlo.ragged_dot")))
		return true;
	for (uint32_t i = 0; kind == OP_CONCATENATE && i < op_at(m, o)->n_operands; i++)
		if (operand_sharding(m, o, i) != sharding_of(m, op_result(m, o, 0)))
			return true;
	return false;
}

/* The minimal version: dots whose result alone is in the way, and results with unreduced axes. */
static void reshard_minimal(inserter *s, op_id o, const explicit_op *x, sharding_id *at)
{
	uint32_t n = (uint32_t)x->rule->n_operands + x->rule->n_results;
	memcpy(at, x->in, n * sizeof *at);
	uint16_t kind = op_at(s->m, o)->kind;
	if (kind == OP_DOT_GENERAL || kind == OP_DOT)
		at[2] = explicit_dot_result(s->t, x, &s->mem);
	axes_buf reduce = {.n = 0}, all;
	if (unreduced_of(s->t, x->in[x->rule->n_operands]).n) {
		explicit_reduction_axes(s->t, x, &s->mem, &all);
		axes_difference(axes_of(&all), unreduced_of(s->t, x->in[x->rule->n_operands]), &reduce);
		axes_sort_merge(&reduce);
	}
	insert_around(s, o, x, at, &reduce);
}

/* The minimal version leaves an op alone unless it is one of the kinds below or its first result is
 * unreduced: most ops need no rule. */
static bool may_reshard(const inserter *s, op_id o)
{
	const ir_op *op = op_at(s->m, o);
	return op->n_results &&
		(s->full || op->kind == OP_DOT_GENERAL || op->kind == OP_DOT ||
			op->kind == OP_CONCATENATE || op->kind == OP_UNKNOWN ||
			unreduced_of(s->t, sharding_of(s->m, op->results)).n);
}

static void reshard_op(inserter *s, op_id o)
{
	module *m = s->m;
	if (reshard_to_unreduced(s, o))
		return;
	bool full = is_full(s, o);
	/* an edge reads what it is the edge of, and no op of the dialect */
	if (op_at(m, o)->n_results && op_at(m, o)->kind != OP_SDY_DATA_FLOW_EDGE)
		for (uint32_t i = 0; i < op_at(m, o)->n_operands; i++)
			reduce_operand(s, o, i, sharding_of(m, op_result(m, o, 0)), place_before_user);
	rule_id id;
	if (!may_reshard(s, o) || rule_of_op(&s->rules, m, o, false, &id) != RULE_FOUND ||
		rule_get(&s->rules, id)->custom || op_at(m, o)->kind == OP_SDY_PROPAGATION_BARRIER)
		return;
	const rule *r = rule_get(&s->rules, id);
	uint32_t n = (uint32_t)r->n_operands + r->n_results;
	int64_t *sizes = arena_array(&s->mem, int64_t, n);
	sharding_id *in = arena_array(&s->mem, sharding_id, n),
				*at = arena_array(&s->mem, sharding_id, n);
	for (uint32_t i = 0; i < n; i++) {
		value_id v = i < r->n_operands ? op_operand(m, o, i) : op_result(m, o, i - r->n_operands);
		in[i] = i < r->n_operands ? operand_sharding(m, o, i) : sharding_of(m, v);
		sizes[i] = value_type(m, v)->elements;
	}
	explicit_op x = {.rule = r,
		.op_kind = op_at(m, o)->kind,
		.sizes = sizes,
		.in = in,
		.mesh = common_mesh(s, in, n),
		.changed = arena_zarray(&s->mem, bool, n)};
	if (x.mesh == ID_NONE)
		return;
	if (!full) {
		reshard_minimal(s, o, &x, at);
		return;
	}
	axes_buf reduce;
	(void)explicit_shardings(s->t, &x, &s->mem, at, &reduce);
	for (uint32_t i = 0; i < n; i++)
		at[i] = on_mesh(s->t, at[i], x.mesh);
	insert_around(s, o, &x, at, &reduce);
}

/* ---------------------------------------------------------------- sdy-insert-explicit-reshards */

typedef VEC(op_id) op_list;

/* Ops of a function, each after those in its regions; regions that no sharding reaches are left
 * out. */
static void list_ops(const module *m, op_id root, op_list *out)
{
	for (op_id o = op_walk_first(m, root); o != ID_NONE; o = op_walk_next(m, root, o))
		vec_push(out, o);
	/* Pre-order reversed by depth: an op goes behind the last op of its subtree. */
	op_list post = {0}, open = {0};
	for (uint32_t i = 0; i < out->n; i++) {
		while (open.n && op_parent(m, out->p[i]) != open.p[open.n - 1])
			vec_push(&post, vec_pop(&open));
		vec_push(&open, out->p[i]);
	}
	while (open.n)
		vec_push(&post, vec_pop(&open));
	memcpy(out->p, post.p, post.n * sizeof *post.p);
	out->n = post.n;
	vec_release(&post);
	vec_release(&open);
}

static void insert_in_function(inserter *s, const func *f)
{
	module *m = s->m;
	op_id root = f->op;
	if (!op_at(m, root)->n_regions || op_region(m, root, 0)->empty)
		return;
	op_list ops = {0};
	list_ops(m, root, &ops);
	for (uint32_t i = 0; i < ops.n; i++) {
		op_id o = ops.p[i];
		uint32_t flags = op_infos[op_at(m, o)->kind].flags;
		if (o == root || flags & OPF_TERMINATOR)
			continue;
		arena_mark mark = arena_save(&s->mem);
		if (flags & OPF_DATAFLOW)
			reshard_data_flow(s, o);
		else if (op_at(m, o)->kind == OP_CALL)
			reshard_call(s, o);
		else
			reshard_op(s, o);
		arena_rewind(&s->mem, mark);
	}
	vec_release(&ops);
	op_id end = region_terminator(m, op_at(m, root)->regions);
	for (uint32_t i = 0; end != ID_NONE && i < op_at(m, end)->n_operands && i < f->n_results; i++)
		reshard_operand(s, end, i, f->result_shardings[i], place_before_user);
}

static bool option_is(const pass_option *options, uint32_t n, const char *name, const char *value)
{
	bool found = false;
	for (uint32_t i = 0; i < n; i++)
		if (str_is(options[i].name, name))
			found = str_is(options[i].value, value);
	return found;
}

static status pass_insert_reshards(
	module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)d;
	inserter s = {.m = m,
		.t = m->shardings,
		.full = option_is(options, n_options, "enable-full-version", "true")};
	rule_table_init(&s.rules);
	s.rules.any_size = true; /* as in Shardy, where only the verifier of an op's rule minds */
	arena_init(&s.mem);
	for (uint32_t i = 0; i < m->funcs.n; i++)
		if (!(op_at(m, m->funcs.p[i].op)->flags & OPS_ERASED))
			insert_in_function(&s, &m->funcs.p[i]);
	arena_release(&s.mem);
	rule_table_release(&s.rules);
	return ST_OK;
}

/* ---------------------------------------------------------------- sdy-reshard-to-collectives */

static op_id new_collective(module *m, const collective_step *s, value_id v)
{
	static const struct {
		op_kind kind;
		const char *attr, *mnemonic;
	} forms[COLL_COUNT] = {
		[COLL_ALL_GATHER] = {OP_SDY_ALL_GATHER, "gathering_axes", "list_of_axis_ref_lists"},
		[COLL_ALL_SLICE] = {OP_SDY_ALL_SLICE, "slicing_axes", "list_of_axis_ref_lists"},
		[COLL_ALL_TO_ALL] = {OP_SDY_ALL_TO_ALL, "params", "all_to_all_param_list"},
		[COLL_COLLECTIVE_PERMUTE] = {OP_SDY_COLLECTIVE_PERMUTE, NULL, NULL},
	};
	op_id o = new_sharded(m, forms[s->kind].kind, v, s->out);
	if (!forms[s->kind].attr)
		return o;
	const sharding_table *t = m->shardings;
	mesh_id mesh = sharding_get(t, s->out)->mesh;
	strbuf text;
	strbuf_init(&text);
	if (s->dim_axes) {
		print_axes_by_dim(t, mesh, s->dim_axes, sharding_get(t, s->out)->rank, &text);
	} else {
		strbuf_putc(&text, '[');
		for (uint32_t i = 0; i < s->n_moves; i++) {
			strbuf_puts(&text, i ? ", " : "");
			axes_print(t, mesh, s->moves[i].axes, &text);
			strbuf_printf(&text, ": %u->%u", s->moves[i].source, s->moves[i].target);
		}
		strbuf_putc(&text, ']');
	}
	set_axes_attr(m, o, forms[s->kind].attr, forms[s->kind].mnemonic, &text);
	strbuf_release(&text);
	return o;
}

/* What a reshard reads, behind barriers. */
static value_id reshard_source(const module *m, op_id o)
{
	value_id v = op_operand(m, o, 0);
	for (op_id def;
		 (def = value_def(m, v)) != ID_NONE && op_at(m, def)->kind == OP_SDY_PROPAGATION_BARRIER;)
		v = op_operand(m, def, 0);
	return v;
}

/* From a mesh without the axes to put on. Nothing says what each device has then. */
static bool is_between_meshes(const sharding_table *t, sharding_id from, sharding_id to)
{
	mesh_id source = sharding_get(t, from)->mesh, target = sharding_get(t, to)->mesh;
	return !sharding_is_replicated(t, to) &&
		(!same_mesh_axes(t, source, target) ||
			(t->meshes.p[target].n_axes && !t->meshes.p[source].n_axes));
}

static void collect_reshard(module *m, op_id o, arena *mem, bool keep_redundant)
{
	sharding_table *t = m->shardings;
	value_id result = op_result(m, o, 0), v = reshard_source(m, o);
	sharding_id to = value_at(m, result)->sharding, from = sharding_of(m, v);
	if (to == SHARDING_NONE || value_type(m, v)->kind != TYPE_TENSOR ||
		(keep_redundant && is_equivalent(t, from, to)))
		return;
	uint32_t rank = sharding_get(t, to)->rank;
	bool replicated = sharding_is_replicated(t, to);
	if (from == SHARDING_NONE)
		from = closed_replicated(t, sharding_get(t, to)->mesh, rank);
	if (sharding_get(t, from)->rank != rank ||
		(keep_redundant && replicated && sharding_is_replicated(t, from)))
		return;
	if (is_between_meshes(t, from, to))
		return;
	value_id now = op_operand(m, o, 0);
	if (!replicated || !sharding_is_replicated(t, from)) {
		reshard_plan plan;
		if (replicated) /* Shardy forgets its unreduced axes */
			to = with_unreduced(t, to, (axes){NULL, 0});
		reshard_steps(t, from, to, value_type(m, v)->dims, mem, &plan);
		now = v;
		for (uint32_t i = 0; i < plan.n; i++) {
			op_id made = new_collective(m, &plan.steps[i], now);
			op_get(m, made)->loc = op_at(m, o)->loc;
			op_insert_before(m, made, o);
			now = op_result(m, made, 0);
		}
	}
	value_replace_uses(m, result, now, ID_NONE);
	op_erase(m, o);
}

static status pass_collectives(module *m, const pass_option *options, uint32_t n_options, diag *d)
{
	(void)d;
	bool keep_redundant = option_is(options, n_options, "keep-redundant-reshards", "true");
	op_list reshards = {0};
	arena mem;
	arena_init(&mem);
	/* which of them stay is said of the module as it was */
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o)) {
		if (op_at(m, o)->kind != OP_SDY_RESHARD)
			continue;
		sharding_id from = sharding_of(m, reshard_source(m, o)),
					to = value_at(m, op_result(m, o, 0))->sharding;
		if (from == SHARDING_NONE || to == SHARDING_NONE ||
			!is_between_meshes(m->shardings, from, to))
			vec_push(&reshards, o);
	}
	/* in their order: each sees what those before it came to, which may be on another mesh */
	for (uint32_t i = 0; i < reshards.n; i++)
		collect_reshard(m, reshards.p[i], &mem, keep_redundant);
	vec_release(&reshards);
	arena_release(&mem);
	return ST_OK;
}

void lower_register_passes(void)
{
	static const pass_info passes[] = {
		{"sdy-insert-explicit-reshards", pass_insert_reshards,
			"enable-full-version avoid-reshards-on-named-computations",
			"reshard operands and results so that every op can run on its shards"},
		{"sdy-reshard-to-collectives", pass_collectives, "keep-redundant-reshards",
			"turn reshards into collectives"},
	};
	if (!pass_find(str_of(passes[0].name)))
		pass_register(passes, COUNT_OF(passes));
}
