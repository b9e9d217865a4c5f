/* ir: the module that is read, rewritten by passes and printed: types, attributes, ops, values,
 * meshes, shardings and the algebra on mesh axes.
 *
 *   ops.def     one row per op               types.c     interned types        attrs.c    attributes
 *   module.c    ops, functions, walking, copies of modules   rewrite.c  building and changing   fingerprint.c   structure.c
 *   verify.c    structure between passes    verify_types.c verify_shapes.c verify_windows.c verify_sdy.c verify_rule.c  ops
 *   mesh.c      meshes, axis references      axes.c      algebra on axis lists  sharding.c interned shardings, checks
 *   sharding_text.c  their text
 *   lex.c read*.c  the reader (map in read.c)              print.c print_forms.c  the printer
 *
 * Everything is addressed by 32-bit ids into flat arrays owned by the module, so a module is copied
 * by copying arrays and ids stay valid across growth (pointers into the arrays do not).
 * Thread-compatible: one thread per module. */
#ifndef SW_IR_H
#define SW_IR_H

#include "base/base.h"

typedef uint32_t type_id, attr_id, value_id, op_id, region_id, slot_id, mesh_id, sharding_id,
	loc_id;
#define ID_NONE UINT32_MAX

/* Limits named in errors; nothing a user sends is allocated for beyond them. */
enum {
	MAX_TEXT_BYTES = 1 << 30, /* decoded module text */
	MAX_NESTING = 64,         /* regions inside regions, brackets in attributes and types */
	MAX_RANK = 24,
	MAX_MESH_AXES = 32,
	MAX_TENSOR_AXES = 64, /* axis references in one sharding */
	MAX_DEVICES = 1 << 24,
	MAX_OPERANDS = 1 << 20, /* of one op; also results and function arguments */
};

/* ---------------------------------------------------------------- types.c */

/* One row per element type: identifier, text, bits. */
/* clang-format off */
#define ELEM_TABLE(X) \
	X(NONE, "none", 0) X(I1, "i1", 1) X(I2, "i2", 2) X(I4, "i4", 4) X(I8, "i8", 8) X(I16, "i16", 16) \
	X(I32, "i32", 32) X(I64, "i64", 64) X(UI2, "ui2", 2) X(UI4, "ui4", 4) X(UI8, "ui8", 8) X(UI16, "ui16", 16) \
	X(UI32, "ui32", 32) X(UI64, "ui64", 64) X(F4E2M1FN, "f4E2M1FN", 4) X(F6E2M3FN, "f6E2M3FN", 6) \
	X(F6E3M2FN, "f6E3M2FN", 6) X(F8E3M4, "f8E3M4", 8) X(F8E4M3, "f8E4M3", 8) X(F8E4M3FN, "f8E4M3FN", 8) \
	X(F8E4M3FNUZ, "f8E4M3FNUZ", 8) X(F8E4M3B11FNUZ, "f8E4M3B11FNUZ", 8) X(F8E5M2, "f8E5M2", 8) \
	X(F8E5M2FNUZ, "f8E5M2FNUZ", 8) X(F8E8M0FNU, "f8E8M0FNU", 8) X(BF16, "bf16", 16) X(F16, "f16", 16) \
	X(TF32, "tf32", 32) X(F32, "f32", 32) X(F64, "f64", 64) X(C64, "complex<f32>", 64) \
	X(C128, "complex<f64>", 128) X(INDEX, "index", 64) X(QUANT, "!quant", 8) /* text kept in type.text */
/* clang-format on */

typedef enum elem {
#define X(id, text, bits) ELEM_##id,
	ELEM_TABLE(X)
#undef X
		ELEM_COUNT
} elem;

typedef enum type_kind {
	TYPE_TENSOR,   /* ranked; also a scalar element type used bare, with rank 0 and flag bare */
	TYPE_TOKEN,    /* !stablehlo.token */
	TYPE_TUPLE,    /* parts */
	TYPE_FUNCTION, /* parts: inputs then results, n_inputs tells where they meet */
	TYPE_OTHER,    /* unranked tensors, memrefs, futures, unknown dialect types: text only */
} type_kind;

