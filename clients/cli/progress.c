/* What a search tells while it runs: one JSON object a line, or one line of a terminal that is
 * written over and over. */
#include "clients/cli/cli.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

enum { JSON_NS = 200000000, TERMINAL_NS = 100000000 }; /* progress at most so often */

static void add_cost(cJSON *o, int64_t runtime_ns, int64_t peak_bytes, bool fits)
{
	cJSON_AddNumberToObject(o, "runtime_ns", (double)runtime_ns);
	cJSON_AddNumberToObject(o, "peak_bytes", (double)peak_bytes);
	cJSON_AddBoolToObject(o, "fits", fits);
}

static void add_baselines(cJSON *o, const search_event *e)
{
	cJSON *list = cJSON_AddArrayToObject(o, "baselines");
	for (uint32_t i = 0; i < e->n_baselines; i++) {
		const baseline_result *b = &e->baselines[i];
		cJSON *row = cJSON_CreateObject();
		char *name = strndup(b->name.p, b->name.n);
		cJSON_AddStringToObject(row, "name", name);
		free(name);
		add_cost(row, b->cost.runtime_ns, b->cost.peak_bytes, b->fits);
		cJSON_AddItemToArray(list, row);
	}
}

static void add_tree(cJSON *o, const search_event *e)
{
	cJSON *list = cJSON_AddArrayToObject(o, "tree");
	for (uint32_t i = 0; i < e->n_nodes; i++) {
		const search_node *n = &e->nodes[i];
		cJSON *row = cJSON_CreateObject();
		if (n->parent != UINT32_MAX)
			cJSON_AddNumberToObject(row, "parent", n->parent);
		cJSON_AddStringToObject(row, "what", n->what);
		cJSON_AddNumberToObject(row, "evaluations", (double)n->evaluations);
		cJSON_AddNumberToObject(row, "plans", n->plans);
		cJSON_AddNumberToObject(row, "costed", n->costed);
		if (n->runtime_ns)
			add_cost(row, n->runtime_ns, n->peak_bytes, n->fits);
		cJSON_AddBoolToObject(row, "done", n->done);
		cJSON_AddItemToArray(list, row);
	}
}

static void show_json(cli_progress *p, const search_event *e)
{
	/* Those of the tree come as rarely as was asked for; the first one has the baselines, for the
	 * tree may begin late. */
	bool lists = !e->incumbent && (e->n_nodes || (!p->told_baselines && e->n_baselines));
	if (!e->incumbent && !lists && e->elapsed_ns - p->last_ns <= JSON_NS)
		return;
	cJSON *o = cJSON_CreateObject();
	char seconds[32];
	cJSON_AddStringToObject(o, "event", e->incumbent ? "incumbent" : "progress");
	cJSON_AddNumberToObject(o, "evaluation", (double)e->evaluation);
	snprintf(seconds, sizeof seconds, "%.3f", (double)e->elapsed_ns / 1e9);
	cJSON_AddRawToObject(o, "seconds", seconds);
	if (e->incumbent)
		add_cost(o, e->cost.runtime_ns, e->cost.peak_bytes, e->fits);
	if (lists) {
		add_baselines(o, e);
		add_tree(o, e);
		p->told_baselines = true;
	}
	char *text = cJSON_PrintUnformatted(o);
	if (text)
		fprintf(stderr, "%s\n", text);
	cJSON_free(text);
	cJSON_Delete(o);
	p->last_ns = e->elapsed_ns;
}

void cli_show_progress(void *user, const search_event *e)
{
	cli_progress *p = user;
	if (p->json) {
		show_json(p, e);
		return;
	}
	if (!p->terminal || (!e->incumbent && e->elapsed_ns - p->last_ns < TERMINAL_NS))
		return;
	strbuf line = {0};
	strbuf_printf(&line, "%llu evaluations, %s: best ", (unsigned long long)e->evaluation,
		e->tactic ? e->tactic : "");
	strbuf_duration(&line, e->cost.runtime_ns);
	strbuf_puts(&line, ", ");
	strbuf_bytes(&line, e->cost.peak_bytes);
	fprintf(stderr, "\r\033[K%s%s", line.p, e->fits ? "" : " (does not fit yet)");
	strbuf_release(&line);
	p->last_ns = e->elapsed_ns;
}
