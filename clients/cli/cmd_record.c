/* shardwright record: a measured step into a daemon's store, or into one that nobody has open. */
#include "batch/batch.h"
#include "clients/cli/cli.h"
#include "clients/cli/daemon.h"

#include <getopt.h>
#include <unistd.h>

enum { EXIT_NO_DAEMON = 69 };

static const char help[] =
	"shardwright record STRATEGY --step TIME [--peak SIZE] [flags] [--server URL | --store DIR]\n\n"
	"Records what a step took with a strategy on real devices. STRATEGY is its id in the store "
	"(sha256:..), or the file of its\n"
	"document as `shardwright strategies ID -o FILE` wrote it. Answers prefer what was measured "
	"from then on.\n\n"
	"  --strategy ID        the same as STRATEGY\n"
	"  --step TIME          a time with its unit: 12.3ms, 950us, 1.2s\n"
	"  --step-ns N          the same in nanoseconds\n"
	"  --peak SIZE          peak memory of a device\n"
	"  --steps N            how many steps the time is taken from\n"
	"  --device NAME        profile of the devices it ran on [that of the strategy]; only then "
	"answers count it\n"
	"  --hardware TEXT      what the runtime calls them: 'TPU v5 lite'\n"
	"  --jax V, --jaxlib V, --compiler TEXT   versions\n"
	"  --option NAME=VALUE  an option of the compiler (repeat)\n"
	"  --source TEXT        how it was measured: profiler, 'wall clock'\n"
	"  --at TIME            when it ran, such as 2026-01-31T12:00:00Z [now]\n"
	"  --key TEXT           a request that is sent twice with it counts once (to a daemon)\n"
	"  --store DIR          a store that no daemon has open; without it, a daemon:\n"
	"  --server URL         http://HOST:PORT or unix:PATH; else SHARDWRIGHT_SERVER, else "
	"http://127.0.0.1:7070\n"
	"  --json               prints the measurement\n\n"
	"Exit codes: 0 recorded, 1 refused, 3 the daemon or the store failed, 64 usage, 69 no daemon "
	"answered.\n";

typedef struct arguments {
	const char *strategy, *store, *server, *key;
	bool json;
	cJSON *body;
} arguments;

/* "12.3ms" in nanoseconds. */
static bool parse_time(const char *text, int64_t *out)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char *end;
	double v = strtod(text, &end);
	for (size_t i = 0; i < COUNT_OF(units); i++)
		if (end != text && !strcmp(end, units[i].unit) && v > 0 && v * units[i].ns < 9e15) {
			*out = (int64_t)(v * units[i].ns + 0.5);
			return *out > 0;
		}
	return false;
}

static bool add_option(cJSON *body, const char *text)
{
	const char *equals = strchr(text, '=');
	cJSON *options = cJSON_GetObjectItemCaseSensitive(body, "options");
	char name[200];
	if (!equals || equals == text || (size_t)(equals - text) >= sizeof name)
		return false;
	snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
	if (!options)
		options = cJSON_AddObjectToObject(body, "options");
	cJSON_DeleteItemFromObjectCaseSensitive(options, name);
	return cJSON_AddStringToObject(options, name, equals + 1) != NULL;
}

enum {
	OPT_STRATEGY = 256,
	OPT_STEP,
	OPT_STEP_NS,
	OPT_PEAK,
	OPT_STEPS,
	OPT_OPTION,
	OPT_KEY,
	OPT_STORE,
	OPT_SERVER,
	OPT_JSON,
	OPT_HELP,
	OPT_WORD
};
/* OPT_WORD + i: a text of the request. */
static const char *const words[] = {
	"device", "hardware", "jax", "jaxlib", "compiler", "source", "measured"};
static const struct option options[] = {{"strategy", 1, 0, OPT_STRATEGY}, {"step", 1, 0, OPT_STEP},
	{"step-ns", 1, 0, OPT_STEP_NS}, {"peak", 1, 0, OPT_PEAK}, {"steps", 1, 0, OPT_STEPS},
	{"option", 1, 0, OPT_OPTION}, {"key", 1, 0, OPT_KEY}, {"store", 1, 0, OPT_STORE},
	{"server", 1, 0, OPT_SERVER}, {"json", 0, 0, OPT_JSON}, {"help", 0, 0, OPT_HELP},
	{"device", 1, 0, OPT_WORD}, {"hardware", 1, 0, OPT_WORD + 1}, {"jax", 1, 0, OPT_WORD + 2},
	{"jaxlib", 1, 0, OPT_WORD + 3}, {"compiler", 1, 0, OPT_WORD + 4},
	{"source", 1, 0, OPT_WORD + 5}, {"at", 1, 0, OPT_WORD + 6}, {0}};

static bool add_number(arguments *a, const char *name, int64_t value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(a->body, name);
	return cJSON_AddNumberToObject(a->body, name, (double)value) != NULL;
}

