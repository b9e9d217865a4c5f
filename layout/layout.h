/* layout: which slice of a tensor each device holds, and every notation for saying so.
 *
 *   slices.c    index ranges per device             draw.c      tables and JSON of them
 *   steps.c     how the devices come to hold them, step by step
 *   blocks.c    the blocks of a tensor with the devices that hold them       picture.c   pictures of them, SVG and text
 *   cut.c       how sizes that do not divide are cut
 *   json.c      shardings and meshes in JSON        notation.c  the list of notations, dispatch
 *   notation_gspmd.c notation_jax.c notation_mindspore.c notation_placement.c, placement_print.c
 * (SBP
 *   and DTensor)   one notation each
 *   tuple.c     one text for several tensors        strategy_text.c  a whole strategy, ready to paste
 *   devices.c   nested lists of devices, as OneFlow's ranks and PyTorch's DeviceMesh
 *   pieces.c    a mesh cut where a sharding cuts it, and back: axis lists found from shard indices
 *   scan.c      the scanner that notations share
 *   gspmd_module.c gspmd_manual.c   modules that were lowered for GSPMD
 *
 * Device numbers: position p is the row-major index of a device's coordinates in the mesh; device d
 * = device_ids[p], or p itself when the mesh has no ids. Everything is thread-compatible and works
 * on meshes of a million devices without holding all slices. */
#ifndef SW_LAYOUT_H
#define SW_LAYOUT_H

#include "ir/ir.h"

struct cJSON;

/* ---------------------------------------------------------------- what a notation says of a tensor
 */

/* identifier, word, words of other notations (NULL: none) */
/* clang-format off */
#define REDUCTION_TABLE(X) \
	X(SUM, "sum") \
	X(AVERAGE, "avg") \
	X(PRODUCT, "product") \
	X(MIN, "min") \
	X(MAX, "max")
/* clang-format on */

typedef enum reduction {
#define X(id, name) REDUCTION_##id,
	REDUCTION_TABLE(X)
#undef X
		REDUCTION_COUNT
} reduction;

const char *reduction_name(reduction r);
bool reduction_find(str name, reduction *out);

/* A sharding, and what some notations add to it. */
typedef struct tensor_spec {
	sharding_edit e;
	reduction reduction; /* what restores the tensor along e.unreduced; sum where there is none */
	axes_buf manual;  /* axes along which shards are the program's own business (GSPMD); none of e's
	                     axes */
	bool own_devices; /* the text had a device array of its own, along which uneven sizes would be
	                     cut */
} tensor_spec;

/* ---------------------------------------------------------------- slices.c */

/* How a size that does not divide is cut.
 *   round up   XLA, sdy: every shard has ceil(size / parts), cut at the tensor's end
 *   torch      mesh axis after mesh axis in the order of the mesh, each as torch.chunk; _StridedShard as PyTorch has it
 *   balanced   OneFlow: the first size % parts shards get one more; along several axes sizes must divide
 *   exact      MindSpore: sizes must divide */
typedef enum cut_rule { CUT_ROUND_UP, CUT_TORCH, CUT_BALANCED, CUT_EXACT } cut_rule;

typedef struct index_range {
	int64_t begin,
		end; /* half-open, cut at the tensor's end; begin == end for a shard of padding only */
} index_range;

/* One digit of a shard index: (position / divisor % size) * weight. */
typedef struct layout_digit {
	int64_t divisor, size, weight;
	axis_ref ref;
} layout_digit;

typedef struct layout {
	uint32_t rank;
	int64_t shape[MAX_RANK];
	int64_t parts[MAX_RANK]; /* ways a dim is cut */
	int64_t shard[MAX_RANK]; /* ceil(shape / parts) */
	cut_rule cut[MAX_RANK];  /* CUT_ROUND_UP where the size divides */
	uint32_t first_digit[MAX_RANK + 1];
	VEC(layout_digit) digits;
	const sharding_table *table; /* names of axes; outlives the layout */
	mesh_id mesh;
	uint32_t n_axes;
	int64_t axis_sizes[MAX_MESH_AXES];
	int64_t n_devices;
	const int64_t *device_ids; /* by position; NULL: iota. Lives as long as the sharding table */
	int64_t *position_ids;     /* by device; NULL: iota */
} layout;

/* e must be valid for its mesh (sharding_check) and is checked; sizes >= 0. A maximal mesh is one
 * device that holds all. */
status layout_init(layout *l, const sharding_table *t, const sharding_edit *e, const int64_t *shape,
	uint32_t rank, diag *d) MUST_USE;
/* The same with sizes cut by another rule than rounding up. ST_ERR_UNSUPPORTED when a size does not
 * divide and the rule has no contiguous slices for it; the message names the dimension, and the
 * device where there is one. */
status layout_init_cut(layout *l, const sharding_table *t, const tensor_spec *s,
	const int64_t *shape, uint32_t rank, cut_rule cut, diag *d) MUST_USE;
