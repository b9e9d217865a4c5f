/* hlo: compiled programs as `compiled.as_text()` prints them, scheduled HLO text of XLA's CPU, GPU
 * and TPU compilers; and their run time and peak memory on a device, in the order of the schedule.
 *
 *   ops.def    one row per opcode              read.c     module, computations, instructions
 *   shape.c    shapes with layouts             attrs.c    attributes              groups.c   replica groups
 *   print.c    the text again, with asynchronous ops as sugar or spelled out
 *   verify.c   async pairs, call graph         trips.c    trip counts of loops, the compiler's estimates, source locations
 *   work.c     flops and memory traffic of an instruction, fusions as the compiler made them
 *   kernel.c   time of a kernel by the device profile      timeline.c  compute stream, link queues, copies
 *   links.c    replica groups -> mesh axes -> links
 *   memory.c   buffers, aliases, liveness peak             simulate.c  all of it; collectives, JSON, trace
 *
 * A module is flat arrays addressed by 32-bit ids; the order of instructions in a computation is
 * the schedule. The text is kept, and names are offsets into it. Immutable once read; thread-safe
 * to read. */
#ifndef SW_HLO_H
#define SW_HLO_H

#include "simulator/simulator.h"

typedef uint32_t hlo_id, hlo_comp_id, hlo_shape_id;

enum { HLO_MAX_DEVICES = 1 << 18 }; /* replicas x partitions */
enum { HLOF_ALIAS = 1, HLOF_START = 2, HLOF_DONE = 4, HLOF_COLLECTIVE = 8, HLOF_SHARE = 16 };
typedef enum hlo_op {
#define HLO(id, text, cost, flags) HLO_##id,
#include "hlo/ops.def"
#undef HLO
	HLO_UNKNOWN, /* an opcode outside the table: its text is still there */
	HLO_OP_COUNT
} hlo_op;
const char *hlo_op_text(hlo_op op);
uint32_t hlo_op_flags(hlo_op op);

/* ---------------------------------------------------------------- shapes */
typedef enum hlo_shape_kind { HLO_ARRAY, HLO_TUPLE, HLO_TOKEN, HLO_OPAQUE } hlo_shape_kind;
typedef struct hlo_shape {
	uint8_t kind, elem, rank; /* elem: enum elem of ir.h (pred is i1) */
	uint8_t space;            /* memory space S(n); 0: the device's main memory */
	uint8_t minor;            /* the most minor dim that is longer than 1, 0 without one */
	uint32_t dims; /* rank entries at module.numbers[dims]; a bounded dim counts its bound */
	uint32_t children, n_children; /* of a tuple: shape ids at module.parts */
	uint32_t leaves,
		n_leaves; /* all leaves, flattened: shape ids at module.parts; an array is its own leaf */
	int64_t elements; /* of an array, unpadded */
	int64_t bytes;    /* of an array as stored: with the padding of its tiles; of a tuple the sum of
	                     its leaves */
	int64_t plain_bytes; /* the same without padding */
} hlo_shape;

/* ---------------------------------------------------------------- attributes */
/* X(id, text, kind): how the value is read. INTS {1,2}; INT 3; FLAG true; COMP %name; COMPS {%a,
 * %b}; SLICES {[0:2:1]} as start, limit, stride; PAIRS {{0,1},{1,2}}; GROUPS any spelling of
 * replica groups; WINDOW and LABELS of convolutions; RAW any balanced text. Attributes outside the
 * table are RAW under HLO_ATTR_OTHER. */