#define DIM_DYNAMIC INT64_MIN
typedef struct ir_type {
	uint8_t kind, elem, rank;
	bool bare, dynamic; /* bare: `i64`, not `tensor<i64>`; dynamic: some dim is DIM_DYNAMIC */
	uint32_t n_parts, n_inputs;
	const int64_t *dims; /* rank entries; 0 is a legal size */
	const type_id *parts;
	str encoding; /* tensor encoding attribute, bounds (#stablehlo.bounds<..>), printed back */
	str text;     /* as printed: tensor<8x4xf32> */
	int64_t
		elements; /* product of dims, saturating; 1 for scalars, 0 when dynamic or not a tensor */
} ir_type;

int elem_bits(elem e);
const char *elem_text(elem e);
/* ELEM_NONE for text that names no element type of the table; quantised types are not found by
 * name. */
elem elem_find(str text);
bool elem_is_int(elem e); /* i1 to ui64 */

/* ---------------------------------------------------------------- mesh.c, axes.c */

/* A full axis or a sub-axis: the axis of size S seen as [pre, size, S/(pre*size)], major to minor.
 * A full axis has pre 1 and size S, so equality of references is equality of integers. */
typedef uint64_t axis_ref;
static inline axis_ref axis_make(uint32_t axis, int64_t pre, int64_t size)
{
	return (uint64_t)axis << 56 | (uint64_t)pre << 28 | (uint64_t)size;
}
static inline uint32_t axis_index(axis_ref a) { return (uint32_t)(a >> 56); }
static inline int64_t axis_pre(axis_ref a) { return (int64_t)(a >> 28 & 0xfffffff); }
static inline int64_t axis_size(axis_ref a) { return (int64_t)(a & 0xfffffff); }
static inline int64_t axis_next_pre(axis_ref a) { return axis_pre(a) * axis_size(a); }

typedef struct device_mesh {
	str_id name; /* symbol; 0 when written inline */
	uint32_t n_axes;
	const str_id *axis_names;
	const int64_t *axis_sizes;
	uint32_t n_device_ids; /* 0: iota */
	const int64_t *device_ids;
	int64_t n_devices; /* product of axis sizes; 1 when maximal */
	bool maximal;      /* no axes, one device id */
} device_mesh;         /* no axes and no ids: the empty mesh, compatible with any */

/* List of axis references, major to minor. A view: storage belongs to whoever made it. */
typedef struct axes {
	const axis_ref *a;
	uint32_t n;
} axes;
/* Same with room, for building. */
typedef struct axes_buf {
	axis_ref a[MAX_TENSOR_AXES];
	uint32_t n;
} axes_buf;
static inline axes axes_of(const axes_buf *b) { return (axes){b->a, b->n}; }

/* Shardy's algebra (shardy.md 1.3): a covers [pre, next_pre). Functions that can fail return false.
 */
bool axis_overlaps(axis_ref a, axis_ref b);
bool axis_can_coexist(axis_ref a, axis_ref b);
bool axis_contains(axis_ref a, axis_ref b);  /* b inside a */
bool axis_is_prefix(axis_ref a, axis_ref b); /* a is a prefix of b, or equal */
bool axis_can_merge(axis_ref a, axis_ref b); /* a then b */
axis_ref axis_merge(axis_ref a, axis_ref b);
bool axis_common_prefix(axis_ref a, axis_ref b, axis_ref *out);
/* The largest prefix (suffix) of a that does not overlap b. */
bool axis_prefix_without_overlap(axis_ref a, axis_ref b, axis_ref *out);
bool axis_suffix_without_overlap(axis_ref a, axis_ref b, axis_ref *out);
/* The overlap itself. */
bool axis_overlap(axis_ref a, axis_ref b, axis_ref *out);
int64_t axes_product(axes l);
bool axes_equal(axes a, axes b);
typedef enum prefix_status { PREFIX_EQUAL, PREFIX_STRICT, PREFIX_NOT } prefix_status;
/* Is `a` a prefix of `b`? The last element of a may be a sub-axis prefix of its counterpart. */
prefix_status axes_prefix(axes a, axes b);
/* Appends, merging with the last element when the two are adjacent parts of one axis. */
void axes_push_merge(axes_buf *b, axis_ref a);
/* Sorted by mesh order, then pre, then size; adjacent parts merged. */
void axes_sort_merge(axes_buf *b);
void axes_copy(axes_buf *to, axes from);

/* ---------------------------------------------------------------- sharding.c */

typedef struct dim_sharding {
	uint16_t first, n; /* range in sharding.refs */
	bool closed;
	int16_t priority; /* -1: not given (means 0) */
} dim_sharding;

