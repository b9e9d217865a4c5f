/* Private to layout: what notations share. */
#ifndef SW_LAYOUT_PIECES_H
#define SW_LAYOUT_PIECES_H

#include "layout/layout.h"

enum { MAX_NOTATION_BYTES = 1 << 28 /* of several shardings together */ };

/* ---- pieces.c */

/* A mesh seen at the resolution of a sharding: every axis replaced by the sub-axes that the
 * sharding uses and the rest between them, in mesh order. Sizes multiply to the number of devices;
 * an axis of size 1 is one piece. */
typedef struct mesh_pieces {
	uint32_t n;
	axis_ref a[MAX_TENSOR_AXES * 2 + MAX_MESH_AXES];
	bool used[MAX_TENSOR_AXES * 2 + MAX_MESH_AXES];
} mesh_pieces;
void pieces_of(const sharding_table *t, const sharding_edit *e, mesh_pieces *out);
/* Index of a reference of the sharding among the pieces. */
uint32_t piece_find(const mesh_pieces *p, axis_ref a);

/* Shard index of tensor dim `dim` on the device at a mesh position. */
typedef int64_t shard_index_fn(const void *ctx, int64_t position, uint32_t dim);
/* Finds the axis lists under which every position has the shard index that fn gives; parts[dim]
 * indices per dim. ST_ERR_UNSUPPORTED when no lists of sub-axes do it. Time: devices x dims. */
status pieces_solve(const sharding_table *t, mesh_id m, uint32_t n_dims, const int64_t *parts,
	shard_index_fn *fn, const void *ctx, axes_buf *out, diag *d) MUST_USE;

/* ---- cut.c */

/* ST_ERR_UNSUPPORTED when the rule has no contiguous slices for dimension dim, whose size does not
 * divide. */
status cut_check(const layout *l, uint32_t dim, cut_rule cut, bool own_devices, diag *d) MUST_USE;
/* The slice of shard index `index` of a dimension, on the device at a mesh position. */
index_range cut_range(const layout *l, uint32_t dim, int64_t position, int64_t index);

/* ---- steps.c */

/* Part `index` of `parts` of a dim, which is cut further in the end. */
index_range range_of_part(const layout *l, uint32_t dim, int64_t index, int64_t parts);
/* The name of an axis; "model:(2)4" for a part of one. */
void axis_name_print(const layout *l, axis_ref a, strbuf *out);

/* ---- scan.c: text of the notations, errors at byte positions */

typedef struct scan {
	str text;
	size_t at;
	diag *d;
} scan;
char scan_peek(scan *s); /* next character behind spaces, 0 at the end */
bool scan_take(scan *s, char c);
bool scan_word_is(scan *s, const char *word); /* takes it when it is the whole next word */
status scan_expect(scan *s, char c, const char *where) MUST_USE;
str scan_word(scan *s);      /* letters, digits, _ and dots; may be empty */
str scan_last_word(scan *s); /* the part behind its last dot: jax.P is P */
status scan_int(scan *s, const char *what, int64_t *out) MUST_USE;
status scan_string(scan *s, const char *what, str *out) MUST_USE; /* in '..' or ".." */
status scan_end(scan *s) MUST_USE;
status scan_fail(scan *s, size_t at, status code, const char *fmt, ...) PRINTF_LIKE(4, 5);

/* ---- devices.c */

enum { MAX_ARRAY_DIMS = MAX_MESH_AXES };
/* A nested list of devices: a place is the row-major index in it. */
typedef struct device_array {
	uint32_t n; /* nesting */
	int64_t sizes[MAX_ARRAY_DIMS];
	int64_t *ids; /* by place; owned by caller */
	int64_t n_ids;
} device_array;
/* [[0, 1], [2, 3]] in brackets or parentheses; every list of one level is as long as its
 * neighbours. At most limit devices, each once. Release with free(out->ids), also after an error.
 */
status devices_parse(scan *s, int64_t limit, device_array *out) MUST_USE;
/* Nested as sizes say; id: number of the device at a place. */
void devices_print(const int64_t *sizes, uint32_t n, const int64_t *ids, strbuf *out);
/* By mesh position, the place of its device in a list of devices (NULL: 0..n-1) that has all of
 * them. Owned by caller. */
int64_t *places_of(const device_mesh *m, const int64_t *ids);
/* The mesh of one device, which holds all. */
mesh_id maximal_mesh(sharding_table *t, int64_t device);

/* ---- json.c: text with nothing behind it; owned by caller, freed with cJSON_Delete */
status json_text_parse(str text, struct cJSON **out, diag *d) MUST_USE;

/* ---- one pair per notation; scanning ends at the end of the notation, the caller looks for what
 * follows */
status gspmd_parse(sharding_table *t, scan *s, tensor_spec *out) MUST_USE;
status gspmd_print(const sharding_table *t, const tensor_spec *s, strbuf *out, diag *d) MUST_USE;
status jax_parse(sharding_table *t, scan *s, tensor_spec *out) MUST_USE;
status jax_print(const sharding_table *t, const tensor_spec *s, strbuf *out, diag *d) MUST_USE;
status mindspore_parse(sharding_table *t, scan *s, tensor_spec *out) MUST_USE;
status mindspore_print(
	const sharding_table *t, const tensor_spec *s, strbuf *out, diag *d) MUST_USE;
status sbp_parse(sharding_table *t, scan *s, tensor_spec *out) MUST_USE;
status sbp_print(const sharding_table *t, const tensor_spec *s, strbuf *out, diag *d) MUST_USE;
status dtensor_parse(sharding_table *t, scan *s, tensor_spec *out) MUST_USE;
status dtensor_print(const sharding_table *t, const tensor_spec *s, strbuf *out, diag *d) MUST_USE;

/* sbp as a program with `import oneflow as flow` says it. */
status flow_print(const sharding_table *t, const tensor_spec *s, strbuf *out, diag *d) MUST_USE;

/* The number of equal pieces that _StridedShard cuts a dimension into before axis `axis` of the
 * mesh cuts each: what later axes cut before it, in a list of axes in cut order. 0: the axis does
 * not cut as a whole, or not in this place. */
int64_t split_factor(const int64_t *axis_sizes, axes list, uint32_t axis);

/* What most notations have no words for, and which of it this one has. Explicitly replicated axes
 * go without words where all dims are closed: there they say nothing new. */
typedef struct vocabulary {
	bool open, unreduced, sub_axes, reductions, manual, maximal;
	bool priorities; /* and axes kept replicated beside open dims: all that sdy says */
} vocabulary;
status refuse_beyond(const sharding_table *t, const tensor_spec *s, const char *name, vocabulary v,
	diag *d) MUST_USE;

#endif
