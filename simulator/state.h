/* Private to simulator: the scratch of one simulate call and the memo tables that outlive it.
 *
 * One call is five linear passes over the program:
 *   classify (simulate.c)   forward: what every op is, its memoised work, regions, stored bytes of values
 *   fuse     (fusion.c)     backward: uses posted onto values, producers join kernels; last uses of buffers
 *   measure  (kernels.c)    forward: traffic and time of each kernel, which collectives it reads: the runs
 *   run      (timeline.c)   forward over the runs: compute stream and link queues
 *   live     (liveness.c)   allocations and frees at positions, running sum, peak
 * Nothing but the runs and the changes of memory at positions goes into run and live, so that a
 * folded program (folded.c) goes through the first three passes once and through the last two layer
 * by layer. A position is an index into lowered.ops. A kernel runs at the position of its root, its
 * last op. */
#ifndef SW_SIMULATOR_STATE_H
#define SW_SIMULATOR_STATE_H

#include "simulator/simulator.h"

typedef enum op_class {
	CLASS_NOTHING, /* no time and no buffer of its own: constants, tokens, region borders */
	CLASS_ALIAS,   /* results are the operands' buffers: reshape, bitcast, markers */
	CLASS_ELEMENTWISE,
	CLASS_REDUCE,
	CLASS_UPDATE, /* dynamic_update_slice */
	CLASS_MATMUL,
	CLASS_OTHER, /* a kernel of its own, operands and results in memory */
	CLASS_COLLECTIVE,
} op_class;

/* Memoised work of nodes of one class with the shardings they compute with. */
typedef struct work_entry {
	uint32_t next;     /* of the same class; UINT32_MAX ends */
	uint32_t at_first; /* its shardings in work_memo.at */
	uint8_t class;
	bool expensive, kept, in_place, transpose, splat;
	bool spread;       /* made from little */
	bool products;     /* dot or dot_general */
	bool windows;      /* reduces windows of few elements */
	bool few_features; /* convolutions: their kernel, or its gradient, is of so few features that
	                      they share a tile */
	bool split_rows;   /* matmuls: as op_work */
	bool one_batch;    /* matmuls: as op_work */
	bool rounds;       /* matmuls: operands in float32 are rounded to bfloat16 */
	bool moves;        /* as op_work; selections, too */
	bool maps;         /* elements of the operands at the same place make one of the result */
	bool quantises;    /* converts to eight bits */
	bool sums_lanes;   /* reduces the last dim */
	bool concatenates;
	bool slides;        /* op_work.slides */
	bool selects;       /* a top_k in one pass: what it looks through may be made in its kernel */
	bool takes_no_work; /* what it moves is worked out in other kernels, never in its own */
	bool fills;         /* one number, or a row of them, over a value */
	bool streams;       /* of CLASS_OTHER: its values pass through the vector unit */
	uint8_t step;       /* STEP_ */
	int64_t matmul_ns, vector_flops, slice_bytes, write_bytes, read_bytes;
	int64_t m, n, k;        /* matmuls: as op_work */
	int64_t results;        /* matmuls: elements */
	int64_t stored_results; /* .. with padding to the tiles */
	int64_t side_bytes;     /* matmuls: the right operand of one of the batch */
	uint8_t reorders; /* matmuls: bit k: operand k has to be brought into another order of dims */
	uint8_t unsorted; /* matmuls: as op_work */
	uint8_t unfilled; /* matmuls of a batch: bit k: neither rows nor columns of operand k fill whole
	                     lanes; bit 2: those of the result */
	int64_t flops;
	int64_t again_bytes, gap_bytes, launches; /* as op_work */
	int64_t windows_ns;                       /* of a gather: large_windows_ns */
	int64_t loop_ns;                          /* of a scatter: its loop, on TPU */
	int64_t reversed_ns;                      /* of a convolution: its operand is reversed first */
	bool loop_goes;                           /* as op_work */
	int64_t sum_elements;                     /* as op_work */
	struct op_rows rows[2];                   /* as op_work; row 0 where they are not padded */
	/* gathers and scatters of windows of several dims, and gathers of single rows that do not fill
	   the lanes: per 1,024 elements those that pass through the vector unit, and those that are
	   stored; 0: others */
	uint32_t windows_work, windows_stored;
	contraction dims;
} work_entry;
typedef struct work_last { /* what a node did in the previous program, most often what it does in
	                          this one too */
	const node_plan *plan;
	uint32_t entry;
} work_last;
typedef struct work_memo {
	uint32_t *class_of,
		n_classes;   /* by node: those of one class do the same work at the same shardings */
	uint32_t *first; /* by class */
	work_last *last; /* by node */
	uint64_t facts;  /* lowered.facts that the plans in last belong to */
	VEC(work_entry) entries;
	VEC(sharding_id) at;
	uint32_t most; /* entries */
} work_memo;

