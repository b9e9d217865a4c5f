/* shardwright submit | wait | cancel | strategies: the same work through a daemon, over HTTP or a
 * Unix socket. The daemon is --server URL or SHARDWRIGHT_SERVER: http://HOST:PORT, https://.., or
 * unix:PATH; a token for it comes from SHARDWRIGHT_TOKEN. Exit codes as everywhere: 0 found and
 * fits, 2 found but nothing fits, 1 bad input or a search that failed, 3 the daemon failed, 64
 * usage, 130 canceled. Two more, by the names of sysexits.h, let a launcher choose what to do: 69
 * no daemon answered, 75 there is no answer yet. */
#include "clients/cli/cli.h"
#include "clients/cli/daemon.h"
#include "clients/cli/search_options.h"
#include "search/search.h"

#include <stdlib.h>
#include <unistd.h>

enum {
	EXIT_FITS_NOT = 2,
	EXIT_INPUT = 1,
	EXIT_DAEMON = 3,
	EXIT_NO_DAEMON = 69,
	EXIT_NOT_YET = 75, /* not stored, or still under way */
	EXIT_CANCELED = 130,
};

/* Prints why an answer is none; the exit code for it. */
static int refuse(const client *c, const answer *a, const char *file)
{
	strbuf why = {0};
	client_refusal(c, a, file, &why);
	fprintf(stderr, "%s%s\n", a->code ? "" : "shardwright: ", why.p);
	strbuf_release(&why);
	if (!a->code)
		return a->timed_out && c->answered ? EXIT_NOT_YET : EXIT_NO_DAEMON;
	return a->code == 504                 ? EXIT_NOT_YET
		: a->code >= 400 && a->code < 500 ? EXIT_INPUT
										  : EXIT_DAEMON;
}

/* ---------------------------------------------------------------- flags */

#define TIMES \
	"  --timeout S           seconds for everything, uploading and waiting included\n" \
	"  --connect-timeout S   seconds until the daemon has to take the connection [10]\n" \
	"  --retry S             seconds for which a daemon that does not answer is asked again; " \
	"without it, one that has\n" \
	"                        answered once is given 30 to start again\n"

/* Stands for the options of search. */
#define OPTIONS_HERE "\f"

static const struct {
	const char *verb, *text;
} helps[] = {
	{"submit",
		"shardwright submit MODULE --mesh data=4,model=4 [flags]\n\n"
		"Uploads a module to a daemon and asks for a strategy. Prints the search's id, or, when "
		"the daemon knows the answer\n"
		"already or with --wait, what was found.\n\n" OPTIONS_HERE
		"  --no-warm-start       begin with nothing from the store\n"
		"  --label NAME          a name for the module, which is called jit_step otherwise\n"
		"  --tag NAME            a word to find the search by (repeat)\n"
		"  --priority N          -100 to 100: the order among your own waiting searches\n"
		"  --wait                wait for the end\n"
		"  --json                print the strategy document\n"
		"  --verify K            K programs are for a verifier to compile (python -m "
		"shardwright.verifier)\n"
		"  --verified            wait until it has answered, too\n"
		"  --fresh               search again, ignore what is stored\n"
		"  --only-if-cached      never start a search\n" TIMES
		"\nExit codes: 0 found, 2 found but it does not fit, 1 refused or failed, 3 the daemon "
		"failed, 64 usage, 69 no daemon answered,\n"
		"75 no answer yet (not stored, or still under way), 130 canceled.\n"},
	{"wait",
		"shardwright wait SEARCH [--verified] [--json]\n\n"
		"Waits for the end of a search and prints what it found; --json prints the strategy "
		"document. --verified: waits for the\n"
		"end of its verification too, where it was submitted with --verify.\n\n" TIMES},
	{"cancel",
		"shardwright cancel SEARCH [--json]\n\nEnds a search; the best strategy until then is "
		"kept.\n\n" TIMES},
	{"strategies",
		"shardwright strategies [--module FILE|ID] [--mesh ..] [--device ..] [--label NAME] [--tag "
		"NAME] [--json]\n"
		"shardwright strategies STRATEGY [-o FILE | --mlir FILE | --notation NAME]\n\n"
		"Lists what a daemon has found; with an id, fetches the document, or the module with the "
		"strategy applied, or prints\n"
		"the shardings of the arguments ready to paste, as shardwright convert --strategy does.\n"},
};

