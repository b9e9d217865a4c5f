/* Warm starts. Programs that differ in sizes and in the number of their layers have arguments of
 * the same names, but for the numbers in them, and of the same roles and ranks. So a plan for one
 * of them is told as decisions about such names, and read as decisions about the groups that have
 * arguments of these names. Meshes differ in what axes are called and how many there are: a plan is
 * read once for each likely way to lay the document's axes onto the mesh, and what each of these
 * costs is the search's to find out. */
#include "search/tree/warm_private.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

enum { MOST_AXES = 4, MOST_WAYS = 625 /* (MOST_AXES + 1) to the MOST_AXES */ };

/* ---------------------------------------------------------------- reading */

typedef struct reading {
	const problem *pb;
	const scope *of;
	const bool *allowed; /* by argument; NULL: all */
	arena *mem;          /* of targets */
	const cJSON *decisions;
	uint32_t n_axes; /* of the document's mesh */
	const char *axis_names[MOST_AXES];
	int64_t axis_sizes[MOST_AXES];
	bool used[MOST_AXES]; /* some decision is about it */
	VEC(char *) names;    /* of this program's arguments, folded */
} reading;

static const char *text_of(const cJSON *o, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);
	return cJSON_IsString(item) ? item->valuestring : NULL;
}

/* A whole number; -1: none. */
static int64_t number_of(const cJSON *o, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);
	return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 1e9
		? (int64_t)item->valuedouble
		: -1;
}

/* Which of the document's axes a decision is about; ID_NONE: none that is known. */
static uint32_t axis_of(const reading *r, const cJSON *decision)
{
	const char *name = text_of(decision, "axis");
	for (uint32_t i = 0; name && i < r->n_axes; i++)
		if (!strcmp(r->axis_names[i], name))
			return i;
	return ID_NONE;
}

static bool read_axes(reading *r, const cJSON *document)
{
	const cJSON *axes_json = cJSON_GetObjectItemCaseSensitive(
		cJSON_GetObjectItemCaseSensitive(document, "mesh"), "axes");
	if (!cJSON_IsArray(axes_json) || cJSON_GetArraySize(axes_json) > MOST_AXES ||
		r->pb->n_axes > MOST_AXES)
		return false;
	for (const cJSON *a = axes_json->child; a; a = a->next) {
		r->axis_names[r->n_axes] = text_of(a, "name");
		r->axis_sizes[r->n_axes] = number_of(a, "size");
		if (!r->axis_names[r->n_axes] || r->axis_sizes[r->n_axes] < 1)
			return false;
		r->n_axes++;
	}
	for (const cJSON *o = r->decisions->child; o; o = o->next)
		if (axis_of(r, o) != ID_NONE)
			r->used[axis_of(r, o)] = true;
	return r->n_axes > 0;
}

/* Of an entry: the dim that it decides about; ID_NONE: none that there is. */
static uint32_t dim_of(const cJSON *e)
{
	const char *word = text_of(e, "dimension");
	int64_t dim = number_of(e, "dimension");
	if (word)
		return !strcmp(word, warm_dim_words[0]) ? DIM_LARGEST
			: !strcmp(word, warm_dim_words[1])  ? DIM_KEEP
												: ID_NONE;
	return dim >= 0 && dim < MAX_RANK ? (uint32_t)dim : ID_NONE;
}

/* Can the argument be what the entry means, with the dim over this axis? */
static bool is_meant(const reading *r, const cJSON *e, uint32_t a, uint32_t dim, uint32_t axis)
{
	const problem *pb = r->pb;
	const char *name = text_of(e, "name"), *role_text = text_of(e, "role");
	const ir_type *ty = pval_type(pb->p, pb->p->args.p[a]);
	if (pb->group_of[a] == ID_NONE || (r->allowed && !r->allowed[a]) || !name || !role_text ||
		strcmp(name, r->names.p[a]) || strcmp(role_text, role_name(pb->roles[a])) ||
		number_of(e, "rank") != ty->rank)
		return false;
	return dim >= DIM_LARGEST ||
		(dim < ty->rank && ty->dims[dim] % warm_axis_length(pb, axis) == 0 &&
			!problem_forbids(pb, a, dim, axis));
}

/* The action of the scope that does the same, so that moves know it again; else the action itself.
 */
static action known_action(const reading *r, const action *a)
{
	for (uint32_t i = 0; i < r->of->actions.n; i++)
		if (action_same(&r->of->actions.p[i], a))
			return r->of->actions.p[i];
	return *a;
}

static void add_arguments(const reading *r, const cJSON *o, uint32_t axis, plan *pl)
{
	const problem *pb = r->pb;
	const cJSON *entries = cJSON_GetObjectItemCaseSensitive(o, "arguments");
	action a = {.kind = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "replicate"))
			? ACTION_REPLICATE
			: ACTION_PARTITION,
		.axis = axis,
		.group = ID_NONE,
		.dim = DIM_LARGEST,
		.weight = 1};
	action_target *t = arena_array(r->mem, action_target, pb->n_args + 1);
	bool *taken = xcalloc(pb->n_args + 1, sizeof *taken), alike = true;
	for (const cJSON *e = cJSON_IsArray(entries) ? entries->child : NULL; e; e = e->next) {
		uint32_t dim = dim_of(e);
		for (uint32_t arg = 0; dim != ID_NONE && arg < pb->n_args; arg++)
			if (!taken[arg] && is_meant(r, e, arg, dim, axis)) {
				taken[arg] = true;
				t[a.n_targets++] = (action_target){arg, dim};
				alike = alike && dim == t[0].dim && pb->group_of[arg] == pb->group_of[t[0].arg];
			}
	}
	free(taken);
	if (!a.n_targets)
		return;
	a.targets = t;
	if (alike && t[0].dim < DIM_LARGEST) {
		a.dim = t[0].dim;
		a.group = pb->group_of[t[0].arg];
	}
	a = known_action(r, &a);
	plan_insert(pl, pl->n, &a, "store");
}

