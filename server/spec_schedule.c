/* The schedule of a search request: tactics and groups. */
#include "server/spec_private.h"

enum { TACTIC_LIMIT = 256 };

static bool check_axis(const axes *a, const cJSON *item, const char *base, problem *why)
{
	if (!cJSON_IsString(item))
		return problem_at(why, base, "expected the name of an axis");
	for (uint32_t i = 0; i < a->n; i++)
		if (str_is(a->names[i], item->valuestring))
			return true;
	return problem_at(why, base, "the mesh has no axis '%.100s'", item->valuestring);
}

static const char *const named_tactics[] = {"data_parallel", "zero2", "zero3", "replicate", NULL};

/* Fields that tactics share; a missing one is fine here, the worker knows what each tactic needs.
 */
static bool check_tactic_fields(const axes *a, const cJSON *t, const char *base, problem *why)
{
	int64_t v;
	const cJSON *item = field(t, "axis"), *list = field(t, "axes");
	if (item && !check_axis(a, item, pointer_below(base, "axis").text, why))
		return false;
	if (list && !cJSON_IsArray(list))
		return problem_at(why, pointer_below(base, "axes").text, "expected an array of axis names");
	int i = 0;
	for (item = list ? list->child : NULL; item; item = item->next, i++)
		if (!check_axis(a, item, pointer_at(pointer_below(base, "axes").text, i).text, why))
			return false;
	if ((item = field(t, "objective")) &&
		!check_word(item, pointer_below(base, "objective").text, spec_objectives, why))
		return false;
	if ((item = field(t, "evaluations")) &&
		!check_integer(item, pointer_below(base, "evaluations").text, 1, 1000000000, &v, why))
		return false;
	if ((item = field(t, "dimension")) &&
		!check_integer(item, pointer_below(base, "dimension").text, 0, 63, &v, why))
		return false;
	return true;
}

static bool check_tactic(const axes *a, const cJSON *t, const char *base, problem *why)
{
	static const struct {
		const char *kind, *fields;
	} kinds[] = {
		{"manual", " arguments values class_of dimension axis sharding role indices index "},
		{"auto", " axes objective arguments evaluations role indices index "},
		{"polish", " axes objective evaluations arguments role "},
	};
	if (!cJSON_IsObject(t))
		return problem_at(why, base, "expected a tactic, an object");
	const cJSON *named = field(t, "named");
	if (named)
		return check_fields(
				   t, base, " named axis axes arguments values role indices index ", why) &&
			check_word(named, pointer_below(base, "named").text, named_tactics, why) &&
			check_tactic_fields(a, t, base, why);
	for (size_t k = 0; k < COUNT_OF(kinds); k++) {
		const cJSON *body = field(t, kinds[k].kind);
		pointer inner = pointer_below(base, kinds[k].kind);
		if (body)
			return check_fields(t, base, " manual auto polish ", why) &&
				check_fields(body, inner.text, kinds[k].fields, why) &&
				check_tactic_fields(a, body, inner.text, why);
	}
	return problem_at(why, base, "expected one of \"manual\", \"named\", \"auto\", \"polish\"");
}

static bool check_groups(const cJSON *list, problem *why)
{
	static const char base[] = "/schedule/groups";
	if (list && (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > LIST_LIMIT))
		return problem_at(
			why, base, "expected an array of at most %d globs over argument names", LIST_LIMIT);
	int i = 0;
	for (const cJSON *item = list ? list->child : NULL; item; item = item->next, i++)
		if (!check_text(item, pointer_at(base, i).text, TEXT_LIMIT, why))
			return false;
	return true;
}

bool spec_read_schedule(search_spec *s, const cJSON *root, const axes *a, problem *why)
{
	const cJSON *schedule = field(root, "schedule");
	if (!schedule)
		return true;
	if (!check_fields(schedule, "/schedule", " tactics groups ", why) ||
		!check_groups(field(schedule, "groups"), why))
		return false;
	const cJSON *tactics = field(schedule, "tactics");
	int n = cJSON_IsArray(tactics) ? cJSON_GetArraySize(tactics) : 0;
	if (n < 1 || n > TACTIC_LIMIT)
		return problem_at(
			why, "/schedule/tactics", "expected an array of 1 to %d tactics", TACTIC_LIMIT);
	int i = 0;
	for (const cJSON *t = tactics->child; t; t = t->next, i++)
		if (!check_tactic(a, t, pointer_at("/schedule/tactics", i).text, why))
			return false;
	char *text = cJSON_PrintUnformatted(schedule);
	s->schedule_json = keep(s, text);
	cJSON_free(text);
	return true;
}