static int print_help(const char *verb)
{
	for (size_t i = 0; i < COUNT_OF(helps); i++)
		if (!strcmp(helps[i].verb, verb)) {
			size_t before = strcspn(helps[i].text, OPTIONS_HERE);
			fwrite(helps[i].text, 1, before, stdout);
			if (helps[i].text[before])
				cli_print_search_flags();
			fputs(helps[i].text + before + (helps[i].text[before] != 0), stdout);
		}
	fputs("\n  --server URL          http://HOST:PORT or unix:PATH; else SHARDWRIGHT_SERVER, else "
		  "http://127.0.0.1:7070\n"
		  "                        a token for it comes from SHARDWRIGHT_TOKEN\n",
		stdout);
	return 0;
}

typedef struct flags {
	const char *server, *positional, *mesh, *module, *device, *out, *mlir, *notation, *label, *tag;
	bool json, wait, verified, fresh, only_cached;
	double timeout, connect, retry; /* seconds, < 0: not given */
	bool waits;                     /* the verb may wait */
	cJSON *request;                 /* of submit */
} flags;

static int usage(const char *verb, const char *what, const char *which)
{
	fprintf(stderr, "shardwright %s: %s%s%s\nsee shardwright %s --help\n", verb, what,
		which ? " " : "", which ? which : "", verb);
	return EXIT_USAGE;
}

/* A file that holds JSON becomes a field of the request. */
static bool add_json_file(cJSON *request, const char *field, const char *path)
{
	diag d = {0};
	strbuf text;
	strbuf_init(&text);
	if (file_read(path, 1 << 20, &text, &d) != ST_OK) {
		diag_print(&d, stderr);
		return false;
	}
	cJSON *item = cJSON_ParseWithLength(text.p, text.n);
	strbuf_release(&text);
	if (!item)
		fprintf(stderr, "%s: error: expected JSON\n", path);
	else
		cJSON_AddItemToObject(request, field, item);
	return item != NULL;
}

static bool add_number(cJSON *request, const char *field, const char *value)
{
	char *end;
	double v = strtod(value, &end);
	if (!*value || *end || !__builtin_isfinite(v)) {
		fprintf(stderr, "error: --%s is '%s', expected a number\n", field, value);
		return false;
	}
	cJSON_AddNumberToObject(request, field, v);
	return true;
}

static void add_to_list(cJSON *request, const char *field, const char *value)
{
	cJSON *list = cJSON_GetObjectItemCaseSensitive(request, field);
	if (!list)
		list = cJSON_AddArrayToObject(request, field);
	cJSON_AddItemToArray(list, cJSON_CreateString(value));
}

/* A flag of search as a field of the request. False: told. */
static bool question_flag(flags *f, const search_option *o, const char *value)
{
	size_t n = strlen(value);
	bool file = o->kind == OPTION_KIND_FILE ||
		(!strcmp(o->flag, "mesh") && n > 5 && !strcmp(value + n - 5, ".json"));
	if (file)
		return add_json_file(f->request, o->field, value);
	if (o->kind == OPTION_KIND_NUMBER || o->kind == OPTION_KIND_SECONDS)
		return add_number(f->request, o->field, value);
	if (o->kind == OPTION_KIND_LIST)
		add_to_list(f->request, o->field, value);
	else
		cJSON_AddStringToObject(f->request, o->field, value);
	return true;
}

/* Flags of submit that are fields of the request. 1: taken, 0: not one of them, -1: wrong (told).
 */
