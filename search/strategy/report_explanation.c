/* What `explain` says, as tables for people. */
#include "search/strategy/read_json.h"
#include "search/strategy/strategy.h"

static void source_row(const cJSON *c, const char *indent, bool change, strbuf *out)
{
	strbuf cell = {0};
	if (change)
		report_change_bytes(&cell, number_of(c, "bytes"));
	else
		strbuf_bytes(&cell, number_of(c, "bytes"));
	strbuf_puts(&cell, ", ");
	if (change)
		report_change_ns(&cell, number_of(c, "time_ns"));
	else
		strbuf_duration(&cell, number_of(c, "time_ns"));
	strbuf_printf(out, change ? "%s%-18s %+6lld x  " : "%s%-18s %6lld x  ", indent,
		text_of(c, "kind"), (long long)number_of(c, "executions"));
	strbuf_printf(out, "%-24s %-28s %s%s\n", cell.p, text_of(c, "op"), text_of(c, "location"),
		is_true(c, "windowed_einsum") ? "  windowed einsum" : "");
	strbuf_release(&cell);
}

/* "dim 0 over data", "kept off data", "kept whole". */
static void what_text(const cJSON *o, strbuf *out)
{
	if (strcmp(text_of(o, "kind"), "replicate"))
		strbuf_printf(
			out, "dim %lld over %s", (long long)number_of(o, "dimension"), text_of(o, "axis"));
	else if (*text_of(o, "axis"))
		strbuf_printf(out, "kept off %s", text_of(o, "axis"));
	else
		strbuf_puts(out, "kept whole");
}

static void compare_row(const char *label, const cJSON *o, const cJSON *whole, strbuf *out)
{
	strbuf time = {0}, bytes = {0};
	report_change_ns(&time, number_of(o, "runtime_ns") - number_of(whole, "runtime_ns"));
	report_change_bytes(&bytes, number_of(o, "peak_bytes") - number_of(whole, "peak_bytes"));
	strbuf_printf(out, "        %-28s %12s %12s%s\n", label, time.p, bytes.p,
		is_true(o, "fits") ? "" : "  too large");
	strbuf_release(&time);
	strbuf_release(&bytes);
}

static void decision_rows(const cJSON *d, uint32_t number, const cJSON *whole, strbuf *out)
{
	enum { MAX_CHANGES = 4 };
	const cJSON *names = cJSON_GetObjectItemCaseSensitive(d, "names"),
				*without = cJSON_GetObjectItemCaseSensitive(d, "without");
	int patterns = cJSON_GetArraySize(names), changes = 0;
	strbuf label = {0};
	what_text(d, &label);
	strbuf_printf(out, "  %2u  %-14s %s: %s%s (%d)\n", number, text_of(d, "tactic"), label.p,
		names->child->valuestring, patterns > 1 ? " and others" : "",
		cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(d, "members")) +
			cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(d, "constraints")));
	compare_row("without it", without, whole, out);
	for (const cJSON *c = first_of(without, "collectives"); c && changes < MAX_CHANGES;
		 c = c->next, changes++)
		source_row(c, "          ", true, out);
	for (const cJSON *a = first_of(d, "alternatives"); a; a = a->next) {
		strbuf_clear(&label);
		what_text(a, &label);
		compare_row(label.p, a, whole, out);
	}
	strbuf_release(&label);
}

void report_explanation(const cJSON *explanation_json, strbuf *out)
{
	enum { MAX_ROWS = 15 };
	uint32_t n = 0;
	const cJSON *cost_json = cJSON_GetObjectItemCaseSensitive(explanation_json, "cost");
	report_cost_header(0, out);
	report_cost_row(out, "this strategy", cost_json, is_true(explanation_json, "fits"), 0, 0);
	if (cJSON_GetObjectItemCaseSensitive(explanation_json, "simpler"))
		strbuf_puts(out, "\n  ");
	report_simpler(explanation_json, out);
	report_uncounted_loops(cost_json, out);
	report_title(out, "COLLECTIVES BY SOURCE (costliest first)");
	for (const cJSON *c = first_of(explanation_json, "collectives"); c && n < MAX_ROWS;
		 c = c->next, n++)
		source_row(c, "  ", false, out);
	if (!n)
		strbuf_puts(out, "  none\n");
	report_title(out,
		"DECISIONS (what each brings: the change without it; what else could be decided for the "
		"same arguments)");
	n = 0;
	for (const cJSON *d = first_of(explanation_json, "decisions"); d; d = d->next)
		decision_rows(d, ++n, cost_json, out);
	if (!n)
		strbuf_puts(out, "  none\n");
}