/* An immutable, interned tensor sharding. Id 0 (SHARDING_NONE) is "no attribute" = fully open. */
typedef struct sharding {
	mesh_id mesh;
	uint16_t rank, n_refs;
	uint16_t replicated_first, n_replicated, unreduced_first, n_unreduced;
	const dim_sharding *dims;
	const axis_ref *refs;
} sharding;
enum { SHARDING_NONE = 0 };

/* The form that is built: one list per dim. */
typedef struct sharding_edit {
	mesh_id mesh;
	uint32_t rank;
	struct {
		axes_buf axes;
		bool closed;
		int16_t priority;
	} dims[MAX_RANK];
	axes_buf replicated, unreduced;
} sharding_edit;

/* Meshes and shardings of one module and of all copies of it on one thread. Ids depend on the order
 * of interning: never let the order of results depend on them. */
typedef struct sharding_table {
	arena mem;
	strtab names;
	VEC(device_mesh) meshes;
	VEC(sharding) shardings;
	index_map index;
	uint32_t refs;
} sharding_table;

sharding_table *sharding_table_new(void);
/* A copy whose names and lists are the original's, which must outlive it and not change. */
sharding_table *sharding_table_clone(const sharding_table *t);
sharding_table *sharding_table_ref(sharding_table *t);
void sharding_table_unref(sharding_table *t);
/* Interns a mesh; equal name, axes and ids give the equal id. */
mesh_id mesh_intern(sharding_table *t, const device_mesh *m);
/* Axis names distinct, sizes positive, limits, device ids a permutation of 0..n-1 (one id >= 0
 * without axes). Only names, sizes and ids of m are looked at. The axis at fault goes to *bad_axis
 * (may be NULL), ID_NONE when it is no axis. */
status mesh_check(const sharding_table *t, const device_mesh *m, uint32_t *bad_axis, char *msg,
	size_t msg_size) MUST_USE;
/* ID_NONE when absent. */
mesh_id mesh_find(const sharding_table *t, str name);
/* Axis index by name, or ID_NONE. */
uint32_t mesh_axis_find(const sharding_table *t, mesh_id m, str name);
axis_ref mesh_full_axis(const sharding_table *t, mesh_id m, uint32_t axis);
bool mesh_same_devices(
	const sharding_table *t, mesh_id a, mesh_id b); /* axes and device ids equal, names aside */
sharding_id sharding_intern(sharding_table *t, const sharding_edit *e);
static inline const sharding *sharding_get(const sharding_table *t, sharding_id id)
{
	return &t->shardings.p[id];
}
static inline axes sharding_dim(const sharding *s, uint32_t d)
{
	return (axes){s->refs + s->dims[d].first, s->dims[d].n};
}
static inline axes sharding_replicated(const sharding *s)
{
	return (axes){s->refs + s->replicated_first, s->n_replicated};
}
static inline axes sharding_unreduced(const sharding *s)
{
	return (axes){s->refs + s->unreduced_first, s->n_unreduced};
}
void sharding_to_edit(const sharding_table *t, sharding_id id, sharding_edit *out);
/* rank dims without axes, all open or all closed. */
void sharding_edit_init(sharding_edit *e, mesh_id m, uint32_t rank, bool closed);
/* Ways a dim is cut: product of its axis sizes. */
int64_t sharding_dim_parts(const sharding *s, uint32_t d);
/* Bytes of one device's shard, each dim rounded up; unsharded when id is SHARDING_NONE. Sub-byte
 * types are packed, except i1, which takes a byte as in XLA. 0 for dynamic shapes and for what is
 * no tensor. */
int64_t sharding_local_bytes(const sharding_table *t, sharding_id id, const ir_type *ty);
int64_t sharding_local_elements(const sharding_table *t, sharding_id id, const ir_type *ty);
/* What Shardy's verifier objects to (shardy.md 1.4), in its words, into msg; true when fine. One
 * rule more: sub-axes of one axis must be able to coexist (Shardy lets gaps pass that divide
 * nothing). ty may be NULL: rules without a type. */
bool sharding_check(
	const sharding_table *t, const sharding_edit *e, const ir_type *ty, char *msg, size_t msg_size);
/* `<@mesh, [{"a", ?}p1, {}], replicated={"b"}>` without the #sdy.sharding in front. */
void sharding_print(const sharding_table *t, sharding_id id, strbuf *out);
/* `<["a"=2, "b"=4], device_ids=[..]>`, what stands behind `sdy.mesh @name = ` and behind `mesh` of
 * an inline mesh. */
