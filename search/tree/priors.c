/* Statistics of tactics as priors. A plan of another program, on another mesh of as many axes, is
 * what each of its axes cut; what its axes are called says nothing. A path of the tree says the
 * same of some axes of this mesh. The prior of a node is how many of the plans can be laid onto
 * this mesh so that they do what its path says. Of tactics, instances are found first that are in
 * more than a few of the plans. */
#include "search/tree/priors.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

/* Plans of all sorts that count besides. So many that priors decide between nodes that are worth
 * the same, and not against what plans cost here: with 1 or 5 the search came to worse plans on
 * meshes of unlike axes (docs/search-experiments.md). */
/* A tactic is likely that at least one plan in so many has. */

static const char *const words[] = {"batch", "weights", "data", "zero2", "zero3"};
_Static_assert(1u << COUNT_OF(words) == AXIS_CUTS_END, "a word for each bit");

typedef struct won {
	uint32_t n, cuts[MAX_MESH_AXES];
} won;
struct tactic_priors {
	VEC(won) plans;
};

/* ---------------------------------------------------------------- reading */

static bool read_axis(const cJSON *axis, won *out)
{
	uint32_t cuts = 0;
	if (!cJSON_IsArray(axis) || out->n == MAX_MESH_AXES)
		return false;
	for (const cJSON *w = axis->child; w; w = w->next) {
		uint32_t bit = 0;
		while (bit < COUNT_OF(words) && !(cJSON_IsString(w) && !strcmp(w->valuestring, words[bit])))
			bit++;
		if (bit == COUNT_OF(words))
			return false;
		cuts |= 1u << bit;
	}
	/* Parameters with their state: no cut of the state besides. */
	out->cuts[out->n++] = cuts & AXIS_ZERO3 ? cuts & ~(uint32_t)AXIS_ZERO2 : cuts;
	return true;
}

static bool read_plan(const cJSON *plan_json, won *out)
{
	*out = (won){0};
	if (!cJSON_IsArray(plan_json))
		return false;
	for (const cJSON *axis = plan_json->child; axis; axis = axis->next)
		if (!read_axis(axis, out))
			return false;
	return true;
}

tactic_priors *tactic_priors_read(const char *json, diag *d)
{
	tactic_priors *p = xcalloc(1, sizeof *p);
	cJSON *list = cJSON_ParseWithLengthOpts(json, strlen(json), NULL, false);
	bool ok = cJSON_IsArray(list);
	for (const cJSON *e = ok ? list->child : NULL; e && p->plans.n < MOST_STATISTICS && ok;
		 e = e->next) {
		won w;
		uint32_t cuts = 0;
		ok = read_plan(e, &w);
		for (uint32_t i = 0; i < w.n; i++)
			cuts |= w.cuts[i];
		if (ok && cuts) /* else all was best left whole, which says nothing of tactics */
			vec_push(&p->plans, w);
	}
	cJSON_Delete(list);
	if (ok)
		return p;
	diag_set(d, ST_ERR_INVALID,
		"tactic statistics: expected a list of plans such as [[\"batch\"], [\"weights\", "
		"\"zero2\"]], entry %u is none",
		p->plans.n);
	tactic_priors_free(p);
	return NULL;
}

uint32_t tactic_priors_plans(const tactic_priors *p) { return p->plans.n; }

void tactic_priors_free(tactic_priors *p)
{
	if (!p)
		return;
	vec_release(&p->plans);
	free(p);
}

/* ---------------------------------------------------------------- counting */

/* Can the axes from `at` on be axes of the plan that are not taken? like: what axes cut that are to
 * cut the same; UINT32_MAX: not known yet. */
static bool can_be(const won *w, const path_cuts *says, uint32_t at, uint32_t taken, uint32_t like)
{
	if (at == says->n)
		return true;
	for (uint32_t i = 0; i < w->n; i++) {
		bool alike = says->alike >> at & 1;
		if (taken >> i & 1 || (w->cuts[i] & says->axes[at].said) != says->axes[at].cuts ||
			(alike && like != UINT32_MAX && like != w->cuts[i]))
			continue;
		if (can_be(w, says, at + 1, taken | 1u << i, alike ? w->cuts[i] : like))
			return true;
	}
	return false;
}

static uint32_t count(const tactic_priors *p, const path_cuts *says)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < p->plans.n; i++)
		n += can_be(&p->plans.p[i], says, 0, 0, UINT32_MAX);
	return n;
}

double tactic_prior(
	const tactic_priors *p, const tactic_space *ts, const uint32_t *path, uint32_t depth)
{
	path_cuts says;
	bool known = p && completion_cuts(ts, path, depth, &says);
	return known ? 1 + (double)count(p, &says) / SMOOTHING : 1;
}

bool tactic_is_likely(
	const tactic_priors *p, const tactic_space *ts, const axis_set *set, tactic_id t)
{
	uint32_t said = AXIS_BATCH | AXIS_WEIGHTS | (set ? AXIS_DATA : 0);
	path_cuts says = {.n = ts->n_axes, .alike = set && set->size != ONE_AXIS ? set->mask : 0};
	for (uint32_t i = 0; i < says.n; i++)
		if (!set || set->mask >> i & 1) {
			says.axes[i].said = said;
			says.axes[i].cuts = tactic_cuts(t);
		}
	return count(p, &says) * FEW_PART >= p->plans.n;
}