enum { COLLECTIVE_SLOTS = 4096, STORED_SLOTS = 8192, MEMO_AXES = 6 };
typedef struct collective_slot {
	int64_t bytes, ns; /* bytes 0: empty */
	axis_ref axes[MEMO_AXES];
	uint8_t kind, n, link;
} collective_slot;
typedef struct stored_slot {
	type_id type;
	sharding_id sharding;
	int64_t bytes; /* -1: empty */
} stored_slot;

typedef enum op_mode {
	MODE_NONE,   /* dead, or nothing to run */
	MODE_ROOT,   /* runs as a kernel, with its members */
	MODE_FUSED,  /* member of the kernel of `root` */
	MODE_COPIED, /* computed anew inside every kernel that uses it */
} op_mode;

/* What an op is to the tile of a matmul's result that is on the chip. */
enum {
	TILE_NONE,
	TILE_INSIDE,  /* it, in another order perhaps */
	TILE_WIDENED, /* made of it behind a conversion */
	TILE_ROWS,    /* made of its rows' reductions too */
	TILE_ENDS,    /* an expensive op of those: the result is written */
};

/* What an op does to the elements of such a tile. */
enum { STEP_KEEPS, STEP_CONVERTS, STEP_CHANGES };

/* Which collective runs inside of a contraction's loop. */
typedef enum window_kind { WINDOW_NONE, WINDOW_GATHER, WINDOW_SCATTER } window_kind;

enum { MOST_LEAVES = 4 };
typedef struct sim_op {
	uint8_t class, mode, tile;
	bool waits;       /* roots: for the end of the backward pass (gradients.c) */
	bool has_matmul;  /* roots: a matmul is inside */
	bool apart;       /* matmuls: what reads it is not in its kernel */
	bool hoisted;     /* done once, in front of the loop that it is in */
	uint8_t side;     /* bit k: in its kernel it is in front of operand k of the matmul */
	uint8_t side_now; /* copied ops: the same, in the kernel that is measured */
	bool ends_tile;   /* roots: an op with TILE_ENDS is inside */
	bool widens;      /* roots: an op whose result is made_again is inside */
	uint8_t pieces;   /* of a windowed einsum, both of its collective and of its contraction; 0:
	                     others */
	uint8_t window;   /* contractions: window_kind */
	uint8_t whole;    /* .. the operand of which every piece needs all, or WINDOW_NO_OPERAND */
	bool arranged;    /* a gather: the kernel that brings its parts into order is counted */
	bool gathers;     /* elementwise with several operands, reads more than it writes */
	bool reads_more;  /* .. with nested ops: in any case */
	bool reads_own; /* with nested ops: itself, not these, reads something that is made for it alone
	                 */
	bool spread;    /* made from little: costs nothing to read */
	bool in_products; /* copied ops: into kernels of contractions alone, in front of them */
	lop_id root;
	lop_id next; /* member of the same kernel, ascending; roots: first_member starts the list */
	lop_id first_member;
	lop_id earliest, latest; /* roots of the kernels that run it: first and last, or where it runs
	                            (runs_at() in fusion.c) */
	lop_id region; /* enclosing LOP_REGION, ID_NONE outside; of a LOP_REGION_END: around the whole
	                  region */
	uint32_t segment; /* region of the op it is in: ops of different segments share no kernel */
	lop_id end;       /* LOP_REGION: its LOP_REGION_END */
	lop_id begin;     /* LOP_REGION_END: its LOP_REGION; ID_NONE of others */
	uint32_t work;    /* entry, UINT32_MAX for none */
	lop_id stamp;     /* last kernel that counted this copied op */
	uint32_t run;     /* roots of kernels and collectives: in simulator.runs */
	int64_t written;  /* ops whose results are in memory: bytes written in front of it, folded: in
	                     its block; see reaches() in kernels.c */
	int64_t elements_passed; /* a kernel of its own, as elements_passed */
	lval_id origin; /* elementwise ops: the one value that it and those in front of it make its
	                   result from; ID_NONE: several or none */
	/* as work_entry, of what lies as a gather leaves such windows, or as a scatter wants them */
	uint32_t windows_work, windows_stored;
	bool windows_end;            /* something wants it in another order of dims */
	bool behind_product;         /* elementwise work on a product that nothing else reads */
	lval_id leaves[MOST_LEAVES]; /* .. those that a kernel with all of them in it would read */
	uint8_t n_leaves;            /* MOST_LEAVES + 1: more */
	bool spreads;                /* .. and besides these something small that is computed */
} sim_op;