/* clang-format off */
#define HLO_ATTRS(X) \
	X(DIMENSIONS, "dimensions", INTS) X(REPLICA_GROUPS, "replica_groups", GROUPS) X(CHANNEL_ID, "channel_id", INT) \
	X(GLOBAL_IDS, "use_global_device_ids", FLAG) X(PAIRS, "source_target_pairs", PAIRS) X(TO_APPLY, "to_apply", COMP) \
	X(CALLS, "calls", COMP) X(CONDITION, "condition", COMP) X(BODY, "body", COMP) \
	X(TRUE_COMP, "true_computation", COMP) X(FALSE_COMP, "false_computation", COMP) X(SELECT_COMP, "select", COMP) \
	X(SCATTER_COMP, "scatter", COMP) X(BRANCHES, "branch_computations", COMPS) \
	X(CALLED, "called_computations", COMPS) X(INDEX, "index", INT) X(SLICE, "slice", SLICES) \
	X(WINDOW, "window", WINDOW) X(LABELS, "dim_labels", LABELS) X(FEATURE_GROUPS, "feature_group_count", INT) \
	X(BATCH_GROUPS, "batch_group_count", INT) X(LHS_CONTRACT, "lhs_contracting_dims", INTS) \
	X(RHS_CONTRACT, "rhs_contracting_dims", INTS) X(LHS_BATCH, "lhs_batch_dims", INTS) \
	X(RHS_BATCH, "rhs_batch_dims", INTS) X(FFT_LENGTH, "fft_length", INTS) X(KIND, "kind", RAW) \
	X(DIRECTION, "direction", RAW) X(TARGET, "custom_call_target", RAW) X(METADATA, "metadata", RAW) \
	X(CONFIG, "backend_config", RAW) X(PRECISION, "operand_precision", RAW) \
	X(OUTPUT_ALIAS, "output_to_operand_aliasing", RAW)
/* clang-format on */
typedef enum hlo_attr_id {
#define X(id, text, kind) HLO_ATTR_##id,
	HLO_ATTRS(X)
#undef X
		HLO_ATTR_OTHER
} hlo_attr_id;
typedef struct hlo_attr {
	uint8_t id;
	uint32_t at, n;          /* text of the value */
	uint32_t numbers, count; /* decoded integers at module.numbers; of GROUPS the id of the groups,
	                          * of COMP and COMPS the place in module.called and how many */
} hlo_attr;

typedef struct hlo_groups {   /* device, replica or partition ids as the collective's mode has it */
	uint32_t first, n_groups; /* group i is ids[starts[first + i] .. starts[first + i + 1]) */
	uint32_t largest;         /* members of the largest group; 0: no groups, that is all devices */
	int32_t max_id;           /* -1: no groups */
} hlo_groups;

/* ---------------------------------------------------------------- instructions */
typedef struct hlo_instr {
	uint32_t name, name_n; /* in the text, without % */
	uint32_t op_at, op_n;  /* opcode in the text */
	uint16_t
		op; /* enum hlo_op; asynchronous sugar reads as async-start, async-update, async-done */
	hlo_shape_id shape;
	hlo_comp_id comp;
	uint32_t operands, n_operands; /* ids at module.operands */
	uint32_t attrs, n_attrs;
	uint32_t called, n_called;   /* computation ids at module.called, in the order of the text */
	uint32_t users, n_users;     /* ids at module.users, ascending, each once */
	int64_t number;              /* parameter: its number; get-tuple-element: the index */
	uint32_t literal, literal_n; /* constant: text of the value */
} hlo_instr;
typedef struct hlo_comp {
	uint32_t name, name_n;
	hlo_id first; /* its instructions are first .. first + n, in schedule order */
	uint32_t n, n_params;
	uint32_t params; /* its parameters by number: ids at module.params */
	hlo_id root;
	bool made; /* made for the sugar of an asynchronous op */
	bool entry;
} hlo_comp;
typedef struct hlo_alias { /* input_output_alias: leaf of the result, leaf of a parameter */
	uint32_t output_leaf, param, param_leaf;
	uint32_t at;
} hlo_alias;
typedef struct hlo_frame {
	uint32_t file, file_n, parent; /* file: in the text, without quotes */
	int64_t line;
} hlo_frame;

typedef struct hlo_module {
	strbuf text;
	char file[256];
	uint32_t name, name_n;
	bool scheduled;
	int64_t n_partitions, n_replicas; /* at least 1 */
	int64_t trip_count; /* of while loops that do not say theirs; 0: not given, they run once */
	hlo_comp_id entry;
	VEC(hlo_comp) comps;
	VEC(hlo_instr) instrs;
	VEC(hlo_id) operands;
	VEC(hlo_id) users;
	VEC(hlo_id) params;
	VEC(hlo_comp_id) called;
	VEC(hlo_attr) attrs;
	VEC(hlo_shape) shapes;
	VEC(uint32_t) parts;
	VEC(int64_t) numbers;
	VEC(hlo_groups) groups;
	VEC(uint32_t) starts;
	VEC(int32_t) ids;
	VEC(hlo_alias) aliases;
	VEC(hlo_frame) frames; /* by stack_frame_id; 0 unused */
} hlo_module;

