/* What a worker tells of its search tree and baselines, checked field by field: the worker reads
 * what anybody sent, and what it says is stored and shown. */
#include "server/searches.h"

#include <stdlib.h>

enum { MOST_NODES = 64, MOST_BASELINES = 32, MOST_TEXT = 128 };

/* A whole number from 0 on; missing or anything else is 0. */
static int64_t whole(const cJSON *o, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);
	return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 9007199254740992.0
		? (int64_t)item->valuedouble
		: 0;
}

static void add_int(strbuf *b, const cJSON *o, const char *name)
{
	if (cJSON_HasObjectItem(o, name))
		json_int(b, name, whole(o, name));
}

static void add_bool(strbuf *b, const cJSON *o, const char *name)
{
	if (cJSON_HasObjectItem(o, name))
		json_bool(b, name, cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, name)));
}

static void add_text(strbuf *b, const cJSON *o, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);
	json_text(b, name,
		cJSON_IsString(item) && strlen(item->valuestring) <= MOST_TEXT ? item->valuestring : "");
}

static void add_baseline(strbuf *b, const cJSON *o)
{
	add_text(b, o, "name");
	add_int(b, o, "runtime_ns");
	add_int(b, o, "peak_bytes");
	add_bool(b, o, "fits");
}

static void add_node(strbuf *b, const cJSON *o)
{
	static const char *const numbers[] = {
		"parent", "evaluations", "plans", "costed", "runtime_ns", "peak_bytes"};
	add_text(b, o, "what");
	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		add_int(b, o, numbers[i]);
	add_bool(b, o, "fits");
	add_bool(b, o, "done");
}

static void add_list(strbuf *b, const cJSON *list, const char *name, int most,
	void (*add)(strbuf *b, const cJSON *o))
{
	int n = 0;
	json_key(b, name);
	strbuf_putc(b, '[');
	for (const cJSON *o = list ? list->child : NULL; o && n < most; o = o->next, n++) {
		strbuf_puts(b, n ? ",{" : "{");
		if (cJSON_IsObject(o))
			add(b, o);
		strbuf_putc(b, '}');
	}
	strbuf_putc(b, ']');
}

/* A parent that does not come before its node would send whoever walks up in circles. */
static bool is_tree(const cJSON *list)
{
	int64_t at = 0;
	for (const cJSON *o = list->child; o; o = o->next, at++)
		if (cJSON_HasObjectItem(o, "parent") ? whole(o, "parent") >= at : at > 0)
			return false;
	return true;
}

char *search_detail(const cJSON *event)
{
	const cJSON *tree = cJSON_GetObjectItemCaseSensitive(event, "tree"),
				*baselines = cJSON_GetObjectItemCaseSensitive(event, "baselines");
	if (!cJSON_IsArray(tree) || !cJSON_IsArray(baselines) || !is_tree(tree))
		return NULL;
	strbuf b;
	strbuf_init(&b);
	strbuf_putc(&b, '{');
	add_list(&b, baselines, "baselines", MOST_BASELINES, add_baseline);
	add_list(&b, tree, "tree", MOST_NODES, add_node);
	char *out = xmalloc(b.n); /* without the brace */
	memcpy(out, b.p + 1, b.n - 1);
	out[b.n - 1] = 0;
	strbuf_release(&b);
	return out;
}
