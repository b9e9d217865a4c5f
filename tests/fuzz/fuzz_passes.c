/* Passes on any module: the first byte picks a pipeline, the rest is text. What the passes leave is
 * a valid module, whose print reads back. */
#include "lower/lower.h"
#include "propagate/passes.h"
#include "sbp/sbp.h"
#include "tests/fuzz/mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const pipelines[] = {
	"",
	"sdy-propagation-pipeline",
	"inline,symbol-dce,sdy-propagation-pipeline,func.func(sdy-insert-explicit-reshards{enable-full-"
	"version=true}),func.func(sdy-reshard-to-collectives)",
	"sdy-propagation-pipeline,func.func(sdy-insert-explicit-reshards)",
	"func.func(sdy-populate-op-sharding-rules),sdy-basic-propagate",
	"func.func(sdy-populate-op-sharding-rules{conservative-propagation=true}),sdy-aggressive-"
	"propagate",
	"sdy-add-data-flow-edges,sdy-user-priority-propagate,sdy-sink-data-flow-edges",
	"func.func(sdy-apply-sharding-constraints),sdy-op-priority-propagate,sdy-close-shardings",
	"inline,symbol-dce,sbp-infer",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool registered;
	module *m = NULL;
	diag d = {0};
	if (!registered) {
		lower_register_passes();
		sbp_register_passes();
	}
	registered = true;
	if (!size || size > 1 << 16)
		return 0;
	if (module_read((const char *)data + 1, size - 1, "fuzz", NULL, &m, &d) != ST_OK)
		return 0;
	diag_clear(&d);
	if (passes_run(m, pipelines[data[0] % COUNT_OF(pipelines)], &d) == ST_OK) {
		strbuf text = {0};
		module *again = NULL;
		module_print(m, NULL, &text);
		diag_clear(&d);
		if (module_verify(m, &d) != ST_OK ||
			module_read(text.p, text.n, "printed", NULL, &again, &d) != ST_OK) {
			diag_print(&d, stderr);
			abort();
		}
		module_free(again);
		strbuf_release(&text);
	} else if (!d.msg[0] || d.code == ST_ERR_INTERNAL) {
		diag_print(&d, stderr);
		abort(); /* an error without a word, or one of ours */
	}
	module_free(m);
	return 0;
}

#ifdef REPLAY
int main(int argc, char **argv)
{
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
	printf("passes corpus: %d passed, 0 failed\n", argc - 1);
	return argc > 1 ? 0 : 1;
}
#endif