static void add_site(const reading *r, const cJSON *o, uint32_t axis, plan *pl)
{
	const problem *pb = r->pb;
	const char *op = text_of(o, "inner");
	int64_t rank = number_of(o, "rank"), nth = number_of(o, "nth"), dim = number_of(o, "dimension");
	for (uint32_t k = 0; k < pb->n_activation_classes; k++) {
		const activation_class *sc = &pb->activation_classes[k];
		if (!str_is(warm_site_op(pb, sc), op) || sc->targets[0].dim != dim ||
			pval_type(pb->p, sc->targets[0].arg)->rank != rank || nth-- > 0)
			continue;
		for (uint32_t i = 0; i < r->of->actions.n; i++) {
			const action *a = &r->of->actions.p[i];
			if (a->kind == ACTION_CONSTRAIN && a->axis == axis && a->targets == sc->targets)
				plan_insert(pl, pl->n, a, "store");
		}
		return;
	}
}

/* The decisions in their order, each on the axes that its own axis became. from: by axis of this
 * mesh, ID_NONE: nothing lies on it. */
static void read_plan(const reading *r, const uint32_t *from, plan *pl)
{
	pl->n = 0;
	for (const cJSON *o = r->decisions->child; o; o = o->next)
		for (uint32_t axis = 0; axis < r->pb->n_axes; axis++) {
			if (from[axis] == ID_NONE || from[axis] != axis_of(r, o) ||
				!(r->of->axis_mask >> axis & 1))
				continue;
			const char *tactic = text_of(o, "tactic");
			role_action ra = tactic ? role_action_find(tactic) : ROLE_ACTION_COUNT;
			if (ra < ROLE_ACTION_COUNT)
				plan_insert(pl, pl->n, scope_role(r->of, ra, axis), "store");
			else if (text_of(o, "inner"))
				add_site(r, o, axis, pl);
			else if (!tactic)
				add_arguments(r, o, axis, pl);
		}
}

/* ---------------------------------------------------------------- axes */

typedef struct way { /* to lay the document's axes onto those of the mesh */
	uint32_t from[MOST_AXES];
	uint32_t price, code;
} way;

static int by_price(const void *a, const void *b)
{
	const way *x = a, *y = b;
	return x->price != y->price ? (x->price < y->price ? -1 : 1)
		: x->code < y->code     ? -1
								: x->code > y->code;
}

static uint32_t size_distance(int64_t a, int64_t b)
{
	uint32_t n = 0;
	for (; a < b; a *= 2)
		n++;
	for (; b < a; b *= 2)
		n++;
	return n;
}

/* How unlikely it is: what was decided about has no place, an axis does nothing, does what another
 * one does, has another name or size. */
static uint32_t price_of(const reading *r, const way *w)
{
	uint32_t price = 0, laid[MOST_AXES] = {0};
	for (uint32_t axis = 0; axis < r->pb->n_axes; axis++) {
		uint32_t from = w->from[axis];
		if (from == ID_NONE) {
			price += warm_axis_length(r->pb, axis) > 1 ? IDLE_AXIS : 0;
			continue;
		}
		laid[from]++;
		price += str_is(warm_axis_name(r->pb, axis), r->axis_names[from]) ? 0 : RENAMED_AXIS;
		price += size_distance(warm_axis_length(r->pb, axis), r->axis_sizes[from]);
	}
	for (uint32_t i = 0; i < r->n_axes; i++)
		price += !laid[i] && r->used[i] ? LOST_AXIS : laid[i] > 1 ? SHARED_AXIS * (laid[i] - 1) : 0;
	return price;
}

static uint32_t list_ways(const reading *r, way *out)
{
	uint32_t total = 1, choices = r->n_axes + 1;
	for (uint32_t i = 0; i < r->pb->n_axes; i++)
		total *= choices;
	for (uint32_t code = 0; code < total; code++) {
		uint32_t rest = code;
		out[code].code = code;
		for (uint32_t axis = 0; axis < r->pb->n_axes; axis++, rest /= choices)
			out[code].from[axis] = rest % choices < r->n_axes ? rest % choices : ID_NONE;
		out[code].price = price_of(r, &out[code]);
	}
	qsort(out, total, sizeof *out, by_price);
	return total;
}

uint32_t warm_plans(const problem *pb, const scope *of, const bool *allowed, arena *mem,
	const cJSON *document, plan out[MOST_WARM_PLANS])
{
	reading r = {.pb = pb,
		.of = of,
		.allowed = allowed,
		.mem = mem,
		.decisions = cJSON_GetObjectItemCaseSensitive(document, "decisions")};
	uint32_t n = 0;
	if (!cJSON_IsArray(r.decisions) || !read_axes(&r, document))
		return 0;
	strbuf name = {0};
	for (uint32_t a = 0; a < pb->n_args; a++) {
		warm_arg_name(pb, a, &name);
		vec_push(&r.names, arena_strdup(mem, name.p, name.n));
	}
	way *ways = xmalloc(MOST_WAYS * sizeof *ways);
	uint32_t n_ways = list_ways(&r, ways);
	for (uint32_t i = 0; i < n_ways && n < MOST_WARM_PLANS; i++) {
		bool known = false;
		read_plan(&r, ways[i].from, &out[n]);
		for (uint32_t k = 0; k < n && !known; k++)
			known = plan_same(&out[k], &out[n]);
		n += out[n].n && !known;
	}
	free(ways);
	vec_release(&r.names);
	strbuf_release(&name);
	return n;
}
