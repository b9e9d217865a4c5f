/* Sharding rules that stand in the text as sdy.sharding_rule: their syntax, and what Shardy's
 * verifier asks of them. The rule itself is built where it is used (propagate/rule.c). */
#include "ir/verify.h"

#include <stdlib.h>

enum { MAX_FACTORS = 64 };

struct rule_text {
	const checker *c;
	str text;
	size_t at;
	uint32_t n_sizes;
	int64_t sizes[MAX_FACTORS];
	uint64_t used, in_results, special; /* sets of factors */
};

static status bad_rule(struct rule_text *r, const char *wanted)
{
	str rest = {r->text.p + r->at, MIN(r->text.n - r->at, (size_t)16)};
	return fault(
		r->c, "sdy.sharding_rule: expected %s before '" STR_FMT "'", wanted, STR_ARG(rest));
}

static char look(struct rule_text *r)
{
	while (r->at < r->text.n && strchr(" \t\r\n", r->text.p[r->at]))
		r->at++;
	return r->at < r->text.n ? r->text.p[r->at] : 0;
}

static bool take(struct rule_text *r, const char *word)
{
	size_t n = strlen(word);
	look(r);
	if (r->text.n - r->at < n || memcmp(r->text.p + r->at, word, n) != 0)
		return false;
	r->at += n;
	return true;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static status read_number(struct rule_text *r, int64_t *out)
{
	look(r);
	size_t from = r->at;
	while (r->at < r->text.n && is_digit(r->text.p[r->at]))
		r->at++;
	return str_to_i64((str){r->text.p + from, r->at - from}, out) ? ST_OK : bad_rule(r, "a number");
}

/* i to z, then z_1, z_2, .. */
static status read_factor(struct rule_text *r, uint32_t *out)
{
	char c = look(r);
	if (c < 'i' || c > 'z')
		return bad_rule(r, "a factor (i to z, z_1, z_2, ..)");
	r->at++;
	*out = (uint32_t)(c - 'i');
	if (c == 'z' && r->at < r->text.n && r->text.p[r->at] == '_') {
		int64_t k;
		r->at++;
		TRY(read_number(r, &k));
		*out += (uint32_t)MIN(k, MAX_FACTORS);
	}
	return *out < MAX_FACTORS
		? ST_OK
		: fault(r->c, "sdy.sharding_rule: more than the limit of %d factors", MAX_FACTORS);
}

/* Sizes stand behind the mappings that are checked with them: they are read first. */
static status read_sizes(struct rule_text *r)
{
	if (!take(r, "{"))
		return ST_OK;
	for (; !take(r, "}"); r->n_sizes++) {
		uint32_t f;
		if (r->n_sizes && !take(r, ","))
			return bad_rule(r, "',' or '}'");
		TRY(read_factor(r, &f));
		if (f != r->n_sizes)
			return bad_rule(r, "the factors in order");
		if (!take(r, "="))
			return bad_rule(r, "'='");
		TRY(read_number(r, &r->sizes[f]));
	}
	return ST_OK;
}

static status read_dim(struct rule_text *r, uint64_t *seen)
{
	uint32_t n = 0;
	bool one = false;
	do {
		uint32_t f;
		TRY(read_factor(r, &f));
		if (f >= r->n_sizes)
			return bad_rule(r, "a size for every factor");
		if (*seen >> f & 1)
			return fault(r->c, "sdy.sharding_rule: cannot reuse factors for the same tensor value");
		*seen |= 1ull << f;
		one |= r->sizes[f] == 1;
		n++;
	} while (r->at < r->text.n && r->text.p[r->at] >= 'i' && r->text.p[r->at] <= 'z');
	return n > 1 && one
		? fault(r->c,
			  "sdy.sharding_rule: a dimension of several factors cannot have a factor of size 1")
		: ST_OK;
}

static status read_tensor(
	struct rule_text *r, const ir_type *t, const char *what, uint32_t i, uint64_t *seen)
{
	uint32_t rank = 0;
	if (!take(r, "["))
		return bad_rule(r, "'['");
	for (; !take(r, "]"); rank++) {
		if (rank && !take(r, ","))
			return bad_rule(r, "',' or ']'");
		TRY(read_dim(r, seen));
	}
	if (t->kind != TYPE_TENSOR || t->bare || t->dynamic)
		return fault(r->c,
			"sdy.sharding_rule: %s %u: expected a ranked tensor with a static shape, "
			"found " STR_FMT,
			what, i, STR_ARG(t->text));
	return rank == t->rank
		? ST_OK
		: fault(r->c, "sdy.sharding_rule: %s %u: mapping rank must match: %u != %u", what, i, rank,
			  t->rank);
}

static status read_tensors(struct rule_text *r, bool results)
{
	const ir_op *op = op_at(r->c->m, r->c->o);
	const char *what = results ? "result" : "operand";
	uint32_t n = 0, have = results ? op->n_results : op->n_operands;
	if (!take(r, "("))
		return bad_rule(r, "'('");
	do {
		uint64_t seen = 0;
		if (n == have)
			return fault(r->c, "sdy.sharding_rule: more mappings than %ss", what);
		TRY(read_tensor(r, results ? out_type(r->c, n) : in_type(r->c, n), what, n, &seen));
		r->used |= seen;
		if (results)
			r->in_results |= seen;
		n++;
	} while (take(r, ","));
	if (n != have)
		return fault(r->c, "sdy.sharding_rule: %u mappings for %u %ss", n, have, what);
	return take(r, ")") ? ST_OK : bad_rule(r, "',' or ')'");
}

static status read_list(struct rule_text *r, bool reduction, bool blocked)
{
	uint32_t last = 0;
	if (!take(r, "{"))
		return bad_rule(r, "'{'");
	for (uint32_t n = 0; !take(r, "}"); n++) {
		uint32_t f;
		if (n && !take(r, ","))
			return bad_rule(r, "',' or '}'");
		TRY(read_factor(r, &f));
		if (f >= r->n_sizes)
			return fault(r->c, "sdy.sharding_rule: a special factor that the rule does not have");
		if (n && f <= last)
			return fault(
				r->c, "sdy.sharding_rule: indices of special factors must be sorted and unique");
		if (!blocked && r->special >> f & 1)
			return fault(r->c,
				"sdy.sharding_rule: a factor can only be in one of reduction, need_replication and "
				"permutation");
		if (reduction && r->in_results >> f & 1)
			return fault(
				r->c, "sdy.sharding_rule: a reduction factor cannot be in result mappings");
		r->special |= blocked ? 0 : 1ull << f;
		last = f;
	}
	return ST_OK;
}

static status read_rule(struct rule_text *r)
{
	static const char *const lists[] = {
		"reduction=", "need_replication=", "permutation=", "blocked_propagation="};
	const char *brace = memchr(r->text.p, '{', r->text.n);
	if (brace) {
		r->at = (size_t)(brace - r->text.p);
		const char *equals = memchr(r->text.p, '=', r->at);
		if (!equals) /* `reduction={` has its word first */
			TRY(read_sizes(r));
	}
	r->at = 0;
	TRY(read_tensors(r, false));
	if (!take(r, "->"))
		return bad_rule(r, "'->'");
	TRY(read_tensors(r, true));
	for (uint32_t f = 0; f < r->n_sizes; f++)
		if (!(r->used >> f & 1))
			return fault(r->c,
				"sdy.sharding_rule: factor %u of size %lld is not used in operand and result "
				"mappings",
				f, (long long)r->sizes[f]);
	if (look(r) == '{') { /* the sizes, which are known */
		r->n_sizes = 0;
		TRY(read_sizes(r));
	}
	for (uint32_t i = 0; i < COUNT_OF(lists); i++)
		if (take(r, lists[i]))
			TRY(read_list(r, i == 0, i == 3));
	if (take(r, ",") && !take(r, "custom"))
		return bad_rule(r, "'custom'");
	return look(r) ? bad_rule(r, "the end of the rule") : ST_OK;
}

status check_rule(const checker *c)
{
	attr_id id = op_at(c->m, c->o)->n_attrs ? op_attr(c->m, c->o, "sdy.sharding_rule") : ID_NONE;
	if (id == ID_NONE)
		return ST_OK;
	if (attr_get(c->m, id)->kind != ATTR_RULE)
		return fault(c, "sdy.sharding_rule is no #sdy.op_sharding_rule<..>");
	struct rule_text *r = xcalloc(1, sizeof *r);
	r->c = c;
	r->text = attr_get(c->m, id)->text;
	status st = read_rule(r);
	free(r);
	return st;
}
