/* lower: the collectives of an annotated module at four levels, and its per-device program. */
#include "clients/cli/hlo.h"

#include <cjson/cJSON.h>
#include <getopt.h>
#include <stdlib.h>

static const char help[] =
	"shardwright lower MODULE [--json | --emit-mlir OUT [--level L] [--global]] [--device NAME | "
	"--device-file F] [--trip-count N]\n\n"
	"Propagates the shardings in the module and places communication. Counts are static "
	"instructions: as Shardy places\n"
	"them, after textbook rewrites, as the compiler of the device would emit them for the "
	"annotated module (what the list\n"
	"shows), and for our own program of one device. Of scheduled HLO text the collectives are "
	"listed as they are, with\n"
	"their groups of devices.\n"
	"A collective that XLA for TPU makes one loop with the contraction beside it is marked "
	"\"windowed einsum\".\n\n"
	"  --json           one JSON document instead of tables\n"
	"  --emit-mlir OUT  write the program of one device (- for standard output)\n"
	"  --level L        of that program: placed (default), optimized, or exact, which is what is "
	"written where a plan is\n"
	"                   applied exactly\n"
	"  --global         write it inside one manual computation, so that arguments and results are "
	"whole arrays with their\n"
	"                   shardings; XLA compiles it as it is and has nothing left to partition\n"
	"  --device NAME    whose compiler (default tpu-v5e; `shardwright devices` lists them)\n"
	"  --trip-count N   iterations of every loop whose number of them the program does not say "
	"(default: the bound of\n"
	"                   its counter, else 1)\n";

/* What --emit-mlir writes. */
typedef struct lowering_form {
	lower_level level;
	emit_form form;
	bool given;
} lowering_form;

typedef struct arguments {
	const char *file, *device, *device_file, *emit;
	lowering_form form;
	int64_t trip_count;
	bool json;
} arguments;

#define LEVELS (LEVEL_EXACT + 1)

/* The lowered program at all levels. */
typedef struct lowering {
	module *m;
	rule_table rules;
	program *p;
	propagation *s;
	lower_cache *cache;
	lowered *levels[LEVELS];
	simulator *sim; /* of the compiled level; NULL without a mesh */
	const op_event *events;
} lowering;

static const char *const level_names[LEVELS] = {"placed", "optimized", "compiled", "exact"};

static int parse(arguments *a, int argc, char **argv)
{
	static const struct option options[] = {{"json", 0, 0, 'j'}, {"emit-mlir", 1, 0, 'e'},
		{"level", 1, 0, 'l'}, {"global", 0, 0, 'g'}, {"device", 1, 0, 'd'},
		{"device-file", 1, 0, 'f'}, {"trip-count", 1, 0, 't'}, {"help", 0, 0, 'h'}, {0}};
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		switch (c) {
		case 'j': a->json = true; break;
		case 'e': a->emit = optarg; break;
		case 'l':
			a->form.level = LEVEL_PLACED;
			while (a->form.level < LEVELS &&
				(a->form.level == LEVEL_COMPILED || strcmp(optarg, level_names[a->form.level])))
				a->form.level++;
			if (a->form.level == LEVELS)
				return cli_usage(
					"lower", "--level: expected placed, optimized or exact, found '%s'", optarg);
			a->form.given = true;
			break;
		case 'g':
			a->form.form = EMIT_GLOBAL;
			a->form.given = true;
			break;
		case 't':
			if (!cli_trip_count("lower", optarg, &a->trip_count))
				return EXIT_USAGE;
			break;
		case 'd': a->device = optarg; break;
		case 'f': a->device_file = optarg; break;
		case 'h': fputs(help, stdout); return 0;
		default: return cli_bad_option("lower", options, argv);
		}
	}
	if (optind + 1 != argc)
		return cli_usage("lower", "expected one MODULE");
	if (a->json && a->emit)
		return cli_usage("lower", "--json and --emit-mlir exclude each other");
	if (a->form.given && !a->emit)
		return cli_usage("lower", "--level and --global are of --emit-mlir");
	a->file = argv[optind];
	return -1;
}

static void release(lowering *x)
{
	simulator_free(x->sim);
	for (int i = 0; i < LEVELS; i++)
		lowered_free(x->levels[i]);
	lower_cache_free(x->cache);
	propagation_free(x->s);
	program_free(x->p);
	rule_table_release(&x->rules);
	module_free(x->m);
}

