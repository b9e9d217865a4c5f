#include "clients/cli/cli.h"

#include <cjson/cJSON.h>
#include <getopt.h>
#include <stdlib.h>

static const char help[] =
	"shardwright fingerprint MODULE [--json | --arguments]\n\n"
	"Identity of a module: equal for programs that differ in names, locations, shardings and "
	"layout of the text only.\n"
	"  --json       adds the fingerprint of the shardings, the structure (equal for programs that "
	"differ in sizes and the number\n"
	"               of layers only), the name and how many ops and arguments there are\n"
	"  --arguments  lists the arguments instead, as JSON: name, type, role and bytes\n";

/* {"arguments":[{"index":0,"name":"params['w']","type":"tensor<8x4xf32>","role":"parameter","bytes":128},..]}
 */
static status print_arguments(const module *m, diag *d)
{
	const func *f = module_main(m);
	value_id args = op_region(m, f->op, 0)->args;
	role *roles = xcalloc(f->n_args + 1, sizeof *roles);
	status st = search_roles(m, roles, d);
	strbuf name, type;
	strbuf_init(&name);
	strbuf_init(&type);
	cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "arguments");
	for (uint32_t i = 0; i < f->n_args && st == ST_OK; i++) {
		type_id ty = value_at(m, args + i)->type;
		strbuf_clear(&name);
		strbuf_clear(&type);
		module_arg_name(m, i, &name);
		type_print(m, ty, &type);
		cJSON *a = cJSON_CreateObject();
		cJSON_AddNumberToObject(a, "index", i);
		cJSON_AddStringToObject(a, "name", name.p);
		cJSON_AddStringToObject(a, "type", type.p);
		cJSON_AddStringToObject(a, "role", role_name(roles[i]));
		cJSON_AddNumberToObject(
			a, "bytes", (double)sharding_local_bytes(m->shardings, SHARDING_NONE, type_get(m, ty)));
		cJSON_AddItemToArray(list, a);
	}
	char *text = st == ST_OK ? cJSON_PrintUnformatted(root) : NULL;
	if (text)
		puts(text);
	free(text);
	cJSON_Delete(root);
	strbuf_release(&name);
	strbuf_release(&type);
	free(roles);
	return st;
}

static void print_identity(module *m, bool json)
{
	char of_program[72], of_shardings[72], structure[72];
	module_fingerprint(m, of_program);
	module_sharding_fingerprint(m, of_shardings);
	if (json) {
		uint32_t ops = 0;
		module_structure(m, structure);
		for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o))
			ops++;
		cJSON *root = cJSON_CreateObject();
		str name = strtab_get(&m->strs, m->name);
		char *copy = arena_strdup(&m->mem, name.p, name.n);
		cJSON_AddStringToObject(root, "fingerprint", of_program);
		cJSON_AddStringToObject(root, "shardings", of_shardings);
		cJSON_AddStringToObject(root, "structure", structure);
		cJSON_AddStringToObject(root, "name", copy);
		cJSON_AddNumberToObject(root, "ops", ops);
		cJSON_AddNumberToObject(root, "arguments", module_main(m)->n_args);
		char *text = cJSON_PrintUnformatted(root);
		puts(text);
		free(text);
		cJSON_Delete(root);
	} else {
		puts(of_program);
	}
}

int cmd_fingerprint(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", 0, 0, 'j'}, {"arguments", 0, 0, 'a'}, {"help", 0, 0, 'h'}, {0}};
	bool json = false, list = false;
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "jh", options, NULL)) != -1;) {
		if (c == 'j')
			json = true;
		else if (c == 'a')
			list = true;
		else if (c == 'h')
			return fputs(help, stdout), 0;
		else
			return cli_bad_option("fingerprint", options, argv);
	}
	if (optind + 1 != argc)
		return cli_usage("fingerprint", "expected one MODULE");
	if (json && list)
		return cli_usage("fingerprint", "--json and --arguments exclude each other");
	diag d = {0};
	module *m = NULL;
	status st = module_read_file(argv[optind], NULL, &m, &d);
	if (st == ST_OK)
		st = module_verify_types(m, &d);
	if (st == ST_OK && !module_main(m))
		st = diag_set(&d, ST_ERR_INVALID, "the module has no function 'main'");
	if (st == ST_OK && list)
		st = print_arguments(m, &d);
	if (st != ST_OK) {
		diag_in_file(&d, argv[optind]);
		int code = cli_fail(&d, st);
		if (m)
			module_free(m);
		return code;
	}
	if (!list)
		print_identity(m, json);
	module_free(m);
	return 0;
}
