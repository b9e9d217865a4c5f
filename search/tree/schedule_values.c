/* Inner values that a schedule names: by where they are in the source, what makes them, or the
 * stream of an argument's dim. */
#include "search/tree/schedule.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

enum { MOST_VALUES = 1024 };

/* Globs; NULL: anything. */
typedef struct wanted_value {
	const char *location, *op, *type;
} wanted_value;

typedef struct selection {
	problem *pb;
	VEC(action_target) targets;
	uint32_t dim, i;    /* DIM_KEEP or the dim; the tactic's number */
	uint32_t elsewhere; /* values that match but cannot carry a constraint */
	uint32_t too_flat;  /* that match and have no such dim */
	diag *d;
} selection;

static bool fits(const char *glob, str text) { return !glob || glob_match(glob, text); }

static bool matches(const selection *s, const wanted_value *w, pval_id v, strbuf *where)
{
	const problem *pb = s->pb;
	op_id o = pb->p->nodes.p[pb->p->vals.p[v].def].op;
	strbuf_clear(where);
	loc_print(pb->m, op_at(pb->m, o)->loc, where);
	return fits(w->location, (str){where->p ? where->p : "", where->n}) &&
		fits(w->op, strtab_get(&pb->m->strs, op_at(pb->m, o)->name)) &&
		fits(w->type, pval_type(pb->p, v)->text);
}

static bool listed(const selection *s, pval_id v)
{
	for (uint32_t k = 0; k < s->targets.n; k++)
		if (s->targets.p[k].arg == v)
			return true;
	return false;
}

static status add_matches(selection *s, const wanted_value *w)
{
	const problem *pb = s->pb;
	strbuf where = {0};
	status st = ST_OK;
	for (pval_id v = 0; v < pb->p->vals.n && st == ST_OK; v++) {
		if (pb->p->vals.p[v].def == ID_NONE || pb->p->vals.p[v].result_index >= 0 ||
			!matches(s, w, v, &where))
			continue;
		if (!problem_is_site(pb, v))
			s->elsewhere++;
		else if (s->dim != DIM_KEEP && s->dim >= pval_type(pb->p, v)->rank)
			s->too_flat++;
		else if (s->targets.n == MOST_VALUES)
			st = diag_set(s->d, ST_ERR_LIMIT,
				"schedule: tactics[%u]: 'values' names more than %d values", s->i, MOST_VALUES);
		else if (!listed(s, v))
			vec_push(&s->targets, (action_target){v, s->dim});
	}
	strbuf_release(&where);
	return st;
}

static status read_wanted(const selection *s, const cJSON *o, wanted_value *out)
{
	*out = (wanted_value){0};
	if (cJSON_IsString(o)) {
		out->location = o->valuestring;
		return ST_OK;
	}
	const struct {
		const char *key, **to;
	} keys[] = {{"location", &out->location}, {"op", &out->op}, {"type", &out->type}};
	for (const cJSON *c = cJSON_IsObject(o) ? o->child : NULL; c; c = c->next) {
		uint32_t k = 0;
		while (k < COUNT_OF(keys) && strcmp(c->string, keys[k].key))
			k++;
		if (k == COUNT_OF(keys) || !cJSON_IsString(c))
			return diag_set(s->d, ST_ERR_INVALID,
				"schedule: tactics[%u]: 'values': '%s': expected location, op and type, each with "
				"a glob",
				s->i, c->string);
		*keys[k].to = c->valuestring;
	}
	if (!out->location && !out->op && !out->type)
		return diag_set(s->d, ST_ERR_INVALID,
			"schedule: tactics[%u]: 'values': expected a glob over source locations, or an object "
			"with location, op or type",
			s->i);
	return ST_OK;
}

static status nothing(const selection *s, const char *key)
{
	if (s->too_flat)
		return diag_set(s->d, ST_ERR_INVALID,
			"schedule: tactics[%u]: none of the values that '%s' names has a dimension %u", s->i,
			key, s->dim);
	if (s->elsewhere)
		return diag_set(s->d, ST_ERR_INVALID,
			"schedule: tactics[%u]: '%s' names only values that cannot be constrained: constants, "
			"results of main, or inside functions that main calls",
			s->i, key);
	return diag_set(s->d, ST_ERR_INVALID,
		"schedule: tactics[%u]: '%s' names no value; locations are as `shardwright lower` prints "
		"them",
		s->i, key);
}

static status select_values(selection *s, const cJSON *spec)
{
	wanted_value w;
	const cJSON *first = cJSON_IsArray(spec) ? spec->child : spec;
	for (const cJSON *c = first; c; c = cJSON_IsArray(spec) ? c->next : NULL) {
		TRY(read_wanted(s, c, &w));
		TRY(add_matches(s, &w));
	}
	return s->targets.n ? ST_OK : nothing(s, "values");
}

/* One value per stream: propagation carries its cut through the rest. */
static status select_classes(selection *s, const tactic *t)
{
	for (uint32_t k = 0; k < t->n_args; k++) {
		action_target first;
		if (s->dim >= pval_type(s->pb->p, s->pb->p->args.p[t->args[k]])->rank)
			s->too_flat++;
		else if (problem_first_of_class(s->pb, t->args[k], s->dim, &first) && !listed(s, first.arg))
			vec_push(&s->targets, first);
	}
	return s->targets.n ? ST_OK : nothing(s, "class_of");
}

status schedule_values(problem *pb, const cJSON *spec, tactic *t, uint32_t i, diag *d)
{
	selection s = {.pb = pb, .dim = t->dimension, .i = i, .d = d};
	status st = spec ? select_values(&s, spec) : select_classes(&s, t);
	if (st == ST_OK) {
		action_target *own = arena_array(&pb->mem, action_target, s.targets.n);
		memcpy(own, s.targets.p, s.targets.n * sizeof *own);
		t->values = own;
		t->n_values = s.targets.n;
		problem_give_sites(pb, own, s.targets.n);
	}
	vec_release(&s.targets);
	return st;
}