typedef struct sim_val {
	int64_t bytes;    /* as stored */
	int64_t part;     /* what is read of it, where a collective leaves more in memory; 0: all */
	int64_t stored;   /* .. with padding to tiles; of what is written to memory */
	lval_id base;     /* whose buffer it is; itself when it has one */
	lop_id stamp;     /* last kernel that counted its read */
	lop_id summed_at; /* first kernel that sums it up, and others with it; ID_NONE */
	lop_id def;
	/* earliest kernel of each sort of use: those that could compute it in place, those in copied
	 * ops, others */
	lop_id group_min, copied_min, external_min;
	lop_id external_max;   /* where the last one of the others ends; 0: there is none */
	lop_id last_use;       /* position; ID_NONE: unused */
	lop_id alloc, free;    /* positions between which the buffer is live */
	uint32_t first_kernel; /* in simulator.readers: kernels that could compute it in place */
	uint8_t n_kernels;     /* .. MAX_COPIES + 1: more */
	uint32_t contractions; /* for which it is gathered */
	bool into_products;    /* some use is an operand of a contraction, or of a copied op that is */
	bool elsewhere;        /* some is not */
	bool unrounded;        /* some use is no operand, as it is, of a contraction that rounds it */
	bool rounded;          /* what makes it writes it rounded to bfloat16; bytes are those */
	bool many;             /* uses that could compute it in place are in several kernels */
	bool gathered;         /* one of these gathers */
	bool made_again;       /* it is in memory, yet these read what it is made from */
	bool materialised, argument, constant, output, carried, taken;
	bool in_main;      /* a temporary in main memory */
	bool kept_late;    /* until the products of gradients have run */
	uint8_t side;      /* as sim_op.side, of the uses in group_min */
	bool in_argument;  /* an argument with parts written anew, in its buffer */
	bool off_chip;     /* of a collective or a loop: in main memory */
	bool reordered;    /* some matmul wants it in another order of dims */
	bool quantised;    /* something is made of it alone that has eight bits */
	bool turned;       /* a copy of it has been made: kernel_turn_operand */
	bool arranged;     /* a matmul has copied it already: see work_entry */
	bool read_again;   /* .. the copy of what it made has been made for a second contraction, too */
	uint32_t read_as;  /* .. dims that the first plain product to read it contracts */
	int64_t copy_ns;   /* .. time of such a copy; 0: it was an operand */
	lop_id kept_until; /* in front of this op it is on the chip, because a loop keeps it there; 0 */
	uint32_t candidate; /* of the loop that is looked at now: its place + 1 */
} sim_val;

/* What a loop could keep on the chip, and what it keeps. */
typedef struct keep_candidate {
	lval_id val, yielded;    /* yielded: what the body writes into its buffer; ID_NONE */
	int64_t bytes, accessed; /* accessed: per iteration */
	bool refused;
} keep_candidate;
typedef struct kept_value {
	lval_id val;
	lop_id begin, end;     /* of the loop */
	int64_t bytes, copied; /* copied: from main memory when it starts */
} kept_value;

/* What is in main memory from an op to another though no op leaves it there. Layers of weights that
 * are all rounded in front of the loops that take one of them at a time; what main returns of
 * gathered values, and copies of the arguments that these update (updates.c). */
typedef struct held_value {
	lval_id from, by;  /* the argument that is rounded, ID_NONE: others; what is shown for it */
	lop_id begin, end; /* from the first loop to the last; positions where it is there */
	int64_t bytes;
} held_value;

/* Values of these local dims, in any order, lie padded where they are matrices of a batch. */
typedef struct padded_matrix {
	uint64_t key;   /* of the dims */
	int64_t padded; /* elements */
} padded_matrix;

/* A nested op of the present program, at the place in simulator.nested that it has whenever it is
 * one. */
typedef struct sim_nested {
	int64_t bytes;   /* of its result, as stored */
	uint32_t origin; /* as sim_op.origin; its own id where there is none */
	uint8_t tile;
	bool expensive;
	uint8_t step; /* as work_entry.step */
	bool spread;
	bool little;     /* made of little by this program */
	bool reads_more; /* than it writes */
	bool reads_own;  /* as sim_op.reads_own */
	bool gathers;    /* as sim_op.gathers */
	bool maps;       /* as work_entry.maps */
	bool quantises;  /* as work_entry.quantises */
} sim_nested;
typedef struct nest_last { /* what is nested in a node, most often what was in the previous program
	                          too */
	const nest *nest;
	uint32_t first, room; /* in simulator.nested */
	uint32_t numbers;     /* that it spreads: spreads_number */
	int64_t flops;
} nest_last;
/* Ids of values: those of lowered.vals, and what nested ops make. */
enum { NESTED_ID = 1u << 31 };

