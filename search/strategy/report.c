/* Tables for people. Every number in them also stands in the JSON document. */
#include "search/strategy/read_json.h"
#include "search/strategy/strategy.h"

static void collective_row(
	strbuf *out, const char *kind, int64_t count, int64_t dynamic_count, int64_t bytes)
{
	strbuf cell = {0};
	strbuf_bytes(&cell, bytes);
	strbuf_printf(out, "  %-20s %6lld instructions %8lld executions %12s\n", kind, (long long)count,
		(long long)dynamic_count, cell.p);
	strbuf_release(&cell);
}

static const char collectives_title[] = "COLLECTIVES (per step and device)";

/* The columns of the cost table, as wide as they always were and as fit on a narrow terminal. */
typedef struct cost_widths {
	int name, time, comm, peak, fits;
} cost_widths;

static cost_widths cost_columns(uint32_t columns)
{
	enum { ALL = 83 };
	return columns && columns < ALL ? (cost_widths){24, 9, 12, 11, 9}
									: (cost_widths){26, 10, 12, 12, 10};
}

void report_cost_header(uint32_t columns, strbuf *out)
{
	cost_widths w = cost_columns(columns);
	report_title(out, "COST");
	strbuf_printf(out, "  %-*s %*s %*s %*s\n", w.name, "", w.time, "step", w.comm, "exposed comm",
		w.peak, "peak memory");
}

void report_cost_row(strbuf *out, const char *name, const cJSON *cost_json, bool fits,
	int64_t best_ns, uint32_t columns)
{
	cost_widths w = cost_columns(columns);
	strbuf time = {0}, comm = {0}, peak = {0};
	int64_t runtime = number_of(cost_json, "runtime_ns");
	strbuf_duration(&time, runtime);
	strbuf_duration(&comm, number_of(cost_json, "exposed_communication_ns"));
	strbuf_bytes(&peak, number_of(cost_json, "peak_bytes"));
	strbuf_printf(out, "  %-*s %*s %*s %*s  %-*s", w.name, name, w.time, time.p, w.comm, comm.p,
		w.peak, peak.p, w.fits, fits ? "fits" : "too large");
	if (best_ns > 0 && runtime != best_ns)
		strbuf_printf(out, " %.2fx", (double)runtime / (double)best_ns);
	strbuf_putc(out, '\n');
	strbuf_release(&time);
	strbuf_release(&comm);
	strbuf_release(&peak);
}

void report_cost(const cost *c, int64_t memory_limit, strbuf *out)
{
	static const struct {
		const char *label;
		size_t offset;
		bool bytes;
	} rows[] = {
		{"step time", offsetof(cost, runtime_ns), false},
		{"compute", offsetof(cost, compute_ns), false},
		{"communication", offsetof(cost, communication_ns), false},
		{"exposed communication", offsetof(cost, exposed_communication_ns), false},
		{"peak memory", offsetof(cost, peak_bytes), true},
		{"arguments", offsetof(cost, argument_bytes), true},
		{"outputs", offsetof(cost, output_bytes), true},
		{"donated in place", offsetof(cost, alias_bytes), true},
		{"temporary", offsetof(cost, temporary_bytes), true},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int64_t v;
		memcpy(&v, (const char *)c + rows[i].offset, sizeof v);
		strbuf cell = {0};
		if (rows[i].bytes)
			strbuf_bytes(&cell, v);
		else
			strbuf_duration(&cell, v);
		strbuf_printf(out, "  %-24s %12s\n", rows[i].label, cell.p);
		strbuf_release(&cell);
	}
	if (memory_limit > 0) {
		strbuf limit = {0};
		strbuf_bytes(&limit, memory_limit);
		strbuf_printf(out, "  %-24s %12s  %s\n", "memory limit", limit.p,
			c->peak_bytes <= memory_limit ? "fits" : "does not fit");
		strbuf_release(&limit);
	}
	report_title(out, collectives_title);
	bool any = false;
	for (int k = 0; k < COLL_COUNT; k++)
		if (c->collectives[k].count) {
			collective_row(out, collective_name((collective_kind)k), c->collectives[k].count,
				c->collectives[k].dynamic_count, c->collectives[k].bytes);
			any = true;
		}
	if (!any)
		strbuf_puts(out, "  none\n");
}