static status lower_module(
	lowering *x, const arguments *a, const strbuf *text, const device *dev, diag *d)
{
	const propagate_options options = {
		.strategy = STRATEGY_AGGRESSIVE, .op_priority = true, .user_priority = true};
	TRY(module_read(text->p, text->n, strcmp(a->file, "-") ? a->file : "<stdin>", NULL, &x->m, d));
	x->m->trip_count = a->trip_count;
	TRY(module_refuse_gspmd(x->m, d));
	TRY(passes_import(x->m, dev->target == TARGET_TPU, d));
	TRY(program_new(x->m, &x->rules, apply_reading(APPLY_ANNOTATE, dev->target), &x->p, d));
	x->s = propagation_new(x->p, x->m->shardings, &options);
	propagation_reset(x->s);
	propagation_run(x->s);
	x->cache = lower_cache_new(x->p, x->m->shardings);
	lower_cache_device(x->cache, dev->target, device_torus_dims(dev), 0);
	for (int i = 0; i < LEVELS; i++) {
		x->levels[i] = lowered_new(x->p, x->m->shardings);
		lower_program(
			x->cache, propagation_shardings(x->s), (lower_level)i, dev->target, x->levels[i]);
	}
	return ST_OK;
}

/* Which collectives the device's compiler puts into loops with their contractions. */
static status find_windowed(lowering *x, const device *dev, diag *d)
{
	mesh_links links;
	cost c;
	uint32_t n;
	if (x->p->mesh == ID_NONE)
		return ST_OK;
	TRY(mesh_links_assign(dev, x->m->shardings, x->p->mesh, NULL, &links, d));
	x->sim = simulator_new(x->p, x->m->shardings, dev, &links, NULL);
	simulate(x->sim, x->levels[LEVEL_COMPILED], &c);
	x->events = simulator_events(x->sim, &n);
	return ST_OK;
}

static bool is_windowed(const lowering *x, const collective_record *c)
{
	return x->events && x->events[c->lop].windowed;
}

/* An axis as JSON and flags write it: name, or name:(pre)size. */
static void axis_words(const lowering *x, axis_ref a, strbuf *out)
{
	const sharding_table *t = x->m->shardings;
	const device_mesh *mesh = &t->meshes.p[x->p->mesh];
	strbuf_str(out, strtab_get(&t->names, mesh->axis_names[axis_index(a)]));
	if (axis_size(a) != mesh->axis_sizes[axis_index(a)])
		strbuf_printf(out, ":(%lld)%lld", (long long)axis_pre(a), (long long)axis_size(a));
}

static str op_name(const lowering *x, op_id o)
{
	return o == ID_NONE ? STR("argument") : strtab_get(&x->m->strs, op_at(x->m, o)->name);
}

static void op_location(const lowering *x, op_id o, strbuf *out)
{
	if (o != ID_NONE)
		loc_print(x->m, op_at(x->m, o)->loc, out);
}

typedef struct lister {
	const lowering *x;
	cJSON *list;
	uint32_t shown, total;
} lister;

static void add_string(cJSON *to, const char *name, const strbuf *text)
{
	cJSON_AddStringToObject(to, name, text->p ? text->p : "");
}

static void list_json(void *user, const collective_record *c)
{
	lister *l = user;
	cJSON *j = cJSON_CreateObject(), *list = cJSON_CreateArray();
	strbuf text;
	strbuf_init(&text);
	cJSON_AddStringToObject(j, "kind", collective_name(c->kind));
	for (uint32_t i = 0; i < c->axes.n; i++) {
		strbuf_clear(&text);
		axis_words(l->x, c->axes.a[i], &text);
		cJSON_AddItemToArray(list, cJSON_CreateString(text.p));
	}
	cJSON_AddItemToObject(j, "axes", list);
	cJSON_AddNumberToObject(j, "bytes", (double)c->bytes);
	cJSON_AddNumberToObject(j, "trip_count", (double)c->trip_count);
	cJSON_AddNumberToObject(j, "combined", c->combined);
	if (is_windowed(l->x, c))
		cJSON_AddTrueToObject(j, "windowed_einsum");
	strbuf_clear(&text);
	op_location(l->x, c->op, &text);
	add_string(j, "location", &text);
	strbuf_clear(&text);
	strbuf_str(&text, op_name(l->x, c->op));
	add_string(j, "op", &text);
	cJSON_AddItemToArray(l->list, j);
	strbuf_release(&text);
}

static cJSON *counts_json(const lowered *l, bool slices)
{
	int64_t counts[COLL_COUNT];
	lowered_counts(l, counts);
	cJSON *j = cJSON_CreateObject();
	for (int k = 0; k < COLL_COUNT; k++)
		if (k != COLL_ALL_SLICE || slices)
			cJSON_AddNumberToObject(j, collective_name((collective_kind)k), (double)counts[k]);
	return j;
}

static void print_document(cJSON *doc)
{
	char *text = cJSON_Print(doc);
	puts(text);
	cJSON_free(text);
	cJSON_Delete(doc);
}

static void print_json(const lowering *x)
{
	cJSON *doc = cJSON_CreateObject(), *counts = cJSON_CreateObject();
	lister l = {.x = x, .list = cJSON_CreateArray()};
	lowered_collectives(x->levels[LEVEL_COMPILED], list_json, &l);
	cJSON_AddItemToObject(doc, "collectives", l.list);
	for (int i = 0; i < LEVELS; i++)
		cJSON_AddItemToObject(counts, level_names[i], counts_json(x->levels[i], i == LEVEL_PLACED));
	cJSON_AddItemToObject(doc, "counts", counts);
	print_document(doc);
}