/* What an op's operands come from, as far as it makes a difference to the op. */
typedef struct sources {
	uint32_t one; /* the one value that was not made from little; ID_NONE */
	bool several;
	uint8_t tile; /* nearest to the matmul's tile that one of them is */
} sources;
/* Too little to count beside what is made of it? */
static inline bool is_little(int64_t bytes, int64_t made) { return bytes <= made / 64; }
static inline void add_source(sources *from, uint32_t id, bool spread, uint8_t tile)
{
	if (tile > from->tile && tile != TILE_ENDS)
		from->tile = tile;
	if (spread || id == from->one)
		return;
	from->several |= from->one != ID_NONE;
	from->one = id;
}

/* Kernels in which one value is made again. XLA has no such bound (libtpu 0.0.51 makes the counters
 * of random bits again in all that read them); this one bounds our work. */
enum { MAX_COPIES = 200 };
enum { PREFETCH_DEPTH = 8 };
enum { REPEATED_READER = 1u << 31 };

/* What a stretch of program adds up to; also of the best branch of a case. */
typedef struct totals {
	int64_t compute, communication, exposed, flops;
	int64_t count[COLL_COUNT], dynamic_count[COLL_COUNT], bytes[COLL_COUNT];
} totals;

/* One thing that the timeline does, in program order. */
typedef enum run_kind { RUN_KERNEL, RUN_COLLECTIVE, RUN_REGION, RUN_ELSE, RUN_END } run_kind;
typedef struct run {
	uint8_t kind, link, coll;
	uint8_t as;     /* collectives: the kind that it is done as, whose time it takes */
	uint8_t pieces; /* collectives: as sim_op.pieces */
	bool leads; /* collectives: pays launch and latency; in a combined instruction only the first
	               does */
	lop_id op;
	uint32_t moment; /* where its end is kept for those who wait for it; ID_NONE: nobody does */
	uint32_t first_read, n_reads; /* in simulator.reads: ops whose ends it waits for */
	int64_t ns, follows_ns;       /* collectives: time when it leads, what it adds when it does not;
	                                 borders of a loop:	   of copies into it, or out of it; at its end,
	                                 follows_ns: of copies in	   every turn */
	int64_t bytes, flops;
	/* kernels: time of it once arguments that it reads are on the chip and with its results left
	   there; of fetching the ones, of copying out the others (both 0: nothing to gain), of its
	   other traffic */
	int64_t near_ns, fetch_ns, copy_ns, direct_ns;
	int64_t early_ns; /* kernels made of nothing but what is there from the start, or from the last
	                     border of a region on: when they could be done, from then; -1: others */
	int64_t spare_ns; /* kernels with a contraction: time in which memory has nothing to do */
	int64_t start_ns, end_ns, exposed_ns;
} run;
typedef struct moment {
	int64_t ready_ns,
		first_use_ns; /* of collectives: when the result was first needed; -1: not yet */
	int64_t start_ns; /* of kernels */
	uint32_t run;
	uint8_t pieces; /* > 0: a gather inside of the loop of the kernel that reads it */
	bool collective;
	bool early; /* of kernels: run.early_ns says when it is there */
} moment;
/* At a position: what the kernel needs to be in main memory, and what is gone after it. */
typedef struct memory_change {
	int64_t before, after;
} memory_change;
/* Running sums of these, and the largest so far. */
typedef struct memory_level {
	int64_t live, peak;
} memory_level;

/* What is kept until the products of gradients have run, behind op `until` (gradients.c). */
typedef struct late_gradients {
	lop_id until;
	int64_t bytes;
} late_gradients;

/* A part of a stack that a loop gets from outside. */
typedef struct stack_slice {
	uint8_t dim; /* along which it is taken, + 1; 0: the node takes none */
	bool turned; /* the stack: is_turned_stack */
} stack_slice;

typedef struct queue {
	int64_t free_ns;
	uint32_t last;                   /* run, ID_NONE */
	uint32_t n;                      /* collectives so far */
	uint32_t recent[PREFETCH_DEPTH]; /* ring of the moments of the latest ones */
	int64_t idle_ns; /* since when the latest could have run, had it been ready; INT64_MAX: nothing
	                    goes before it */
	uint32_t flight; /* moment of the latest that ran beside work, ID_NONE */
	int64_t gap_ns, gap_end_ns; /* the longest time since that was read in which the link was free,
	                               and its end */
} queue;

typedef struct frame { /* an open region */
	uint32_t run;
	bool branches; /* case: one of the regions runs */
	int64_t trips;
	int64_t opened, start, multiplier, sum, longest;
	totals before, best;
	bool any;
} frame;

