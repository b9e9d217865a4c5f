/* shardwright.h: the public C API of libshardwright.a, for compilers and bindings that embed the
 *partitioner.
 *
 *	sw_error err;
 *	sw_module *m = sw_module_read("step.mlir", &err);
 *	sw_options o = sw_default_options();
 *	o.mesh = "data=4,model=4";
 *	o.memory_bytes = 16ll << 30;
 *	sw_plan *p = m ? sw_search(m, &o, &err) : NULL;
 *	if (p)
 *		puts(sw_plan_json(p));
 *	else
 *		fprintf(stderr, "%s\n", err.message);
 *	sw_plan_free(p);
 *	sw_module_free(m);
 *
 * Objects are thread-compatible: one thread at a time per object, different objects on different
 *threads. Strings that functions return live as long as the object they came from. Link with
 *-lcjson -lzstd -lz -lcrypto -lm -lpthread. */
#ifndef SHARDWRIGHT_H
#define SHARDWRIGHT_H

#include <stdint.h>

/* A flag that another thread or a signal handler may set: assign 1. */
#ifdef __cplusplus
#include <atomic>
typedef std::atomic<int> sw_stop;
extern "C" {
#else
#include <stdatomic.h>
typedef atomic_int sw_stop;
#endif

typedef struct sw_module sw_module;
typedef struct sw_plan sw_plan;

enum {
	SW_ERROR_INPUT = 1,
	SW_ERROR_INTERNAL = 3,
	SW_ERROR_MEMORY = 4 /* memory ran out: nothing of the call is left */
};

typedef struct sw_error {
	int code;           /* SW_ERROR_* */
	unsigned line, col; /* 1-based position in the module text; 0: none */
	char message[512];
} sw_error;

/* Arguments whose name matches the glob (* and ?) get this sharding: dimensions as JSON,
 * [["data"],[]]. */
typedef struct sw_pin {
	const char *arguments, *sharding;
} sw_pin;
/* That dimension of arguments whose name matches is never sharded over the axis. */
typedef struct sw_forbid {
	const char *arguments, *axis;
	unsigned dimension;
} sw_forbid;
/* Another strategy document, which the answer is never worse than. */
typedef struct sw_baseline {
	const char *name, *json;
	uint64_t length;
} sw_baseline;

typedef struct sw_options {
	const char *mesh;          /* "data=4,model=4" or mesh JSON; required */
	const char *device;        /* profile name; default "tpu-v5e" */
	const char *device_json;   /* a whole profile instead, or NULL */
	int64_t memory_bytes;      /* limit per device; 0: the profile's usable memory */
	int minimize_memory;       /* objective: 0 run time, 1 memory */
	const char *schedule_json; /* tactics, or NULL */
	uint64_t evaluations;      /* budget in costed states; 0: default */
	double seconds;            /* budget in time; 0: none */
	uint64_t seed;
	unsigned threads;    /* 0: all cores; never changes the answer */
	const sw_stop *stop; /* when nonzero, the search answers with its best so far; may be NULL */
	const sw_pin *pins;
	const sw_forbid *forbids;
	const sw_baseline *baselines;
	uint32_t n_pins, n_forbids, n_baselines;
	const char *const
		*groups; /* globs: arguments whose name matches one are decided together, as one */
	uint32_t n_groups;
	int open_results;    /* do not tie donated results to their argument's sharding */
	int64_t cache_bytes; /* what memo tables may take; 0: 1 GiB; never changes the answer */
	const char *apply;   /* how XLA gets the plan: "exact", "annotate"; "auto" or NULL: exact where
	                        that can be written */
	int64_t trip_count;  /* iterations of loops whose number the program does not say; 0: they count
	                        to the bound of their counter, or once */
	int64_t uncertainty_ppm;   /* of costs, in millionths: among plans this near to the cheapest the
	                              simplest is the answer; 0: the cheapest is; -1, as
	                              sw_default_options has: 20000 where apply comes to exact, 35000 as
	                              annotations */
	int best_compiler_options; /* 0: costs are those of the compiler's defaults; else options of the
	                              profile are tried, and the document names those that it gains by
	                            */
} sw_options;

const char *sw_version(void);
sw_options sw_default_options(void);

/* StableHLO text from a file ("-": standard input; gzip and zstd are decoded) or from memory. NULL
 * on error. */
sw_module *sw_module_read(const char *path, sw_error *err);
sw_module *sw_module_parse(const char *text, uint64_t length, const char *name, sw_error *err);
void sw_module_free(sw_module *m);

/* NULL on error. The module must outlive the plan. */
sw_plan *sw_search(sw_module *m, const sw_options *o, sw_error *err);
void sw_plan_free(sw_plan *p);
int sw_plan_fits(const sw_plan *p);
int64_t sw_plan_runtime_ns(const sw_plan *p);
int64_t sw_plan_peak_bytes(const sw_plan *p);
const char *sw_plan_json(const sw_plan *p); /* the strategy document */
const char *sw_plan_mlir(const sw_plan *p); /* the annotated module, which XLA compiles as it is */

#ifdef __cplusplus
}
#endif
#endif
