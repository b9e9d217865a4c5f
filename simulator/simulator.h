/* simulator: run time and peak memory of a lowered program on a device.
 *
 *   nested.c     ops that are part of their readers (lower/nest.c)
 *   fusion.c     which ops share a kernel, and so what reaches memory      kernels.c   traffic and time of each kernel
 *   timeline.c   compute stream and link queues
 *   liveness.c   peak memory with donation, aliasing and loops             simulate.c  all of it; cost JSON
 *   gradients.c  products that wait, and what they keep; softmaxes         updates.c   gathered results, copied arguments
 *   folded.c     the same for a folded program
 *   memo.c       bounded tables of pure facts                              donation.c  which arguments give their buffers
 *   trace.c      Chrome/Perfetto trace of the timeline and memory          evaluate.c  annotated module -> cost
 */
#ifndef SW_SIMULATOR_H
#define SW_SIMULATOR_H

#include "costmodel/costmodel.h"

typedef struct collective_cost {
	int64_t count, dynamic_count, bytes;
} collective_cost;

/* The `cost` object of DESIGN 5.2. peak = argument + output - alias + temporary. */
typedef struct cost {
	int64_t runtime_ns, compute_ns, communication_ns, exposed_communication_ns;
	int64_t peak_bytes, argument_bytes, output_bytes, alias_bytes, temporary_bytes;
	int64_t prefetched_bytes; /* of the argument that is on the chip before the program starts */
	double flops_per_device;
	collective_cost collectives[COLL_COUNT]; /* all_slice stays zero */
	int64_t reshards_after_forward;          /* is it that of the program with
	                                            lower_cache_reshard_after_forward? */
} cost;

/* What the module says about main's arguments and results, read once: donation (tf.aliasing_output,
 * jax.buffer_donor) after shardings are known: an alias holds only when argument and result have
 * the same local bytes and sharding. */
typedef struct donation {
	uint32_t n_args;
	int32_t *result_of_arg; /* -1: not donated; -2: donor without a fixed result */
} donation;
status donation_read(const module *m, donation *out, diag *d) MUST_USE;
void donation_release(donation *dn);

/* Scratch and memo tables (op times by node and shardings, collective times); one thread each. */
typedef struct simulator simulator;
simulator *simulator_new(const program *p, sharding_table *t, const device *dev,
	const mesh_links *links, const donation *dn);
void simulator_free(simulator *s);
void simulator_limit(
	simulator *s, size_t bytes); /* of memoised work; at least what one program needs */
/* l: compiled level (any level works). No allocation once warmed up. Deterministic. */
void simulate(simulator *s, const lowered *l, cost *out);

/* By node of p, what lower_cache_nest may do with it on that target; all NEST_NOT where costs would
 * depend on it. ways: p->nodes.n. */
void simulator_nesting(
	const program *p, const sharding_table *t, lower_target target, uint8_t *ways);
/* Nodes that the last program had nested although they do not go with their readers, so that its
 * cost is not to be had from it: they have to be taken apart (lower_cache_unnest) and the program
 * be lowered and simulated again. Most often none. */
const node_id *simulator_apart(const simulator *s, uint32_t *n);

/* For a simulator of the folded program: costs the whole one from the lowered form of the folded
 * one, whose cache is marked with the firsts of the folding's blocks. False when the layers do not
 * come out alike: the whole program has to be lowered. donation: the folded program's. */
void simulator_fold(simulator *s, const folding *f);
/* For a simulator of the program that was folded: so that both cost the same. */
void simulator_unfolded(simulator *s, const folding *f);
bool simulate_folded(simulator *s, const lowered *l, cost *out) MUST_USE;

/* The least that a kernel with this node's matmul takes when it is cut `ways` ways more; 0 for
 * nodes without one, and where it may no longer be one then. facts: lower_facts of the plan's
 * cache. */
int64_t simulator_matmul_ns(
	simulator *s, uint64_t facts, node_id n, const node_plan *plan, int64_t ways);