/* What no strategy gets below; documents of earlier versions do not say it. */
static void bound_row(const cJSON *document, const cJSON *bound, cost_widths w, strbuf *out)
{
	strbuf time = {0}, bytes = {0};
	if (!bound)
		return;
	strbuf_duration(&time, number_of(bound, "runtime_ns"));
	strbuf_bytes(&bytes, number_of(bound, "peak_bytes"));
	strbuf_printf(out, "  %-*s %*s %*s %*s\n", w.name, "any strategy, at least", w.time, time.p,
		w.comm, "", w.peak, bytes.p);
	if (number_of(bound, "peak_bytes") > number_of(document, "memory_limit_bytes"))
		strbuf_printf(out,
			"\n  no strategy fits: cut over all devices, the arguments alone take %s of each\n",
			bytes.p);
	strbuf_release(&time);
	strbuf_release(&bytes);
}

/* The front of time over memory, where there is more to it than the answer. */
static void pareto_rows(const cJSON *facts, strbuf *out)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(facts, "pareto");
	if (!list || cJSON_GetArraySize(list) < 2)
		return;
	strbuf_puts(out, "\n  the fastest step that was found for\n");
	for (const cJSON *p = list->child; p; p = p->next) {
		strbuf peak = {0}, time = {0};
		strbuf_bytes(&peak, number_of(p, "peak_bytes"));
		strbuf_duration(&time, number_of(p, "runtime_ns"));
		strbuf_printf(out, "  %12s %10s  %s", peak.p, time.p,
			is_true(p, "answer") ? "this strategy" : text_of(p, "baseline"));
		while (out->n && out->p[out->n - 1] == ' ')
			out->p[--out->n] = 0;
		strbuf_putc(out, '\n');
		strbuf_release(&peak);
		strbuf_release(&time);
	}
}

/* Where nothing fits: what would fit, and what would help. */
static void too_large_rows(const cJSON *facts, strbuf *out)
{
	static const struct {
		const char *key, *before, *behind;
	} rows[] = {
		{"donation_saves_bytes",
			"no argument is donated: donating what results replace saves up to ", ""},
		{"rematerialise_bytes", "too much is kept for later: jax.checkpoint has to save ", ""},
	};
	if (!facts)
		return;
	pareto_rows(facts, out);
	/* a search with another limit goes other ways, so a little more than what was found */
	int64_t found = number_of(facts, "smallest_peak_bytes");
	strbuf_printf(out, "\n  fits from --memory %lldMiB on\n",
		(long long)ceil_div(found + found / 32, 1 << 20));
	for (uint32_t i = 0; i < COUNT_OF(rows); i++)
		if (cJSON_GetObjectItemCaseSensitive(facts, rows[i].key)) {
			strbuf_printf(out, "  %s", rows[i].before);
			strbuf_bytes(out, number_of(facts, rows[i].key));
			strbuf_printf(out, "%s\n", rows[i].behind);
		}
	if (cJSON_GetObjectItemCaseSensitive(facts, "least_devices"))
		strbuf_printf(out, "  the arguments alone need %lld devices\n",
			(long long)number_of(facts, "least_devices"));
}

static void apply_line(const cJSON *document, const cJSON *search, strbuf *out)
{
	const char *why = text_of(search, "not_exact");
	if (!strcmp(text_of(document, "apply"), "exact"))
		strbuf_puts(
			out, "applied exactly: XLA gets the program of one device and partitions nothing\n");
	else
		strbuf_printf(
			out, "applied as annotations, by which XLA partitions%s%s\n", *why ? ": " : "", why);
}

/* NAME=VALUE of each. */
static void options_text(const cJSON *options, strbuf *out)
{
	for (const cJSON *c = options ? options->child : NULL; c; c = c->next)
		strbuf_printf(out, "%s%s=%s", c == options->child ? "" : ", ", c->string,
			cJSON_IsString(c) ? c->valuestring : "");
}

static void compiler_options_lines(const cJSON *document, strbuf *out)
{
	const cJSON *chosen = cJSON_GetObjectItemCaseSensitive(document, "compiler_options"),
				*better = cJSON_GetObjectItemCaseSensitive(document, "better_compiler_options");
	if (chosen && chosen->child) {
		strbuf_puts(out, "to be compiled with ");
		options_text(chosen, out);
		strbuf_puts(out, "\n");
	}
	if (better) {
		strbuf_puts(out, "compiled with ");
		options_text(cJSON_GetObjectItemCaseSensitive(better, "compiler_options"), out);
		strbuf_puts(out, " a step would take ");
		strbuf_duration(out, number_of(better, "runtime_ns"));
		strbuf_puts(out, ": --compiler-options best\n");
	}
}

