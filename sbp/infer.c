/* Inference over a module, op by op in program order: every op sees what its inputs came out as,
 * never what its readers would like. */
#include "sbp/walk.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- boxing */

static int64_t value_bytes(const struct walk *w, value_id v)
{
	const ir_type *ty = value_type(w->m, v);
	return ty->kind == TYPE_TENSOR ? sharding_local_bytes(w->m->shardings, SHARDING_NONE, ty) : 0;
}

static status placement_of(const struct walk *w, op_id o, mesh_id mesh, sbp_placement *out)
{
	diag inner = {0};
	if (mesh == w->x->placement.mesh) {
		*out = w->x->placement;
		return ST_OK;
	}
	status s = sbp_placement_of(w->m->shardings, mesh, out, &inner);
	return s == ST_OK ? s : op_error(w->m, o, w->d, s, "%s", inner.msg);
}

/* The same value brought to the same SBP for an op before this one in the same block. */
static uint32_t boxed_before(const struct walk *w, op_id o, value_id v, const nd_sbp *to)
{
	for (uint32_t i = w->boxed[v];
		 i != ID_NONE && i < w->x->boxings.n && w->x->boxings.p[i].value == v;
		 i = w->x->boxings.p[i].older)
		if (w->x->boxings.p[i].same == ID_NONE && nd_sbp_equal(&w->x->boxings.p[i].to, to) &&
			op_at(w->m, w->x->boxings.p[i].op)->parent == op_at(w->m, o)->parent)
			return i;
	return ID_NONE;
}

static bool is_partial(const nd_sbp *s)
{
	for (uint32_t k = 0; k < MAX_HIERARCHY; k++)
		if (s->at[k].kind == SBP_PARTIAL)
			return true;
	return false;
}

/* Brings operand i of an op to an SBP. Constants are everywhere: only as summands they have to be
 * made. */
status walk_box(struct walk *w, op_id o, uint32_t i, const nd_sbp *to)
{
	value_id v = op_operand(w->m, o, i);
	const struct state *s = &w->of[v];
	sbp_placement p;
	boxing_step steps[MAX_BOXING];
	if (s->free ? !is_partial(to) : nd_sbp_equal(&s->sbp, to))
		return ST_OK;
	TRY(placement_of(w, o, s->placement, &p));
	sbp_boxing_record r = {.op = o,
		.operand = i,
		.value = v,
		.older = w->boxed[v],
		.placement = s->placement,
		.from = s->sbp,
		.to = *to,
		.in_loop = w->loops > 0,
		.first = w->x->steps.n};
	r.same = boxed_before(w, o, v, to);
	if (r.same == ID_NONE)
		r.n = sbp_boxing(&s->sbp, to, &p, value_bytes(w, v), steps);
	for (uint32_t k = 0; k < r.n; k++)
		vec_push(&w->x->steps, steps[k]);
	w->boxed[v] = w->x->boxings.n;
	vec_push(&w->x->boxings, r);
	return ST_OK;
}

void walk_set(struct walk *w, value_id v, const struct state *s)
{
	w->of[v] = *s;
	if (!s->free && value_type(w->m, v)->kind == TYPE_TENSOR)
		vec_push(&w->x->values, (sbp_value_record){v, s->placement, s->sbp});
}

/* What leaves a region or a function is no partial sum. */
nd_sbp walk_whole(const nd_sbp *s)
{
	nd_sbp out = *s;
	for (uint32_t k = 0; k < MAX_HIERARCHY; k++)
		if (out.at[k].kind == SBP_PARTIAL)
			out.at[k] = (sbp){0};
	return out;
}

/* ---------------------------------------------------------------- one op */

/* All inputs that are more than constants have one placement; the op has it too. */
static status find_placement(struct walk *w, op_id o, mesh_id *out)
{
	uint32_t first = ID_NONE;
	*out = w->x->placement.mesh;
	for (uint32_t i = 0; i < op_at(w->m, o)->n_operands; i++) {
		const struct state *s = &w->of[op_operand(w->m, o, i)];
		if (s->free)
			continue;
		if (first == ID_NONE) {
			first = i;
			*out = s->placement;
		} else if (!mesh_same_devices(w->m->shardings, *out, s->placement)) {
			const sharding_table *t = w->m->shardings;
			return op_error(w->m, o, w->d, ST_ERR_INVALID,
				"inputs have different placements: operand %u is on @" STR_FMT
				", operand %u on @" STR_FMT,
				first, STR_ARG(strtab_get(&t->names, t->meshes.p[*out].name)), i,
				STR_ARG(strtab_get(&t->names, t->meshes.p[s->placement].name)));
		}
	}
	return ST_OK;
}

/* All dims open and without axes: nothing is asked for. */
static bool says_nothing(const sharding *s)
{
	for (uint32_t d = 0; d < s->rank; d++)
		if (sharding_dim(s, d).n || s->dims[d].closed)
			return false;
	return s->rank && !sharding_unreduced(s).n && !sharding_replicated(s).n;
}

