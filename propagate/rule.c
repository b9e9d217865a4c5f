/* The interned form of sharding rules, the identity rule, and the text of #sdy.op_sharding_rule. */
#include "propagate/rules.h"

#include <stdlib.h>

void rule_table_init(rule_table *t)
{
	*t = (rule_table){0};
	arena_init(&t->mem);
	arena_init(&t->scratch);
	index_init(&t->index);
	vec_push(&t->rules, (rule){0}); /* RULE_NONE */
}

void rule_table_release(rule_table *t)
{
	arena_release(&t->mem);
	arena_release(&t->scratch);
	index_release(&t->index);
	vec_release(&t->rules);
}

static uint32_t rule_tensors(const rule *r) { return (uint32_t)r->n_operands + r->n_results; }
static uint32_t rule_dims(const rule *r) { return r->tensor_first[rule_tensors(r)]; }
static uint32_t rule_uses(const rule *r)
{
	uint32_t n = rule_dims(r);
	return n ? (uint32_t)r->dims[n - 1].first + r->dims[n - 1].n : 0;
}

static uint64_t rule_hash(const rule *r)
{
	uint64_t h = hash_combine((uint64_t)r->n_factors << 33 | (uint64_t)r->n_operands << 17 |
			(uint64_t)r->n_results << 2 | (uint64_t)r->swapped << 1 | r->custom,
		r->blocked);
	h = hash_bytes(r->factor_sizes, r->n_factors * sizeof *r->factor_sizes, h);
	h = hash_bytes(r->factor_types, r->n_factors, h);
	h = hash_bytes(r->tensor_first, (rule_tensors(r) + 1) * sizeof *r->tensor_first, h);
	h = hash_bytes(r->dims, rule_dims(r) * sizeof *r->dims, h);
	return hash_bytes(r->dim_factors, rule_uses(r) * sizeof *r->dim_factors, h);
}

static bool same_bytes(const void *a, const void *b, size_t n) { return !n || !memcmp(a, b, n); }

static bool rule_equal(const rule *a, const rule *b)
{
	return a->n_factors == b->n_factors && a->n_operands == b->n_operands &&
		a->n_results == b->n_results && a->custom == b->custom && a->swapped == b->swapped &&
		a->blocked == b->blocked &&
		same_bytes(a->factor_sizes, b->factor_sizes, a->n_factors * sizeof *a->factor_sizes) &&
		same_bytes(a->factor_types, b->factor_types, a->n_factors) &&
		same_bytes(
			a->tensor_first, b->tensor_first, (rule_tensors(a) + 1) * sizeof *a->tensor_first) &&
		same_bytes(a->dims, b->dims, rule_dims(a) * sizeof *a->dims) &&
		rule_uses(a) == rule_uses(b) &&
		same_bytes(a->dim_factors, b->dim_factors, rule_uses(a) * sizeof *a->dim_factors);
}

static void *keep(arena *mem, const void *p, size_t n)
{
	void *copy = arena_alloc(mem, n);
	if (n)
		memcpy(copy, p, n);
	return copy;
}

rule_id rule_intern(rule_table *t, const rule *r)
{
	uint64_t h = rule_hash(r);
	uint32_t it = index_first(&t->index, h), id;
	while (index_next(&t->index, h, &it, &id))
		if (rule_equal(&t->rules.p[id], r))
			return id;
	rule copy = *r;
	copy.factor_sizes = keep(&t->mem, r->factor_sizes, r->n_factors * sizeof *r->factor_sizes);
	copy.factor_types = keep(&t->mem, r->factor_types, r->n_factors);
	copy.tensor_first =
		keep(&t->mem, r->tensor_first, (rule_tensors(r) + 1) * sizeof *r->tensor_first);
	copy.dims = keep(&t->mem, r->dims, rule_dims(r) * sizeof *r->dims);
	copy.dim_factors = keep(&t->mem, r->dim_factors, rule_uses(r) * sizeof *r->dim_factors);
	id = t->rules.n;
	vec_push(&t->rules, copy);
	index_add(&t->index, h, id);
	return id;
}

