/* Plans a module through the C API: reads MODULE, searches on MESH, prints the plan's cost and
 *writes what XLA compiles.
 *
 *	cc -Iinclude examples/embed.c build/libshardwright.a -lcjson -lzstd -lz -lcrypto -lm -lpthread
 *-o embed
 *	./embed examples/mlp.mlir data=4,model=2 planned.mlir plan.json
 *
 * Interrupt it: the best answer so far is printed and written. */
#include "shardwright.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

static sw_stop stop;

static void on_interrupt(int signo)
{
	(void)signo;
	stop = 1;
}

static int write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	if (!f) {
		perror(path);
		return -1;
	}
	int ok = fputs(text, f) >= 0;
	ok = fclose(f) == 0 && ok;
	if (!ok)
		fprintf(stderr, "%s: cannot write\n", path);
	return ok ? 0 : -1;
}

static int tell(const char *what, const sw_error *err)
{
	fprintf(stderr, "%s:", what);
	if (err->line)
		fprintf(stderr, "%u:%u:", err->line, err->col);
	fprintf(stderr, " %s\n", err->message);
	return err->code;
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: embed MODULE MESH OUT.mlir OUT.json\n");
		return 64;
	}
	sw_error err;
	sw_module *m = sw_module_read(argv[1], &err);
	if (!m)
		return tell(argv[1], &err);

	sw_options o = sw_default_options();
	o.mesh = argv[2];
	o.device = "tpu-v5e";
	o.evaluations = 1000;
	o.stop = &stop;
	signal(SIGINT, on_interrupt);

	sw_plan *p = sw_search(m, &o, &err);
	int code;
	if (!p) {
		code = tell("search", &err);
	} else {
		printf("shardwright %s: step %" PRId64 " ns, peak %" PRId64 " bytes per device, %s\n",
			sw_version(), sw_plan_runtime_ns(p), sw_plan_peak_bytes(p),
			sw_plan_fits(p) ? "fits" : "does not fit");
		int failed = write_text(argv[3], sw_plan_mlir(p)) | write_text(argv[4], sw_plan_json(p));
		code = failed ? 3 : sw_plan_fits(p) ? 0 : 2;
	}
	sw_plan_free(p);
	sw_module_free(m);
	return code;
}