/* One option; -1: go on, else the exit code. */
static int take(arguments *a, int c, char **argv)
{
	int64_t n = 0;
	switch (c) {
	case OPT_STRATEGY: a->strategy = optarg; return -1;
	case OPT_KEY: a->key = optarg; return -1;
	case OPT_STORE: a->store = optarg; return -1;
	case OPT_SERVER: a->server = optarg; return -1;
	case OPT_JSON: a->json = true; return -1;
	case OPT_HELP: fputs(help, stdout); return 0;
	case OPT_STEP:
		if (!parse_time(optarg, &n))
			return cli_usage(
				"record", "--step is '%s', expected a time with its unit, such as 12.3ms", optarg);
		return add_number(a, "step_ns", n) ? -1 : EXIT_INTERNAL;
	case OPT_STEP_NS:
		return !cli_number("record", "--step-ns", optarg, 1, 9000000000000000, &n) ? EXIT_USAGE
			: add_number(a, "step_ns", n)                                          ? -1
																				   : EXIT_INTERNAL;
	case OPT_PEAK:
		return !cli_bytes("record", "--peak", optarg, &n) ? EXIT_USAGE
			: add_number(a, "peak_bytes", n)              ? -1
														  : EXIT_INTERNAL;
	case OPT_STEPS:
		return !cli_number("record", "--steps", optarg, 1, 1000000000, &n) ? EXIT_USAGE
			: add_number(a, "steps", n)                                    ? -1
																		   : EXIT_INTERNAL;
	case OPT_OPTION:
		return add_option(a->body, optarg)
			? -1
			: cli_usage("record", "--option is '%s', expected NAME=VALUE", optarg);
	default:
		if (c < OPT_WORD)
			return cli_bad_option("record", options, argv);
		cJSON_DeleteItemFromObjectCaseSensitive(a->body, words[c - OPT_WORD]);
		return cJSON_AddStringToObject(a->body, words[c - OPT_WORD], optarg) ? -1 : EXIT_INTERNAL;
	}
}

static int parse(arguments *a, int argc, char **argv)
{
	device dev;
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		int code = take(a, c, argv);
		if (code >= 0)
			return code;
	}
	if (optind < argc && !a->strategy)
		a->strategy = argv[optind++];
	if (optind < argc)
		return cli_usage("record", "expected one STRATEGY, found '%s' too", argv[optind]);
	if (!a->strategy)
		return cli_usage("record", "expected a STRATEGY: its id, or the file of its document");
	if (!cJSON_GetObjectItemCaseSensitive(a->body, "step_ns"))
		return cli_usage("record", "expected --step TIME");
	if (a->store && (a->server || a->key))
		return cli_usage(
			"record", "--store and %s exclude each other", a->server ? "--server" : "--key");
	const char *name = client_text(a->body, "device");
	if (name &&
		device_find(name, &dev, NULL) == ST_OK) { /* of the two names that a profile may have */
		cJSON_DeleteItemFromObjectCaseSensitive(a->body, "device");
		cJSON_AddStringToObject(a->body, "device", dev.name);
	}
	return -1;
}

/* A file stands for the document it holds. */
static status resolve(arguments *a, char id[72], diag *d)
{
	strbuf text = {0};
	if (!strncmp(a->strategy, "sha256:", 7) || access(a->strategy, F_OK) != 0)
		return ST_OK;
	TRY(file_read(a->strategy, (size_t)1 << 30, &text, d));
	sha256_name(text.p, text.n, id);
	strbuf_release(&text);
	a->strategy = id;
	return ST_OK;
}

static void tell(const arguments *a, const char *json)
{
	cJSON *m = a->json ? NULL : cJSON_Parse(json);
	strbuf step = {0};
	strbuf_duration(&step, (int64_t)client_number(m, "step_ns"));
	if (a->json)
		puts(json);
	else
		printf("%s: %s a step with %.19s on %s\n", client_text(m, "id"), step.p,
			client_text(m, "strategy"), client_text(m, "device"));
	strbuf_release(&step);
	cJSON_Delete(m);
}

static int post(const arguments *a)
{
	client c;
	answer got = {0};
	strbuf path = {0}, key = {0}, why = {0};
	char *body = cJSON_PrintUnformatted(a->body);
	strbuf_printf(&key, "Idempotency-Key: %s", a->key ? a->key : "");
	const char *lines[] = {"Content-Type: application/json", a->key ? key.p : NULL, NULL};
	int code = EXIT_NO_DAEMON;
	if (strlen(a->strategy) > 200 || a->strategy[strcspn(a->strategy, "/?# %")])
		code = cli_usage("record", "'%s' is no id of a strategy, and no file", a->strategy);
	else if (client_open(&c, a->server)) {
		strbuf_printf(&path, "/v1/strategies/%s/measurements", a->strategy);
		c.deadline_ns = clock_ns() + 60000000000ll;
		client_call(&c, "POST", path.p, body, strlen(body), lines, &got);
		code = got.code == 200 || got.code == 201 ? 0
			: !got.code                           ? EXIT_NO_DAEMON
			: got.code < 500                      ? EXIT_BAD_INPUT
												  : EXIT_INTERNAL;
		if (code == 0)
			tell(a, got.body.p);
		else
			client_refusal(&c, &got, NULL, &why), fprintf(stderr, "shardwright: %s\n", why.p);
		client_close(&c);
	}
	cJSON_free(body);
	strbuf_release(&got.body);
	strbuf_release(&path);
	strbuf_release(&key);
	strbuf_release(&why);
	return code;
}

int cmd_record(int argc, char **argv)
{
	arguments a = {.body = cJSON_CreateObject()};
	diag d = {0};
	char id[72];
	strbuf json = {0};
	int code = parse(&a, argc, argv);
	if (code < 0) {
		status st = resolve(&a, id, &d);
		if (st == ST_OK && a.store &&
			(st = store_record(a.store, a.strategy, a.body, &json, &d)) == ST_OK)
			tell(&a, json.p);
		code = st != ST_OK ? cli_fail(&d, st) : a.store ? 0 : post(&a);
	}
	strbuf_release(&json);
	cJSON_Delete(a.body);
	return code;
}
