/* Any bytes as a strategy document, a schedule, a mesh, a device profile and a sharding: accepted
 * or reported. */
#include "search/tree/runner.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const text =
	"module { func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) -> tensor<8x4xf32> {\n"
	"  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, "
	"tensor<16x4xf32>) -> tensor<8x4xf32>\n"
	"  return %0 : tensor<8x4xf32> } }\n";

/* Tables and pictures of a tensor that mostly does not divide. */
static void draw(const sharding_table *t, const tensor_spec *s, cut_rule cut, strbuf *out)
{
	static const int64_t shape[] = {11, 24};
	layout l;
	layout_steps steps;
	diag d = {0};
	if (layout_init_cut(&l, t, s, shape, 2, cut, &d) != ST_OK)
		return;
	layout_table(&l, 0, l.n_devices, out);
	layout_steps_of(&l, &s->e, &steps);
	(void)!layout_steps_text(&steps, out, &d);
	diag_clear(&d);
	(void)!layout_steps_svg(&steps, out, &d);
	diag_clear(&d);
	(void)!layout_steps_json(&steps, out, &d);
	layout_release(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 1 << 16)
		return 0;
	module *m = NULL;
	diag d = {0};
	if (module_read(text, strlen(text), "m", NULL, &m, &d) != ST_OK)
		abort();
	strbuf b = {0};
	strbuf_add(&b, (const char *)data, size);
	strategy s;
	char name[64];
	int64_t limit;
	device dev, own;
	mesh_spec spec;
	tensor_spec *e = xmalloc(sizeof *e);
	if (strategy_read(m, b.p, b.n, &s, name, &limit, &d) == ST_OK) {
		module *annotated = NULL;
		diag_clear(&d);
		if (strategy_apply(m, &s, &annotated, &d) == ST_OK)
			module_free(annotated);
		strategy_release(&s);
	}
	diag_clear(&d);
	(void)!device_parse(b.p, b.n, &own, &d);
	diag_clear(&d);
	if (mesh_parse_flag(m->shardings, "x=2,y=4", &spec.mesh, &d) != ST_OK ||
		device_find("tpu-v5e", &dev, &d) != ST_OK)
		abort();
	(void)!sharding_from_json_text(m->shardings, spec.mesh, (str){b.p, b.n}, ID_NONE, &e->e, &d);
	diag_clear(&d);
	(void)!sharding_parse(m->shardings, (str){b.p, b.n}, &e->e, &d);
	diag_clear(&d);
	mesh_id mesh;
	(void)!mesh_parse(m->shardings, (str){b.p, b.n}, STR("m"), &mesh, &d);
	diag_clear(&d);
	(void)!mesh_parse_flag(m->shardings, b.p ? b.p : "", &mesh, &d);
	diag_clear(&d);
	for (int n = 0; n < NOTATION_COUNT; n++) {
		(void)!notation_parse(m->shardings, (notation)n, spec.mesh, 2, (str){b.p, b.n}, e, &d);
		diag_clear(&d);
	}
	static const uint32_t ranks[] = {2};
	tensor_spec *specs = xcalloc(4, sizeof *specs);
	uint32_t n_specs;
	bool tuple;
	strbuf printed = {0};
	static const notation tuples[] = {NOTATION_GSPMD, NOTATION_SBP};
	for (size_t i = 0; i < COUNT_OF(tuples); i++) {
		diag_clear(&d);
		if (notation_parse_tuple(m->shardings, tuples[i], spec.mesh, ranks, 1, (str){b.p, b.n},
				specs, 4, &n_specs, &tuple, &d) == ST_OK)
			for (int n = 0; n < NOTATION_COUNT; n++)
				(void)!notation_print_tuple(
					m->shardings, (notation)n, specs, n_specs, &printed, &d);
	}
	diag_clear(&d);
	(void)!strategy_outline((str){b.p ? b.p : "", b.n}, &printed, &d);
	for (int n = 0; n < NOTATION_COUNT; n++) {
		diag_clear(&d);
		(void)!strategy_text_of((notation)n, b.p ? b.p : "", b.n, &printed, &d);
	}
	diag_clear(&d);
	if (mindspore_mesh(m->shardings, (str){b.p, b.n}, &mesh, &d) == ST_OK &&
		m->shardings->meshes.p[mesh].n_devices <= 64 &&
		notation_parse(m->shardings, NOTATION_MINDSPORE, mesh, 2, (str){b.p, b.n}, specs, &d) ==
			ST_OK)
		draw(m->shardings, specs, CUT_ROUND_UP, &printed);
	for (int n = 0; n < NOTATION_COUNT; n++) {
		diag_clear(&d);
		if (notation_parse(m->shardings, (notation)n, spec.mesh, 2, (str){b.p, b.n}, specs, &d) ==
			ST_OK)
			draw(m->shardings, specs, notation_cut((notation)n), &printed);
	}
	diag_clear(&d);
	strbuf_release(&printed);
	free(specs);
	search_options o = {
		.mesh = spec.mesh, .device = &dev, .schedule_json = b.p, .evaluations = 5, .threads = 1};
	search_result r;
	if (search_run(m, &o, &r, &d) == ST_OK)
		search_result_release(&r);
	free(e);
	strbuf_release(&b);
	module_free(m);
	return 0;
}

#ifdef REPLAY
int main(int argc, char **argv)
{
	lower_register_passes();
	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		if (!f) {
			fprintf(stderr, "cannot open %s\n", argv[i]);
			return 1;
		}
		static uint8_t bytes[1 << 16];
		size_t n = fread(bytes, 1, sizeof bytes, f);
		fclose(f);
		LLVMFuzzerTestOneInput(bytes, n);
	}
	printf("json corpus: %d passed, 0 failed\n", argc - 1);
	return argc > 1 ? 0 : 1;
}
#endif