struct simulator {
	const program *p;
	sharding_table *t;
	device dev;
	mesh_links links;
	donation dn;
	work_memo work;
	collective_slot *collectives;
	uint32_t *minors;     /* by type: the dims that may be in the lanes of a TPU */
	bool *gradients;      /* by node: find_gradients */
	bool *differentiated; /* by node: find_softmax_gradients */
	bool *hoisted;        /* by node: find_hoisted */
	stack_slice *sliced;  /* by node: find_sliced */
	bool *donated_types;  /* by type: is an argument of it donated? */
	late_gradients late;
	bool *feeds; /* by value of the program: a product reads it, or what is made of it element by
	                element */
	int64_t copied_out_ns; /* of what main returns of gathered values: hold_gathered */
	bool *may_turn;        /* by value of the program: find_turned */
	stored_slot *stored;
	stored_slot
		*stored_last; /* by node, and one for all others: the answer for what was made there last */

	sim_op *ops;
	sim_val *vals;
	memory_change *delta; /* liveness: by position; all zero before */
	uint32_t ops_cap, vals_cap, n_ops, n_vals;
	VEC(run) runs;
	VEC(lop_id) reads;    /* of runs: collectives and, for collectives, kernels */
	VEC(moment) moments;  /* by run.moment */
	VEC(op_event) events; /* made when they are asked for */
	VEC(sim_nested) nested;
	nest_last *nest_last; /* by node */
	VEC(node_id) apart;   /* simulator_apart */
	VEC(lop_id) stack;    /* copied ops to visit */
	VEC(lval_id) aliases; /* values with another base, last ones first */
	VEC(lop_id) readers;  /* lists of roots; with REPEATED_READER: one in every layer */
	VEC(lop_id)
	writers; /* borders of regions, and ops whose results are in memory, the last ones first */
	VEC(padded_matrix) matrices;
	VEC(lop_id) windows;   /* contractions and scatters of sums: what could be a windowed einsum */
	bool regions;          /* there are some that time and memory see */
	VEC(lop_id) loops;     /* where they begin */
	uint32_t open_regions; /* around the op that is fused now */
	lop_id border;      /* of a region, the last one in front of the kernel that is measured now */
	VEC(lop_id) stores; /* liveness: ops with temporaries among their results */
	VEC(lval_id) args;  /* by argument of main; ID_NONE */
	VEC(live_at_peak) peak;
	struct size_slot *sizes; /* donation: counts by buffer size */
	uint32_t sizes_cap;
	struct folder *folder;  /* NULL: programs are whole */
	const uint8_t *spots;   /* folded: by op, see op_spot */
	const int32_t *passes;  /* by node, folding.node_pass or full_pass; NULL: no layers are known */
	uint32_t copies;        /* folded: layers that the middle one stands for beside itself */
	VEC(bool) result_taken; /* donation: by result of main, paired by the module */
	frame frames[MAX_NESTING + 2];
	uint32_t n_frames;

	/* timeline */
	queue queues[MAX_LINK_CLASSES];
	int64_t now, multiplier;
	int64_t lead_ns;        /* how long before a kernel its arguments are fetched at the earliest */
	int64_t memory_free_ns; /* when the way to main memory has nothing to do; arguments are fetched
	                           ahead over it */
	int64_t copied_ns;      /* when all results so far are copied out */
	int64_t
		waited_ns; /* how long that was waited for, the last time that everything in flight was */
	int64_t stretch_start, stretch_comm, stretch_stall; /* since the queues were last drained */
	int64_t waiting_ns;        /* kernels that could run at the end (sim_op.waits) */
	int64_t longest_gather_ns; /* of the gathers that follow each other until now */
	totals sum;

	lop_id peak_at;
	int64_t temporary;
	bool all_near; /* all that the program writes fits on the chip */
	struct {
		lval_id val; /* the argument that is fetched before the program starts; ID_NONE: none */
		int64_t bytes;
		lop_id until; /* an op: it takes room up to there */
	} prefetched;
	lop_id updates; /* the last kernel that writes a part of a larger value, and others with it;
	                   ID_NONE */
	VEC(int64_t) arg_reads; /* by argument, of those that may be fetched so: count_arg_reads */
	int64_t written;        /* bytes, by all that the program runs */
	VEC(keep_candidate) candidates;
	VEC(kept_value) kept; /* of all loops, in program order */
	VEC(held_value) held;
	uint32_t next_kept; /* of the first loop that was not measured yet */
	int64_t kept_now;   /* bytes, of the loops around what is measured now */
};

