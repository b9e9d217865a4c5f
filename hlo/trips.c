/* How often a while loop runs, and where an instruction comes from. */
#define _GNU_SOURCE /* memmem */
#include "hlo/hlo.h"

#include "ir/lex.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- trip counts */

/* What stands behind a key in the backend_config, as in "known_trip_count":{"n":"12"}, quotes
 * escaped or not; n 0: nothing. */
static str noted_in(str config, const char *key)
{
	const char *at = config.n ? memmem(config.p, config.n, key, strlen(key)) : NULL;
	if (!at)
		return (str){"", 0};
	const char *end = config.p + config.n, *p = at + strlen(key);
	while (p < end && (strchr("\\\":{ n", *p) && *p))
		p++;
	return lex_view(p, end);
}

static str noted(const hlo_module *m, hlo_id i, const char *key)
{
	return noted_in(hlo_word(m, i, HLO_ATTR_CONFIG), key);
}

static int64_t noted_number(const hlo_module *m, hlo_id i, const char *key)
{
	str digits = noted(m, i, key);
	size_t n = 0;
	while (n < digits.n && lex_is(digits.p[n], LEX_DIGIT))
		n++;
	int64_t value;
	return str_to_i64((str){digits.p, n}, &value) ? value : -1;
}

static int64_t noted_trips(const hlo_module *m, hlo_id i)
{
	return noted_number(m, i, "known_trip_count");
}

int64_t hlo_estimated_cycles(const hlo_module *m, hlo_id i)
{
	str text = noted(m, i, "estimated_cycles");
	return text.n > 1 && text.p[0] == '-' && lex_is(text.p[1], LEX_DIGIT)
		? 0
		: noted_number(m, i, "estimated_cycles");
}

/* "reification_cost":[{"end_to_end_cycles":61.5,"exec_time_us":12.25,..,"name":""},..]: one entry
 * per model of the compiler, the first counts. Of kernels in Triton that is one for kernels of
 * other kinds, hundreds of times off; the entry that was made for them has a name, which is behind
 * its figures. */
static str estimate_of(const hlo_module *m, hlo_id i)
{
	str config = hlo_word(m, i, HLO_ATTR_CONFIG), first = noted_in(config, "exec_time_us"),
		at = first;
	while (at.n) {
		const char *close = memchr(at.p, '}', at.n);
		size_t own = close ? (size_t)(close - at.p) : at.n;
		if (memmem(at.p, own, "indexing-cost-model", strlen("indexing-cost-model")))
			return at;
		at = noted_in((str){at.p + own, at.n - own}, "exec_time_us");
	}
	return first;
}

/* A library call on 8-bit numbers. The compiler's model has no rate for their products: it takes
 * them for tens of times slower than those of 16 bits. */
static bool multiplies_bytes(const hlo_module *m, hlo_id i)
{
	const hlo_instr *in = &m->instrs.p[i];
	return in->op == HLO_CUSTOM_CALL && in->n_operands &&
		elem_bits((elem)hlo_shape_of(m, hlo_operand(m, i, 0))->elem) == 8;
}

int64_t hlo_estimated_ns(const hlo_module *m, hlo_id i)
{
	enum { MAX_DIGITS = 40 };
	if (multiplies_bytes(m, i))
		return -1;
	str text = estimate_of(m, i);
	char digits[MAX_DIGITS + 1], *end;
	size_t n = 0;
	for (; n < text.n && n < MAX_DIGITS && text.p[n] && strchr("0123456789.+-eE", text.p[n]); n++)
		digits[n] = text.p[n];
	digits[n] = 0;
	double us = strtod(digits, &end);
	if (end == digits || *end || n == MAX_DIGITS || !(us >= 0) || us > 1e12)
		return -1;
	return (int64_t)(us * 1000 + 0.5);
}

/* A value inside nested fusions and calls: the instruction, and the call it was reached through. */
enum { MAX_STEPS = 64, MAX_FRAMES = 8 };
typedef struct place {
	hlo_id at;
	uint32_t depth;
	hlo_id calls[MAX_FRAMES]; /* outermost first */
} place;

static bool passes_through(uint32_t op)
{
	return op == HLO_COPY || op == HLO_CONVERT || op == HLO_BITCAST || op == HLO_RESHAPE;
}