static int submit_flag(flags *f, const char *name, const char *value)
{
	const search_option *o = search_option_flag(name);
	if (o)
		return question_flag(f, o, value) ? 1 : -1;
	if (!strcmp(name, "priority") || !strcmp(name, "verify"))
		return add_number(f->request, name, value) ? 1 : -1;
	if (!strcmp(name, "tag"))
		add_to_list(f->request, "tags", value);
	else if (!strcmp(name, "label"))
		f->label = value;
	else
		return 0;
	return 1;
}

static bool switch_flag(flags *f, const char *name)
{
	const search_option *o;
	if (!strcmp(name, "json"))
		f->json = true;
	else if (f->waits && !strcmp(name, "verified"))
		f->verified = true;
	else if (f->request && !strcmp(name, "wait"))
		f->wait = true;
	else if (f->request && !strcmp(name, "fresh"))
		f->fresh = true;
	else if (f->request && !strcmp(name, "only-if-cached"))
		f->only_cached = true;
	else if (f->request && (o = search_option_flag(name)) && o->kind == OPTION_KIND_SWITCH)
		cJSON_AddTrueToObject(f->request, o->field);
	else if (f->request && !strcmp(name, "no-warm-start"))
		cJSON_AddFalseToObject(f->request, "warm_start");
	else
		return false;
	return true;
}

static const char **list_flag(flags *f, const char *name)
{
	return !strcmp(name, "mesh")    ? &f->mesh
		: !strcmp(name, "module")   ? &f->module
		: !strcmp(name, "device")   ? &f->device
		: !strcmp(name, "mlir")     ? &f->mlir
		: !strcmp(name, "notation") ? &f->notation
		: !strcmp(name, "o")        ? &f->out
		: !strcmp(name, "label")    ? &f->label
		: !strcmp(name, "tag")      ? &f->tag
									: NULL;
}

/* Seconds of a time; false when it is none (told). */
static bool time_flag(flags *f, const char *name, const char *value, bool *out_taken)
{
	double *slot = !strcmp(name, "timeout") ? &f->timeout
		: !strcmp(name, "connect-timeout")  ? &f->connect
		: !strcmp(name, "retry")            ? &f->retry
											: NULL;
	char *end;
	*out_taken = slot != NULL;
	if (!slot)
		return true;
	*slot = strtod(value, &end);
	if (*value && !*end && *slot >= 0 && *slot <= 1e6)
		return true;
	fprintf(stderr, "error: --%s is '%s', expected seconds\n", name, value);
	return false;
}

/* -1 to go on, or the exit code to leave with: a usage error that has been told, or 0 after the
 * help. listing: strategies takes filters. */
static int parse_flags(flags *f, int argc, char **argv, bool listing)
{
	const char *verb = argv[0];
	f->timeout = f->connect = f->retry = -1;
	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i];
		if (arg[0] != '-' || !arg[1]) {
			if (f->positional)
				return usage(verb, "unexpected argument", arg);
			f->positional = arg;
			continue;
		}
		const char *name = arg + 1 + (arg[1] == '-');
		if (!strcmp(name, "help") || !strcmp(name, "h"))
			return print_help(verb);
		if (switch_flag(f, name))
			continue;
		char head[64];
		const char *equals = strchr(name, '=');
		snprintf(
			head, sizeof head, "%.*s", equals ? (int)(equals - name) : (int)strlen(name), name);
		const char *value = equals ? equals + 1 : i + 1 < argc ? argv[++i] : NULL;
		if (!value)
			return usage(verb, "a value is missing after", arg);
		bool is_time = false;
		if (!listing && !time_flag(f, head, value, &is_time))
			return EXIT_INPUT;
		if (is_time)
			continue;
		int taken = f->request ? submit_flag(f, head, value) : 0;
		if (taken < 0)
			return EXIT_INPUT;
		if (taken)
			continue;
		const char **slot = listing ? list_flag(f, head) : NULL;
		if (slot)
			*slot = value;
		else if (!strcmp(head, "server"))
			f->server = value;
		else
			return usage(verb, "unknown flag", arg);
	}
	return -1;
}