static status find_constraint(struct walk *w, op_id o, const sbp_placement *p, sbp_constraint *out)
{
	uint32_t n = op_at(w->m, o)->n_results;
	nd_sbp *of = arena_zarray(&w->x->mem, nd_sbp, MAX(n, 1));
	bool *given = arena_zarray(&w->x->mem, bool, MAX(n, 1));
	*out = (sbp_constraint){of, given};
	for (uint32_t i = 0; i < n; i++) {
		sharding_id id = value_at(w->m, op_result(w->m, o, i))->sharding;
		diag inner = {0};
		if (id == SHARDING_NONE || says_nothing(sharding_get(w->m->shardings, id)))
			continue;
		if (!mesh_same_devices(w->m->shardings, sharding_get(w->m->shardings, id)->mesh, p->mesh))
			return op_error(w->m, o, w->d, ST_ERR_INVALID,
				"its result is constrained to another placement than its inputs have");
		status s = nd_sbp_of_sharding(w->m->shardings, id, p, &of[i], &inner);
		if (s != ST_OK)
			return op_error(w->m, o, w->d, s, "%s", inner.msg);
		given[i] = true;
	}
	return ST_OK;
}

/* Shape, dtype, SBP and placement of the inputs, the constraint, and what the op can do. */
static void make_key(struct walk *w, const sbp_op_record *r)
{
	const sbp_candidates *c = &r->candidates;
	uint32_t n = c->n * (c->n_operands + c->n_results);
	strbuf *k = &w->key;
	strbuf_clear(k);
	strbuf_add(k, (const char *)&r->placement, sizeof r->placement);
	strbuf_add(k, (const char *)&c->n_operands, sizeof c->n_operands);
	strbuf_add(k, (const char *)c->words, n * sizeof *c->words);
	strbuf_add(k, (const char *)c->factor, c->n * sizeof *c->factor);
	strbuf_add(k, (const char *)c->sizes, c->n * sizeof *c->sizes);
	for (uint32_t i = 0; i < c->n_operands; i++) {
		strbuf_add(k, (const char *)&r->hints[i].type, sizeof r->hints[i].type);
		strbuf_add(k, (const char *)&r->hints[i].sbp, sizeof r->hints[i].sbp);
		strbuf_putc(k, r->hints[i].free ? 'f' : 'v');
	}
	for (uint32_t i = 0; i < c->n_results; i++) {
		strbuf_putc(k, r->constraint.given[i] ? 'c' : '-');
		strbuf_add(k, (const char *)&r->constraint.of[i], sizeof r->constraint.of[i]);
	}
}

static const sbp_choice *find_cached(struct walk *w, uint64_t h)
{
	uint32_t id;
	for (uint32_t it = index_first(&w->index, h); index_next(&w->index, h, &it, &id);)
		if (w->cache.p[id].n == w->key.n && !memcmp(w->cache.p[id].key, w->key.p, w->key.n))
			return &w->cache.p[id].choice;
	return NULL;
}

static bool choose(struct walk *w, sbp_op_record *r, const sbp_placement *p)
{
	make_key(w, r);
	uint64_t h = hash_bytes(w->key.p, w->key.n, 0x736270);
	const sbp_choice *known = find_cached(w, h);
	r->cached = known != NULL;
	if (known) {
		r->choice = *known;
		return true;
	}
	if (!sbp_choose(&r->candidates, r->hints, p, &r->constraint, &r->choice))
		return false;
	uint8_t *key = arena_array(&w->x->mem, uint8_t, w->key.n);
	memcpy(key, w->key.p, w->key.n);
	index_add(&w->index, h, w->cache.n);
	vec_push(&w->cache, (struct cached){w->key.n, key, r->choice});
	return true;
}

nd_sbp sbp_chosen(const sbp_op_record *r, uint32_t k, uint32_t hierarchy)
{
	nd_sbp out = {0};
	for (uint32_t slot = 0; slot < hierarchy; slot++)
		out.at[slot] = candidate_words(&r->candidates, r->choice.signature[slot])[k];
	return out;
}

status walk_op(struct walk *w, op_id o)
{
	const ir_op *at = op_at(w->m, o);
	sbp_placement p;
	sbp_op_record r = {.op = o};
	TRY(find_placement(w, o, &r.placement));
	TRY(placement_of(w, o, r.placement, &p));
	sbp_hint *hints = arena_zarray(&w->x->mem, sbp_hint, MAX(at->n_operands, 1));
	for (uint32_t i = 0; i < at->n_operands; i++) {
		value_id v = op_operand(w->m, o, i);
		hints[i] =
			(sbp_hint){value_at(w->m, v)->type, value_bytes(w, v), w->of[v].sbp, w->of[v].free};
	}
	r.hints = hints;
	TRY(find_constraint(w, o, &p, &r.constraint));
	sbp_candidates_of(&w->x->rules, w->m, o, &w->x->mem, &r.candidates);
	if (!choose(w, &r, &p))
		return op_error(w->m, o, w->d, ST_ERR_INVALID,
			"no valid SBP signature: none of %u has what its result is constrained to",
			r.candidates.n);
	r.first_boxing = w->x->boxings.n;
	for (uint32_t i = 0; i < at->n_operands; i++) {
		nd_sbp want = sbp_chosen(&r, i, p.n);
		TRY(walk_box(w, o, i, &want));
	}
	r.n_boxings = w->x->boxings.n - r.first_boxing;
	for (uint32_t i = 0; i < at->n_results; i++)
		walk_set(w, op_result(w->m, o, i),
			&(struct state){sbp_chosen(&r, at->n_operands + i, p.n), r.placement, false});
	vec_push(&w->x->ops, r);
	return ST_OK;
}