/* memo.c */
uint32_t work_find(simulator *s, node_id id, const node_plan *plan);
static inline uint32_t work_lookup(simulator *s, node_id id, const node_plan *plan)
{
	const work_last *last = &s->work.last[id];
	return last->plan == plan ? last->entry : work_find(s, id, plan);
}
/* Before the first lookup for a program. */
void work_begin(simulator *s, uint64_t facts);
/* Time of a collective, on its own or first in a combined instruction (ahead 0); or what it adds to
 * the time of one whose members in front of it have so many bytes. */
int64_t collective_lookup(
	simulator *s, const lop *o, collective_kind kind, int64_t ahead, uint8_t *link);
int64_t stored_find(simulator *s, stored_slot *last, type_id type, sharding_id sharding);
/* node: of the op that makes it, ID_NONE. */
static inline int64_t stored_lookup(simulator *s, node_id at, type_id type, sharding_id sh)
{
	stored_slot *c = &s->stored_last[at == ID_NONE ? s->p->nodes.n : at];
	return c->bytes >= 0 && c->type == type && c->sharding == sh ? c->bytes
																 : stored_find(s, c, type, sh);
}
static inline bool is_constant(const node *n)
{
	return n->op_kind == OP_CONSTANT || n->op_kind == OP_SDY_CONSTANT;
}
bool is_splat(const module *m, const node *n); /* a constant that is one number */
void memo_init(simulator *s);
void memo_release(simulator *s);
static inline const work_entry *work_at(const simulator *s, const sim_op *o)
{
	return &s->work.entries.p[o->work];
}

/* Equal but for dims of size 1 and elements. */
bool dims_in_order(const ir_type *a, const ir_type *b);
/* Could the kernel of `user` make its operand k, which is id, itself? */
bool could_make(const simulator *s, const lowered *l, lop_id user, uint32_t k, lval_id id);

/* May a value of so many bytes be written where it ends a chain (fusion.c), rather than be made
 * again? */
static inline bool may_end_chain(const simulator *s, int64_t bytes)
{
	return s->dev.target == TARGET_TPU && bytes <= s->dev.on_chip_bytes / 2;
}
/* Is it made by arithmetic that a reader's kernel could do, for one reader alone? */
static inline bool made_for_one(const simulator *s, const lowered *l, lval_id v)
{
	const sim_op *from = &s->ops[s->vals[v].def];
	return l->vals.p[v].n_uses == 1 && !from->spread &&
		(from->class == CLASS_ELEMENTWISE || from->class == CLASS_MATMUL);
}
/* Is it what a product makes, or what is worked out behind one (sim_op.behind_product), for a
 * reader of the same segment alone? */
static inline bool leaves_product(
	const simulator *s, const lowered *l, const sim_op *reader, lval_id v)
{
	const sim_op *from = &s->ops[s->vals[v].def];
	return l->vals.p[v].n_uses == 1 && from->segment == reader->segment &&
		(from->behind_product || from->class == CLASS_MATMUL);
}
/* Local; 0 of what is no tensor. */
static inline int64_t elements_of(const lowered *l, lval_id v)
{
	const ir_type *ty = type_get(l->p->m, l->vals.p[v].type);
	return ty->kind == TYPE_TENSOR
		? sat_mul(l->vals.p[v].bytes, 8) / MAX(elem_bits((enum elem)ty->elem), 8)
		: 0;
}
/* leaves.c: of an elementwise op whose operands, nested ones too, are classified */
void find_leaves(const simulator *s, const lowered *l, const lop *o, sim_op *so);
/* What so many kernels read is made once where all of them together would read more to make it than
 * it takes to write it and to read it again. libtpu 0.0.51 on v5e, two and three products of values
 * made from one to three others in bfloat16 and float32 (tests/judged/kernels.py). bytes: of it. */
bool is_cheaper_apart(const simulator *s, const sim_op *o, int64_t bytes, uint32_t readers);
/* fusion.c: decides modes, kernels, buffers (base) and last uses. */
void fuse(simulator *s, const lowered *l);
/* Does the loop run on a copy of argument i, because it wants it in another order of dims? */
static inline bool loop_copies(const simulator *s, const lowered *l, const lop *open, uint32_t i)
{
	return s->vals[open->results + i].reordered &&
		s->vals[l->operands.p[open->operands + i]].argument;
}
/* nested.c: is the op a broadcast of one number that is no constant? */
bool spreads_number(const program *p, const node *n);
/* Classifies what is nested in an op; the sources of the op itself */
sources nested_classify(simulator *s, const lowered *l, lop_id id, bool tiled);
/* is_behind_product (simulate.c) of an op with nested ones; those that are and whose reader is not
 * are lowered apart */
