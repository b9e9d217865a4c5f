/* opt: compiler passes on a module, and why they shard values as they do (--explain). */
#include "clients/cli/cli.h"

#include <cjson/cJSON.h>
#include <getopt.h>

static const char help[] =
	"shardwright opt --passes 'P1,P2{option=value},func.func(P3)' [-o OUT] [--debug-info] MODULE\n"
	"shardwright opt --passes P --explain[=VALUE].. [--explain-limit N] [--json] [-o OUT] MODULE\n"
	"shardwright opt --list\n\n"
	"Runs compiler passes on a StableHLO module and prints the module. Names and options are those "
	"of sdy_opt.\n\n"
	"  --passes TEXT   the pipeline\n"
	"  -o, --output F  write to a file instead of standard output\n"
	"  --debug-info    print locations\n"
	"  --explain[=VALUE]   instead of the module (-o still writes it), print which op, factor and "
	"priorities brought each\n"
	"                      axis of a value, back to the annotation it comes from, and which axes "
	"lost to what. VALUE, may be\n"
	"                      given many times: %3, %5#1 or %arg0 as MODULE names it; a place, "
	"model.py:40 or model.py:40:8;\n"
	"                      else a glob over names of arguments, results (result0) and locations. "
	"Without VALUE:\n"
	"                      what propagation changed, equal stories once, conflicts first\n"
	"  --explain-limit N   the most values told, default 20; 0: all\n"
	"  --json          with --explain: one JSON document\n"
	"  --list          name every pass and what it does\n";

typedef struct request {
	const char *path, *passes, *out;
	bool locations, explain, json;
	const char **selectors;
	uint32_t n_selectors;
	int64_t limit;
} request;

static int list_passes(void)
{
	for (uint32_t i = 0; i < pass_count(); i++) {
		const pass_info *p = pass_at(i);
		printf("%-50s %s\n", p->name, p->help);
		if (*p->options)
			printf("%-50s   options: %s\n", "", p->options);
	}
	return 0;
}

/* ---------------------------------------------------------------- the JSON form of explanations */

static void add_text(cJSON *to, const char *key, str text)
{
	if (!text.n)
		return;
	char *copy = xmalloc(text.n + 1);
	memcpy(copy, text.p, text.n);
	copy[text.n] = 0;
	cJSON_AddStringToObject(to, key, copy);
	free(copy);
}

static cJSON *sharding_json(const module *m, sharding_id sh)
{
	sharding_edit e;
	if (sh == SHARDING_NONE)
		return cJSON_CreateNull();
	sharding_to_edit(m->shardings, sh, &e);
	return sharding_to_json(m->shardings, &e);
}

static cJSON *hop_json(const explained_hop *h)
{
	cJSON *j = cJSON_CreateObject();
	add_text(j, "value", h->value);
	cJSON_AddNumberToObject(j, "dimension", h->dim);
	add_text(j, "axis", h->axis);
	add_text(j, "how", h->how);
	add_text(j, "from", h->from);
	add_text(j, "op", h->op);
	add_text(j, "location", h->location);
	add_text(j, "factor", h->factor);
	add_text(j, "direction", h->direction);
	add_text(j, "strategy", h->strategy);
	if (h->user_priority >= 0)
		cJSON_AddNumberToObject(j, "user_priority", h->user_priority);
	if (h->op_priority >= 0)
		cJSON_AddNumberToObject(j, "op_priority", h->op_priority);
	if (h->skipped)
		cJSON_AddNumberToObject(j, "left_out_before", h->skipped);
	add_text(j, "text", h->text);
	return j;
}

static cJSON *axis_json(const explained_axis *a)
{
	cJSON *j = cJSON_CreateObject();
	cJSON_AddNumberToObject(j, "dimension", a->dim);
	add_text(j, "axis", a->axis);
	cJSON *path = cJSON_AddArrayToObject(j, "path");
	for (uint32_t i = 0; i < a->n_hops; i++)
		cJSON_AddItemToArray(path, hop_json(&a->hops[i]));
	return j;
}

static cJSON *loss_json(const explained_loss *l)
{
	cJSON *j = cJSON_CreateObject();
	cJSON_AddNumberToObject(j, "dimension", l->dim);
	add_text(j, "axis", l->axis);
	add_text(j, "reason", l->reason);
	add_text(j, "from", l->from);
	add_text(j, "op", l->op);
	add_text(j, "location", l->location);
	add_text(j, "factor", l->factor);
	add_text(j, "winner_axis", l->winner_axis);
	add_text(j, "winner", l->winner);
	add_text(j, "text", l->text);
	return j;
}

static cJSON *value_json(const module *m, const explained_value *v)
{
	cJSON *j = cJSON_CreateObject();
	add_text(j, "value", v->value);
	add_text(j, "op", v->op);
	add_text(j, "location", v->location);
	add_text(j, "type", v->type);
	cJSON_AddItemToObject(j, "before", sharding_json(m, v->before));
	cJSON_AddItemToObject(j, "after", sharding_json(m, v->after));
	cJSON *axes_json = cJSON_AddArrayToObject(j, "axes"), *lost = cJSON_AddArrayToObject(j, "lost");
	for (uint32_t i = 0; i < v->n_axes; i++)
		cJSON_AddItemToArray(axes_json, axis_json(&v->axes[i]));
	for (uint32_t i = 0; i < v->n_losses; i++)
		cJSON_AddItemToArray(lost, loss_json(&v->losses[i]));
	cJSON_AddNumberToObject(j, "more_alike", v->n_alike);
	return j;
}