void mesh_print(const sharding_table *t, mesh_id m, strbuf *out);
/* `"a"` or `"a":(2)4`. */
void axis_print(const sharding_table *t, mesh_id m, axis_ref a, strbuf *out);
/* `{"a", "b":(1)2}` */
void axes_print(const sharding_table *t, mesh_id m, axes l, strbuf *out);

/* ---------------------------------------------------------------- attrs.c */

typedef enum attr_kind {
	ATTR_RAW,  /* text printed back as it is: locations, unknown dialect attributes, floats, dense
	              data */
	ATTR_UNIT, /* present without a value */
	ATTR_BOOL,
	ATTR_INT,      /* i; type in `type` (ID_NONE when not written) */
	ATTR_FLOAT,    /* text, with type */
	ATTR_STRING,   /* text without quotes, escapes kept */
	ATTR_SYMBOL,   /* @name, text without @ */
	ATTR_TYPE,     /* type */
	ATTR_ARRAY,    /* children; text when it is no [..]: #sdy<manual_axes{..}> */
	ATTR_DICT,     /* children with names */
	ATTR_INTS,     /* array<i64: 1, 2>: ints, element type in `type`; i1 gives 0 and 1 */
	ATTR_DENSE,    /* dense<..> : tensor type; text is the part between the angle brackets; `splat`
	                  tells */
	ATTR_STRUCT,   /* #stablehlo.dot<lhs_contracting_dimensions = [1], ..>: text is "stablehlo.dot",
	                  named children */
	ATTR_ENUM,     /* #stablehlo<comparison_direction LT>: text is the whole, `word` the value */
	ATTR_SHARDING, /* #sdy.sharding<..>: one sharding */
	ATTR_SHARDINGS, /* #sdy.sharding_per_value<[..]>: list */
	ATTR_RULE,      /* #sdy.op_sharding_rule<..>: text is the whole between < and > */
} attr_kind;

typedef struct attr {
	uint8_t kind;
	bool splat;
	type_id type;
	int64_t i;
	str text, word;
	uint32_t n; /* children, ints or shardings */
	const struct named_attr *children;
	const int64_t *ints;
	const sharding_id *shardings;
} attr;
typedef struct named_attr {
	str_id name; /* 0 inside arrays */
	attr_id value;
} named_attr;

/* ---------------------------------------------------------------- ops.def */

typedef enum op_kind {
#define OP(id, text, form, in, out, regions, check, rule, cost, emit, flags) OP_##id,
#include "ir/ops.def"
#undef OP
	OP_COUNT
} op_kind;

enum op_flags {
	OPF_PURE = 1,        /* without uses it is dead */
	OPF_ELEMENTWISE = 2, /* Shardy's elementwise test (shardy.md section 2, end) */
	OPF_TERMINATOR = 4,
	OPF_REGION = 8, /* has regions */
	OPF_DATAFLOW =
		16, /* while, case, optimization_barrier, manual/named computation: handled by edges */
	OPF_SYMBOL = 32,     /* defines a symbol: func, mesh */
	OPF_COLLECTIVE = 64, /* sdy collectives */
	/* XLA for GPU keeps its result for a reader behind another product, in bfloat16 and in float32:
	 * of 13 ops that were tried, 33 million numbers on H100 (jax 0.10.2) */
	OPF_KEPT = 128,
};
typedef struct op_info {
	const char *text;
	uint32_t flags;
} op_info;
extern const op_info op_infos[OP_COUNT];

/* ---------------------------------------------------------------- module.c */

typedef struct ir_op {
	uint16_t kind, flags; /* flags: OPS_* */
	str_id name;          /* full name; for OP_UNKNOWN the only identity */
	region_id parent;
	op_id prev, next; /* in the region, ID_NONE at the ends */
	slot_id operands; /* of a func.func, which has none: its index in funcs */
	uint32_t n_operands;
	value_id results; /* contiguous */
	uint32_t n_results;
	region_id regions; /* contiguous */
	uint32_t n_regions;
	uint32_t first_attr, n_attrs; /* range in module.op_attrs; properties and discardable attributes
	                                 together, WITHOUT sdy.sharding of results, which lives on the
	                                 values; of an OP_UNKNOWN the properties <{..}> are one dict
	                                 whose name is empty */
	loc_id loc;
	uint32_t src; /* byte offset of the op in module.text */
} ir_op;
enum { OPS_ERASED = 1, OPS_MERGED = 2 /* equal ops were merged into it */ };