bool nested_behind_product(simulator *s, const lowered *l, const lop *o);
void nested_copied(
	simulator *s, const lop *o); /* the op is copied into its readers: which ones would not be? */
void nested_orders(simulator *s, const lowered *l,
	const lop *o); /* its result is wanted in another order: which operands are? */
bool nests_agree(const nest *a, const nest *b);
static inline const sim_nested *nested_of(const simulator *s, const lop *o)
{
	return s->nested.p + s->nest_last[o->node].first;
}
/* What tile the result of an elementwise op, or of a reshape, belongs to. */
static inline uint8_t tile_behind(uint8_t tile, uint8_t step, bool expensive)
{
	if (tile == TILE_INSIDE && step != STEP_KEEPS)
		return step == STEP_CONVERTS ? TILE_WIDENED : TILE_NONE;
	return !expensive ? tile : tile == TILE_ROWS ? TILE_ENDS : TILE_NONE;
}
/* The one value that elementwise ops make a value from; itself where several do. */
static inline uint32_t source_of(const simulator *s, uint32_t id)
{
	if (id & NESTED_ID)
		return s->nested.p[id & ~NESTED_ID].origin;
	uint32_t origin = s->ops[s->vals[id].def].origin;
	return origin == ID_NONE ? id : origin;
}
/* donation.c: the number of an argument of main, -1 of other values; may a result take the place of
 * argument i of main? */
int32_t argument_number(const simulator *s, const lowered *l, lval_id v);
bool is_donated(const simulator *s, uint32_t i);
void find_donated_types(simulator *s); /* fills simulator.donated_types */
void find_turned(simulator *s);        /* turned.c: fills simulator.may_turn */
/* on_chip.c: what arguments and loops keep on the chip, and what is written in front of each op. */
void place_on_chip(simulator *s, const lowered *l);
/* Between the two, what the loop keeps is on the chip. Time of copying it there. */
int64_t enter_loop(simulator *s, lop_id begin);
void leave_loop(simulator *s, lop_id end);
/* Is the value still on the chip when op `at` reads it? It was made in the same region, and what
 * was written since fits there: what is written takes the place of what was written longest ago. A
 * gradient that waits reads nothing there (gradients.c). */
bool reaches(const simulator *s, const lowered *l, const sim_val *v, lop_id at);
/* Is the value never in main memory? */
bool stays(const simulator *s, const lowered *l, const sim_val *v);
int64_t most_on_chip(const simulator *s, lop_id at); /* bytes that one value may take */
int64_t half_of_chip(const simulator *s, lop_id at);
/* kernels.c: fills runs, reads and moments. */
void measure_kernels(simulator *s, const lowered *l);
/* timeline.c */
/* The way to main memory behind a stretch of kernels that fetch nothing: traffic, that of theirs,
 * and last_ns, how long after the stretch's start the last of it would be done. What it has had to
 * do by then counts, as far back as something may be fetched ahead. */
static inline void memory_busy(simulator *s, int64_t start, int64_t traffic_ns, int64_t last_ns)
{
	s->memory_free_ns =
		MAX(sat_add(s->memory_free_ns, traffic_ns), sat_add(start - s->lead_ns, last_ns));
}
void run_timeline(simulator *s, const lowered *l);
void timeline_begin(simulator *s);
/* reads: n moments that the run waits for; moment: where its own end goes, ID_NONE. */
void timeline_run(
	simulator *s, const lowered *l, run *r, uint32_t moment, const uint32_t *reads, uint32_t n);
void timeline_drain(simulator *s);
/* The end of the program. */
void timeline_end(simulator *s);
/* arrange.c: does some dim of the value fill whole lanes? */
bool fills_lanes(const simulator *s, const lowered *l, lval_id v);
/* liveness.c: changes of memory at positions, and their largest sum. */
void measure_liveness(simulator *s, const lowered *l);
bool sums_lanes(const program *p, const node *n); /* memo.c: a reduce: of the last dim */
/* stored.c: bits of an element as it is stored. */
int stored_bits(const simulator *s, const lowered *l, lval_id v);
/* Sets sim_val.stored of what is written to memory. */
void measure_stored(simulator *s, const lowered *l);
/* Bytes of the padded copy that a gather or a scatter makes of its table. */
int64_t padded_copies(const simulator *s, const sim_op *o);
void find_peak(simulator *s, const lowered *l);
/* memo.c: does the op multiply and sum up? Does it work element by element, or move elements, or
 * sum them up over devices? */
bool is_product(const node *x);
bool passes_elements(const node *x);
/* gradients.c: which products of the program make gradients of arguments */
void find_gradients(simulator *s);
/* Which products meet another one element by element, as scores meet the gradient of the softmax
 * that is taken of them. Two summands do, too: it matters where a maximum of the product is taken.
 */