/* ---------------------------------------------------------------- main */

static status find_mesh(const module *m, const func *f, mesh_id given, mesh_id *out, diag *d)
{
	const ir_region *body = op_region(m, f->op, 0);
	*out = given;
	for (uint32_t i = 0; i < f->n_args && *out == ID_NONE; i++)
		if (value_at(m, body->args + i)->sharding != SHARDING_NONE)
			*out = sharding_get(m->shardings, value_at(m, body->args + i)->sharding)->mesh;
	for (op_id o = m->regions.p[m->body].first; o != ID_NONE && *out == ID_NONE;
		 o = op_at(m, o)->next)
		*out = mesh_declared(m, o);
	return *out == ID_NONE
		? op_error(m, f->op, d, ST_ERR_INVALID, "no placement: the module declares no mesh")
		: ST_OK;
}

static status take_arguments(struct walk *w, const func *f)
{
	const ir_region *body = op_region(w->m, f->op, 0);
	for (uint32_t i = 0; i < f->n_args; i++) {
		value_id v = body->args + i;
		sharding_id id = value_at(w->m, v)->sharding;
		struct state s = {.placement = w->x->placement.mesh};
		sbp_placement p;
		diag inner = {0};
		if (id != SHARDING_NONE)
			s.placement = sharding_get(w->m->shardings, id)->mesh;
		TRY(placement_of(w, f->op, s.placement, &p));
		status st = nd_sbp_of_sharding(w->m->shardings, id, &p, &s.sbp, &inner);
		if (st != ST_OK)
			return op_error(w->m, f->op, w->d, st, "argument %u: %s", i, inner.msg);
		w->of[v] = s;
	}
	return ST_OK;
}

/* Results have the SBP of their sharding, else what comes, without partial sums. */
static status give_results(struct walk *w, const func *f)
{
	op_id end = region_terminator(w->m, op_at(w->m, f->op)->regions);
	for (uint32_t i = 0; i < f->n_results; i++) {
		const struct state *s = &w->of[op_operand(w->m, end, i)];
		sbp_placement p;
		diag inner = {0};
		nd_sbp to = s->free ? (nd_sbp){0} : walk_whole(&s->sbp);
		TRY(placement_of(w, end, s->placement, &p));
		if (f->result_shardings[i] != SHARDING_NONE &&
			!says_nothing(sharding_get(w->m->shardings, f->result_shardings[i]))) {
			status st =
				nd_sbp_of_sharding(w->m->shardings, f->result_shardings[i], &p, &to, &inner);
			if (st != ST_OK)
				return op_error(w->m, end, w->d, st, "result %u: %s", i, inner.msg);
		}
		TRY(walk_box(w, end, i, &to));
		vec_push(&w->x->results, (sbp_value_record){i, s->placement, to});
	}
	return ST_OK;
}

status sbp_infer(const module *m, mesh_id placement, sbp_inference *out, diag *d)
{
	struct walk w = {.m = m, .x = out, .d = d};
	mesh_id mesh;
	memset(out, 0, sizeof *out);
	arena_init(&out->mem);
	rule_table_init(&out->rules);
	const func *f = module_main(m);
	if (!f || op_region(m, f->op, 0)->empty)
		return diag_set(d, ST_ERR_INVALID, "the module has no main function");
	TRY(find_mesh(m, f, placement, &mesh, d));
	TRY(sbp_placement_of(m->shardings, mesh, &out->placement, d));
	w.of = xcalloc(MAX(m->values.n, 1), sizeof *w.of);
	w.boxed = xmalloc(MAX(m->values.n, 1) * sizeof *w.boxed);
	for (uint32_t v = 0; v < m->values.n; v++)
		w.boxed[v] = ID_NONE;
	index_init(&w.index);
	strbuf_init(&w.key);
	status s = take_arguments(&w, f);
	if (s == ST_OK)
		s = walk_region(&w, op_at(m, f->op)->regions);
	if (s == ST_OK)
		s = give_results(&w, f);
	free(w.of);
	free(w.boxed);
	vec_release(&w.cache);
	index_release(&w.index);
	strbuf_release(&w.key);
	return s;
}

void sbp_inference_release(sbp_inference *x)
{
	vec_release(&x->ops);
	vec_release(&x->boxings);
	vec_release(&x->steps);
	vec_release(&x->values);
	vec_release(&x->results);
	rule_table_release(&x->rules);
	arena_release(&x->mem);
}
