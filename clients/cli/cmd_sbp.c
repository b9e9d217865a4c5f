/* sbp: the signatures that OneFlow's inference gives a module's ops, and what it moves for them. */
#include "clients/cli/cli.h"
#include "sbp/sbp.h"

#include <cjson/cJSON.h>
#include <getopt.h>

static const char help[] =
	"shardwright sbp MODULE [--placement MESH] [--explain | --json | --emit-mlir OUT.mlir]\n\n"
	"Infers an SBP signature (split, broadcast, partial sum) for every op from the shardings of "
	"the arguments, op by op in\n"
	"program order, as OneFlow does. Calls are inlined. Arguments without a sharding are "
	"broadcast. A sharding on the result\n"
	"of an op is a constraint.\n\n"
	"  --placement MESH      the mesh of arguments without a sharding: a name in the module "
	"(default: that of the arguments)\n"
	"  --explain             per op all candidates with order value and copy cost, the chosen one "
	"and the boxing\n"
	"  --json                the same as OneFlow's messages: sbp_signature, nd_sbp_signature\n"
	"  --emit-mlir OUT.mlir  the module with a sharding on every result and an sdy.reshard for "
	"every boxing; lower and\n"
	"                        simulate take it\n";

struct request {
	const char *path, *placement, *emit;
	bool explain, json;
};

static status write_json(const module *m, const sbp_inference *x, diag *d)
{
	cJSON *root = sbp_explain_json(m, x);
	char *text = cJSON_Print(root);
	strbuf out = {0};
	strbuf_puts(&out, text);
	strbuf_putc(&out, '\n');
	status s = file_write("-", out.p, out.n, d);
	strbuf_release(&out);
	cJSON_free(text);
	cJSON_Delete(root);
	return s;
}

static status write_text(const module *m, const sbp_inference *x, bool every, diag *d)
{
	strbuf out = {0};
	sbp_explain(m, x, every, &out);
	status s = file_write("-", out.p, out.n, d);
	strbuf_release(&out);
	return s;
}

static status write_module(module *m, const sbp_inference *x, const char *path, diag *d)
{
	strbuf out = {0};
	sbp_annotate(m, x);
	TRY(module_verify(m, d));
	module_print(m, &(print_options){.locations = true}, &out);
	status s = file_write(path, out.p, out.n, d);
	strbuf_release(&out);
	return s;
}

static status answer(const struct request *r, module *m, sbp_inference *x, diag *d)
{
	mesh_id mesh = ID_NONE;
	if (r->placement && (mesh = mesh_find(m->shardings, str_of(r->placement))) == ID_NONE)
		return diag_set(
			d, ST_ERR_NOT_FOUND, "--placement: the module has no mesh \"%s\"", r->placement);
	TRY(sbp_infer(m, mesh, x, d));
	if (r->emit)
		return write_module(m, x, r->emit, d);
	return r->json ? write_json(m, x, d) : write_text(m, x, r->explain, d);
}

int cmd_sbp(int argc, char **argv)
{
	static const struct option options[] = {{"placement", 1, 0, 'p'}, {"explain", 0, 0, 'e'},
		{"json", 0, 0, 'j'}, {"emit-mlir", 1, 0, 'o'}, {"help", 0, 0, 'h'}, {0}};
	struct request r = {0};
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;)
		switch (c) {
		case 'p': r.placement = optarg; break;
		case 'e': r.explain = true; break;
		case 'j': r.json = true; break;
		case 'o': r.emit = optarg; break;
		case 'h': return fputs(help, stdout), 0;
		default: return cli_bad_option("sbp", options, argv);
		}
	if (optind + 1 != argc)
		return cli_usage("sbp", "expected one MODULE");
	if (r.explain + r.json + (r.emit != NULL) > 1)
		return cli_usage("sbp", "--explain, --json and --emit-mlir exclude each other");
	diag d = {0};
	module *m = NULL;
	sbp_inference x = {0};
	status s = module_read_file(argv[optind], NULL, &m, &d);
	if (s == ST_OK)
		s = module_refuse_gspmd(m, &d);
	if (s == ST_OK)
		s = passes_run(m, "inline,symbol-dce", &d);
	if (s == ST_OK) {
		s = answer(&r, m, &x, &d);
		sbp_inference_release(&x);
	}
	if (m)
		module_free(m);
	return s == ST_OK ? 0 : cli_fail(&d, s);
}
