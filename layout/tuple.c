/* One text for several tensors: a GSPMD tuple is what XLA writes for ops with several results, an
 * SBP signature is what OneFlow writes for all inputs and outputs of an op. */
#include "layout/pieces.h"

#include <stdlib.h>

static bool is_tuple(notation n, str text)
{
	scan s = {text, 0, NULL};
	return n == NOTATION_GSPMD && scan_take(&s, '{') &&
		(scan_peek(&s) == '{' || scan_peek(&s) == '}');
}

/* {"bn_in_op2sbp_parallel":{"in_0":{"split_parallel":{"axis":"0"}},..}}, or "bn_in_op2nd_sbp" with
 * lists of SBPs. */
static bool is_signature(notation n, str text)
{
	scan s = {text, 0, NULL};
	if (n != NOTATION_SBP || !scan_take(&s, '{'))
		return false;
	scan_peek(&s);
	str rest = {text.p + s.at, text.n - s.at};
	return str_starts(rest, "\"bn_in_op2sbp_parallel\"") || str_starts(rest, "\"bn_in_op2nd_sbp\"");
}

/* Up to the first element. */
static status open_tuple(scan *s, bool signature)
{
	str key;
	TRY(scan_expect(s, '{', "before the elements"));
	if (!signature)
		return ST_OK;
	TRY(scan_string(s, "bn_in_op2sbp_parallel or bn_in_op2nd_sbp", &key));
	TRY(scan_expect(s, ':', "after the key"));
	return scan_expect(s, '{', "before the tensors of the signature");
}

static status before_element(scan *s, bool signature)
{
	str name;
	if (signature) {
		TRY(scan_string(s, "the name of a tensor, such as \"in_0\"", &name));
		TRY(scan_expect(s, ':', "after the name"));
	}
	return scan_peek(s) == '{' ? ST_OK : scan_expect(s, '{', "before an element of the tuple");
}

/* The end of the element that begins at `at`: behind its closing brace. */
static size_t element_end(str text, size_t at)
{
	uint32_t depth = 0;
	for (; at < text.n; at++) {
		depth += text.p[at] == '{';
		if (text.p[at] == '}' && --depth == 0)
			return at + 1;
	}
	return at;
}

/* Parses text[from, to) and moves the position of an error to where it is in the whole text. */
static status parse_part(sharding_table *t, notation n, mesh_id m, uint32_t rank, str text,
	size_t from, size_t to, tensor_spec *out, diag *d)
{
	diag inner = {0};
	status r = notation_parse(t, n, m, rank, (str){text.p + from, to - from}, out, &inner);
	if (r == ST_OK)
		return ST_OK;
	return diag_at(
		d, text.p, text.n, from + (inner.line == 1 ? inner.col - 1 : 0), r, "%s", inner.msg);
}

status notation_parse_tuple(sharding_table *t, notation n, mesh_id m, const uint32_t *ranks,
	uint32_t n_ranks, str text, tensor_spec *out, uint32_t max, uint32_t *n_out, bool *tuple,
	diag *d)
{
	scan s = {text, 0, d};
	*n_out = 0;
	bool signature = is_signature(n, text);
	*tuple = signature || is_tuple(n, text);
	if (!*tuple) {
		if (n_ranks != 1)
			return diag_at(
				d, text.p, text.n, 0, ST_ERR_INVALID, "one sharding for %u ranks", n_ranks);
		*n_out = 1;
		return notation_parse(t, n, m, ranks[0], text, out, d);
	}
	TRY(open_tuple(&s, signature));
	for (bool more = scan_peek(&s) != '}'; more; more = scan_take(&s, ',')) {
		TRY(before_element(&s, signature));
		if (*n_out == max)
			return scan_fail(&s, s.at, ST_ERR_LIMIT, "more than %u elements in a tuple", max);
		if (n_ranks > 1 && *n_out == n_ranks)
			return scan_fail(&s, s.at, ST_ERR_INVALID, "more elements than ranks (%u)", n_ranks);
		size_t end = element_end(text, s.at);
		TRY(parse_part(t, n, m, ranks[n_ranks > 1 ? *n_out : 0], text, s.at, end, &out[*n_out], d));
		(*n_out)++;
		s.at = end;
	}
	TRY(scan_expect(&s, '}', "after the tuple"));
	if (signature)
		TRY(scan_expect(&s, '}', "after the signature"));
	if (n_ranks > 1 && *n_out != n_ranks)
		return scan_fail(&s, 0, ST_ERR_INVALID, "%u elements for %u ranks", *n_out, n_ranks);
	return scan_end(&s);
}

static status print_element(
	sharding_table *t, notation n, const tensor_spec *s, strbuf *out, diag *d)
{
	static const char prefix[] = "#sdy.sharding";
	strbuf b;
	strbuf_init(&b);
	status r = notation_print(t, n, s, &b, d);
	if (r == ST_OK) /* in a list the elements of sdy have no prefix */
		strbuf_puts(out, b.p + (n == NOTATION_SDY ? strlen(prefix) : 0));
	strbuf_release(&b);
	return r;
}

status notation_print_tuple(
	sharding_table *t, notation n, const tensor_spec *s, uint32_t count, strbuf *out, diag *d)
{
	const char *open = n == NOTATION_GSPMD ? "{"
		: n == NOTATION_SDY                ? "#sdy.sharding_per_value<["
		: n == NOTATION_JSON               ? "["
										   : "(";
	const char *close = n == NOTATION_GSPMD ? "}"
		: n == NOTATION_SDY                 ? "]>"
		: n == NOTATION_JSON                ? "]"
		: count == 1                        ? ",)"
											: ")";
	strbuf_puts(out, open);
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			strbuf_puts(out, ", ");
		/* two words with a comma between them are one element */
		bool pair = n == NOTATION_SBP || n == NOTATION_DTENSOR;
		size_t start = out->n;
		TRY(print_element(t, n, &s[i], out, d));
		if (out->n > MAX_NOTATION_BYTES)
			return diag_set(d, ST_ERR_LIMIT, "the tuple takes more than %d bytes in %s",
				MAX_NOTATION_BYTES, notation_name(n));
		if (pair && out->p[start] != '[') {
			strbuf copy;
			strbuf_init(&copy);
			strbuf_puts(&copy, out->p + start);
			out->n = start;
			strbuf_printf(out, "(%s)", copy.p);
			strbuf_release(&copy);
		}
	}
	strbuf_puts(out, close);
	return ST_OK;
}