static bool open_daemon(client *c, const flags *f)
{
	if (!client_open(c, f->server))
		return false;
	if (f->connect >= 0)
		c->connect_ms = MAX((int64_t)(f->connect * 1000), 1);
	if (f->timeout >= 0)
		c->deadline_ns = clock_ns() + (int64_t)(f->timeout * 1e9);
	c->retry_ns = f->retry >= 0 ? (int64_t)(f->retry * 1e9) : -1;
	return true;
}

/* ---------------------------------------------------------------- search */

static void print_best(const cJSON *search)
{
	const cJSON *best = cJSON_GetObjectItemCaseSensitive(search, "best");
	strbuf b;
	strbuf_init(&b);
	strbuf_puts(&b, client_text(search, "state") ? client_text(search, "state") : "?");
	if (cJSON_IsObject(best)) {
		strbuf_printf(&b, ", %.0f evaluations, best ", client_number(search, "evaluations"));
		strbuf_duration(&b, (int64_t)client_number(best, "runtime_ns"));
		strbuf_puts(&b, " a step, ");
		strbuf_bytes(&b, (int64_t)client_number(best, "peak_bytes"));
		strbuf_puts(&b,
			cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(best, "fits")) ? "" : " (does not fit)");
	}
	fprintf(stderr, "\r%s\033[K", b.p);
	fflush(stderr);
	strbuf_release(&b);
}

/* What the compiler said of the answer, where a verifier has asked it. */
static void print_verified(const cJSON *search)
{
	const cJSON *job = cJSON_GetObjectItemCaseSensitive(search, "verification"),
				*best = cJSON_GetObjectItemCaseSensitive(job, "best");
	strbuf b;
	strbuf_init(&b);
	if (cJSON_IsObject(best)) {
		strbuf_printf(&b, "verified by %s, %s: ",
			client_text(best, "compiler") ? client_text(best, "compiler") : "?",
			client_text(best, "version") ? client_text(best, "version") : "?");
		if (cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(best, "runtime_ns"))) {
			strbuf_duration(&b, (int64_t)client_number(best, "runtime_ns"));
			strbuf_puts(&b, " a step, ");
		}
		strbuf_bytes(&b, (int64_t)client_number(best, "peak_bytes"));
		printf("%s\n", b.p);
	} else if (cJSON_IsObject(job)) {
		printf("verification %s%s%s\n", client_text(job, "state"),
			client_text(job, "error") ? ": " : "",
			client_text(job, "error") ? client_text(job, "error") : "");
	}
	strbuf_release(&b);
}

/* Prints a search that has ended; its exit code. */
static int print_end(client *c, const cJSON *search, bool json)
{
	const char *state = client_text(search, "state"),
			   *strategy_text = client_text(search, "strategy"), *id = client_text(search, "id");
	const cJSON *best = cJSON_GetObjectItemCaseSensitive(search, "best");
	if (!strategy_text) {
		const cJSON *error = cJSON_GetObjectItemCaseSensitive(search, "error");
		fprintf(stderr, "search %s %s\n", id, state);
		if (cJSON_IsObject(error)) {
			strbuf why = {0};
			client_problem(error, NULL, &why);
			fprintf(stderr, "%s\n", why.p);
			strbuf_release(&why);
		}
		return !strcmp(state, "canceled")          ? EXIT_CANCELED
			: client_number(error, "status") < 500 ? EXIT_INPUT
												   : EXIT_DAEMON;
	}
	char path[160];
	answer a = {0};
	snprintf(path, sizeof path, "/v1/strategies/%.100s", strategy_text);
	client_call(c, "GET", path, NULL, 0, NULL, &a);
	if (a.code != 200) {
		int code = refuse(c, &a, NULL);
		strbuf_release(&a.body);
		return code;
	}
	if (json) {
		printf("%s\n", a.body.p);
	} else {
		strbuf table = {0};
		cJSON *document = cJSON_ParseWithLength(a.body.p, a.body.n);
		report_document(document, cli_color(STDOUT_FILENO), cli_columns(STDOUT_FILENO), &table);
		printf("search %s %s, strategy %s\n", id, state, strategy_text);
		print_verified(search);
		printf("\n%s", table.p);
		cJSON_Delete(document);
		strbuf_release(&table);
	}
	strbuf_release(&a.body);
	if (!strcmp(state, "canceled"))
		return EXIT_CANCELED;
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(best, "fits")) ? 0 : EXIT_FITS_NOT;
}