rule_id rule_identity(rule_table *t, const ir_type *ty, uint32_t n_operands, uint32_t n_results)
{
	uint32_t n = n_operands + n_results, rank = ty->kind == TYPE_TENSOR ? ty->rank : 0;
	if (n_operands > UINT16_MAX || n_results > UINT16_MAX || (uint64_t)n * rank > UINT16_MAX)
		return RULE_NONE;
	arena_mark mark = arena_save(&t->scratch);
	uint32_t *first = arena_array(&t->scratch, uint32_t, n + 1);
	struct rule_dim *dims = arena_array(&t->scratch, struct rule_dim, (size_t)n * rank);
	uint16_t *factors = arena_array(&t->scratch, uint16_t, (size_t)n * rank);
	uint8_t kinds[MAX_RANK] = {0};
	for (uint32_t i = 0; i <= n; i++)
		first[i] = i * rank;
	for (uint32_t i = 0; i < n * rank; i++) {
		dims[i] = (struct rule_dim){(uint16_t)i, 1};
		factors[i] = (uint16_t)(i % rank);
	}
	rule r = {.n_factors = (uint16_t)rank,
		.n_operands = (uint16_t)n_operands,
		.n_results = (uint16_t)n_results,
		.factor_sizes = ty->dims,
		.factor_types = kinds,
		.tensor_first = first,
		.dims = dims,
		.dim_factors = factors};
	rule_id id = rule_intern(t, &r);
	arena_rewind(&t->scratch, mark);
	return id;
}

/* ---------------------------------------------------------------- text */

/* Factors 0..17 are i..z, then z_1, z_2, .. */
void factor_print(uint32_t f, strbuf *out)
{
	if (f <= 'z' - 'i')
		strbuf_putc(out, (char)('i' + f));
	else
		strbuf_printf(out, "z_%u", f - ('z' - 'i'));
}

static void print_tensors(const rule *r, uint32_t from, uint32_t to, strbuf *out)
{
	strbuf_putc(out, '(');
	for (uint32_t t = from; t < to; t++) {
		strbuf_puts(out, t == from ? "[" : ", [");
		for (uint32_t d = r->tensor_first[t]; d < r->tensor_first[t + 1]; d++) {
			if (d > r->tensor_first[t])
				strbuf_puts(out, ", ");
			for (uint32_t k = 0; k < r->dims[d].n; k++)
				factor_print(r->dim_factors[r->dims[d].first + k], out);
		}
		strbuf_putc(out, ']');
	}
	strbuf_putc(out, ')');
}

static const char *const list_words[] = {
	"reduction", "need_replication", "permutation", "blocked_propagation"};
enum { LIST_BLOCKED = 3 };

static bool in_list(const rule *r, uint32_t list, uint32_t factor)
{
	return list == LIST_BLOCKED ? r->blocked >> factor & 1
								: r->factor_types[factor] == FACTOR_REDUCTION + list;
}

void rule_print(const rule *r, strbuf *out)
{
	strbuf_putc(out, '<');
	print_tensors(r, 0, r->n_operands, out);
	strbuf_puts(out, "->");
	print_tensors(r, r->n_operands, rule_tensors(r), out);
	for (uint32_t f = 0; f < r->n_factors; f++) {
		strbuf_puts(out, f ? ", " : " {");
		factor_print(f, out);
		strbuf_putc(out, '=');
		strbuf_i64(out, r->factor_sizes[f]);
	}
	if (r->n_factors)
		strbuf_putc(out, '}');
	for (uint32_t list = 0; list < COUNT_OF(list_words); list++) {
		bool any = false;
		for (uint32_t f = 0; f < r->n_factors; f++) {
			if (!in_list(r, list, f))
				continue;
			if (any)
				strbuf_puts(out, ", ");
			else
				strbuf_printf(out, " %s={", list_words[list]);
			any = true;
			factor_print(f, out);
		}
		if (any)
			strbuf_putc(out, '}');
	}
	strbuf_puts(out, r->custom ? ", custom>" : ">");
}