/* Does the text (plain, decoded) begin as HLO text does? */
bool hlo_is_text(const char *p, size_t n);
/* Reads and verifies. The text is copied. Errors: ST_ERR_PARSE, ST_ERR_INVALID (rules between
 * instructions; both are named), ST_ERR_LIMIT; with the position. Owned by caller. */
status hlo_read(const char *p, size_t n, const char *file, hlo_module **out, diag *d) MUST_USE;
void hlo_free(hlo_module *m);

/* How asynchronous ops are printed: as they were read; slice-start, slice-done; or async-start of a
 * computation that holds the slice. Pairs that sugar cannot say without loss stay generic. */
typedef enum hlo_form { HLO_AS_READ, HLO_SUGAR, HLO_GENERIC } hlo_form;
/* HLO text that reads back to the same. Of what XLA prints the form HLO_AS_READ is the text itself.
 */
void hlo_print(const hlo_module *m, hlo_form form, strbuf *out);

static inline str hlo_text(const hlo_module *m, uint32_t at, uint32_t n)
{
	return (str){m->text.p + at, n};
}
static inline str hlo_name(const hlo_module *m, hlo_id i)
{
	return hlo_text(m, m->instrs.p[i].name, m->instrs.p[i].name_n);
}
static inline const hlo_shape *hlo_shape_of(const hlo_module *m, hlo_id i)
{
	return &m->shapes.p[m->instrs.p[i].shape];
}
static inline const hlo_shape *hlo_leaf(const hlo_module *m, const hlo_shape *s, uint32_t leaf)
{
	return &m->shapes.p[m->parts.p[s->leaves + leaf]];
}
static inline hlo_id hlo_operand(const hlo_module *m, hlo_id i, uint32_t k)
{
	return m->operands.p[m->instrs.p[i].operands + k];
}
static inline hlo_id hlo_param(const hlo_module *m, hlo_comp_id c, uint32_t k)
{
	return m->params.p[m->comps.p[c].params + k];
}
static inline const int64_t *hlo_dims(const hlo_module *m, const hlo_shape *s)
{
	return m->numbers.p + s->dims;
}
/* Leaf at which child k of a tuple begins. */
uint32_t hlo_child_leaf(const hlo_module *m, const hlo_shape *s, uint32_t k);
/* Equal but for layouts: kinds, element types, dims. */
bool hlo_shapes_compatible(const hlo_module *m, hlo_shape_id a, hlo_shape_id b);
/* The computation of a COMP attribute, or ID_NONE. */
hlo_comp_id hlo_called(const hlo_module *m, hlo_id i, hlo_attr_id id);
/* NULL when absent. */
const hlo_attr *hlo_attr_find(const hlo_module *m, hlo_id i, hlo_attr_id id);
/* Integers of an attribute; *n 0 when absent. */
const int64_t *hlo_ints(const hlo_module *m, hlo_id i, hlo_attr_id id, uint32_t *n);
int64_t hlo_int(const hlo_module *m, hlo_id i, hlo_attr_id id, int64_t otherwise);
/* Text of a RAW attribute without quotes; empty when absent. */
str hlo_word(const hlo_module *m, hlo_id i, hlo_attr_id id);
/* The asynchronous start that an async-update or async-done belongs to (a start is its own). */
hlo_id hlo_async_start(const hlo_module *m, hlo_id i);
/* The instruction that an asynchronous start runs: root of its computation. */
hlo_id hlo_async_wrapped(const hlo_module *m, hlo_id start);
/* Is it an update that brings the operands? Those of a start without any are bound later: what it
 * wraps begins there. Gathers on the sparse cores of TPU v5p and v6e are written so. */
bool hlo_async_binds(const hlo_module *m, hlo_id update);
/* Does the start wait for such an update? */
bool hlo_async_is_bound_later(const hlo_module *m, hlo_id start);
/* Times that a while runs: from the compiler's note, or from a counter compared with a constant; -1
 * when unknown. */
int64_t hlo_trip_count(const hlo_module *m, hlo_id i);
/* The most that a while runs whose count is not known: its counter is compared with a constant, but
 * begins at a value that is given from outside, which is taken for 0, or other conditions must hold
 * too; -1: no such counter. */
