#include "clients/cli/cli.h"

#include <cjson/cJSON.h>
#include <getopt.h>
#include <stdlib.h>

static const char help[] =
	"shardwright fingerprint MODULE [--json]\n\n"
	"Identity of a module: equal for programs that differ in names, locations, shardings and layout of the text only.\n"
	"--json adds the fingerprint of the shardings, the name and how many ops and arguments there are.\n";

int cmd_fingerprint(int argc, char **argv)
{
	static const struct option options[] = {{"json", 0, 0, 'j'}, {"help", 0, 0, 'h'}, {0}};
	bool json = false;
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "jh", options, NULL)) != -1;) {
		if (c == 'j')
			json = true;
		else if (c == 'h')
			return fputs(help, stdout), 0;
		else
			return cli_bad_option("fingerprint", options, argv);
	}
	if (optind + 1 != argc)
		return cli_usage("fingerprint", "expected one MODULE");
	diag d = {0};
	module *m = NULL;
	status st = module_read_file(argv[optind], NULL, &m, &d);
	if (st == ST_OK)
		st = module_verify_types(m, &d);
	if (st == ST_OK && !module_main(m))
		st = diag_set(&d, ST_ERR_INVALID, "the module has no function 'main'");
	if (st != ST_OK) {
		diag_in_file(&d, argv[optind]);
		int code = cli_fail(&d, st);
		if (m)
			module_free(m);
		return code;
	}
	char of_program[72], of_shardings[72];
	module_fingerprint(m, of_program);
	module_sharding_fingerprint(m, of_shardings);
	if (json) {
		uint32_t ops = 0;
		for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o))
			ops++;
		cJSON *root = cJSON_CreateObject();
		str name = strtab_get(&m->strs, m->name);
		char *copy = arena_strdup(&m->mem, name.p, name.n);
		cJSON_AddStringToObject(root, "fingerprint", of_program);
		cJSON_AddStringToObject(root, "shardings", of_shardings);
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
	module_free(m);
	return 0;
}
