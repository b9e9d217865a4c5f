/* Private to the simulation of HLO modules. */
#ifndef SW_HLO_STATE_H
#define SW_HLO_STATE_H

#include "hlo/hlo.h"

enum { HLO_MAX_RUNS = 1 << 24 }; /* instructions that calls of calls may unfold into */

typedef struct hlo_work { /* of one execution */
	int64_t matmul_ns, vector_flops;
	int64_t bytes;   /* main memory read and written */
	int64_t written; /* of it */
	int64_t moved;   /* the same with memory on the chip */
	double flops;
	int64_t products;        /* of the contraction with most results: these */
	int64_t stored_products; /* .. with the padding of tiles */
	bool free;
} hlo_work;

/* A collective and how it stands in the schedule. */
typedef enum hlo_role {
	ROLE_NONE,
	ROLE_SYNC, /* the stream waits for it */
	ROLE_START,
	ROLE_PROGRESS, /* the part of an asynchronous one that a compute fusion carries: nothing of its
	                  own */
	ROLE_DONE,
} hlo_role;
typedef struct hlo_comm {
	uint8_t role, kind;
	hlo_id instr; /* the collective */
} hlo_comm;

/* Groups of one spelling and mode on the links of the device. */
typedef struct hlo_group_axes {
	uint32_t key_groups; /* id in module.groups, or the place of the pairs */
	bool pairs, channel, global;
	uint16_t op;
	int64_t bytes; /* of all that have it */
	uint32_t n_digits;
	struct {
		int64_t stride, size;
	} digits[MAX_TENSOR_AXES];
	axes_buf axes;
} hlo_group_axes;

typedef struct hlo_queue {
	int64_t free_ns;
} hlo_queue;

struct hlo_simulation {
	const hlo_module *m;
	device dev;
	sharding_table *table;
	mesh_id mesh; /* of all devices */
	mesh_links links;
	VEC(hlo_group_axes) groups;
	struct hlo_inside *inside;         /* by computation */
	int64_t *read_bytes, *write_bytes; /* by instruction inside a fusion: what is read of it,
	                                      written of it; -1 unknown */
	VEC(int64_t) async_channels;       /* channels that an AsyncCollectiveStart opens */
	VEC(hlo_event) events;
	VEC(hlo_collective) collectives;
	VEC(hlo_live) live;
	VEC(int64_t) curve;        /* temporary bytes at each instruction of the entry computation */
	int64_t *ready_ns;         /* by instruction: when what it started is there */
	uint32_t *event_of;        /* by instruction: its start's event */
	VEC(struct hlo_open) open; /* asynchronous fusions by channel */
	uint32_t unknown_loops, bounded_loops;
	bool estimated; /* by cycles: kernels take what the compiler wrote down */
	bool noted;     /* some kernel or collective does */
	/* timeline of the computation that runs: all of it is from its start */
	hlo_queue queue[MAX_LINK_CLASSES + 2];
	int64_t now, multiplier, temporary;
	uint64_t runs;      /* instructions run so far */
	struct hlo_totals { /* of one execution of a computation */
		int64_t step;
		int64_t compute, communication, exposed;
		int64_t memory;      /* traffic at the full rate, of kernels no more than they take */
		int64_t unestimated; /* the cost model's time of kernels that take their traffic's */
		double flops;
		int64_t dynamic_count[COLL_COUNT], bytes[COLL_COUNT];
		hlo_share share[HLO_PART_COUNT][HLO_SOURCE_COUNT];
	} sum;
};
struct hlo_inside {    /* a computation as the inside of a fusion */
	hlo_work work;     /* bytes not counted */
	hlo_id collective; /* ID_NONE */
	uint8_t marker;    /* 0 unknown yet; 1 plain, 2 opens, 3 closes an asynchronous collective */
};
struct hlo_open {
	int64_t channel, ready_ns;
	uint32_t event;
};

/* ---------------------------------------------------------------- work.c */
void hlo_look_inside(hlo_simulation *s); /* before the others */
void hlo_work_of(hlo_simulation *s, hlo_id i, hlo_work *out);
/* What is read of operand k, and written of result k, wherever they are. */
int64_t hlo_read_bytes(hlo_simulation *s, hlo_id i, uint32_t k);
int64_t hlo_write_bytes(hlo_simulation *s, hlo_id i, uint32_t k);
/* The collective that an instruction is or carries. */
hlo_comm hlo_comm_of(const hlo_simulation *s, hlo_id i);
int64_t hlo_comm_bytes(const hlo_module *m, const hlo_comm *c);
/* Results that lie in the buffer of an operand because they change a part of it. */
hlo_id hlo_in_place_operand(const hlo_module *m, hlo_id i);
/* May a result take the buffer of operand k if that dies there? */
bool hlo_may_share(const hlo_module *m, hlo_id i, uint32_t k);

/* ---------------------------------------------------------------- kernel.c: with the launch */
int64_t hlo_kernel_ns(hlo_simulation *s, hlo_id i, const hlo_work *w);

/* ---------------------------------------------------------------- links.c */
status hlo_links_assign(hlo_simulation *s, diag *d) MUST_USE;
int64_t hlo_comm_time_ns(
	hlo_simulation *s, const hlo_comm *c, int64_t bytes, uint8_t *link, hlo_source *from);

/* ---------------------------------------------------------------- timeline.c, memory.c */
void hlo_run_timeline(hlo_simulation *s);
void hlo_measure_memory(hlo_simulation *s);

#endif
