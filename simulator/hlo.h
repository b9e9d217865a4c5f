/* Run time and peak memory of a compiled program (ir/hlo.h) on a device, in the order of its schedule.
 *
 *   hlo_work.c    flops and memory traffic of an instruction, fusions as the compiler made them
 *   hlo_links.c   replica groups -> mesh axes -> links     hlo_timeline.c  compute stream, link queues, copies
 *   hlo_memory.c  buffers, aliases, liveness peak          hlo_simulate.c  all of it; collectives, JSON, trace */
#ifndef SW_SIMULATOR_HLO_H
#define SW_SIMULATOR_HLO_H

#include "ir/hlo.h"
#include "simulator/simulator.h"

typedef struct hlo_event {
	hlo_id instr;
	uint8_t stream;           /* 0 compute, 1 + link class, then copies, then other asynchronous work */
	int64_t start_ns, end_ns; /* of the first execution */
	int64_t executions;
	int64_t hbm_bytes;        /* kernels and copies */
	int64_t bytes;            /* collectives: local bytes of the larger side */
	int64_t exposed_ns;       /* what the compute stream waited, all executions */
	int8_t coll;              /* enum collective_kind, -1: none */
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
 * the devices of the program do not fit the links of the profile. Loops of unknown trip count run m->trip_count times, or once. */
status hlo_simulate(const hlo_module *m, const device *dev, cost *out, hlo_simulation **keep, diag *d) MUST_USE;
void hlo_simulation_free(hlo_simulation *s);
const hlo_event *hlo_events(const hlo_simulation *s, uint32_t *n);
const hlo_live *hlo_peak(const hlo_simulation *s, uint32_t *n);                    /* largest first */
const hlo_collective *hlo_collectives(const hlo_simulation *s, uint32_t *n);       /* in schedule order */
uint32_t hlo_unknown_loops(const hlo_simulation *s);
bool hlo_has_estimates(const hlo_simulation *s); /* kernels take the compiler's own estimates, not the cost model's */
const char *hlo_stream_name(const hlo_simulation *s, uint8_t stream);
/* Chrome trace, as simulator_trace. */
void hlo_trace(const hlo_simulation *s, strbuf *out);

#endif