void layout_release(layout *l);
int64_t layout_device_at(const layout *l, int64_t position);
/* Position of the i-th device in the order of device numbers. */
int64_t layout_position_of(const layout *l, int64_t i);
/* Shard index of every dim; out has room for rank entries. */
void layout_indices(const layout *l, int64_t position, int64_t *out);
void layout_ranges(const layout *l, int64_t position, index_range *out);
/* Row-major number of the shard over the cuts of all dims. */
int64_t layout_slice_number(const layout *l, int64_t position);
/* Coordinates in the mesh; out has room for n_axes entries. */
void layout_coordinates(const layout *l, int64_t position, int64_t *out);

/* ---------------------------------------------------------------- draw.c */

/* Rows first .. first + n - 1 in the order of device numbers; the head line comes with first == 0.
 * slice: the number of the shard in row-major order over the cuts of all dims, as MindSpore's list
 * method counts them. */
void layout_table(const layout *l, int64_t first, int64_t n, strbuf *out);
/* {"device":0,"slice":0,"ranges":[[0,4],[0,4]]} joined with commas: the inside of the "devices"
 * list. */
void layout_json(const layout *l, int64_t first, int64_t n, strbuf *out);

/* ---------------------------------------------------------------- steps.c */

/* MindSpore's visual method: the whole tensor on device 0; dims from left to right, every axis of a
 * dim cuts what is there and sends part j to the device whose coordinate along it is j; then the
 * axes that cut nothing, from right to left, each copying what is there. Axes of size 1 do nothing.
 */
typedef struct layout_step {
	axis_ref axis;
	uint32_t dim;          /* that it cuts; ID_NONE: a copy */
	int64_t divisor, size; /* coordinate: position / divisor % size */
} layout_step;
enum { MAX_LAYOUT_STEPS = 2 * MAX_TENSOR_AXES + MAX_MESH_AXES };
typedef struct layout_steps {
	const layout *l;
	uint32_t n;
	layout_step at[MAX_LAYOUT_STEPS];
} layout_steps;
/* l is of the sharding e and outlives the steps. */
void layout_steps_of(const layout *l, const sharding_edit *e, layout_steps *out);
/* After the first `done` steps: does the device at a position hold anything, which number has its
 * slice, and its ranges? */
bool layout_held_after(const layout_steps *s, uint32_t done, int64_t position);
int64_t layout_slice_after(const layout_steps *s, uint32_t done, int64_t position);
void layout_ranges_after(const layout_steps *s, uint32_t done, int64_t position, index_range *out);
/* "axis_2 cuts dimension 0 into 2", "axis_1 copies". step 0: "the whole tensor is on device 0". */
void layout_step_text(const layout_steps *s, uint32_t step, strbuf *out);
/* {"steps":[{"step":0,"text":..,"action":"place|cut|copy","axis":..,"dimension":..,"devices":[..]},..],"devices":[..]}:
 * devices that hold something. ST_ERR_LIMIT beyond MAX_STEP_DEVICES devices. */
enum { MAX_STEP_DEVICES = 4096 };
status layout_steps_json(const layout_steps *s, strbuf *out, diag *d) MUST_USE;

/* ---------------------------------------------------------------- picture.c */

/* Blocks of the first two cut dims (filled up with uncut ones), in one picture for every part of
 * the other cut dims. A block has the colour of its slice, the slice's number and the devices that
 * hold it. Texts are inside of the picture, which is as large as that takes. ST_ERR_LIMIT beyond
 * 4096 blocks. */
status layout_svg(const layout *l, strbuf *out, diag *d) MUST_USE;
/* The same after every step, one below the other. */
status layout_steps_svg(const layout_steps *s, strbuf *out, diag *d) MUST_USE;
/* In characters. */
status layout_steps_text(const layout_steps *s, strbuf *out, diag *d) MUST_USE;

/* ---------------------------------------------------------------- json.c */

/* [["data"],["model","stage"],[]] or
 * {"dims":..,"open":..,"priority":..,"replicated":..,"unreduced":..}, with sub-axes as
 * "model:(2)4". Priority 0 is the same as none; the priority of an empty closed dim is dropped, as
 * it means nothing. Replicated and unreduced axes are sorted. rank: ID_NONE when any will do. The
 * result passes sharding_check. */
status sharding_from_json(sharding_table *t, mesh_id m, const struct cJSON *json, uint32_t rank,
	sharding_edit *out, diag *d) MUST_USE;
/* The same from text, as flags have it. */
status sharding_from_json_text(
	sharding_table *t, mesh_id m, str text, uint32_t rank, sharding_edit *out, diag *d) MUST_USE;
/* The list form when all dims are closed and nothing else is said, else the object form. Owned by
 * caller. */
struct cJSON *sharding_to_json(const sharding_table *t, const sharding_edit *e);

/* A mesh with what a cost model wants to know of it. */
typedef struct mesh_spec {
	mesh_id mesh;
	str_id links[MAX_MESH_AXES]; /* per axis, name of a link class in sharding_table.names; 0: not
	                                given */
} mesh_spec;