int64_t hlo_trip_bound(const hlo_module *m, hlo_id i);
/* What the compiler wrote down as its estimate; -1: nothing. Cycles of a kernel (XLA for TPU); ns
 * of a kernel or a collective (XLA for GPU, where it was asked for them:
 * --xla_gpu_collect_cost_model_stats). */
int64_t hlo_estimated_cycles(const hlo_module *m, hlo_id i);
int64_t hlo_estimated_ns(const hlo_module *m, hlo_id i);
/* Members of every group of a collective as global device ids (replica * partitions + partition),
 * whatever its spelling and mode: starts[g] .. starts[g + 1]. Of a collective-permute its pairs.
 * Owned by caller: hlo_members_release. */
typedef struct hlo_members {
	VEC(uint32_t) starts; /* n groups + 1 entries */
	VEC(int32_t) ids;
} hlo_members;
void hlo_group_members(const hlo_module *m, hlo_id i, hlo_members *out);
void hlo_members_release(hlo_members *g);
/* "file:line" from the metadata, or its op_name, or nothing. */
void hlo_location(const hlo_module *m, hlo_id i, strbuf *out);

/* ---------------------------------------------------------------- simulation */
/* Where a time is from. */
/* clang-format off */
#define HLO_SOURCES(X) \
	X(NONE, "none")           /* takes none of its own: loops */ \
	X(COMPILER, "compiler")   /* what the compiler wrote into the text */ \
	X(TRAFFIC, "traffic")     /* no estimate in a text that has them: traffic to memory at the full rate */ \
	X(MODEL, "model")         /* the cost model of kernels */ \
	X(PUBLISHED, "published") /* published_time_ns; of copies the memory's published rate */ \
	X(PROFILE, "profile")     /* links and memory as the device profile has them */
/* clang-format on */
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
	uint8_t stream; /* 0 compute, 1 + link class, then copies, then other asynchronous work */
	int64_t start_ns, end_ns; /* of the first execution */
	int64_t executions;
	int64_t hbm_bytes;  /* kernels and copies */
	int64_t bytes;      /* collectives: local bytes of the larger side */
	int64_t exposed_ns; /* what the compute stream waited, all executions */
	int8_t coll;        /* enum collective_kind, -1: none */
	uint8_t source;     /* enum hlo_source: of its time */
} hlo_event;
typedef struct hlo_live {
	hlo_id instr; /* where the buffer is made */
	int64_t bytes;
} hlo_live;
typedef struct hlo_collective {
	hlo_id instr; /* the collective itself, inside a fusion where it is one */
	uint8_t kind;
	int64_t bytes, trip_count;
	uint32_t combined; /* operands that share the instruction */
} hlo_collective;
typedef struct hlo_simulation hlo_simulation;

/* Does HLO memory space `space` lie in the device's main memory? (GPU: 1 is memory registered for
 * collectives.) */
bool hlo_in_main_memory(const device *dev, uint8_t space);
/* keep may be NULL; otherwise released with hlo_simulation_free (after success only); it refers to
 * m. ERR_INVALID when the devices of the program do not fit the links of the profile. Loops of
 * unknown trip count run m->trip_count times, or once; those that may end early as often as that,
 * or as their bound says. */
status hlo_simulate(
	const hlo_module *m, const device *dev, cost *out, hlo_simulation **keep, diag *d) MUST_USE;
void hlo_simulation_free(hlo_simulation *s);
const hlo_event *hlo_events(const hlo_simulation *s, uint32_t *n);
const hlo_live *hlo_peak(const hlo_simulation *s, uint32_t *n);              /* largest first */
const hlo_collective *hlo_collectives(const hlo_simulation *s, uint32_t *n); /* in schedule order */
uint32_t hlo_unknown_loops(const hlo_simulation *s);
uint32_t hlo_bounded_loops(
	const hlo_simulation *s); /* that may end early, and were taken to run to their bound */
bool hlo_has_estimates(
	const hlo_simulation *s); /* kernels take the compiler's own estimates where there is one */
int64_t hlo_unestimated_ns(const hlo_simulation
		*s); /* what the cost model says of the kernels whose time is HLO_FROM_TRAFFIC */
hlo_share hlo_share_of(const hlo_simulation *s, hlo_part p, hlo_source from);
const char *hlo_stream_name(const hlo_simulation *s, uint8_t stream);
/* Chrome trace, as simulator_trace. */
void hlo_trace(const hlo_simulation *s, strbuf *out);

#endif