/* Nothing more will come of it: of its verification neither, where that is waited for. */
static bool is_over(const cJSON *search, bool verified)
{
	const char *job =
		client_text(cJSON_GetObjectItemCaseSensitive(search, "verification"), "state");
	return client_is_final(client_text(search, "state")) &&
		!(verified && job && !(strcmp(job, "queued") && strcmp(job, "running")));
}

/* Polls until the search is over; with a terminal, each change is shown. */
static int wait_for(client *c, const char *id, const flags *f)
{
	bool live = isatty(STDERR_FILENO) && !f->json;
	int64_t until = c->deadline_ns;
	/* The last answer has to come before the deadline: what is asked for ends a little earlier. */
	enum { ROUND_TRIP_MS = 300 }; /* the daemon looks at its clock ten times a second */
	char path[160], match[96] = "";
	answer a = {0};
	for (;;) {
		int64_t left_ms =
			until == INT64_MAX ? 30000 : (until - clock_ns()) / 1000000 - ROUND_TRIP_MS;
		snprintf(path, sizeof path, "/v1/searches/%.100s?wait=%lldms%s", id,
			(long long)MIN(MAX(left_ms, 0), 30000), f->verified ? "&until=verified" : "");
		client_call(
			c, "GET", path, NULL, 0, live && match[0] ? (const char *[]){match, NULL} : NULL, &a);
		if (a.code != 200 && a.code != 304)
			break;
		cJSON *search = a.code == 200 ? cJSON_ParseWithLength(a.body.p, a.body.n) : NULL;
		if (live && search) {
			print_best(search);
			snprintf(match, sizeof match, "If-None-Match: %s", a.tag);
		}
		bool final = search && is_over(search, f->verified);
		if (final && live)
			fputs("\r\033[K", stderr);
		int code = final ? print_end(c, search, f->json) : 0;
		cJSON_Delete(search);
		if (!final && (left_ms <= 0 || client_is_late(c))) {
			fprintf(stderr, "search %s is still under way\n", id);
			code = EXIT_NOT_YET;
			final = true;
		}
		if (final) {
			strbuf_release(&a.body);
			return code;
		}
	}
	int code = refuse(c, &a, NULL);
	strbuf_release(&a.body);
	return code;
}

/* Uploads a module; 0, or an exit code after telling why not. */
static int upload(client *c, const flags *f, char id[80])
{
	answer a = {0};
	diag d = {0};
	int code = 0;
	if (!client_upload(c, f->positional, f->label, id, &a, &d))
		code = d.code != ST_OK ? (diag_print(&d, stderr), status_exit_code(d.code))
							   : refuse(c, &a, f->positional);
	strbuf_release(&a.body);
	return code;
}

static int post_search(client *c, const flags *f)
{
	char *body = cJSON_PrintUnformatted(f->request);
	/* The same question joins the search that it led to; only a fresh one needs a key to be sent
	 * twice. */
	char key[64];
	unsigned char random[16] = {0};
	if (getentropy(random, sizeof random) != 0)
		memcpy(random, &(int64_t){clock_ns()}, sizeof(int64_t));
	size_t at = (size_t)snprintf(key, sizeof key, "Idempotency-Key: ");
	for (size_t i = 0; i < sizeof random; i++)
		at += (size_t)snprintf(key + at, sizeof key - at, "%02x", random[i]);
	const char *const lines[] = {"Content-Type: application/json",
		f->fresh             ? "Cache-Control: no-cache"
			: f->only_cached ? "Cache-Control: only-if-cached"
							 : NULL,
		f->fresh ? key : NULL, NULL};
	answer a = {0};
	client_call(c, "POST", "/v1/searches", body, strlen(body), lines, &a);
	int code = 0;
	if (a.code != 200 && a.code != 202) {
		code = refuse(c, &a, NULL);
	} else {
		cJSON *search = cJSON_ParseWithLength(a.body.p, a.body.n);
		const char *id = client_text(search, "id");
		if (is_over(search, f->verified))
			code = print_end(c, search, f->json);
		else if ((f->wait || f->verified) && id)
			code = wait_for(c, id, f);
		else if (f->json)
			printf("%s\n", a.body.p);
		else
			printf("%s\n", id);
		cJSON_Delete(search);
	}
	strbuf_release(&a.body);
	cJSON_free(body);
	return code;
}

