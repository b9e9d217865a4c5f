/* Of the tables for people: what was decided, and what is held as decisions left it. */
#include "search/strategy/read_json.h"
#include "search/strategy/strategy.h"

/* Of a decision: what it names, and the words around that. */
typedef struct decision_words {
	strbuf before, name, behind;
} decision_words;

static void decision_text(
	const cJSON *document, const cJSON *decision, str first, decision_words *w)
{
	const char *axis = text_of(decision, "axis");
	const cJSON *sites = cJSON_GetObjectItemCaseSensitive(decision, "constraints");
	bool keeps = !strcmp(text_of(decision, "kind"), "replicate");
	int count =
		cJSON_GetArraySize(sites ? sites : cJSON_GetObjectItemCaseSensitive(decision, "members"));
	strbuf_clear(&w->before);
	strbuf_clear(&w->name);
	strbuf_clear(&w->behind);
	if (keeps)
		strbuf_puts(&w->before, "keep ");
	else
		strbuf_printf(&w->before, sites ? "constrain dim %lld at " : "shard dim %lld of ",
			(long long)number_of(decision, "dimension"));
	if (sites) {
		const cJSON *at =
			cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(document, "constraints"),
				sites->child ? sites->child->valueint : -1);
		strbuf_puts(&w->name, at ? text_of(at, "location") : "?");
	} else if (count > 1) {
		report_name_pattern(first, &w->name);
	} else {
		strbuf_str(&w->name, first);
	}
	strbuf_printf(&w->behind, "%s %s %s (%d)", count > 1 && !sites ? " and others" : "",
		keeps ? "off" : "over", axis, count);
}

/* The name gives way where a line is too long. */
void report_decisions(const cJSON *document, uint32_t columns, strbuf *out)
{
	enum { WIDTH = 100, DELTAS = 22, MOST_NAME = 64, LEAST_NAME = 12, NUMBERED = 21 };
	uint32_t n = 0, n_args = 0,
			 width =
				 columns && columns < WIDTH + DELTAS ? MAX(columns, 2u * DELTAS) - DELTAS : WIDTH;
	VEC(const char *) names = {0};
	decision_words w = {0};
	for (const cJSON *a = first_of(document, "arguments"); a; a = a->next, n_args++)
		vec_push(&names, text_of(a, "name"));
	report_title(out, "DECISIONS");
	for (const cJSON *a = first_of(document, "actions"); a; a = a->next) {
		const cJSON *members = cJSON_GetObjectItemCaseSensitive(a, "members"),
					*delta = cJSON_GetObjectItemCaseSensitive(a, "delta");
		uint32_t first = members && members->child ? (uint32_t)members->child->valueint : n_args;
		decision_text(document, a, str_of(first < n_args ? names.p[first] : "?"), &w);
		size_t words = report_width((str){w.before.p, w.before.n}) +
			report_width((str){w.behind.p, w.behind.n}) + NUMBERED;
		strbuf row = {0};
		strbuf_printf(&row, "  %2u  %-14s ", ++n, text_of(a, "tactic"));
		strbuf_str(&row, (str){w.before.p, w.before.n});
		report_shortened((str){w.name.p, w.name.n},
			MIN((size_t)MOST_NAME, words + LEAST_NAME > width ? LEAST_NAME : width - words), &row);
		strbuf_str(&row, (str){w.behind.p, w.behind.n});
		size_t has = report_width((str){row.p, row.n});
		strbuf_str(out, (str){row.p, row.n});
		if (columns && has > width) { /* what it brings has a line of its own then */
			strbuf_putc(out, '\n');
			has = 0;
		}
		strbuf_printf(out, "%*s ", (int)(width - MIN(width, has)), "");
		if (number_of(delta, "runtime_ns") || number_of(delta, "peak_bytes")) {
			report_change_ns(out, number_of(delta, "runtime_ns"));
			strbuf_puts(out, "  ");
			report_change_bytes(out, number_of(delta, "peak_bytes"));
		}
		strbuf_putc(out, '\n');
		strbuf_release(&row);
	}
	if (!n)
		strbuf_puts(out, "  none\n");
	vec_release(&names);
	strbuf_release(&w.before);
	strbuf_release(&w.name);
	strbuf_release(&w.behind);
}

/* Is it of a decision? Those have their own rows. */
static bool is_decided(const cJSON *document, int constraint)
{
	for (const cJSON *a = first_of(document, "actions"); a; a = a->next)
		for (const cJSON *i = first_of(a, "constraints"); i; i = i->next)
			if (i->valueint == constraint)
				return true;
	return false;
}

static bool is_alike(const cJSON *a, const cJSON *b)
{
	return !strcmp(text_of(a, "location"), text_of(b, "location")) &&
		cJSON_Compare(cJSON_GetObjectItemCaseSensitive(a, "sharding"),
			cJSON_GetObjectItemCaseSensitive(b, "sharding"), true);
}

void report_held(const cJSON *document, strbuf *out)
{
	VEC(const cJSON *) held = {0};
	int number = 0;
	for (const cJSON *c = first_of(document, "constraints"); c; c = c->next)
		if (!is_decided(document, number++))
			vec_push(&held, c);
	if (held.n)
		report_title(out,
			"HELD (inner values, as the decisions left them; shardings of arguments cannot say "
			"it)");
	for (uint32_t i = 0; i < held.n; i++) {
		uint32_t n = 1;
		if (!held.p[i])
			continue;
		for (uint32_t k = i + 1; k < held.n; k++)
			if (held.p[k] && is_alike(held.p[i], held.p[k])) {
				held.p[k] = NULL;
				n++;
			}
		strbuf_printf(out, "  %5u  %-44s ", n, text_of(held.p[i], "location"));
		report_sharding(cJSON_GetObjectItemCaseSensitive(held.p[i], "sharding"), out);
		strbuf_putc(out, '\n');
	}
	vec_release(&held);
}