typedef struct ir_value {
	type_id type;
	uint32_t def; /* op_id, or region_id when is_arg */
	uint32_t index;
	slot_id first_use; /* newest use first, as MLIR keeps them: the order of propagation depends on
	                      it */
	sharding_id sharding; /* the value's sharding, however it is written: func argument attribute,
	                         sdy.sharding of an op, the attribute of sharding_constraint / reshard /
	                         data_flow_edge / collectives */
	str_id name; /* without %, and without #k for results of a pack; 0: numbered by the printer */
	loc_id loc;  /* of block arguments: carries argument names */
	bool is_arg;
} ir_value;

typedef struct use_slot { /* one operand */
	value_id value;
	op_id owner;
	slot_id next, prev; /* uses of the same value; prev ID_NONE: head */
} use_slot;

typedef struct ir_region { /* one block */
	op_id parent;          /* ID_NONE: the module's body */
	op_id first, last;
	value_id args; /* contiguous */
	uint32_t n_args;
	bool empty; /* no block at all (a declaration's body) */
} ir_region;

/* Extra of a func.func (found by op id through module_func). */
typedef struct func {
	op_id op;
	str_id name;
	bool is_private;
	uint32_t n_args, n_results;
	const type_id *result_types;
	attr_id *arg_attrs, *result_attrs; /* dict or ID_NONE; without sdy.sharding */
	sharding_id *result_shardings;     /* argument shardings live on the block arguments */
} func;

typedef struct location { /* resolved: loc("f"("file":3:4)) keeps all parts that are known */
	str name, file;
	uint32_t line, col;
	str raw; /* text between loc( and ), aliases unresolved; printed back */
} location;

enum { MOST_TRIPS = 1000000000 };
typedef struct module {
	arena mem;
	strbuf text; /* the source, kept: names, attributes and excerpts are views into it */
	char file[256];
	strtab strs;
	sharding_table *shardings;
	VEC(ir_type) types;
	index_map type_index;
	VEC(attr) attrs;
	VEC(named_attr) op_attrs;
	VEC(ir_op) ops;
	VEC(ir_value) values;
	VEC(use_slot) slots;
	VEC(ir_region) regions;
	VEC(func) funcs;
	index_map func_index; /* by symbol */
	VEC(location) locs;   /* 0: unknown */
	region_id body;       /* of the module op */
	str_id name;          /* symbol of the module */
	attr_id module_attrs; /* dict or ID_NONE */
	loc_id loc;           /* of the module op */
	str aliases;        /* definitions of location aliases (#loc..) of the source, printed back with
	                       locations */
	bool keep_aliases;  /* attributes use them: printed even without locations */
	str resources;      /* the {-# .. #-} block of the source, printed back */
	int64_t trip_count; /* what a while loop counts whose number of iterations the program does not
	                       say, up to MOST_TRIPS; 0: not given, it counts once */
	struct explanation
		*explanation; /* propagate's passes tell it what they do; NULL: nobody asks */
	const struct module
		*borrowed; /* text and attribute memory belongs to this one (module_clone) */
} module;

module *module_new(void);
void module_free(module *m);
/* Deep copy that shares text, strings' bytes and the sharding table; the original must outlive it
 * and not change. */
module *module_clone(const module *m);
/* The same with a sharding table of its own: nothing that is done with the copy touches the
 * original. */
module *module_clone_apart(const module *m);

/* Interning. */
type_id type_tensor(module *m, elem e, uint32_t rank, const int64_t *dims);
/* Fields are copied; text is made when empty, elements and dynamic always. */
type_id type_intern(module *m, const ir_type *t);
type_id type_find(const module *m, str text); /* by its canonical text; ID_NONE when not interned */
type_id type_bare(module *m, elem e);         /* `i64` itself, as attributes carry it */
type_id type_function(module *m, const type_id *inputs, uint32_t n_inputs, const type_id *results,
	uint32_t n_results);
static inline const ir_type *type_get(const module *m, type_id t) { return &m->types.p[t]; }
attr_id attr_new(module *m, const attr *a);
static inline const attr *attr_get(const module *m, attr_id a) { return &m->attrs.p[a]; }
attr_id attr_int(module *m, int64_t v, const char *type_text); /* "i32" */
attr_id attr_ints(module *m, const int64_t *v, uint32_t n);    /* array<i64: ..> */
attr_id attr_string(module *m, str s);
attr_id attr_unit(module *m);
attr_id attr_shardings(module *m, const sharding_id *ids, uint32_t n); /* ids are copied */
/* Names of the axes of a mesh whose bit is set, as manual_axes holds them. */
attr_id attr_axis_names(module *m, mesh_id mesh, uint32_t which);