int cmd_submit(int argc, char **argv)
{
	flags f = {.request = cJSON_CreateObject(), .waits = true};
	client c = {0};
	char id[80];
	int code = parse_flags(&f, argc, argv, false);
	if (code < 0 && (!f.positional || !cJSON_HasObjectItem(f.request, "mesh")))
		code = usage(argv[0], "expected MODULE --mesh NAME=SIZE,..", NULL);
	if (code < 0 && !open_daemon(&c, &f))
		code = EXIT_DAEMON;
	if (code < 0 && !(code = upload(&c, &f, id))) {
		cJSON_AddStringToObject(f.request, "module", id);
		code = post_search(&c, &f);
	}
	client_close(&c);
	cJSON_Delete(f.request);
	return code;
}

int cmd_wait(int argc, char **argv)
{
	flags f = {.waits = true};
	client c = {0};
	int code = parse_flags(&f, argc, argv, false);
	if (code < 0 && !f.positional)
		code = usage(argv[0], "expected the id of a search", NULL);
	if (code < 0)
		code = open_daemon(&c, &f) ? wait_for(&c, f.positional, &f) : EXIT_DAEMON;
	client_close(&c);
	return code;
}

static int cancel_search(client *c, const flags *f)
{
	char path[160];
	answer a = {0};
	int code = 0;
	snprintf(path, sizeof path, "/v1/searches/%.100s/cancel", f->positional);
	client_call(c, "POST", path, NULL, 0, NULL, &a);
	if (a.code != 200 && a.code != 202)
		code = refuse(c, &a, NULL);
	else if (f->json)
		printf("%s\n", a.body.p);
	else
		printf("%s %s\n", f->positional, a.code == 202 ? "is being canceled" : "has ended");
	strbuf_release(&a.body);
	return code;
}

int cmd_cancel(int argc, char **argv)
{
	flags f = {0};
	client c = {0};
	int code = parse_flags(&f, argc, argv, false);
	if (code < 0 && !f.positional)
		code = usage(argv[0], "expected the id of a search", NULL);
	if (code < 0)
		code = open_daemon(&c, &f) ? cancel_search(&c, &f) : EXIT_DAEMON;
	client_close(&c);
	return code;
}

/* ---------------------------------------------------------------- strategies */

static void add_query(client *c, strbuf *path, const char *name, const char *value)
{
	if (!value)
		return;
	char *escaped = curl_easy_escape(c->curl, value, 0);
	strbuf_printf(path, "%c%s=%s", strchr(path->p, '?') ? '&' : '?', name, escaped);
	curl_free(escaped);
}

static void print_list(const cJSON *root)
{
	const cJSON *item;
	printf("%-14s %-11s %-12s %-24s %-16s %s\n", "STEP TIME", "PEAK", "DEVICE", "MESH", "MODULE",
		"STRATEGY");
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "strategies"))
	{
		strbuf time, peak;
		strbuf_init(&time);
		strbuf_init(&peak);
		strbuf_duration(&time, (int64_t)client_number(item, "runtime_ns"));
		strbuf_bytes(&peak, (int64_t)client_number(item, "peak_bytes"));
		if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "fits")))
			strbuf_putc(&peak, '!');
		printf("%-14s %-11s %-12.12s %-24.24s ", time.p, peak.p, client_text(item, "device"),
			client_text(item, "mesh"));
		const cJSON *label =
			cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(item, "labels"), 0);
		printf("%-16.16s %s\n",
			cJSON_IsString(label) ? label->valuestring : client_text(item, "name"),
			client_text(item, "id"));
		strbuf_release(&time);
		strbuf_release(&peak);
	}
}

