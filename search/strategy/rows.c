#include "search/strategy/rows.h"

str rows_keep(row_table *t, const strbuf *b)
{
	return (str){arena_strdup(&t->mem, b->p ? b->p : "", b->n), b->n};
}

static void read_arguments(row_table *t, const cJSON *document)
{
	strbuf cell = {0};
	for (const cJSON *a = first_of(document, "arguments"); a; a = a->next) {
		const cJSON *decided = cJSON_GetObjectItemCaseSensitive(a, "sharding"),
					*propagated = cJSON_GetObjectItemCaseSensitive(a, "propagated");
		bool open = cJSON_IsNull(decided) && propagated;
		strbuf_clear(&cell);
		report_sharding(open ? propagated : decided, &cell);
		int64_t group = cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(a, "group"))
			? number_of(a, "group")
			: -1;
		vec_push(&t->args,
			(argument){str_of(text_of(a, "name")), str_of(text_of(a, "type")),
				str_of(text_of(a, "role")), rows_keep(t, &cell), group, open});
	}
	strbuf_release(&cell);
}

bool rows_alike(const argument *a, const argument *b)
{
	return str_equal(a->type, b->type) && str_equal(a->role, b->role) &&
		str_equal(a->sharding, b->sharding) && a->propagated == b->propagated;
}

uint64_t rows_hash(const argument *a, uint64_t h)
{
	h = hash_bytes(a->type.p, a->type.n, hash_combine(h, a->propagated));
	h = hash_bytes(a->role.p, a->role.n, h);
	return hash_bytes(a->sharding.p, a->sharding.n, h);
}

/* Rows of arguments whose names have one pattern. */
static void fold_names(row_table *t)
{
	index_map by_facts;
	VEC(str) patterns = {0};
	strbuf text = {0};
	index_init(&by_facts);
	for (uint32_t i = 0; i < t->args.n; i++) {
		const argument *a = &t->args.p[i];
		uint32_t it, k, found = ID_NONE;
		report_name_pattern(a->name, &text);
		str pattern = {text.p, text.n};
		uint64_t h = rows_hash(a, hash_bytes(pattern.p, pattern.n, 0));
		for (it = index_first(&by_facts, h); found == ID_NONE && index_next(&by_facts, h, &it, &k);)
			if (str_equal(patterns.p[k], pattern) && rows_alike(a, &t->args.p[t->rows.p[k].first]))
				found = k;
		if (found == ID_NONE) {
			found = t->rows.n;
			index_add(&by_facts, h, found);
			vec_push(&patterns, rows_keep(t, &text));
			vec_push(&t->rows, (row){a->name, i, 0});
		}
		vec_push(&t->row_of, found);
		row *r = &t->rows.p[found];
		if (r->count++) {
			report_common_name(r->name, a->name, &text);
			r->name = str_equal(r->name, (str){text.p, text.n}) ? r->name : rows_keep(t, &text);
		}
	}
	index_release(&by_facts);
	vec_release(&patterns);
	strbuf_release(&text);
}

void rows_fold(row_table *t, const cJSON *document)
{
	arena_init(&t->mem);
	read_arguments(t, document);
	fold_names(t);
}

void rows_release(row_table *t)
{
	vec_release(&t->args);
	vec_release(&t->rows);
	vec_release(&t->row_of);
	arena_release(&t->mem);
}