enum { ROWS_SHOWN = 40 };

static void list_row(void *user, const collective_record *c)
{
	lister *l = user;
	if (l->total++ >= ROWS_SHOWN)
		return;
	strbuf axes_text, bytes, where;
	strbuf_init(&axes_text);
	strbuf_init(&bytes);
	strbuf_init(&where);
	for (uint32_t i = 0; i < c->axes.n; i++) {
		strbuf_puts(&axes_text, i ? "," : "");
		axis_words(l->x, c->axes.a[i], &axes_text);
	}
	strbuf_bytes(&bytes, c->bytes);
	op_location(l->x, c->op, &where);
	str name = op_name(l->x, c->op);
	printf("%-18s  %-16s  %12s  x%-6lld  %-28.*s  %s%s\n", collective_name(c->kind),
		axes_text.p ? axes_text.p : "", bytes.p, (long long)c->trip_count, STR_ARG(name),
		where.p ? where.p : "", is_windowed(l->x, c) ? "  windowed einsum" : "");
	strbuf_release(&axes_text);
	strbuf_release(&bytes);
	strbuf_release(&where);
}

static void print_tables(const lowering *x)
{
	printf("%-18s  %10s  %10s  %10s  %10s\n", "collective", level_names[0], level_names[1],
		level_names[2], level_names[3]);
	int64_t counts[LEVELS][COLL_COUNT];
	for (int i = 0; i < LEVELS; i++)
		lowered_counts(x->levels[i], counts[i]);
	for (int k = 0; k < COLL_COUNT; k++)
		printf("%-18s  %10lld  %10lld  %10lld  %10lld\n", collective_name((collective_kind)k),
			(long long)counts[0][k], (long long)counts[1][k], (long long)counts[2][k],
			(long long)counts[3][k]);
	lister l = {.x = x};
	puts("");
	printf("%-18s  %-16s  %12s  %-7s  %-28s  %s\n", "kind", "axes", "bytes", "times", "op",
		"location");
	lowered_collectives(x->levels[LEVEL_COMPILED], list_row, &l);
	if (l.total > ROWS_SHOWN)
		printf("... and %u more (--json lists all)\n", l.total - ROWS_SHOWN);
}

static status list_hlo(const arguments *a, const device *dev, const hlo_module *m, diag *d)
{
	hlo_simulation *s;
	cost c;
	if (a->emit)
		return diag_set(
			d, ST_ERR_UNSUPPORTED, "--emit-mlir: the module is compiled HLO text already");
	TRY(hlo_simulate(m, dev, &c, &s, d));
	if (a->json) {
		cJSON *doc = cJSON_CreateObject(), *counts = cJSON_CreateObject();
		cJSON_AddItemToObject(doc, "collectives", cli_hlo_collectives(m, s));
		cJSON_AddItemToObject(counts, level_names[LEVEL_COMPILED], cli_hlo_counts(&c));
		cJSON_AddItemToObject(doc, "counts", counts);
		print_document(doc);
	} else {
		cli_hlo_print_collectives(m, s);
	}
	hlo_simulation_free(s);
	return ST_OK;
}

static status run(const arguments *a, lowering *x, hlo_module **compiled, strbuf *text, diag *d)
{
	cli_target target = {.mesh = ID_NONE};
	TRY(cli_device(a->device, a->device_file, &target, d));
	TRY(cli_read_hlo(a->file, text, compiled, d));
	if (*compiled)
		(*compiled)->trip_count = a->trip_count;
	if (*compiled)
		return list_hlo(a, &target.dev, *compiled, d);
	TRY(lower_module(x, a, text, &target.dev, d));
	if (a->emit) {
		strbuf out;
		strbuf_init(&out);
		status st = lower_emit_mlir(x->levels[a->form.level], a->form.form, &out, d);
		if (st == ST_OK)
			st = file_write(a->emit, out.p, out.n, d);
		strbuf_release(&out);
		return st;
	}
	TRY(find_windowed(x, &target.dev, d));
	if (a->json)
		print_json(x);
	else
		print_tables(x);
	return ST_OK;
}

int cmd_lower(int argc, char **argv)
{
	arguments a = {0};
	int code = parse(&a, argc, argv);
	if (code >= 0)
		return code;
	diag d = {0};
	lowering x = {0};
	rule_table_init(&x.rules);
	hlo_module *compiled = NULL;
	strbuf text = {0};
	status st = run(&a, &x, &compiled, &text, &d);
	if (st != ST_OK)
		diag_in_file(&d, a.file);
	hlo_free(compiled);
	strbuf_release(&text);
	release(&x);
	return st == ST_OK ? 0 : cli_fail(&d, st);
}