static int list_all(client *c, const flags *f)
{
	strbuf path;
	answer a = {0};
	strbuf_init(&path);
	strbuf_puts(&path, "/v1/strategies");
	/* A file stands for the module it holds: its id is the hash of its text. */
	char id[72];
	const char *module_name = f->module;
	if (module_name && strncmp(module_name, "sha256:", 7)) {
		diag d = {0};
		strbuf text;
		strbuf_init(&text);
		if (file_read(module_name, (size_t)1 << 30, &text, &d) != ST_OK) {
			diag_print(&d, stderr);
			strbuf_release(&path);
			return status_exit_code(d.code);
		}
		sha256_name(text.p, text.n, id);
		strbuf_release(&text);
		module_name = id;
	}
	add_query(c, &path, "module", module_name);
	add_query(c, &path, "mesh", f->mesh);
	add_query(c, &path, "device", f->device);
	add_query(c, &path, "label", f->label);
	add_query(c, &path, "tag", f->tag);
	client_call(c, "GET", path.p, NULL, 0, NULL, &a);
	int code = a.code == 200 ? 0 : refuse(c, &a, NULL);
	cJSON *root = code ? NULL : cJSON_ParseWithLength(a.body.p, a.body.n);
	if (!code && f->json)
		printf("%s\n", a.body.p);
	else if (!code)
		print_list(root);
	cJSON_Delete(root);
	strbuf_release(&a.body);
	strbuf_release(&path);
	return code;
}

/* n: the notation that a document is written in; NOTATION_COUNT: as it is */
static int fetch(client *c, const char *id, const char *suffix, const char *out, notation n)
{
	char path[160];
	answer a = {0};
	diag d = {0};
	snprintf(path, sizeof path, "/v1/strategies/%.100s%s", id, suffix);
	client_call(c, "GET", path, NULL, 0, NULL, &a);
	int code = a.code == 200 ? 0 : refuse(c, &a, NULL);
	strbuf text = {0};
	if (!code && n != NOTATION_COUNT &&
		strategy_text_of(n, a.body.p, a.body.n, &text, &d) != ST_OK) {
		diag_print(&d, stderr);
		code = status_exit_code(d.code);
	}
	const strbuf *written = n != NOTATION_COUNT ? &text : &a.body;
	if (!code && file_write(out, written->p, written->n, &d) != ST_OK) {
		diag_print(&d, stderr);
		code = status_exit_code(d.code);
	}
	strbuf_release(&text);
	strbuf_release(&a.body);
	return code;
}

int cmd_strategies(int argc, char **argv)
{
	flags f = {0};
	client c = {0};
	int code = parse_flags(&f, argc, argv, true);
	if (code < 0 && f.mlir && !f.positional)
		code = usage(argv[0], "--mlir needs the id of a strategy", NULL);
	notation n = NOTATION_COUNT;
	if (code < 0 && f.notation && (!f.positional || !notation_find(f.notation, &n)))
		code = usage(argv[0],
			f.positional ? "unknown notation" : "--notation needs the id of a strategy",
			f.positional ? f.notation : NULL);
	if (code < 0 && !open_daemon(&c, &f))
		code = EXIT_DAEMON;
	if (code < 0 && !f.positional)
		code = list_all(&c, &f);
	else if (code < 0 && f.mlir)
		code = fetch(&c, f.positional, ".mlir", f.mlir, NOTATION_COUNT);
	else if (code < 0)
		code = fetch(&c, f.positional, "", f.out ? f.out : "-", n);
	client_close(&c);
	return code;
}