typedef struct rule_reader {
	str text;
	size_t at;
	diag *d;
	uint32_t n_operands, n_results;
	uint32_t n_factors; /* one more than the largest factor in the mappings */
	VEC(uint32_t) tensor_first;
	VEC(struct rule_dim) dims;
	VEC(uint16_t) factors;
	int64_t sizes[MAX_FACTORS];
	uint8_t kinds[MAX_FACTORS];
	bool sized[MAX_FACTORS];
	uint64_t blocked;
	bool custom;
} rule_reader;

static status bad(rule_reader *r, const char *expected)
{
	return diag_at(
		r->d, r->text.p, r->text.n, r->at, ST_ERR_PARSE, "sharding rule: expected %s", expected);
}

static char look(rule_reader *r)
{
	while (r->at < r->text.n &&
		(r->text.p[r->at] == ' ' || r->text.p[r->at] == '\n' || r->text.p[r->at] == '\t'))
		r->at++;
	return r->at < r->text.n ? r->text.p[r->at] : 0;
}

static bool take(rule_reader *r, const char *word)
{
	size_t n = strlen(word);
	look(r);
	if (r->text.n - r->at < n || memcmp(r->text.p + r->at, word, n))
		return false;
	r->at += n;
	return true;
}

static status number(rule_reader *r, int64_t *out)
{
	look(r);
	size_t from = r->at;
	while (r->at < r->text.n && r->text.p[r->at] >= '0' && r->text.p[r->at] <= '9')
		r->at++;
	if (!str_to_i64((str){r->text.p + from, r->at - from}, out)) {
		r->at = from;
		return bad(r, "a number");
	}
	return ST_OK;
}

static status read_factor(rule_reader *r, uint32_t *out)
{
	char c = look(r);
	if (c < 'i' || c > 'z')
		return bad(r, "a factor (i..z, z_1, z_2, ..)");
	size_t from = r->at++;
	*out = (uint32_t)(c - 'i');
	if (c == 'z' && r->at < r->text.n && r->text.p[r->at] == '_') {
		int64_t k;
		r->at++;
		TRY(number(r, &k));
		if (k < 1 || k >= MAX_FACTORS) {
			r->at = from;
			return diag_at(r->d, r->text.p, r->text.n, from, ST_ERR_LIMIT,
				"sharding rule: more than %d factors", MAX_FACTORS);
		}
		*out += (uint32_t)k;
	}
	if (*out >= MAX_FACTORS) {
		r->at = from;
		return diag_at(r->d, r->text.p, r->text.n, from, ST_ERR_LIMIT,
			"sharding rule: more than %d factors", MAX_FACTORS);
	}
	return ST_OK;
}

/* dim := factor+ ; "*" is a dim without factor in old text and not legal any more */
static status read_dim(rule_reader *r, uint64_t *seen)
{
	struct rule_dim dim = {(uint16_t)r->factors.n, 0};
	do {
		uint32_t f;
		TRY(read_factor(r, &f));
		if (*seen >> f & 1) {
			r->at--;
			return bad(r, "a factor that this tensor does not have yet");
		}
		if (r->factors.n >= UINT16_MAX)
			return diag_at(r->d, r->text.p, r->text.n, r->at, ST_ERR_LIMIT,
				"sharding rule: too many dimensions");
		*seen |= 1ull << f;
		vec_push(&r->factors, (uint16_t)f);
		dim.n++;
		r->n_factors = MAX(r->n_factors, f + 1);
	} while (r->at < r->text.n && r->text.p[r->at] >= 'i' && r->text.p[r->at] <= 'z');
	vec_push(&r->dims, dim);
	return ST_OK;
}

static status read_tensors(rule_reader *r, uint32_t *count)
{
	if (!take(r, "("))
		return bad(r, "(");
	*count = 0;
	while (!take(r, ")")) {
		if (*count && !take(r, ","))
			return bad(r, ", or )");
		if (!take(r, "["))
			return bad(r, "[");
		if (++*count > UINT16_MAX)
			return diag_at(
				r->d, r->text.p, r->text.n, r->at, ST_ERR_LIMIT, "sharding rule: too many tensors");
		uint64_t seen = 0;
		for (uint32_t n = 0; !take(r, "]"); n++) {
			if (n && !take(r, ","))
				return bad(r, ", or ]");
			TRY(read_dim(r, &seen));
		}
		vec_push(&r->tensor_first, r->dims.n);
	}
	return ST_OK;
}

