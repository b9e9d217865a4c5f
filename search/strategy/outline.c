/* A document without what grows with the number of arguments: rows stand for those that are alike,
 * and lists of arguments are written as progressions. */
#include "search/strategy/rows.h"

#include <stdlib.h>

typedef struct outline {
	row_table t;
	VEC(const cJSON *) arguments;
	/* by row: the first row whose names have the same pattern; of the decision at hand, how many
	 * of such rows it is on and what their names have in common */
	uint32_t *pattern_of, *count;
	str *name;
} outline;

typedef VEC(uint32_t) numbers;

static cJSON *text_json(str s)
{
	strbuf b = {0};
	strbuf_str(&b, s);
	cJSON *o = cJSON_CreateString(b.p ? b.p : "");
	strbuf_release(&b);
	return o;
}

/* [first, count, step]: what each layer has once lies at equal distances. */
static cJSON *progressions_json(const uint32_t *p, uint32_t n)
{
	cJSON *list = cJSON_CreateArray();
	for (uint32_t i = 0, k; i < n; i = k) {
		int64_t step = i + 1 < n ? (int64_t)p[i + 1] - p[i] : 1;
		for (k = i + 1; k < n && (int64_t)p[k] - p[k - 1] == step; k++)
			;
		const double three[] = {p[i], k - i, (double)step};
		cJSON_AddItemToArray(list, cJSON_CreateDoubleArray(three, 3));
	}
	return list;
}

static void copy_field(cJSON *to, const cJSON *from, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(from, key);
	if (v)
		cJSON_AddItemToObject(to, key, cJSON_Duplicate(v, true));
}

static cJSON *rows_json(const outline *x)
{
	const row_table *t = &x->t;
	cJSON *list = cJSON_CreateArray();
	uint32_t *members = xmalloc((t->args.n + 1) * sizeof *members),
			 *end = xcalloc((size_t)t->rows.n + 1, sizeof *end);
	for (uint32_t k = 0; k < t->rows.n; k++)
		end[k + 1] = end[k] + t->rows.p[k].count;
	for (uint32_t a = 0; a < t->args.n; a++)
		members[end[t->row_of.p[a]]++] = a;
	for (uint32_t k = 0; k < t->rows.n; k++) {
		const row *r = &t->rows.p[k];
		cJSON *o = cJSON_CreateObject();
		cJSON_AddItemToObject(o, "name", text_json(r->name));
		cJSON_AddNumberToObject(o, "count", r->count);
		cJSON_AddItemToObject(
			o, "members", progressions_json(members + end[k] - r->count, r->count));
		copy_field(o, x->arguments.p[r->first], "type");
		copy_field(o, x->arguments.p[r->first], "role");
		copy_field(o, x->arguments.p[r->first], "sharding");
		copy_field(o, x->arguments.p[r->first], "propagated");
		cJSON_AddItemToArray(list, o);
	}
	free(members);
	free(end);
	return list;
}

static void find_patterns(outline *x)
{
	index_map by_pattern;
	strbuf pattern = {0}, other = {0};
	index_init(&by_pattern);
	for (uint32_t k = 0; k < x->t.rows.n; k++) {
		uint32_t it, r, found = ID_NONE;
		report_name_pattern(x->t.args.p[x->t.rows.p[k].first].name, &pattern);
		uint64_t h = hash_bytes(pattern.p, pattern.n, 0);
		for (it = index_first(&by_pattern, h);
			 found == ID_NONE && index_next(&by_pattern, h, &it, &r);) {
			report_name_pattern(x->t.args.p[x->t.rows.p[r].first].name, &other);
			if (str_equal((str){pattern.p, pattern.n}, (str){other.p, other.n}))
				found = r;
		}
		if (found == ID_NONE)
			index_add(&by_pattern, h, k);
		x->pattern_of[k] = found == ID_NONE ? k : found;
	}
	index_release(&by_pattern);
	strbuf_release(&pattern);
	strbuf_release(&other);
}

