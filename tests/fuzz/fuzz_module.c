/* Any bytes as a module: accepted or reported, and what is accepted survives every stage. Built
 * with libFuzzer by `make fuzz`; with -DREPLAY it is a plain program that replays files (the
 * corpus, in `make check`). */
#include "search/search.h"
#include "tests/fuzz/mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void plan_it(module *m)
{
	diag d = {0};
	device dev;
	mesh_id mesh;
	if (device_find("tpu-v5e", &dev, &d) != ST_OK ||
		mesh_parse_flag(m->shardings, "x=2,y=4", &mesh, &d) != ST_OK)
		abort();
	search_options o = {.mesh = mesh, .device = &dev, .evaluations = 12, .seed = 1, .threads = 1};
	search_result r;
	if (search_run(m, &o, &r, &d) == ST_OK)
		search_result_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	module *m = NULL;
	diag d = {0};
	if (size > 1 << 17)
		return 0;
	if (module_read((const char *)data, size, "fuzz", &(read_options){.max_bytes = 1 << 20}, &m,
			&d) != ST_OK) {
		if (!d.msg[0])
			abort(); /* an error without a word */
		return 0;
	}
	strbuf text = {0};
	module_print(m, &(print_options){.locations = true}, &text);
	char fingerprint[72];
	module_fingerprint(m, fingerprint);
	/* What was printed reads back as the same program. */
	module *again = NULL;
	diag d2 = {0};
	if (module_read(text.p, text.n, "printed", NULL, &again, &d2) != ST_OK) {
		diag_print(&d2, stderr);
		abort();
	}
	char second[72];
	module_fingerprint(again, second);
	if (strcmp(fingerprint, second))
		abort();
	module_free(again);
	strbuf_release(&text);
	diag_clear(&d);
	if (module_verify_types(m, &d) == ST_OK && module_main(m))
		plan_it(m);
	module_free(m);
	return 0;
}

#ifdef REPLAY
int main(int argc, char **argv)
{
	lower_register_passes();
	for (int i = 1; i < argc; i++) {
		strbuf b = {0};
		diag d = {0};
		FILE *f = fopen(argv[i], "rb");
		if (!f) {
			fprintf(stderr, "cannot open %s\n", argv[i]);
			return 1;
		}
		char chunk[65536];
		for (size_t n; (n = fread(chunk, 1, sizeof chunk, f)) > 0;)
			strbuf_add(&b, chunk, n);
		fclose(f);
		(void)d;
		LLVMFuzzerTestOneInput((const uint8_t *)(b.p ? b.p : ""), b.n);
		strbuf_release(&b);
	}
	printf("fuzz corpus: %d passed, 0 failed\n", argc - 1);
	return argc > 1 ? 0 : 1;
}
#endif