/* Looks through copies, fusions and their parameters, and tuples under get-tuple-element. */
static void resolve(const hlo_module *m, place *p)
{
	for (int step = 0; step < MAX_STEPS; step++) {
		const hlo_instr *in = &m->instrs.p[p->at];
		if (passes_through(in->op) && in->n_operands) {
			p->at = hlo_operand(m, p->at, 0);
		} else if ((in->op == HLO_FUSION || in->op == HLO_CALL) && p->depth < MAX_FRAMES) {
			p->calls[p->depth++] = p->at;
			p->at = m->comps.p[m->called.p[in->called]].root;
		} else if (in->op == HLO_PARAMETER && p->depth) {
			hlo_id call = p->calls[--p->depth];
			p->at = hlo_operand(m, call, (uint32_t)in->number);
		} else if (in->op == HLO_GET_TUPLE_ELEMENT &&
			m->instrs.p[hlo_operand(m, p->at, 0)].op == HLO_TUPLE_OP) {
			p->at = hlo_operand(m, hlo_operand(m, p->at, 0), (uint32_t)in->number);
		} else {
			return;
		}
	}
}

static place operand_of(const hlo_module *m, place p, uint32_t k)
{
	p.at = hlo_operand(m, p.at, k);
	resolve(m, &p);
	return p;
}

static bool constant_value(const hlo_module *m, place p, int64_t *out)
{
	const hlo_instr *in = &m->instrs.p[p.at];
	if (in->op != HLO_CONSTANT)
		return false;
	str text = hlo_text(m, in->literal, in->literal_n);
	bool negative = text.n && text.p[0] == '-';
	if (!str_to_i64((str){text.p + negative, text.n - negative}, out))
		return false;
	*out = negative ? -*out : *out;
	return true;
}

/* Element of the loop's tuple that a value is, unchanged; -1 when it is something else. */
static int64_t element_of(const hlo_module *m, place p)
{
	const hlo_instr *in = &m->instrs.p[p.at];
	if (in->op != HLO_GET_TUPLE_ELEMENT || p.depth ||
		m->instrs.p[hlo_operand(m, p.at, 0)].op != HLO_PARAMETER)
		return -1;
	return in->number;
}

/* What an iteration adds to element k. */
static bool step_of(const hlo_module *m, hlo_comp_id body, int64_t k, int64_t *out)
{
	hlo_id root = m->comps.p[body].root;
	if (m->instrs.p[root].op != HLO_TUPLE_OP || k >= m->instrs.p[root].n_operands)
		return false;
	place p = operand_of(m, (place){.at = root}, (uint32_t)k);
	if (m->instrs.p[p.at].op != HLO_ADD || m->instrs.p[p.at].n_operands != 2)
		return false;
	for (uint32_t side = 0; side < 2; side++)
		if (element_of(m, operand_of(m, p, side)) == k)
			return constant_value(m, operand_of(m, p, 1 - side), out);
	return false;
}

static int64_t count_trips(str how, int64_t from, int64_t to, int64_t step)
{
	int64_t span;
	if (str_is(how, "LE") || str_is(how, "GE"))
		to += str_is(how, "LE") ? 1 : -1;
	if (str_is(how, "GT") || str_is(how, "GE")) {
		int64_t t = from;
		from = to, to = t;
		step = -step;
	} else if (str_is(how, "NE")) {
		if (!step || (to - from) % step || (to - from) / step < 0)
			return -1;
		return (to - from) / step;
	} else if (!str_is(how, "LT") && !str_is(how, "LE")) {
		return -1;
	}
	if (step <= 0 || __builtin_sub_overflow(to, from, &span))
		return -1;
	return span <= 0 ? 0 : span / step + (span % step != 0);
}

/* Trips that a comparison of the condition of loop i allows; -1: it does not say. bound: a counter
 * that begins at nobody knows what begins at 0. */