static status read_sizes(rule_reader *r)
{
	if (!take(r, "{"))
		return ST_OK;
	for (uint32_t n = 0; !take(r, "}"); n++) {
		uint32_t f;
		if (n && !take(r, ","))
			return bad(r, ", or }");
		size_t at = (look(r), r->at);
		TRY(read_factor(r, &f));
		if (!take(r, "="))
			return bad(r, "=");
		TRY(number(r, &r->sizes[f]));
		if (f != n) {
			r->at = at;
			return bad(r, "the factors in order");
		}
		r->sized[f] = true;
	}
	return ST_OK;
}

static status read_list(rule_reader *r, uint32_t list)
{
	uint32_t last = 0;
	if (!take(r, "={"))
		return bad(r, "={");
	for (uint32_t n = 0; !take(r, "}"); n++) {
		uint32_t f;
		if (n && !take(r, ","))
			return bad(r, ", or }");
		size_t at = (look(r), r->at);
		TRY(read_factor(r, &f));
		if (f >= r->n_factors || (n && f <= last) || (list != LIST_BLOCKED && r->kinds[f])) {
			r->at = at;
			return bad(r, "factors of the rule in order, each in one list");
		}
		last = f;
		if (list == LIST_BLOCKED)
			r->blocked |= 1ull << f;
		else
			r->kinds[f] = (uint8_t)(FACTOR_REDUCTION + list);
	}
	return ST_OK;
}

static status check_factors(rule_reader *r)
{
	uint64_t used = 0, in_result = 0;
	for (uint32_t d = 0; d < r->dims.n; d++) {
		for (uint32_t k = 0; k < r->dims.p[d].n; k++) {
			uint32_t f = r->factors.p[r->dims.p[d].first + k];
			used |= 1ull << f;
			if (d >= r->tensor_first.p[r->n_operands])
				in_result |= 1ull << f;
			if (r->dims.p[d].n > 1 && r->sizes[f] == 1)
				return bad(r, "no factor of size 1 in a dimension of several factors");
		}
	}
	for (uint32_t f = 0; f < r->n_factors; f++) {
		if (!r->sized[f] || !(used >> f & 1))
			return bad(r, "a size and a use for every factor");
		if (r->kinds[f] == FACTOR_REDUCTION && in_result >> f & 1)
			return bad(r, "no reduction factor in a result");
	}
	return ST_OK;
}

static status read_rule(rule_reader *r)
{
	bool bracketed = take(r, "<");
	vec_push(&r->tensor_first, 0);
	TRY(read_tensors(r, &r->n_operands));
	if (!take(r, "->"))
		return bad(r, "->");
	TRY(read_tensors(r, &r->n_results));
	TRY(read_sizes(r));
	for (uint32_t list = 0; list < COUNT_OF(list_words); list++)
		if (take(r, list_words[list]))
			TRY(read_list(r, list));
	if (take(r, ",")) {
		if (!take(r, "custom"))
			return bad(r, "custom");
		r->custom = true;
	}
	if (bracketed && !take(r, ">"))
		return bad(r, ">");
	if (look(r))
		return bad(r, "the end of the rule");
	return check_factors(r);
}

status rule_parse(rule_table *t, str text, bool custom, rule_id *out, diag *d)
{
	rule_reader r = {.text = text, .d = d};
	*out = RULE_NONE;
	status st = read_rule(&r);
	if (st == ST_OK) {
		rule made = {.n_factors = (uint16_t)r.n_factors,
			.n_operands = (uint16_t)r.n_operands,
			.n_results = (uint16_t)r.n_results,
			.custom = custom || r.custom,
			.factor_sizes = r.sizes,
			.factor_types = r.kinds,
			.blocked = r.blocked,
			.tensor_first = r.tensor_first.p,
			.dims = r.dims.p,
			.dim_factors = r.factors.p};
		*out = rule_intern(t, &made);
	}
	vec_release(&r.tensor_first);
	vec_release(&r.dims);
	vec_release(&r.factors);
	return st;
}