void find_softmax_gradients(simulator *s);
/* hoisted.c: which nodes a compiler for TPU takes out of their loop. */
void find_hoisted(simulator *s);
/* sliced.c: which nodes take one part of a stack in every turn of their loop. */
void find_sliced(simulator *s);
/* Elements of the tiles that such a node goes through on TPU where its part lies in one lane, or
 * one row, of each; 0: it does not. */
int64_t elements_passed(const simulator *s, const lowered *l, const lop *o);
/* kernels.c: a reduce_scatter that the compiler makes an all_reduce of. */
bool is_reduced_whole(const simulator *s, const lop *o);
bool makes_gradient(const simulator *s, const lowered *l, lop_id o);
/* Marks the kernels of such products that wait, and what they read; simulator.late says until when.
 */
void keep_for_gradients(simulator *s, const lowered *l);
/* updates.c: results of main that are gathered, on TPU, and copies of what they update. */
void hold_gathered(simulator *s, const lowered *l);
static inline void level_step(memory_level *m, const memory_change *c)
{
	m->live += c->before;
	m->peak = MAX(m->peak, m->live);
	m->live += c->after;
}
bool val_is_temporary(const sim_val *v, lval_id id);
/* folded.c: false when the layers that should be alike are not. */
bool run_folded(simulator *s, const lowered *l);
void folder_place(simulator *s, const lowered *l);
void folder_free(struct folder *x);
/* Where an op of a folded program is: in a layer from which something in `middle` can be meant
 * relatively, or far off. */
typedef enum op_spot { SPOT_FAR, SPOT_NEAR, SPOT_MIDDLE } op_spot;
static inline bool folder_repeats(const simulator *s, lop_id o)
{
	return s->spots[o] != SPOT_FAR;
} /* is alike in several layers */
/* What ops write, in program order: the op's place in its block's sum. Then what the whole program
 * writes. */
int64_t folder_add_written(simulator *s, lop_id o, int64_t bytes);
int64_t folder_end_written(simulator *s);
int64_t folder_written_before(const simulator *s, lop_id op); /* its first instance */
/* Of two ops of equal pass: bytes that the whole program writes between them. */
int64_t folder_written_between(const simulator *s, lop_id op, lop_id later);
uint32_t folder_val_weight(const simulator *s, pval_id v); /* how many values one stands for */
uint32_t folder_weight(const simulator *s, lop_id o);      /* how many ops one stands for */
/* donation.c */
int64_t donated_bytes(simulator *s, const lowered *l);

/* What a region op is to time and memory, by its node; the same for its LOP_REGION, _ELSE and _END.
 */
typedef enum region_form {
	FORM_LOOP,     /* while: arguments, yields and results share buffers */
	FORM_BRANCHES, /* case, if: one of the regions runs */
	FORM_INLINE,   /* manual and named computations: as if the body stood there */
} region_form;
static inline region_form form_of(const lowered *l, const lop *o)
{
	uint16_t kind = o->node == ID_NONE ? OP_WHILE : l->p->nodes.p[o->node].op_kind;
	return kind == OP_WHILE                ? FORM_LOOP
		: kind == OP_CASE || kind == OP_IF ? FORM_BRANCHES
										   : FORM_INLINE;
}
/* Ops of the whole program that `many` stands for beside the one that `one` stands for. */
static inline uint32_t times(const simulator *s, lop_id many, lop_id one)
{
	return s->spots && s->spots[many] == SPOT_MIDDLE && s->spots[one] == SPOT_FAR ? 1 + s->copies
																				  : 1;
}
/* Is an op of a folded program a step of a sum of numbers over layers? */
bool folder_adds_numbers(const simulator *s, lop_id o);
/* Of those, how many read what `def` makes: a step of a sum over layers reads one step of another
 * layer. All else that the middle reads far away is one thing for all layers, though it stands in
 * the first of them that reads it. */
static inline uint32_t times_read(const simulator *s, lop_id user, lop_id def)
{
	uint32_t n = times(s, user, def);
	return n > 1 && folder_adds_numbers(s, def) ? 1 : n;
}
/* Bytes of an argument or a result of main: as stored, but a CPU keeps them as they are. */
static inline int64_t end_bytes(const simulator *s, const lowered *l, lval_id v)
{
	return s->dev.target == TARGET_CPU ? l->vals.p[v].bytes : s->vals[v].bytes;
}
static inline lval_id base_of(const simulator *s, lval_id v) { return s->vals[v].base; }
static inline lval_id operand_at(const lowered *l, const lop *o, uint32_t i)
{
	return l->operands.p[o->operands + i];
}

#endif