/* What some arguments are called, each pattern once, in their order. */
static cJSON *targets_json(outline *x, const numbers *members)
{
	cJSON *list = cJSON_CreateArray();
	numbers seen = {0};
	strbuf text = {0};
	for (uint32_t i = 0; i < members->n; i++) {
		str name = x->t.args.p[members->p[i]].name;
		uint32_t k = x->pattern_of[x->t.row_of.p[members->p[i]]];
		if (!x->count[k]++) {
			vec_push(&seen, k);
			x->name[k] = name;
			continue;
		}
		report_common_name(x->name[k], name, &text);
		if (!str_equal(x->name[k], (str){text.p, text.n}))
			x->name[k] = rows_keep(&x->t, &text);
	}
	for (uint32_t i = 0; i < seen.n; i++) {
		cJSON *o = cJSON_CreateObject();
		cJSON_AddItemToObject(o, "name", text_json(x->name[seen.p[i]]));
		cJSON_AddNumberToObject(o, "count", x->count[seen.p[i]]);
		cJSON_AddItemToArray(list, o);
		x->count[seen.p[i]] = 0;
	}
	vec_release(&seen);
	strbuf_release(&text);
	return list;
}

/* Of all decisions, or all groups. Numbers of no argument are left out: a document may be
 * anyone's. */
static void fold_members(outline *x, cJSON *list)
{
	for (cJSON *o = list ? list->child : NULL; o; o = o->next) {
		numbers members = {0};
		for (const cJSON *m = first_of(o, "members"); m; m = m->next)
			if (cJSON_IsNumber(m) && m->valuedouble >= 0 && m->valuedouble < x->t.args.n)
				vec_push(&members, (uint32_t)m->valuedouble);
		if (cJSON_IsObject(o)) {
			cJSON_DeleteItemFromObjectCaseSensitive(o, "members");
			cJSON_AddItemToObject(o, "members", progressions_json(members.p, members.n));
			cJSON_AddItemToObject(o, "targets", targets_json(x, &members));
		}
		vec_release(&members);
	}
}

static void outline_document(cJSON *document)
{
	outline x = {0};
	for (const cJSON *a = first_of(document, "arguments"); a; a = a->next)
		vec_push(&x.arguments, a);
	rows_fold(&x.t, document);
	uint32_t n = x.t.rows.n + 1;
	x.pattern_of = xcalloc((size_t)n * 2, sizeof *x.pattern_of);
	x.count = x.pattern_of + n;
	x.name = xcalloc(n, sizeof *x.name);
	find_patterns(&x);
	cJSON *rows = rows_json(&x);
	fold_members(&x, cJSON_GetObjectItemCaseSensitive(document, "actions"));
	fold_members(&x, cJSON_GetObjectItemCaseSensitive(document, "groups"));
	cJSON_DeleteItemFromObjectCaseSensitive(document, "arguments");
	cJSON_DeleteItemFromObjectCaseSensitive(document, "results");
	cJSON_AddItemToObject(document, "rows", rows);
	free(x.pattern_of);
	free(x.name);
	vec_release(&x.arguments);
	rows_release(&x.t);
}

status strategy_outline(str json, strbuf *out, diag *d)
{
	const char *end = NULL;
	cJSON *document = cJSON_ParseWithLengthOpts(json.p, json.n, &end, false);
	if (!document)
		return diag_at(d, json.p, json.n, end ? (size_t)(end - json.p) : 0, ST_ERR_PARSE,
			"strategy: invalid JSON");
	bool is = cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(document, "arguments")),
		 printed = false;
	if (is) {
		outline_document(document);
		char *text = cJSON_PrintUnformatted(document);
		printed = text != NULL;
		strbuf_puts(out, printed ? text : "");
		cJSON_free(text);
	}
	cJSON_Delete(document);
	if (!is)
		return diag_set(
			d, ST_ERR_INVALID, "strategy: expected a strategy document, with its arguments");
	return printed ? ST_OK : diag_set(d, ST_ERR_MEMORY, "no memory for the outline");
}
