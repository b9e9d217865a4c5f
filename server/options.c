#include "server/json.h"
#include "server/options.h"

#include <stdlib.h>

typedef enum option_kind { KIND_TEXT, KIND_INT, KIND_SIZE, KIND_FLAG } option_kind;

typedef struct option_row {
	const char *name; /* the field's; a flag writes '-' where it has '_' */
	option_kind kind;
	size_t at;
	int64_t least, most, number;
	const char *text, *arg, *help;
} option_row;

static const option_row rows[] = {
#define TEXT(field, dflt, arg, help) \
	{#field, KIND_TEXT, offsetof(options, field), 0, 0, 0, dflt, arg, help},
#define INT(field, dflt, least, most, help) \
	{#field, KIND_INT, offsetof(options, field), least, most, dflt, NULL, "N", help},
#define SIZE(field, dflt, least, most, help) \
	{#field, KIND_SIZE, offsetof(options, field), least, most, dflt, NULL, "SIZE", help},
#define FLAG(field, help) {#field, KIND_FLAG, offsetof(options, field), 0, 0, 0, NULL, "", help},
	OPTION_TABLE(TEXT, INT, SIZE, FLAG)
#undef TEXT
#undef INT
#undef SIZE
#undef FLAG
};

static void *field_of(options *o, const option_row *row) { return (char *)o + row->at; }

/* A flag's name matches a row when they differ only in '-' against '_'; --unix is short for
 * --unix-socket. */
static const option_row *row_find(str name, char separator)
{
	if (str_is(name, "unix"))
		name = STR("unix-socket"), separator = '-';
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		size_t k = 0;
		while (k < name.n && rows[i].name[k] &&
			(rows[i].name[k] == '_' ? separator : rows[i].name[k]) == name.p[k])
			k++;
		if (k == name.n && !rows[i].name[k])
			return &rows[i];
	}
	return NULL;
}

static status set_number(options *o, const option_row *row, int64_t value, diag *d)
{
	if (value < row->least || value > row->most)
		return diag_set(d, ST_ERR_INVALID, "%s is %lld, expected %lld to %lld", row->name,
			(long long)value, (long long)row->least, (long long)row->most);
	*(int64_t *)field_of(o, row) = value;
	return ST_OK;
}

static status set_text(options *o, const option_row *row, const char *value, diag *d)
{
	int64_t number;
	switch (row->kind) {
	case KIND_TEXT:
		*(const char **)field_of(o, row) = arena_strdup(&o->mem, value, strlen(value));
		return ST_OK;
	case KIND_INT:
		if (!str_to_i64(str_of(value), &number))
			return diag_set(d, ST_ERR_INVALID, "%s is '%s', expected a number", row->name, value);
		return set_number(o, row, number, d);
	case KIND_SIZE:
		if (!size_parse(str_of(value), &number))
			return diag_set(d, ST_ERR_INVALID,
				"%s is '%s', expected a size such as 512MiB or 16GiB", row->name, value);
		return set_number(o, row, number, d);
	case KIND_FLAG: break;
	}
	return diag_set(d, ST_ERR_INVALID, "%s takes no value", row->name);
}

static status set_json(options *o, const cJSON *item, diag *d)
{
	const option_row *row = row_find(str_of(item->string), '_');
	if (!row)
		return diag_set(d, ST_ERR_INVALID, "unknown setting '%s'", item->string);
	if (row->kind == KIND_FLAG && cJSON_IsBool(item)) {
		*(bool *)field_of(o, row) = cJSON_IsTrue(item);
		return ST_OK;
	}
	if (cJSON_IsString(item) && row->kind != KIND_INT)
		return set_text(o, row, item->valuestring, d);
	if (cJSON_IsNumber(item) && row->kind != KIND_TEXT &&
		item->valuedouble == (double)(int64_t)item->valuedouble)
		return set_number(o, row, (int64_t)item->valuedouble, d);
	return diag_set(d, ST_ERR_INVALID, "setting '%s' has the wrong type", item->string);
}

static status read_config(options *o, const char *path, diag *d)
{
	strbuf text;
	strbuf_init(&text);
	TRY(file_read(path, MAX_JSON_BYTES, &text, d));
	cJSON *root = json_parse(text.p, text.n, MAX_JSON_BYTES, d);
	status s = root ? ST_OK : d->code;
	if (root && !cJSON_IsObject(root))
		s = diag_set(d, ST_ERR_INVALID, "expected an object of settings");
	for (const cJSON *item = root ? root->child : NULL; item && s == ST_OK; item = item->next)
		s = set_json(o, item, d);
	if (s != ST_OK)
		diag_in_file(d, path);
	cJSON_Delete(root);
	strbuf_release(&text);
	return s;
}

static void set_defaults(options *o)
{
	memset(o, 0, sizeof *o);
	arena_init(&o->mem);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (rows[i].kind == KIND_TEXT)
			*(const char **)field_of(o, &rows[i]) = rows[i].text;
		else if (rows[i].kind != KIND_FLAG)
			*(int64_t *)field_of(o, &rows[i]) = rows[i].number;
	}
}

status options_parse(options *o, int argc, char **argv, diag *d)
{
	set_defaults(o);
	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i];
		if (!strcmp(arg, "--help") || !strcmp(arg, "-h")) {
			o->help = true;
			return ST_OK;
		}
		if (!strcmp(arg, "--version")) {
			o->version = true;
			return ST_OK;
		}
		if (!strcmp(arg, "--check")) {
			o->check = true;
			continue;
		}
		if (strncmp(arg, "--", 2))
			return diag_set(d, ST_ERR_INVALID, "unexpected argument '%s'", arg);
		const char *equals = strchr(arg, '=');
		str name = {arg + 2, equals ? (size_t)(equals - arg) - 2 : strlen(arg) - 2};
		const option_row *row = row_find(name, '-');
		if (row && row->kind == KIND_FLAG && !equals) {
			*(bool *)field_of(o, row) = true;
			continue;
		}
		bool special = str_is(name, "config") || str_is(name, "new-token");
		if (!row && !special)
			return diag_set(
				d, ST_ERR_INVALID, "unknown flag '" STR_FMT "'", (int)MIN(name.n + 2, 100), arg);
		if (!equals && i + 1 == argc)
			return diag_set(d, ST_ERR_INVALID, "%s needs a value", arg);
		const char *value = equals ? equals + 1 : argv[++i];
		if (row)
			TRY(set_text(o, row, value, d));
		else if (str_is(name, "config"))
			TRY(read_config(o, value, d));
		else
			o->new_token = value;
	}
	return ST_OK;
}

