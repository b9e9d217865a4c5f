/* Typed fields of a JSON object; what is wrong is told at the pointer of the field. */
#include "server/json.h"

#include <math.h>

const cJSON *json_field(const cJSON *o, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(o, name);
}

bool field_number(const cJSON *o, const char *base, const char *name, field_need need, double least,
	double most, double *out, problem *why)
{
	const cJSON *item = json_field(o, name);
	char at[256];
	snprintf(at, sizeof at, "%s/%s", base, name);
	if ((!item || cJSON_IsNull(item)) && need == FIELD_OPTIONAL)
		return true;
	if (!cJSON_IsNumber(item) || !(item->valuedouble >= least && item->valuedouble <= most))
		return problem_at(why, at, "expected a number from %.0f to %.0f", least, most);
	*out = item->valuedouble;
	return true;
}

bool field_count(
	const cJSON *o, const char *base, const char *name, field_need need, int64_t *out, problem *why)
{
	double v = (double)*out;
	char at[256];
	if (!field_number(o, base, name, need, 0, MOST_NUMBER, &v, why))
		return false;
	snprintf(at, sizeof at, "%s/%s", base, name);
	if (v != floor(v))
		return problem_at(why, at, "expected a whole number");
	*out = (int64_t)v;
	return true;
}

bool field_text(const cJSON *o, const char *base, const char *name, field_need need, size_t most,
	const char **out, problem *why)
{
	const cJSON *item = json_field(o, name);
	char at[256];
	snprintf(at, sizeof at, "%s/%s", base, name);
	if ((!item || cJSON_IsNull(item)) && need == FIELD_OPTIONAL)
		return true;
	if (!cJSON_IsString(item) || !item->valuestring[0] || strlen(item->valuestring) > most)
		return problem_at(why, at, "expected a text of 1 to %zu bytes", most);
	*out = item->valuestring;
	return true;
}

bool field_bool(const cJSON *o, const char *base, const char *name, bool *out, problem *why)
{
	const cJSON *item = json_field(o, name);
	char at[256];
	snprintf(at, sizeof at, "%s/%s", base, name);
	*out = cJSON_IsTrue(item);
	return !item || cJSON_IsBool(item) || problem_at(why, at, "expected true or false");
}
