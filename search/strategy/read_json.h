/* Fields of a document that may be anyone's: what is missing or of another type reads as nothing.
 */
#ifndef SW_SEARCH_STRATEGY_READ_JSON_H
#define SW_SEARCH_STRATEGY_READ_JSON_H

#include "base/base.h"

#include <cjson/cJSON.h>

static inline const char *text_of(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	return cJSON_IsString(v) ? v->valuestring : "";
}

static inline int64_t number_of(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	return cJSON_IsNumber(v) && v->valuedouble > -9e15 && v->valuedouble < 9e15
		? (int64_t)v->valuedouble
		: 0;
}

static inline bool is_true(const cJSON *o, const char *key)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, key));
}

static inline const cJSON *first_of(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	return v ? v->child : NULL;
}

#endif