static void explanation_json(const explanation *e, const module *m, strbuf *out)
{
	cJSON *j = cJSON_CreateObject();
	cJSON_AddStringToObject(j, "format", "shardwright.explanation/1");
	cJSON *runs = cJSON_AddArrayToObject(j, "runs");
	for (uint32_t i = 0; i < explanation_runs(e); i++) {
		const explained_run *r = explanation_run(e, i);
		cJSON *run = cJSON_CreateObject();
		cJSON_AddItemToArray(runs, run);
		add_text(run, "pass", r->pass);
		cJSON_AddNumberToObject(run, "stories", r->n_stories);
		cJSON *values = cJSON_AddArrayToObject(run, "values");
		for (uint32_t k = 0; k < r->values.n; k++)
			cJSON_AddItemToArray(values, value_json(m, &r->values.p[k]));
	}
	char *text = cJSON_PrintUnformatted(j);
	strbuf_puts(out, text);
	strbuf_putc(out, '\n');
	cJSON_free(text);
	cJSON_Delete(j);
}

/* ---------------------------------------------------------------- running */

static status write_module(const module *m, const request *q, diag *d)
{
	strbuf text;
	strbuf_init(&text);
	module_print(m, &(print_options){.locations = q->locations}, &text);
	status st = file_write(q->out ? q->out : "-", text.p, text.n, d);
	strbuf_release(&text);
	return st;
}

static status write_explanation(const module *m, const explanation *e, const request *q, diag *d)
{
	strbuf text;
	strbuf_init(&text);
	if (q->json)
		explanation_json(e, m, &text);
	else
		explanation_print(e, m, &text);
	status st = explanation_runs(e)
		? file_write("-", text.p, text.n, d)
		: diag_set(d, ST_ERR_INVALID, "--explain: no pass of the pipeline propagates shardings");
	strbuf_release(&text);
	return st;
}

static status run(const request *q, diag *d)
{
	module *m = NULL;
	explanation *e = NULL;
	status st = module_read_file(q->path, NULL, &m, d);
	if (st == ST_OK && q->explain)
		st = explanation_new(m, q->selectors, q->n_selectors, (uint32_t)q->limit, &e, d);
	if (st == ST_OK)
		st = passes_run(m, q->passes, d);
	if (st == ST_OK && e)
		st = write_explanation(m, e, q, d);
	if (st == ST_OK && (!e || q->out))
		st = write_module(m, q, d);
	explanation_free(m, e);
	module_free(m);
	return st;
}

/* -1: go on; otherwise the exit code. */
static int check(const request *q, int n_left)
{
	if (!q->passes)
		return cli_usage("opt", "expected --passes");
	if (n_left != 1)
		return cli_usage("opt", "expected one MODULE");
	if (q->json && !q->explain)
		return cli_usage("opt", "--json is the form of --explain");
	if (q->explain && q->out && !strcmp(q->out, "-"))
		return cli_usage("opt", "--explain prints to standard output: the module needs a file");
	return -1;
}

int cmd_opt(int argc, char **argv)
{
	enum { PASSES = 256, LIST, DEBUG_INFO, EXPLAIN, LIMIT, JSON };
	static const struct option options[] = {{"passes", 1, 0, PASSES}, {"output", 1, 0, 'o'},
		{"list", 0, 0, LIST}, {"debug-info", 0, 0, DEBUG_INFO}, {"explain", 2, 0, EXPLAIN},
		{"explain-limit", 1, 0, LIMIT}, {"json", 0, 0, JSON}, {"help", 0, 0, 'h'}, {0}};
	request q = {.limit = 20, .selectors = xcalloc((size_t)argc, sizeof *q.selectors)};
	bool list = false;
	int code = -1;
	lower_register_passes();
	optind = 1;
	for (int c; code < 0 && (c = getopt_long(argc, argv, "o:h", options, NULL)) != -1;) {
		switch (c) {
		case PASSES: q.passes = optarg; break;
		case 'o': q.out = optarg; break;
		case LIST: list = true; break;
		case DEBUG_INFO: q.locations = true; break;
		case JSON: q.json = true; break;
		case 'h': code = fputs(help, stdout) < 0; break;
		case EXPLAIN:
			q.explain = true;
			if (optarg)
				q.selectors[q.n_selectors++] = optarg;
			break;
		case LIMIT:
			if (!cli_number("opt", "--explain-limit", optarg, 0, UINT32_MAX, &q.limit))
				code = EXIT_USAGE;
			break;
		default: code = cli_bad_option("opt", options, argv);
		}
	}
	if (code < 0 && list)
		code = list_passes();
	if (code < 0)
		code = check(&q, argc - optind);
	if (code < 0) {
		diag d = {0};
		q.path = argv[optind];
		status st = run(&q, &d);
		code = st == ST_OK ? 0 : cli_fail(&d, st);
	}
	free(q.selectors);
	return code;
}
