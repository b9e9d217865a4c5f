/* Run time and peak memory of a compiled program (ir/hlo.h) on a device, in the order of its schedule.
 *
 *   hlo_work.c    flops and memory traffic of an instruction, fusions as the compiler made them
 *   hlo_links.c   replica groups -> mesh axes -> links     hlo_timeline.c  compute stream, link queues, copies
 *   hlo_memory.c  buffers, aliases, liveness peak          hlo_simulate.c  all of it; collectives, JSON, trace */
#ifndef SW_SIMULATOR_HLO_H
#define SW_SIMULATOR_HLO_H

#include "ir/hlo.h"
#include "simulator/simulator.h"

/* Where a time is from. */
#define HLO_SOURCES(X)                                                                                              \
	X(NONE, "none")           /* takes none of its own: loops */                                                       \
	X(COMPILER, "compiler")   /* what the compiler wrote into the text */                                              \
	X(TRAFFIC, "traffic")     /* no estimate in a text that has them: traffic to memory at the full rate */               \
	X(MODEL, "model")         /* the cost model of kernels */                                                          \
	X(PUBLISHED, "published") /* published_time_ns; of copies the memory's published rate */                           \
	X(PROFILE, "profile")     /* links and memory as the device profile has them */
typedef enum hlo_source {
#define X(id, text) HLO_FROM_##id,
	HLO_SOURCES(X)
#undef X
	HLO_SOURCE_COUNT
} hlo_source;
const char *hlo_source_name(hlo_source s);
typedef enum hlo_part { HLO_KERNELS, HLO_COLLECTIVES, HLO_COPIES, HLO_PART_COUNT } hlo_part;
const char *hlo_part_name(hlo_part p);
typedef struct hlo_share { /* of all executions */
	int64_t count, ns;
} hlo_share;

typedef struct hlo_event {
	hlo_id instr;
	uint8_t stream;           /* 0 compute, 1 + link class, then copies, then other asynchronous work */
	int64_t start_ns, end_ns; /* of the first execution */
	int64_t executions;
	int64_t hbm_bytes;        /* kernels and copies */
	int64_t bytes;            /* collectives: local bytes of the larger side */
	int64_t exposed_ns;       /* what the compute stream waited, all executions */
	int8_t coll;              /* enum collective_kind, -1: none */
	uint8_t source;           /* enum hlo_source: of its time */
} hlo_event;
typedef struct hlo_live {
	hlo_id instr;  /* where the buffer is made */
	int64_t bytes;
} hlo_live;
typedef struct hlo_collective {
	hlo_id instr;  /* the collective itself, inside a fusion where it is one */
	uint8_t kind;
	int64_t bytes, trip_count;
	uint32_t combined; /* operands that share the instruction */
} hlo_collective;
typedef struct hlo_simulation hlo_simulation;

/* Does HLO memory space `space` lie in the device's main memory? (GPU: 1 is memory registered for collectives.) */
bool hlo_in_main_memory(const device *dev, uint8_t space);
/* keep may be NULL; otherwise released with hlo_simulation_free (after success only); it refers to m. ERR_INVALID when
 * the devices of the program do not fit the links of the profile. Loops of unknown trip count run m->trip_count times, or once;
 * those that may end early as often as that, or as their bound says. */
status hlo_simulate(const hlo_module *m, const device *dev, cost *out, hlo_simulation **keep, diag *d) MUST_USE;
void hlo_simulation_free(hlo_simulation *s);
const hlo_event *hlo_events(const hlo_simulation *s, uint32_t *n);
const hlo_live *hlo_peak(const hlo_simulation *s, uint32_t *n);                    /* largest first */
const hlo_collective *hlo_collectives(const hlo_simulation *s, uint32_t *n);       /* in schedule order */
uint32_t hlo_unknown_loops(const hlo_simulation *s);
uint32_t hlo_bounded_loops(const hlo_simulation *s); /* that may end early, and were taken to run to their bound */
bool hlo_has_estimates(const hlo_simulation *s);     /* kernels take the compiler's own estimates where there is one */
int64_t hlo_unestimated_ns(const hlo_simulation *s); /* what the cost model says of the kernels whose time is HLO_FROM_TRAFFIC */
hlo_share hlo_share_of(const hlo_simulation *s, hlo_part p, hlo_source from);
const char *hlo_stream_name(const hlo_simulation *s, uint8_t stream);
/* Chrome trace, as simulator_trace. */
void hlo_trace(const hlo_simulation *s, strbuf *out);

#endif