/* Attributes of an op by name; ID_NONE / NULL when absent. */
attr_id op_attr(const module *m, op_id o, const char *name);
/* precision_config of a contraction, [HIGHEST, DEFAULT]: the most precise operand decides. */
typedef enum precision {
	PRECISION_DEFAULT,
	PRECISION_HIGH,
	PRECISION_HIGHEST,
	PRECISION_COUNT
} precision;
precision op_precision(const module *m, op_id o);
void op_attr_set(module *m, op_id o, const char *name, attr_id value);
void op_attr_remove(module *m, op_id o, const char *name);
/* Child of a dict or struct attribute. */
attr_id attr_child(const module *m, attr_id a, const char *name);
/* Attributes of an argument with tf.aliasing_output (a result that takes its buffer) as
 * jax.buffer_donor (an offer). */
attr_id attr_offer_donation(module *m, attr_id dict);
/* Integer lists, whatever they are written as: array<i64: ..>, dense<[..]> : tensor<..xi64>, [1, 2]
 * or a struct child. Dotted names reach into structs:
 * "dot_dimension_numbers.lhs_batching_dimensions". NULL with *n = 0 when absent. */
const int64_t *op_ints(const module *m, op_id o, const char *path, uint32_t *n);
int64_t op_int(const module *m, op_id o, const char *path, int64_t absent);
/* The same for an attribute itself. */
const int64_t *attr_int_list(const module *m, attr_id a, uint32_t *n);
/* Elements of an integer ATTR_DENSE of type t, in mem; NULL when it is no list of integers or its
 * length is another. */
const int64_t *attr_dense_ints(arena *mem, const ir_type *t, const attr *a);
str op_text(const module *m, op_id o,
	const char *path); /* strings, symbols, enum words; empty when absent */
/* The attribute that holds the axes of an sdy collective, NULL when it has none
 * (collective_permute). */
const char *collective_axes_name(op_kind k);
/* That attribute from its short text, `[{"a"}, {}]`, `{"a"}` or `[{"a"}: 0->1]` (copied): op_text
 * gives the text back. */
attr_id attr_collective_axes(module *m, op_kind k, str axes);
/* The same content, whatever ids it has; attrs_equal: of two ops, all of them, in any order. Equal
 * attributes have equal hashes. */
bool attr_equal(const module *m, attr_id a, attr_id b);
bool attrs_equal(const module *m, op_id a, op_id b);
uint64_t attr_hash(const module *m, attr_id a);
/* Value of a splat or scalar integer constant (stablehlo.constant, sdy.constant). */
bool op_constant_int(const module *m, op_id o, int64_t *out);

/* Structure. */
static inline ir_op *op_get(module *m, op_id o) { return &m->ops.p[o]; }
static inline const ir_op *op_at(const module *m, op_id o) { return &m->ops.p[o]; }
static inline ir_value *value_get(module *m, value_id v) { return &m->values.p[v]; }
static inline const ir_value *value_at(const module *m, value_id v) { return &m->values.p[v]; }
static inline value_id op_operand(const module *m, op_id o, uint32_t i)
{
	return m->slots.p[m->ops.p[o].operands + i].value;
}
static inline value_id op_result(const module *m, op_id o, uint32_t i)
{
	return m->ops.p[o].results + i;
}
static inline const ir_type *value_type(const module *m, value_id v)
{
	return &m->types.p[m->values.p[v].type];
}
static inline const ir_region *op_region(const module *m, op_id o, uint32_t i)
{
	return &m->regions.p[m->ops.p[o].regions + i];
}
/* Defining op, ID_NONE for block arguments. */
static inline op_id value_def(const module *m, value_id v)
{
	return m->values.p[v].is_arg ? ID_NONE : m->values.p[v].def;
}
static inline op_id op_parent(const module *m, op_id o)
{
	return m->regions.p[m->ops.p[o].parent].parent;
}
op_id region_terminator(const module *m, region_id r);
/* Pre-order: next op after o inside root's subtree (root itself first); ID_NONE at the end. Module:
 * root = ID_NONE. */
