/* cJSON as the library is linked with. It allocates with the program's malloc, so that the heap has
 * to be told what is to be deleted: whatever hangs from nothing yet. */
#include "library/library.h"

#include <cjson/cJSON.h>

static void delete_item(void *item) { cJSON_Delete(item); }
static void delete_text(void *text) { cJSON_free(text); }

static cJSON *made(cJSON *item)
{
	if (!item)
		memory_out();
	heap_hold(item, delete_item);
	return item;
}

/* What is added by its name is made inside cJSON, and hangs from its object at once. */
static cJSON *added(const cJSON *object, cJSON *item)
{
	if (object && !item)
		memory_out();
	return item;
}

static cJSON_bool hung(const cJSON *parent, const cJSON *item, cJSON_bool ok)
{
	if (ok)
		heap_let_go(item);
	else if (parent && item)
		memory_out();
	return ok;
}

/* ---------------------------------------------------------------- is a text at fault where it
 * cannot be parsed, or memory? */

static const char *skip_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
		p++;
	return p;
}

/* Past the closing quote; NULL: not for sure a string that cJSON takes. Code points in halves are
 * left to it. */
static const char *skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\' && (++p == end || !memchr("\"\\/bfnrt", *p, 8)))
			return NULL;
	return p < end ? p + 1 : NULL;
}

static const char *skip_scalar(const char *p, const char *end)
{
	static const char *const words[] = {"true", "false", "null"};
	for (size_t i = 0; i < COUNT_OF(words); i++)
		if ((size_t)(end - p) >= strlen(words[i]) && !memcmp(p, words[i], strlen(words[i])))
			return p + strlen(words[i]);
	if (*p != '-' && (*p < '0' || *p > '9'))
		return NULL;
	char number[64], *stop; /* cJSON takes no longer ones */
	size_t n = 0;
	for (; p + n < end && n < sizeof number - 1 && strchr("+-.eE0123456789", p[n]); n++)
		number[n] = p[n];
	number[n] = 0;
	strtod(number, &stop);
	return *stop == 0 ? p + n : NULL;
}

/* Text that cJSON parses unless it gets no memory. False may be wrong: then text is blamed. */
static bool is_json(const char *p, size_t length)
{
	enum { DEPTH = 256 };
	const char *end = p + length;
	bool in_object[DEPTH];
	for (int depth = 0;;) {
		p = skip_space(p, end);
		if (depth && in_object[depth - 1]) {
			p = p < end && *p == '"' ? skip_string(p, end) : NULL;
			p = p ? skip_space(p, end) : NULL;
			if (!p || p == end || *p != ':')
				return false;
			p = skip_space(p + 1, end);
		}
		if (p == end)
			return false;
		if (*p == '{' || *p == '[') {
			bool object = *p == '{';
			p = skip_space(p + 1, end);
			if (p == end || *p != (object ? '}' : ']')) {
				if (depth == DEPTH)
					return false;
				in_object[depth++] = object;
				continue;
			}
			p++;
		} else if (!(p = *p == '"' ? skip_string(p, end) : skip_scalar(p, end))) {
			return false;
		}
		for (p = skip_space(p, end); depth && p < end && *p == (in_object[depth - 1] ? '}' : ']');
			 p = skip_space(p + 1, end))
			depth--;
		if (!depth || p == end)
			return !depth && p == end;
		if (*p++ != ',')
			return false;
	}
}

/* ---------------------------------------------------------------- what stands for cJSON_X */

/* Called under cJSON's name, so each is of the type that cJSON declares. */
#define STANDS_FOR(name) __typeof__(cJSON_##name) json_##name;
/* clang-format off */
STANDS_FOR(ParseWithLengthOpts) STANDS_FOR(Print) STANDS_FOR(PrintUnformatted) STANDS_FOR(free)
STANDS_FOR(Delete) STANDS_FOR(DetachItemViaPointer) STANDS_FOR(DetachItemFromArray)
STANDS_FOR(DetachItemFromObject) STANDS_FOR(DetachItemFromObjectCaseSensitive) STANDS_FOR(Duplicate)
STANDS_FOR(CreateTrue) STANDS_FOR(CreateFalse) STANDS_FOR(AddFalseToObject)
STANDS_FOR(AddNullToObject) STANDS_FOR(InsertItemInArray) STANDS_FOR(CreateObject)
STANDS_FOR(CreateArray) STANDS_FOR(CreateNull) STANDS_FOR(CreateBool) STANDS_FOR(CreateNumber)
STANDS_FOR(CreateString) STANDS_FOR(AddObjectToObject) STANDS_FOR(AddArrayToObject)
STANDS_FOR(AddBoolToObject) STANDS_FOR(AddTrueToObject) STANDS_FOR(AddNumberToObject)
STANDS_FOR(AddRawToObject) STANDS_FOR(AddStringToObject) STANDS_FOR(AddItemToArray)
STANDS_FOR(AddItemToObject)
/* clang-format on */
#undef STANDS_FOR

										cJSON *json_ParseWithLengthOpts(const char *text,
											size_t length, const char **end, cJSON_bool terminated)
{
	cJSON *root = cJSON_ParseWithLengthOpts(text, length, end, terminated);
	return root || is_json(text, length - (terminated && length && !text[length - 1])) ? made(root)
																					   : NULL;
}

