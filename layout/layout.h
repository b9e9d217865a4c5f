/* layout: which slice of a tensor each device holds, and every notation for saying so.
 *
 *   slices.c    index ranges per device             draw.c      tables, JSON and pictures of them
 *   json.c      shardings and meshes in JSON        notation.c  the list of notations, dispatch
 *   notation_gspmd.c notation_jax.c notation_mindspore.c notation_placement.c (SBP and DTensor)   one notation each
 *   pieces.c    a mesh cut where a sharding cuts it, and back: axis lists found from shard indices
 *   scan.c      the scanner that notations share
 *
 * Device numbers: position p is the row-major index of a device's coordinates in the mesh; device d = device_ids[p], or
 * p itself when the mesh has no ids. Everything is thread-compatible and works on meshes of a million devices without
 * holding all slices. */
#ifndef SW_LAYOUT_H
#define SW_LAYOUT_H

#include "ir/ir.h"

struct cJSON;

/* ---------------------------------------------------------------- slices.c */

typedef struct index_range {
	int64_t begin, end; /* half-open, cut at the tensor's end; begin == end for a shard of padding only */
} index_range;

/* One digit of a shard index: (position / divisor % size) * weight. */
typedef struct layout_digit {
	int64_t divisor, size, weight;
} layout_digit;

typedef struct layout {
	uint32_t rank;
	int64_t shape[MAX_RANK];
	int64_t parts[MAX_RANK]; /* ways a dim is cut */
	int64_t shard[MAX_RANK]; /* ceil(shape / parts) */
	uint32_t first_digit[MAX_RANK + 1];
	VEC(layout_digit) digits;
	uint32_t n_axes;
	int64_t axis_sizes[MAX_MESH_AXES];
	int64_t n_devices;
	const int64_t *device_ids; /* by position; NULL: iota. Lives as long as the sharding table */
	int64_t *position_ids;     /* by device; NULL: iota */
} layout;

/* e must be valid for its mesh (sharding_check) and is checked; sizes >= 0. A maximal mesh is one device that holds all. */
status layout_init(layout *l, const sharding_table *t, const sharding_edit *e, const int64_t *shape, uint32_t rank, diag *d) MUST_USE;
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

/* Rows first .. first + n - 1 in the order of device numbers; the head line comes with first == 0. */
void layout_table(const layout *l, int64_t first, int64_t n, strbuf *out);
/* {"device":0,"ranges":[[0,4],[0,4]]} joined with commas: the inside of the "devices" list. */
void layout_json(const layout *l, int64_t first, int64_t n, strbuf *out);
/* Blocks of the first two cut dims (filled up with uncut ones), each with the devices that hold it.
 * ST_ERR_LIMIT beyond 4096 blocks. */
status layout_svg(const layout *l, strbuf *out, diag *d) MUST_USE;

/* ---------------------------------------------------------------- json.c */

/* [["data"],["model","stage"],[]] or {"dims":..,"open":..,"priority":..,"replicated":..,"unreduced":..}, with sub-axes as
 * "model:(2)4". Priority 0 is the same as none; the priority of an empty closed dim is dropped, as it means nothing.
 * Replicated and unreduced axes are sorted. rank: ID_NONE when any will do. The result passes sharding_check. */
status sharding_from_json(sharding_table *t, mesh_id m, const struct cJSON *json, uint32_t rank, sharding_edit *out, diag *d) MUST_USE;
/* The same from text, as flags have it. */
status sharding_from_json_text(sharding_table *t, mesh_id m, str text, uint32_t rank, sharding_edit *out, diag *d) MUST_USE;
/* The list form when all dims are closed and nothing else is said, else the object form. Owned by caller. */
struct cJSON *sharding_to_json(const sharding_table *t, const sharding_edit *e);

/* A mesh with what a cost model wants to know of it. */
typedef struct mesh_spec {
	mesh_id mesh;
	str_id links[MAX_MESH_AXES]; /* per axis, name of a link class in sharding_table.names; 0: not given */
} mesh_spec;

/* {"axes":[{"name":"data","size":4,"link":"ici"},..],"device_order":[..]}. The mesh gets the name "mesh". */
status mesh_from_json(sharding_table *t, const struct cJSON *json, mesh_spec *out, diag *d) MUST_USE;
/* What --mesh takes: "data=2,model=4", JSON text, or the name of a JSON file (ends in .json or holds no '='). It opens
 * files: text from the network goes to mesh_parse_flag or mesh_from_json instead. */
status mesh_from_text(sharding_table *t, const char *text, mesh_spec *out, diag *d) MUST_USE;
/* Owned by caller. */
struct cJSON *mesh_to_json(const sharding_table *t, const mesh_spec *s);

/* ---------------------------------------------------------------- notation.c */

/* One row per notation: identifier, name on the command line, what it is. */
#define NOTATION_TABLE(X)                                                                                          \
	X(JSON, "json", "the JSON notation of strategies and flags")                                               \
	X(SDY, "sdy", "Shardy: #sdy.sharding<@mesh, [{\"data\"}, {}]>")                                             \
	X(GSPMD, "gspmd", "XLA HloSharding: {devices=[2,4]<=[8]}")                                                  \
	X(JAX, "jax", "JAX: PartitionSpec('data', None)")                                                          \
	X(MINDSPORE, "mindspore", "MindSpore: Layout((2, 4), (\"data\", \"model\"))(\"data\", \"None\")")               \
	X(SBP, "sbp", "OneFlow: [S(0), B], one per mesh axis")                                                     \
	X(DTENSOR, "dtensor", "PyTorch: [Shard(0), Replicate()], one per mesh axis")

typedef enum notation {
#define X(id, name, text) NOTATION_##id,
	NOTATION_TABLE(X)
#undef X
	NOTATION_COUNT
} notation;

const char *notation_name(notation n);
const char *notation_summary(notation n);
bool notation_find(const char *name, notation *out);
/* Text of a tensor of that rank over that mesh. The result passes sharding_check. Errors have a position in text.
 *
 * Two notations agree when every device has the same slice. They differ in how they cut sizes that do not divide
 * (XLA and sdy round every shard up, OneFlow and PyTorch do not), so SBP and DTensor hold for sizes that divide. */
status notation_parse(sharding_table *t, notation n, mesh_id m, uint32_t rank, str text, sharding_edit *out, diag *d) MUST_USE;
/* e must pass sharding_check. ST_ERR_UNSUPPORTED "cannot be expressed in X: why" when the notation has no words for it. */
status notation_print(sharding_table *t, notation n, const sharding_edit *e, strbuf *out, diag *d) MUST_USE;

#endif