static int64_t trips_by(const hlo_module *m, hlo_id i, place test, bool bound)
{
	int64_t to, step, from = 0;
	if (m->instrs.p[test.at].op != HLO_COMPARE || m->instrs.p[test.at].n_operands != 2)
		return -1;
	int64_t k = element_of(m, operand_of(m, test, 0));
	const hlo_id init = hlo_operand(m, i, 0);
	if (k < 0 || !constant_value(m, operand_of(m, test, 1), &to) ||
		!step_of(m, hlo_called(m, i, HLO_ATTR_BODY), k, &step))
		return -1;
	place tuple = {.at = init};
	resolve(m, &tuple);
	if (m->instrs.p[tuple.at].op != HLO_TUPLE_OP || k >= m->instrs.p[tuple.at].n_operands ||
		(!constant_value(m, operand_of(m, tuple, (uint32_t)k), &from) && !bound))
		return -1;
	enum { FAR = 1 << 30 }; /* counters of real loops; no overflow below */
	if (from > FAR || from < -FAR || to > FAR || to < -FAR || step > FAR || step < -FAR)
		return -1;
	return count_trips(hlo_word(m, test.at, HLO_ATTR_DIRECTION), from, to, step);
}

/* The least of what the comparisons allow that must all hold; -1: none of them says. */
static int64_t trips_by_all(const hlo_module *m, hlo_id i, place test, uint32_t depth)
{
	enum { MAX_CONDITIONS = 6 }; /* conditions of real loops are one or two of them */
	if (m->instrs.p[test.at].op != HLO_AND || m->instrs.p[test.at].n_operands != 2 ||
		depth == MAX_NESTED)
		return trips_by(m, i, test, true);
	int64_t a = trips_by_all(m, i, operand_of(m, test, 0), depth + 1),
			b = trips_by_all(m, i, operand_of(m, test, 1), depth + 1);
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

static place condition_of(const hlo_module *m, hlo_id i)
{
	place test = {.at = m->comps.p[hlo_called(m, i, HLO_ATTR_CONDITION)].root};
	resolve(m, &test);
	return test;
}

int64_t hlo_trip_count(const hlo_module *m, hlo_id i)
{
	int64_t noted = noted_trips(m, i);
	return noted >= 0 ? noted : trips_by(m, i, condition_of(m, i), false);
}

int64_t hlo_trip_bound(const hlo_module *m, hlo_id i)
{
	return trips_by_all(m, i, condition_of(m, i), 0);
}

/* ---------------------------------------------------------------- locations */

/* Value of a key in {op_name="a" source_line=3}; strings without their quotes. */
static str field_of(str text, const char *want)
{
	const char *p = text.p + (text.n > 0), *end = text.p + text.n;
	while (p < end) {
		while (p < end && !lex_is(*p, LEX_LETTER))
			p++;
		str key = {p, 0};
		while (p < end && lex_is(*p, LEX_WORD))
			p++;
		key.n = (size_t)(p - key.p);
		if (p >= end || *p != '=')
			continue;
		const char *from = ++p;
		if (p < end && *p == '"') {
			from = ++p;
			while (p < end && *p != '"')
				p += *p == '\\' && p + 1 < end ? 2 : 1;
		} else if (p < end && *p == '{') {
			uint32_t depth = 0;
			do {
				depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
				p++;
			} while (p < end && depth);
		} else {
			while (p < end && *p != ' ' && *p != '}')
				p++;
		}
		if (str_is(key, want))
			return lex_view(from, p);
	}
	return (str){"", 0};
}

/* Names in metadata escape quotes: params[\'w1\']. */
static void add_unescaped(strbuf *out, str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != '\\' || i + 1 >= s.n ||
			(s.p[i + 1] != '\'' && s.p[i + 1] != '"' && s.p[i + 1] != '\\'))
			strbuf_putc(out, s.p[i]);
		else
			strbuf_putc(out, s.p[++i]);
}

void hlo_location(const hlo_module *m, hlo_id i, strbuf *out)
{
	str meta = hlo_word(m, i, HLO_ATTR_METADATA);
	int64_t frame = 0;
	if (!meta.n)
		return;
	str file = field_of(meta, "source_file"), line = field_of(meta, "source_line");
	if (file.n) {
		add_unescaped(out, file);
		strbuf_putc(out, ':');
		strbuf_str(out, line);
	} else if (str_to_i64(field_of(meta, "stack_frame_id"), &frame) && frame > 0 &&
		frame < m->frames.n && m->frames.p[frame].file_n) {
		const hlo_frame *f = &m->frames.p[frame];
		add_unescaped(out, hlo_text(m, f->file, f->file_n));
		strbuf_printf(out, ":%lld", (long long)f->line);
	} else {
		add_unescaped(out, field_of(meta, "op_name"));
	}
}