/* Per-op detail of the last simulate call, for explain, --ops and the trace. */
typedef struct op_event {
	lop_id op;
	int64_t start_ns, end_ns; /* of its first execution */
	int64_t hbm_bytes;
	uint8_t stream;     /* 0 compute, 1 + link class */
	bool fused;         /* runs inside another op's kernel */
	int64_t exposed_ns; /* collectives: what the compute stream waited, all executions */
	bool windowed;      /* collectives: inside of a contraction's loop (windowed_einsum) */
} op_event;
const op_event *simulator_events(simulator *s, uint32_t *n);
typedef struct live_at_peak {
	lval_id val;
	int64_t bytes;
} live_at_peak;
const live_at_peak *simulator_peak(simulator *s, const lowered *l, uint32_t *n); /* largest first */

/* ---------------------------------------------------------------- evaluate.c */

/* Everything between an annotated module and its cost, kept for those who want to look inside. */
typedef struct evaluation {
	module *m; /* imported copy */
	module
		*written; /* what it is a copy of, where that is nobody else's: strings are shared; NULL */
	rule_table rules;
	program *p;
	folding *fold; /* of p, whose layers the simulator knows; NULL: none */
	propagation *prop;
	sharding_id
		*shardings; /* by pval, after propagation; arguments and results cut to what divides */
	lower_cache *cache;
	lowered *low; /* at the level that was costed */
	simulator *sim;
	donation dn;
	mesh_links links;
} evaluation;
/* How XLA gets a plan: one row per way, with its name in documents and flags. */
/* clang-format off */
#define APPLY_TABLE(X) \
	X(ANNOTATE, "annotate", LEVEL_COMPILED) /* as shardings, priorities and constraints: XLA partitions */ \
	X(EXACT, "exact", LEVEL_EXACT)          /* as the program of one device in one manual computation */ \
	X(EXACT_RESHARDED, "exact", LEVEL_EXACT) /* with lower_cache_reshard_after_forward; "exact" is found as the one above */
/* clang-format on */
typedef enum apply_way {
#define X(id, name, level) APPLY_##id,
	APPLY_TABLE(X)
#undef X
		APPLY_COUNT
} apply_way;
const char *apply_name(apply_way a);
lower_level apply_level(apply_way a); /* what is costed */
bool apply_find(const char *name, apply_way *out);
static inline bool apply_is_exact(apply_way a) { return a != APPLY_ANNOTATE; }
/* How a program is read whose plan that target gets so: XLA propagates what is annotated. */
static inline program_reading apply_reading(apply_way a, lower_target target)
{
	return apply_is_exact(a) || target == TARGET_CPU ? READ_AS_XLA : READ_SIMPLIFIED;
}
/* The way that is asked for, with what the plan says of it. */
static inline apply_way apply_as(apply_way plan, apply_way asked)
{
	return apply_is_exact(plan) && apply_is_exact(asked) ? plan : asked;
}
/* The replay: import passes, one fresh propagation run, lowering, simulation. keep may be NULL;
 * otherwise the caller releases it with evaluation_release (after success only). A module without a
 * mesh runs on one device. Where out is NULL nothing is costed, and keep has what was lowered. */
status simulate_module(const module *annotated, const device *dev, apply_way apply,
	const char *const *axis_links, cost *out, evaluation *keep, diag *d) MUST_USE;
/* What XLA takes for the plan: of a plan that is applied exactly, the module that is written is
 * costed (lower_emit_mlir), and keep is that module's evaluation. So costs of an answer are those
 * of its text. ERR_UNSUPPORTED as lower_emit_mlir. */
status simulate_applied(const module *annotated, const device *dev, apply_way apply,
	const char *const *axis_links, cost *out, evaluation *keep, diag *d) MUST_USE;
/* The second half of that: from what simulate_module kept of the plan, which is released. */
status simulate_written(evaluation *plan, const device *dev, const char *const *axis_links,
	cost *out, evaluation *keep, diag *d) MUST_USE;
void evaluation_release(evaluation *e);

struct cJSON;
struct cJSON *cost_to_json(const cost *c);
/* Chrome trace JSON of the last simulate call. */
void simulator_trace(simulator *s, const lowered *l, strbuf *out);

#endif