static char *printed(char *text)
{
	if (!text)
		memory_out();
	heap_hold(text, delete_text);
	return text;
}

char *json_Print(const cJSON *item) { return printed(cJSON_Print(item)); }
char *json_PrintUnformatted(const cJSON *item) { return printed(cJSON_PrintUnformatted(item)); }

void json_free(void *text)
{
	heap_let_go(text);
	cJSON_free(text);
}

void json_Delete(cJSON *item)
{
	heap_let_go(item);
	cJSON_Delete(item);
}

/* What hangs from nothing any more; NULL: there was none. */
static cJSON *detached(cJSON *item)
{
	if (item)
		heap_hold(item, delete_item);
	return item;
}

cJSON *json_DetachItemViaPointer(cJSON *parent, cJSON *item)
{
	return detached(cJSON_DetachItemViaPointer(parent, item));
}
cJSON *json_DetachItemFromArray(cJSON *array, int which)
{
	return detached(cJSON_DetachItemFromArray(array, which));
}
cJSON *json_DetachItemFromObject(cJSON *o, const char *name)
{
	return detached(cJSON_DetachItemFromObject(o, name));
}
cJSON *json_DetachItemFromObjectCaseSensitive(cJSON *o, const char *name)
{
	return detached(cJSON_DetachItemFromObjectCaseSensitive(o, name));
}
cJSON *json_Duplicate(const cJSON *item, cJSON_bool recurse)
{
	return made(cJSON_Duplicate(item, recurse));
}
cJSON *json_CreateTrue(void) { return made(cJSON_CreateTrue()); }
cJSON *json_CreateFalse(void) { return made(cJSON_CreateFalse()); }
cJSON *json_AddFalseToObject(cJSON *o, const char *name)
{
	return added(o, cJSON_AddFalseToObject(o, name));
}
cJSON *json_AddNullToObject(cJSON *o, const char *name)
{
	return added(o, cJSON_AddNullToObject(o, name));
}
cJSON_bool json_InsertItemInArray(cJSON *array, int which, cJSON *item)
{
	return hung(array, item, cJSON_InsertItemInArray(array, which, item));
}
cJSON *json_CreateObject(void) { return made(cJSON_CreateObject()); }
cJSON *json_CreateArray(void) { return made(cJSON_CreateArray()); }
cJSON *json_CreateNull(void) { return made(cJSON_CreateNull()); }
cJSON *json_CreateBool(cJSON_bool v) { return made(cJSON_CreateBool(v)); }
cJSON *json_CreateNumber(double v) { return made(cJSON_CreateNumber(v)); }
cJSON *json_CreateString(const char *v) { return made(cJSON_CreateString(v)); }
cJSON *json_AddObjectToObject(cJSON *o, const char *name)
{
	return added(o, cJSON_AddObjectToObject(o, name));
}
cJSON *json_AddArrayToObject(cJSON *o, const char *name)
{
	return added(o, cJSON_AddArrayToObject(o, name));
}
cJSON *json_AddBoolToObject(cJSON *o, const char *name, cJSON_bool v)
{
	return added(o, cJSON_AddBoolToObject(o, name, v));
}
cJSON *json_AddTrueToObject(cJSON *o, const char *name)
{
	return added(o, cJSON_AddTrueToObject(o, name));
}
cJSON *json_AddNumberToObject(cJSON *o, const char *name, double v)
{
	return added(o, cJSON_AddNumberToObject(o, name, v));
}
cJSON *json_AddRawToObject(cJSON *o, const char *name, const char *v)
{
	return added(o, cJSON_AddRawToObject(o, name, v));
}
cJSON *json_AddStringToObject(cJSON *o, const char *name, const char *v)
{
	return added(o, cJSON_AddStringToObject(o, name, v));
}
cJSON_bool json_AddItemToArray(cJSON *array, cJSON *item)
{
	return hung(array, item, cJSON_AddItemToArray(array, item));
}
cJSON_bool json_AddItemToObject(cJSON *o, const char *name, cJSON *item)
{
	return hung(o, item, cJSON_AddItemToObject(o, name, item));
}
