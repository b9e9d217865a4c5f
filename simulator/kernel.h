/* What the kernels do, between the files that find it out. */
#ifndef SW_SIMULATOR_KERNEL_H
#define SW_SIMULATOR_KERNEL_H

#include "simulator/state.h"

enum { MOST_READS = 8 };

/* What one kernel does, summed over its members. */
typedef struct kernel {
	contraction_kernel around; /* kernels without a contraction: all 0 but bytes */
	int64_t vector_flops, flops;
	int64_t arguments; /* bytes: of arguments that it reads whole from memory, those that may be
	                      fetched ahead */
	int64_t far;       /* bytes: of other values that it so reads */
	int64_t results;   /* bytes: of what it writes to memory, that may be copied out later */
	int64_t largest;   /* elements: of the largest tensor that is read or written */
	int64_t full;      /* elements: of the largest result of 32 bits */
	int64_t written;   /* elements: of what the root makes */
	int64_t launches;  /* beside its own */
	/* results of the largest matmul, and with padding to the tiles */
	int64_t products, stored_products;
	int64_t passed;         /* elements: of all that it reads */
	bool convolves;         /* a convolution is in it whose windows slide */
	const lop *convolution; /* NULL: there is none */
	int64_t rows;           /* elements: of what it reads that has one for every place of images */
	uint32_t n_large;       /* results of as many elements */
	int64_t unsplit_ns;     /* products, not in parts */
	int64_t tail_ns;        /* to hand on the last results, when all is computed */
	bool split;             /* a product of operands that both come from memory */
	int64_t split_ns;       /* to take the smaller one of them in */
	int64_t split_fetch;    /* bytes: of it, where it may be fetched ahead */
	bool near;              /* results of a matmul stay on the chip */
	int64_t apart_ns;       /* of copies in front of it and behind it, by kernels of their own */
	uint32_t members;
	int64_t operands; /* values that it reads and single numbers that it spreads, constants apart */
	uint32_t n_reads; /* whole or in parts, constants apart; those behind MOST_READS are not kept */
	struct {
		lval_id val;
		bool near; /* from the chip */
		int64_t elements, bytes;
	} read[MOST_READS];
	uint8_t worked;   /* bit k: something in front of operand k of the contraction */
	int64_t early_ns; /* when all it reads could be there, as run.early_ns: what was made in front
	                     of the last border is */
	lop_id root, at;  /* where it runs: sim_op.latest of its root */
} kernel;

/* kernels.c: n times so many bytes of memory traffic. */
void kernel_add_bytes(kernel *k, int64_t n, int64_t bytes);
/* .. and n elements of what the op makes, as they lie where it has windows in whole tiles. */
int64_t in_whole_tiles(const sim_op *o, int64_t n);

/* arrange.c: what members and operands cost besides, n times: parts of concatenations, copies into
 * another order of dims, pieces of windowed einsums. */
void kernel_add_parts(const simulator *s, kernel *k, const lop *o, int64_t n);
void kernel_leave_windows(const simulator *s, const lowered *l, kernel *k, lop_id id, int64_t n);
void kernel_add_rows(
	const simulator *s, const lowered *l, kernel *k, const work_entry *w, lop_id id, int64_t n);
void kernel_arrange_for_batch(
	simulator *s, const lowered *l, kernel *k, const lop *o, const work_entry *w, int64_t n);
void kernel_arrange_again(
	simulator *s, const lowered *l, kernel *k, const lop *o, const work_entry *w, int64_t n);
void kernel_read_pieces(simulator *s, const lowered *l, kernel *k, const lop *o);
void kernel_add_pieces(
	const simulator *s, const lowered *l, kernel *k, const lop *o, const work_entry *w);
void kernel_arrange_gathered(simulator *s, const lowered *l, kernel *k, lop_id id);
void kernel_add_scattered_features(
	const simulator *s, const lowered *l, kernel *k, const lop *o, const work_entry *w, int64_t n);
void kernel_arrange_borders(simulator *s, const lowered *l, kernel *k, lop_id id, bool matmul);

/* arrange.c: local size of the last of three dims or more; INT64_MAX of fewer. */
int64_t last_dim(const lowered *l, lval_id v);

/* turned.c: the same for values with another dim in the lanes than the last. */
void kernel_turn_results(simulator *s, const lowered *l, kernel *k, lop_id id, int64_t n);
void kernel_turn_operand(
	simulator *s, const lowered *l, kernel *k, lop_id id, uint32_t i, lval_id v, int64_t n);

/* fills.c: elements of a value that the kernel fills with one number; 0 where it does something
 * else, or nothing has to be filled. */
int64_t kernel_filled_elements(const simulator *s, const lowered *l, const kernel *k);

/* borders.c: time of what a loop runs on copies of, in front of it or behind it; and of what its
 * places trade at the end of a turn. open, end: the loop's begin and end. */
int64_t border_copies_ns(const simulator *s, const lowered *l, const lop *o, const lop *open);
int64_t border_traded_ns(const simulator *s, const lowered *l, const lop *end, const lop *open);

#endif