/* {"axes":[{"name":"data","size":4,"link":"ici"},..],"device_order":[..]}. The mesh gets the name
 * "mesh". */
status mesh_from_json(
	sharding_table *t, const struct cJSON *json, mesh_spec *out, diag *d) MUST_USE;
/* What --mesh takes: "data=2,model=4", JSON text, or the name of a JSON file (ends in .json or
 * holds no '='). It opens files: text from the network goes to mesh_parse_flag or mesh_from_json
 * instead. */
status mesh_from_text(sharding_table *t, const char *text, mesh_spec *out, diag *d) MUST_USE;
/* Owned by caller. */
struct cJSON *mesh_to_json(const sharding_table *t, const mesh_spec *s);

/* ---------------------------------------------------------------- notation.c */

/* One row per notation: identifier, name on the command line, what it is. */
/* clang-format off */
#define NOTATION_TABLE(X) \
	X(JSON, "json", "the JSON notation of strategies and flags") \
	X(SDY, "sdy", "Shardy: #sdy.sharding<@mesh, [{\"data\"}, {}]>") \
	X(GSPMD, "gspmd", "XLA HloSharding: {devices=[2,4]<=[8]}") \
	X(JAX, "jax", "JAX: PartitionSpec('data', None)") \
	X(MINDSPORE, "mindspore", "MindSpore: Layout((2, 4), (\"data\", \"model\"))(\"data\", \"None\")") \
	X(SBP, "sbp", "OneFlow: [S(0), B], one per mesh axis") \
	X(DTENSOR, "dtensor", "PyTorch: [Shard(0), Replicate()], one per mesh axis")
/* clang-format on */

typedef enum notation {
#define X(id, name, text) NOTATION_##id,
	NOTATION_TABLE(X)
#undef X
		NOTATION_COUNT
} notation;

const char *notation_name(notation n);
const char *notation_summary(notation n);
bool notation_find(const char *name, notation *out);
/* How the systems that write this notation cut sizes that do not divide. */
cut_rule notation_cut(notation n);
/* Text of a tensor of that rank over that mesh. The sharding passes sharding_check. Errors have a
 * position in text. Device numbers of GSPMD are positions in the mesh, as JAX writes them; ranks of
 * MindSpore, OneFlow and PyTorch are devices. {maximal device=3} gives a sharding over a mesh of
 * that one device.
 *
 * Two notations agree when every device has the same slice of sizes that divide (others:
 * notation_cut). */
status notation_parse(sharding_table *t, notation n, mesh_id m, uint32_t rank, str text,
	tensor_spec *out, diag *d) MUST_USE;
/* The mesh that a MindSpore Layout brings along: its device matrix with the alias names as axes, in
 * the order of its rank list. */
status mindspore_mesh(sharding_table *t, str text, mesh_id *out, diag *d) MUST_USE;
/* s->e must pass sharding_check. ST_ERR_UNSUPPORTED "cannot be expressed in X: why" when the
 * notation has no words for it. */
status notation_print(
	sharding_table *t, notation n, const tensor_spec *s, strbuf *out, diag *d) MUST_USE;

/* ---------------------------------------------------------------- tuple.c */

/* A GSPMD tuple, {{replicated}, {devices=[2]<=[2]}}, or one text of any notation. ranks: one per
 * element, or one for all. out has room for max elements; ST_ERR_LIMIT beyond. tuple: whether the
 * text was one. */
status notation_parse_tuple(sharding_table *t, notation n, mesh_id m, const uint32_t *ranks,
	uint32_t n_ranks, str text, tensor_spec *out, uint32_t max, uint32_t *n_out, bool *tuple,
	diag *d) MUST_USE;
/* As the notation writes several: {a, b} in GSPMD, sharding_per_value in sdy, a list in JSON, a
 * Python tuple elsewhere. */
status notation_print_tuple(sharding_table *t, notation n, const tensor_spec *s, uint32_t count,
	strbuf *out, diag *d) MUST_USE;

/* ---------------------------------------------------------------- gspmd_module.c */

/* Writes what a module says for GSPMD as Shardy's, over that mesh: shardings, constraints, and
 * shard_maps as manual computations. ERR_UNSUPPORTED at what the mesh cannot express; the module is
 * half rewritten then. */
status module_take_gspmd(module *m, mesh_id mesh, diag *d) MUST_USE;

/* ---------------------------------------------------------------- strategy_text.c */

/* A strategy document (shardwright.strategy/1) as text to paste: the mesh, then a sharding for
 * every argument, by name. Priorities are left out. An argument that the strategy leaves to
 * propagation is None or a comment where the system propagates (JAX, sdy, GSPMD), and what the
 * document says propagation gave it elsewhere. Errors name the argument. Reads mesh and arguments
 * only; the caller has bounded the size of the document. */
status strategy_text(notation n, const struct cJSON *document, strbuf *out, diag *d) MUST_USE;
status strategy_text_of(notation n, const char *json, size_t size, strbuf *out, diag *d) MUST_USE;

#endif