void options_release(options *o) { arena_release(&o->mem); }

void options_help(FILE *out)
{
	fputs("shardwrightd - finds shardings for tensor programs, as a service\n"
		  "\n"
		  "usage: shardwrightd [flags]\n"
		  "\n"
		  "Upload a StableHLO module, ask for a search, fetch the strategy:\n"
		  "  shardwrightd --store /var/lib/shardwright &\n"
		  "  curl --data-binary @step.mlir http://127.0.0.1:7070/v1/modules\n"
		  "  curl -H 'Content-Type: application/json' http://127.0.0.1:7070/v1/searches \\\n"
		  "       -d "
		  "'{\"module\":\"sha256:...\",\"mesh\":\"data=4,model=4\",\"device\":\"tpu-v5e\"}'\n"
		  "or, with the command line client: shardwright submit step.mlir --mesh data=4,model=4 "
		  "--wait\n"
		  "A browser finds a page at /, programs a description at /openapi.json.\n"
		  "\n"
		  "What a 201 or 202 has acknowledged survives a crash of the daemon and of the machine.\n"
		  "Stop it with SIGTERM: running searches go back to the queue and start again with the "
		  "next daemon.\n"
		  "\n"
		  "flags (each is also a key of the configuration file, with _ for -):\n",
		out);
	fprintf(
		out, "  %-28s %s\n", "--config FILE", "read settings from a JSON file; flags after it win");
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char flag[64];
		size_t n = (size_t)snprintf(flag, sizeof flag, "--%s %s", rows[i].name, rows[i].arg);
		for (size_t k = 2; k < n && flag[k] != ' '; k++)
			if (flag[k] == '_')
				flag[k] = '-';
		fprintf(out, "  %-28s %s", flag, rows[i].help);
		if (rows[i].kind == KIND_TEXT && rows[i].text[0])
			fprintf(out, " [%s]", rows[i].text);
		else if (rows[i].kind == KIND_INT)
			fprintf(out, " [%lld]", (long long)rows[i].number);
		else if (rows[i].kind == KIND_SIZE && rows[i].number)
			fprintf(out, " [%lldMiB]", (long long)(rows[i].number >> 20));
		fputc('\n', out);
	}
	fprintf(out, "  %-28s %s\n", "--new-token NAME:SCOPES[:DAY]",
		"add a token to --tokens, print its secret, leave; scopes: read,submit,admin; DAY: when it "
		"expires");
	fprintf(out, "  %-28s %s\n", "--check",
		"read the whole store, tell what is wrong with it, leave (0: nothing); a daemon may run "
		"beside it");
	fprintf(out, "  %-28s %s\n", "--version, --help", "");
	fputs("\nexit codes: 0 stopped as asked, 1 bad setting, 3 could not start or internal error, "
		  "64 usage\n",
		out);
}