op_id op_walk_out(const module *m, op_id root, op_id o);
static inline op_id op_walk_next(const module *m, op_id root, op_id o)
{
	const ir_op *at = op_at(m, o);
	return !at->n_regions && o != root && at->next != ID_NONE
		? at->next
		: op_walk_out(m, root, o); /* into a region, or out of one */
}
op_id op_walk_first(const module *m, op_id root);
func *module_func(const module *m, op_id o);        /* by func.func op */
func *module_func_named(const module *m, str name); /* by symbol, of the outermost module */
func *module_func_near(
	const module *m, op_id o, str name); /* by symbol, of the module around op o */
/* Registers the func.func op o (one region whose arguments exist); result_types are copied,
 * attributes and shardings start empty. Pointers to funcs are valid until the next func_add or
 * op_clone. */
func *func_add(module *m, op_id o, str name, const type_id *result_types, uint32_t n_results);
void func_rename(module *m, op_id o, str name); /* calls are not changed */
func *module_main(const module *m); /* the only function, else @main; NULL when neither */
bool value_has_uses(const module *m, value_id v);
bool value_one_use(const module *m, value_id v);

/* Building and rewriting. New ops are created detached, then inserted. operands are copied and get
 * uses, appended in operand order, so each becomes the head of its value's use list as in MLIR. */
op_id op_new(module *m, op_kind kind, str_id name, const value_id *operands, uint32_t n_operands,
	const type_id *result_types, uint32_t n_results, uint32_t n_regions, loc_id loc);
void op_insert_before(module *m, op_id o, op_id before);
void op_insert_after(module *m, op_id o, op_id after);
void op_append(module *m, op_id o,
	region_id r);                   /* op_new gives regions that are empty: op_append fills them */
void op_unlink(module *m, op_id o); /* out of its region, still alive */
/* Unlinks, drops its uses and erases its regions; results must be unused. */
void op_erase(module *m, op_id o);
void op_set_operand(module *m, op_id o, uint32_t i, value_id v);
/* Replaces the operand list by another of any length. */
void op_set_operands(module *m, op_id o, const value_id *operands, uint32_t n);
/* Moves all uses of `from` to `to` one by one from the head, as MLIR's replaceAllUsesWith (which
 * reverses their order); uses by the op `except` stay (ID_NONE: none stay). */
void value_replace_uses(module *m, value_id from, value_id to, op_id except);
/* declare.c: adds `sdy.mesh @name = <..>` for a named mesh, behind the meshes that are there. */
op_id mesh_declare(module *m, mesh_id id);
/* The mesh that an sdy.mesh op defines, whatever other meshes of its name the table has; ID_NONE:
 * malformed. */
mesh_id mesh_declared(const module *m, op_id o);
value_id region_add_arg(
	module *m, region_id r, type_id t, loc_id loc); /* only while it has the newest values */
/* Deep copy of an op with its regions, detached; map[value] gives operands' replacements (ID_NONE
 * or beyond n_map: the same), and takes the copies of results and region arguments whose originals
 * lie below n_map. A copied func.func is registered under the same name: rename one of the two. */
op_id op_clone(module *m, op_id o, value_id *map, uint32_t n_map);

/* ---------------------------------------------------------------- scatter.c */

static inline bool ints_contain(const int64_t *list, uint32_t n, int64_t v)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i] == v)
			return true;
	return false;
}

typedef enum scatter_kind {
	SCATTER_OF_ELEMENTS,      /* windows are one element of every dim that indices point into, and
	                             updates do not have it */
	SCATTER_MADE_OF_ELEMENTS, /* the same can be written so: windows are that or a whole dim */
	SCATTER_OF_WINDOWS,       /* others */
} scatter_kind;
typedef struct scatter_form {
	const int64_t *window, *inserted, *batching, *map; /* as the op has them */
	uint32_t n_window, n_inserted, n_batching, n_map;
	int64_t vector;            /* the indices' dim of components */
	uint64_t gone;             /* components that point into whole dims: 0, or nothing is written */
	uint64_t now_inserted;     /* operand dims of one element in every window */
	uint64_t without;          /* dims of the update that these are */
	uint32_t first_kept, kept; /* components that stay, which stand together */
} scatter_form;
/* operand, update: their dims, of the first input. Of SCATTER_OF_WINDOWS all but the lists of the
 * op is undefined. */
scatter_kind scatter_form_of(
	const module *m, op_id o, const int64_t *operand, const int64_t *update, scatter_form *f);

/* ---------------------------------------------------------------- reader and printer */

typedef struct read_options {
	size_t max_bytes; /* 0: MAX_TEXT_BYTES */
} read_options;
/* Parses StableHLO/sdy/func text. text is copied. On error *out is NULL and d has the position. */
status module_read(const char *text, size_t n, const char *file, const read_options *options,
	module **out, diag *d) MUST_USE;