static void collectives_table(const cJSON *cost_json, strbuf *out)
{
	report_title(out, collectives_title);
	bool any = false;
	for (const cJSON *c = first_of(cost_json, "collectives"); c; c = c->next)
		if (number_of(c, "count")) {
			collective_row(out, c->string, number_of(c, "count"), number_of(c, "dynamic_count"),
				number_of(c, "bytes"));
			any = true;
		}
	if (!any)
		strbuf_puts(out, "  none\n");
}

void report_document(const cJSON *document, bool color, uint32_t columns, strbuf *out)
{
	const char *bold = color ? "\033[1m" : "", *plain = color ? "\033[0m" : "";
	const cJSON *cost_json = cJSON_GetObjectItemCaseSensitive(document, "cost"),
				*search = cJSON_GetObjectItemCaseSensitive(document, "search");
	const cJSON *mesh = cJSON_GetObjectItemCaseSensitive(document, "mesh");
	strbuf_printf(out, "%s@%s%s on ", bold,
		text_of(cJSON_GetObjectItemCaseSensitive(document, "module"), "name"), plain);
	for (const cJSON *axis = first_of(mesh, "axes"); axis; axis = axis->next)
		strbuf_printf(out, "%s=%lld%s", text_of(axis, "name"), (long long)number_of(axis, "size"),
			axis->next ? "," : "");
	strbuf_printf(out, " of %s, limit ", text_of(document, "device"));
	strbuf_bytes(out, number_of(document, "memory_limit_bytes"));
	strbuf_puts(out, " per device\n");
	apply_line(document, search, out);
	report_simpler(document, out);
	compiler_options_lines(document, out);
	report_arguments(document, columns, out);
	report_decisions(document, columns, out);
	report_held(document, out);
	collectives_table(cost_json, out);
	report_cost_header(columns, out);
	strbuf_puts(out, bold);
	report_cost_row(out, "this strategy", cost_json, is_true(document, "fits"), 0, columns);
	strbuf_puts(out, plain);
	for (const cJSON *b = first_of(document, "baselines"); b; b = b->next)
		report_cost_row(out, text_of(b, "name"), cJSON_GetObjectItemCaseSensitive(b, "cost"),
			is_true(b, "fits"), number_of(cost_json, "runtime_ns"), columns);
	char title[40];
	uint32_t number = 0;
	for (const cJSON *a = first_of(document, "alternatives"); a; a = a->next) {
		snprintf(title, sizeof title, "alternative %u", ++number);
		report_cost_row(out, title, cJSON_GetObjectItemCaseSensitive(a, "cost"), is_true(a, "fits"),
			number_of(cost_json, "runtime_ns"), columns);
		strbuf_printf(out, "    %s\n", text_of(a, "difference"));
	}
	bound_row(
		document, cJSON_GetObjectItemCaseSensitive(search, "bound"), cost_columns(columns), out);
	too_large_rows(cJSON_GetObjectItemCaseSensitive(document, "too_large"), out);
	for (const cJSON *u = first_of(document, "runs_whole"); u; u = u->next)
		strbuf_printf(out, "  runs on whole operands: %s at %s (%lld times)\n", text_of(u, "op"),
			text_of(u, "location"), (long long)number_of(u, "count"));
	for (const cJSON *u = first_of(document, "unsupported"); u; u = u->next)
		strbuf_printf(out, "  no sharding rule: %s at %s (%lld times), kept replicated\n",
			text_of(u, "op"), text_of(u, "location"), (long long)number_of(u, "count"));
	report_uncounted_loops(cost_json, out);
	const cJSON *seconds = cJSON_GetObjectItemCaseSensitive(search, "seconds");
	strbuf_printf(out, "\n  %lld evaluations, %lld replays, %lld groups, %.2f s%s\n",
		(long long)number_of(search, "evaluations"), (long long)number_of(search, "replays"),
		(long long)number_of(search, "groups"),
		cJSON_IsNumber(seconds) ? seconds->valuedouble : 0.0,
		is_true(search, "interrupted") ? " (interrupted)" : "");
}