/* ERR_UNSUPPORTED, with what it is and what to do, for bytes that are another thing than text: MLIR
 * bytecode, jax.export, HLO, xz.. */
status module_refuse_foreign(const char *text, size_t n, diag *d) MUST_USE;
/* A custom call of GSPMD: "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape". */
bool op_is_gspmd(const module *m, op_id o, const char *target);
/* ERR_UNSUPPORTED at the first thing that is for GSPMD, which would be passed over in silence
 * otherwise. */
status module_refuse_gspmd(const module *m, diag *d) MUST_USE;
/* Reads and decodes a file ("-": standard input) and parses it. */
status module_read_file(
	const char *path, const read_options *options, module **out, diag *d) MUST_USE;
/* An error at the source of an op. */
status op_error(const module *m, op_id o, diag *d, status code, const char *fmt, ...)
	PRINTF_LIKE(5, 6);

typedef struct print_options {
	bool locations; /* with loc(..) */
} print_options;
void module_print(const module *m, const print_options *options, strbuf *out);
void op_print(const module *m, op_id o, strbuf *out); /* one op, for messages and explain */
void type_print(const module *m, type_id t, strbuf *out);
void attr_print(const module *m, attr_id a, strbuf *out);
/* "file:line:col", "name", or "" when unknown. */
void loc_print(const module *m, loc_id l, strbuf *out);
/* The op's location, else file and line of the text. Ops come nearly in the order of the text, so
 * that counting lines goes on from the last one; begins as all zero. */
typedef struct line_cursor {
	uint32_t at, line;
} line_cursor;
void op_print_place(const module *m, op_id o, line_cursor *c, strbuf *out);
/* Name of argument i of main: from its location when that is a plain name, else "argI". */
void module_arg_name(const module *m, uint32_t i, strbuf *out);

/* Structural checks between passes (dominance inside a region, terminators, use lists);
 * ST_ERR_INTERNAL with what broke. Types of ops as far as shardings depend on them (ranks, dims of
 * pointwise ops, dot dims, reduce dims, call and return signatures): ST_ERR_INVALID at the
 * position. */
status module_verify(const module *m, diag *d) MUST_USE;
status module_verify_types(const module *m, diag *d) MUST_USE;
/* The same for text that is only read and printed: it may hold modules inside the module. */
status module_verify_ops(const module *m, diag *d) MUST_USE;

/* ---------------------------------------------------------------- fingerprint.c */

/* "sha256:.." over a canonical form of the program (fp1 of service.md 2.4): private functions by
 * first use, attributes by name; free of locations, value and module names, the spelling of the
 * text and existing shardings and meshes. */
void module_fingerprint(const module *m, char out[72]);
/* The same over meshes and existing shardings alone. */
void module_sharding_fingerprint(const module *m, char out[72]);

/* structure.c: "sha256:.." over the set of different ops of the program, with ranks and where
 * operands come from: equal for programs that differ in sizes, element types and the number of
 * repeated layers. Of programs that have it in common a plan for one is worth a try for another;
 * nothing else follows from it. */
void module_structure(const module *m, char out[72]);

/* Parses the inside of #sdy.sharding<..> given as text, e.g. `<@mesh, [{"a"}, {?}]>`, for flags and
 * JSON; positions in d are offsets in text. */
status sharding_parse(sharding_table *t, str text, sharding_edit *out, diag *d) MUST_USE;
/* One list of axes of a collective; from and to: dimensions of an all_to_all. */
typedef struct axes_list {
	axes_buf axes;
	int64_t from, to;
} axes_list;
/* `{"a"}` (one list), `[{"a"}, {}]`, or with moves `[{"a"}: 0->1]`; out has room for MAX_RANK
 * lists. */
status axes_lists_parse(sharding_table *t, str text, mesh_id m, bool moves, axes_list *out,
	uint32_t *n, diag *d) MUST_USE;
/* Parses `<["a"=2, "b"=4], device_ids=[..]>` into a mesh of that name (empty: inline); positions as
 * above. */
status mesh_parse(sharding_table *t, str text, str name, mesh_id *out, diag *d) MUST_USE;
/* Parses "data=4,model=4" into a mesh named "mesh". */
status mesh_parse_flag(sharding_table *t, const char *text, mesh_id *out, diag *d) MUST_USE;

#endif
