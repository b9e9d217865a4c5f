/* costmodel: what one op and one collective cost on a device. Machine numbers live in JSON device
 * profiles only.
 *
 *   profiles.c     the built-in profiles (costmodel/devices/NAME.json, embedded)       device.c    reads a profile
 *   opcost.c       flops and bytes of one op from shard sizes (no machine numbers)     contract.c  the same of contractions
 *   linalg.c       the same of factorizations and solves
 *   calibrate*.c   fits a profile to measurements
 *   roofline.c     time of that work      links.c  mesh axes -> links      collective.c  time of a collective over mesh axes
 * Integer nanoseconds and bytes; no libm in anything that orders results. */
#ifndef SW_COSTMODEL_H
#define SW_COSTMODEL_H

#include "lower/lower.h"

typedef enum link_kind {
	LINK_RING,
	LINK_LINE,
	LINK_SWITCH,
	LINK_MESH,
	LINK_NETWORK
} link_kind; /* torus ring with / without wraparound, NVSwitch, full mesh, node network */
enum { MAX_LINK_CLASSES = 6, MAX_CURVE = 12, MAX_TORUS_DIMS = 3, MAX_GROUP_CURVES = 4 };
/* Measured efficiency of a group size, where it is known: fraction of the bandwidth (after launch
 * and latency) reached by a collective on a full buffer of that many bytes. Wire time is linear
 * between the points, proportional to the size before the first and after the last one. */
typedef struct group_curve {
	int64_t group;
	uint32_t n;
	int64_t bytes[MAX_CURVE], ppm[MAX_CURVE];
} group_curve;
typedef struct link_class { /* innermost first */
	char name[32];
	uint8_t kind;
	uint32_t n_dims; /* LINK_RING and LINK_LINE: dims of the torus or grid; 1 otherwise */
	int64_t shape[MAX_TORUS_DIMS]; /* the largest extent of each */
	int64_t size;                  /* devices this level spans (product of shape); 0: unbounded */
	int64_t bandwidth_bytes_s; /* one way, one device (torus: one link of one dim; mesh: one link to
	                              one peer) */
	int64_t latency_ns;        /* per hop or step */
	int64_t launch_ns;         /* per collective */
	int64_t efficiency_ppm;    /* reached at large sizes */
	int64_t half_bytes;        /* size at which half of that is reached */
	int64_t wrap_size; /* LINK_RING: a dim shorter than this, or not a multiple, has no wraparound;
	                      0: always */
	int64_t one_ring; /* 1: gathers, scatters and reductions run in rings through all devices of the
	                     group, levels below included */
	int64_t eight_in_ring; /* 1: of two dims: eight devices are 2 x 4, in the order of a ring */
	uint32_t n_groups;     /* measured sizes, ascending by group; they replace efficiency_ppm and
	                          half_bytes */
	group_curve groups[MAX_GROUP_CURVES];
} link_class;
typedef struct curve { /* piecewise linear in log2(x): efficiency in ppm; constant before the first
	                      and after the last */
	uint32_t n;
	int64_t x[MAX_CURVE], ppm[MAX_CURVE];
} curve;
/* Efficiency at x >= 0, integer arithmetic only: log2 is itself taken as linear between powers of
 * two. */
int64_t curve_at(const curve *c, int64_t x);
/* That log2 in units of 1 / LOG2_ONE; x >= 1. */
enum { LOG2_ONE = 1 << 16 };
int64_t log2_fixed(int64_t x);
/* An option of the device's compiler, beyond what it does by default, that changes what programs
 * cost. */
enum { MAX_COMPILER_OPTIONS = 8 };
typedef struct compiler_option {
	char name[72], value[24];
	uint32_t asynchronous; /* with it these run beside work, too: bits by collective_kind */
	bool no_windowed;      /* with it there are no windowed einsums */
	bool no_prefetch;      /* with it no argument is fetched before the program starts */
} compiler_option;

typedef struct device {
	char name[48], title[96];
	lower_target target;
	int64_t peak_flops[ELEM_COUNT]; /* matmul unit, flop/s, by element type of the operands; 0: not
	                                   supported, next wider */
	int64_t vector_flops;           /* flop/s of elementwise work in f32 */
	int64_t memory_bytes, usable_bytes, memory_bytes_s;
	int64_t op_launch_ns;
	int64_t near_launch_ns; /* of a kernel with a contraction whose results stay on the chip */
	int64_t tile_m, tile_n, tile_k; /* matmul padding granularity; 1: none */
	int64_t on_chip_bytes;     /* memory on the chip that programs place values in (TPU); 0: none */
	int64_t products_off_chip; /* 1: what kernels with a contraction make is in main memory all the
	                              same, as with two cores that make a half each; and what kernels
	                              of one op make */
	int64_t output_fusion;     /* 1: elementwise work between two contractions is done in the kernel
	                              of the first, where nothing else reads what that makes */
	int64_t whole_summands; /* contractions of operands that both come from main memory are summed
	                           in parts where they have more summands, and no results are handed
	                           on beside them; 0: none are */
	int64_t prefetch_bytes; /* of it, what may hold arguments that are fetched ahead, and results
	                           that are copied out later */
	int64_t cross_program_prefetches; /* arguments that the compiler fetches onto the chip before
	                                     the program starts, and keeps there */
	int64_t holes_images; /* convolutions of inputs with holes (lhs_dilation) take images at a place
	                         by so many; 0: as others do */
	int64_t tile_minor, tile_second; /* memory tiling of the two minor dims for 4-byte types (TPU
	                                    128 x 8); 1: none */
	int64_t matmul_passes[PRECISION_COUNT]; /* times a f32 contraction runs through the matmul unit,
	                                           by its precision */
	/* results that kernels with a matmul can write to main memory per second: of 32 bits, of 16;
	   0: as many as the matmul unit makes. To the chip: */
	int64_t matmul_results_s[2], matmul_results_on_chip_s[2];
	/* bytes per second in kernels without a matmul: read from and written to main memory, and read
	   from the chip; 0: as the memory has it, and nothing */
	int64_t vector_bytes_s[2];
	int64_t stream_elements_s; /* .. and elements per second of these kernels beside that; 0: no
	                              bound */
	int64_t vector_elements_s; /* elements per second of a pass over a tensor that arranges it anew;
	                              0: no bound */
	/* elements per second of the larger operand of a contraction that the matmul unit takes in, of
	   one product and of a batch of them; 0: as fast as it multiplies a single row */
	int64_t matmul_operand_s[2];
	int64_t matmul_intake_bytes_s; /* that a kernel with a contraction takes in from main memory per
	                                  second, while it hands on no results; 0: beside them */
	int64_t channel_taps_s;        /* products per second of depthwise convolutions, channels
	                                  padded to the lanes; 0: as other convolutions */
	int64_t image_rows_s; /* numbers per second, one for every place of images, that a kernel with a
	                         convolution spreads over the features or sums over them; 0: no bound */
	int64_t lone_elements_s; /* elements of the largest tensor per second of a kernel of one op; 0:
	                            as of others */
	int64_t many_operands_elements_s; /* elements of the largest tensor per second that a kernel
	                                     without a contraction takes besides where it reads more
	                                     than 12 values; 0: nothing */
	int64_t cycles_s; /* cycles per second in which the device's compiler estimates kernels; 0: it
	                     writes no estimates */
	int64_t reorder_elements_s;    /* elements narrower than 32 bits that are brought into another
	                                  order of dims per second; 0: as memory has it */
	int64_t transposed_elements_s; /* elements per second, of any width, that a copy with another
	                                  minor dim reads from main memory or writes there; 0: as copies
	                                  into other orders are */
	int64_t strided_rate_ppm;      /* of memory's rate, where traffic is strided */
	int64_t gather_window_bytes;   /* larger windows are gathered in parts; 0: no window is */
	curve matmul_efficiency;       /* by flops of one op */
	curve convolution_efficiency;  /* the same of convolutions; no points: as matmul_efficiency */
	curve memory_efficiency;       /* by bytes of one op */
	uint32_t n_links;
	link_class links[MAX_LINK_CLASSES];
	int64_t
		windowed_bytes_s; /* rate that decides about windowed einsums; 0: its compiler makes none */
	uint32_t asynchronous; /* bits by collective_kind: those that run beside work */
	uint32_t n_compiler_options;
	compiler_option compiler_options[MAX_COMPILER_OPTIONS];
	int64_t overlap_steal_ppm; /* compute slowdown while a collective runs */
	char version[72];          /* fingerprint of the profile's JSON, part of cache keys */
} device;

/* The device as programs find it that are compiled with options: bit i of chosen is its option i.
 */
void device_with_options(const device *dev, uint32_t chosen, device *out);
/* The place of an option with that value; UINT32_MAX: the profile does not know it. */
uint32_t device_option(const device *dev, str name, str value);

/* Of the innermost link class; 2 where that is no torus. */
uint32_t device_torus_dims(const device *dev);

/* Built-in profiles. */
uint32_t device_count(void);
const char *device_name_at(uint32_t i);
const char *device_alias_at(uint32_t i); /* second name, "" when none */
const char *device_json_at(uint32_t i);  /* terminated, lives for ever */
const char *link_kind_name(link_kind k);
status device_find(
	const char *name, device *out, diag *d) MUST_USE; /* ERR_NOT_FOUND lists the names */
status device_parse(const char *json, size_t n, device *out,
	diag *d) MUST_USE; /* unknown keys are errors with their path */
status device_read_file(const char *path, device *out, diag *d) MUST_USE;

/* A dot_general or a convolution: what its operands' dims are to it (bits), and its time at the
 * device's peak. */
typedef struct contraction {
	bool is_dot, is_convolution; /* the latter with one group of features */
	uint32_t contracted[2], batched[2];
	int64_t peak_ns;
} contraction;
/* Work of one execution of a node on one device. */
typedef struct op_work {
	double flops; /* multiply-adds count twice; exact up to 2^53, used as integers below that */
	int64_t matmul_flops, vector_flops;
	int64_t tpu_flops;      /* > 0: vector operations on a TPU, where these are others */
	int64_t m, n, k, batch; /* of contractions: local sizes, 0 otherwise */
	int64_t k_taps;         /* so many parts of k may share a tile where they are small enough */
	int64_t k_part, m_part; /* > 0: k or m is made of parts of that size, each padded to a tile on
	                           its own: features of a convolution, at every tap */
	int64_t blocks; /* > 0: m, n, k, batch and matmul_flops are of one of so many products that wait
	                   for each other */
	int64_t launches;                /* small kernels that wait for each other, beside the one */
	int64_t read_bytes, write_bytes; /* if nothing is fused */
	int64_t again_bytes;             /* what goes through memory beside these */
	int64_t slice_bytes; /* > 0: what is read of operand 0, less than all of it (slices, gathers) */
	uint8_t elem;        /* operand element type of contractions */
	uint8_t precision;   /* of contractions */
	contraction dims;    /* peak_ns left 0 */
	uint8_t unsorted;    /* bit k: dims of operand k of a contraction are not batch first, then
	                        contracted and free ones, each together */
	bool split_rows;     /* free dims of an operand lie apart: grouped queries */
	bool one_batch;      /* .. and it has one batch dim: those of one sequence */
	uint8_t untiled;     /* bit k: its last two dims are not a contracted and a free one */
	int64_t last_two[2][2];               /* of operand k: local sizes, of those that are not 1 */
	int64_t dft_stages, dft_elements;     /* > 0: a Fourier transform */
	int64_t relaid_rows, relaid_features; /* > 0: a convolution of few images; places of its input,
	                                         and elements at each */
	int64_t images, features; /* > 0: a convolution whose result are so many images, and so many
	                             features of each place; not the gradient of weights */
	bool has_holes;           /* of its input: lhs_dilation above 1 */
	/* images > 0: the gradient of the kernel of a transposed convolution, and so many images,
	   places of each and features are what it takes for a kernel */
	int64_t reversed_images, reversed_rows, reversed_features;
	int64_t channel_taps, channels; /* > 0: a depthwise convolution: products per
	                                   channel, and channels */
	/* of gathers and scatters, [0] the table and [1] what is looked up or the updates: elements,
	   and those that follow each other in the last dim of what an index points to; row 0: indices
	   point into all dims. rows > 0: an index points to a window of several dims, whose largest two
	   lie in a tile, row in the lanes (libtpu 0.0.51: `windows` in tests/judged/kernels.py) */
	struct op_rows {
		int64_t elements, row, rows;
		uint8_t elem;
	} rows[2];
	struct op_window { /* of gathers: elements of the table, of what is made, and of one window; the
		                  last two of its sizes that are not 1 */
		int64_t table, made, size, last_two[2];
		uint8_t elem;
	} window;
	int64_t sorted_row, sorted_elements; /* > 0: a sort, or a top_k, along the last dim: its length,
	                                        and elements of each array */
	uint32_t sorted_arrays;              /* 0: a top_k */
	int64_t selected_flops;  /* of a top_k in one pass: each element goes down a heap of k */
	int64_t sum_elements;    /* of reduces: elements that become one */
	int64_t window_elements; /* of windows: places of one */
	int64_t select_flops; /* > 0: a scatter of one place per row, which is also a selection over all
	                         places; its operations */
	int64_t loop_kernels; /* of scatters that libtpu makes a loop of: small kernels of all its
	                         turns; 0: none */
	bool loop_goes;       /* .. but not where the program is written exactly */
	bool slides;          /* convolutions: windows of several places, at several */
	bool in_place;        /* dynamic_update_slice, scatter: only the update is touched */
	bool fusible;         /* elementwise-like: can be fused into a consumer */
	bool moves; /* every element of the result is one of an operand's, as it is, or a filling */
	bool skips; /* a slice that leaves places out between those that it takes, or a padding between
	               elements */
	bool sums;  /* a multiplication and a sum: a reduction, what is in front of it can be fused into
	               it */
	int64_t gap_bytes; /* .. beside what it reads: of tiles that few rows leave empty */
	bool expensive;    /* not worth computing twice (exp, log, divide, ..) */
	bool free;         /* no work at all: constants, reshapes, parameters */
} op_work;
/* at: shardings of the node's slots (node_plan.at). Pure. */
void op_work_of(
	const program *p, const sharding_table *t, const node *n, const sharding_id *at, op_work *out);
/* Pairs (output place, kernel tap) of one spatial dim of a convolution that meet a real input
 * element. */
int64_t convolution_taps(int64_t in, int64_t kernel, int64_t out, int64_t stride, int64_t pad_low,
	int64_t lhs_dilation, int64_t rhs_dilation);
/* A Fourier transform as TPU compilers make it, of matrix products. */
void work_as_dft(op_work *w);
/* What libtpu 0.0.51 makes of a product, batched or not, of which one side is a vector: a
 * multiplication and a sum, where rows of few places do the work of `second` of them. (A vector and
 * a matrix of a batch stay a product where nothing but elementwise work on arguments is in front of
 * both; the queries of a decoder and its softmax are more than that.) v5e, v5p and v6e, `vectors`
 * in tests/judged/kernels.py. second, minor: of a tile. */
void work_as_vectors(op_work *w, int64_t second, int64_t minor);
/* What compilers for TPU do to a convolution of fewer images than a tile has rows: they cut each
 * into stripes, which takes arranging what is read and made anew, with borders. Time of that,
 * beside the product. */
int64_t relaid_time_ns(const device *dev, const op_work *w);

/* Time for which a compiler for TPU reverses an operand of a convolution in a kernel of its own.
 * ns; 0 of others. */
int64_t reversed_time_ns(const device *dev, const op_work *w);
/* A sort as libraries for GPU do it. elem: of the keys. */
void work_as_radix_sort(op_work *w);
/* A sort along the lanes as XLA for TPU makes it, with copies that turn them into sublanes and
 * back. */
void work_as_turned_sort(op_work *w, int64_t lanes);
/* A top_k in one pass over its operand. XLA estimates no time for it. */
void work_as_selection(op_work *w);
/* True for every op kind when costmodel knows its cost word. */
bool op_cost_known(op_kind k);
/* Roofline time of work with the given HBM traffic (after fusion): the longest of the three parts
 * below, plus the launch of one kernel. Free work without traffic takes no time. ns >= 0; monotone
 * in every argument. */
int64_t work_time_ns(const device *dev, const op_work *w, int64_t hbm_bytes);
/* Time of a product of so few rows that it is that in which the matmul unit takes in the larger
 * operand; 0 of others. */
int64_t matmul_operand_ns(const device *dev, const op_work *w);
int64_t matmul_time_ns(
	const device *dev, const op_work *w); /* with padding to the tiles and the efficiency curve */
/* Of a product of so many operations that takes ns when it is multiplied in so many pieces, two at
 * a time: each has the efficiency of its size. */
int64_t matmul_pieces_ns(const device *dev, int64_t ns, int64_t flops, int64_t pieces);
int64_t matmul_peak_ns(const device *dev, const op_work *w); /* at the peak of its element type */
/* Time to write so many results of a contraction, which one of few summands waits for. narrow:
 * rounded to 16 bits on the way. */
int64_t matmul_results_ns(const device *dev, int64_t results, bool narrow, bool on_chip);
/* Time to take so many bytes of operands in from main memory, while no results are handed on; 0
 * where both go on at once. */
int64_t matmul_intake_ns(const device *dev, int64_t bytes);
/* Elements of a batch of matrices with rows and columns padded to the memory's tiles, whichever of
 * them is in the lanes. */
int64_t matrix_elements(const device *dev, int64_t batch, int64_t rows, int64_t columns);
/* Results of a contraction with its last two dims padded to the memory's tiles, whichever of them
 * is in the lanes. */
int64_t matmul_stored_results(const device *dev, const op_work *w);
/* What the last block of a contraction's results takes on its way when nothing is left to compute.
 */
int64_t matmul_tail_ns(const device *dev, int64_t results, bool narrow, bool on_chip);
int64_t vector_time_ns(const device *dev, int64_t flops);
/* The least that a pass over so many elements takes; 0 where the profile has no bound. lone: it is
 * a kernel of one op, fused with nothing. */
int64_t elements_time_ns(const device *dev, int64_t elements, bool lone);
/* What the elements of a kernel that streams take beside their bytes. */
int64_t stream_elements_ns(const device *dev, int64_t elements);
/* What a kernel without a contraction takes longer because it reads so many values; elements: of
 * the largest. */
int64_t many_operands_ns(const device *dev, int64_t operands, int64_t elements);
/* The same of all elements, with padding, that the kernel of a convolution whose windows slide
 * reads and writes. */
int64_t convolution_elements_ns(const device *dev, int64_t elements);
/* Time to spread so many numbers, one for every place of images, over the features in the kernel of
 * a convolution, or to bring sums over features into their order. */
int64_t image_rows_ns(const device *dev, int64_t rows);
int64_t memory_time_ns(const device *dev, int64_t bytes);
/* A copy between memory and chip beside the kernels: at the memory's full rate. */
int64_t copy_time_ns(const device *dev, int64_t bytes);
/* Time of a copy of an array of so many bytes into another order of dims. bits: of an element. */
int64_t reorder_time_ns(const device *dev, int64_t bytes, int bits);
/* Time of a copy that has another minor dim than what it copies. sides: how many of the two are in
 * main memory; on the chip they cost nothing where the profile knows this rate. */
int64_t transposed_time_ns(const device *dev, int64_t bytes, int bits, int sides);
/* Time to bring so many elements, gathered along several dims at once, into their order. */
int64_t parts_time_ns(const device *dev, int64_t elements);
/* Rows of fewer elements than lanes, or no multiple of them, as gathers and scatters on TPU want
 * them: their elements side by side in the lanes, each row padded. Elsewhere 0. */
int64_t padded_rows_bytes(const device *dev, const struct op_rows *r);
/* Elements that pass through the vector unit of a TPU where windows of several dims lie so: whole
 * tiles; of single rows whole lanes. Of all else those there are. */
int64_t padded_rows_elements(const device *dev, const struct op_rows *r);
/* Time to bring them into that order or back, where all else has them in an order that wastes less.
 */
int64_t padded_rows_ns(const device *dev, const struct op_rows *r);
/* Time that a gather of large windows takes beside reading and writing them: copies of the table
 * and of the result where windows lie in tiles that they do not fill, and bringing parts together.
 */
int64_t large_windows_ns(const device *dev, const struct op_window *w);
/* Time to write one value into so many bytes of elements of so many bits, in main memory. */
int64_t fill_time_ns(const device *dev, int64_t bytes, int bits);
/* A kernel, mostly around one contraction. */
typedef struct contraction_kernel {
	int64_t matmul_ns, vector_ns;
	int64_t results_ns;  /* to hand on the results of a contraction: as matmul_results_ns() */
	int64_t bytes;       /* of memory traffic, each value once */
	int64_t written;     /* of these: written */
	int64_t near_bytes;  /* streams: read from the chip */
	int64_t elements_ns; /* streams: of the elements of its largest tensor, beside their bytes */
	int64_t narrowed;    /* streams: elements of its largest tensor, where what it computes of them
	                        is no result of as many in 32 bits */
	int64_t front_bytes[2]; /* of these: read for what the kernel computes of an operand in front of
	                           the contraction */
	int64_t m, n;           /* local sizes of the result, of one of the batch */
	bool fused;             /* there is other work in it */
	bool streams;           /* no contraction: values pass through the vector unit */
	bool by_blocks;         /* work in front of both operands */
	bool several;           /* it has several results, as an optimizer's update has */
	uint8_t again;          /* bit k: work in front of operand k alone, and the other one comes from
	                           memory block by block */
} contraction_kernel;
/* ns >= 0 without the launch. TPU compilers run the matmul unit beside the traffic, but not beside
 * all of it, and not when both operands have to be computed block by block. */
int64_t contraction_kernel_ns(const device *dev, const contraction_kernel *k);
/* Dims of a tensor that lie in the tiles: along the lanes, along the rows of a tile; of equally
 * good orders the one nearest to that of the dims. TILE_NO_DIM: not tiled, or fewer than two dims.
 */
#define TILE_NO_DIM UINT32_MAX
typedef struct tile_dims {
	uint32_t minor, second;
} tile_dims;
/* Bytes of one device's shard as the device stores it: the two minor dims padded to its memory
 * tiles in the order that wastes least (a compiler chooses the layout), fewer dims to a power of
 * two of a tile's rows. CPU compilers compute 16-bit floats as float32 and keep them so. Elsewhere
 * equal to sharding_local_bytes. minors: bit d: dim d may be the minor one, whatever that wastes,
 * as long as a tile has a use for one of them; ALL_MINORS: any. tile: NULL or set. */
#define ALL_MINORS UINT32_MAX
int64_t device_stored_bytes(const device *dev, const sharding_table *t, sharding_id id,
	const ir_type *ty, uint32_t minors, tile_dims *tile);

/* Which link classes the axes of a mesh run over. By default axes fill the profile's levels from
 * the innermost (last mesh axis) outwards; names[i] (may be NULL) pins axis i to a link class. On a
 * torus an axis gets dims of its own, or several when there are more dims than axes; when there are
 * fewer, axes share a dim, the first one placed contiguous. */
enum { MAX_AXIS_PARTS = 12 };
typedef struct mesh_links {
	uint32_t n_axes;
	struct axis_links {
		uint32_t n;
		struct axis_part {
			uint8_t link;   /* index in device.links */
			uint8_t dim;    /* of a torus */
			bool wrapped;   /* the part is the outermost one of a dim with wraparound */
			int64_t size;   /* part of the axis on it; minor parts first */
			int64_t stride; /* positions between neighbours along the dim */
		} part[MAX_AXIS_PARTS];
	} axis[MAX_MESH_AXES];
} mesh_links;
/* Devices that the innermost link class connects: of a slice. */
int64_t mesh_links_slice_devices(const mesh_links *links);
status mesh_links_assign(const device *dev, const sharding_table *t, mesh_id m,
	const char *const *names, mesh_links *out, diag *d) MUST_USE;
/* Time of one collective; bytes: local bytes of the larger side (all_gather: gathered result;
 * reduce_scatter: operand; all_reduce, all_to_all, collective_permute: operand). ns; 0 for
 * all_slice and for groups of one. *link: the class that limits it (queue in the timeline). */
int64_t collective_time_ns(const device *dev, const mesh_links *links, collective_kind k, axes a,
	int64_t bytes, uint8_t *link);
/* The same by what is published of the links, none of it measured: 0.9 of the sheet's bandwidth in
 * each direction of every torus dim, twice that around a ring, and 1 us a hop. This is how
 * schedules of XLA for TPU are judged; -1: the group does not lie on one torus. */
int64_t published_time_ns(const device *dev, const mesh_links *links, collective_kind k, axes a,
	int64_t bytes, uint8_t *link);

/* Does the device's compiler make the contraction and this collective, a gather of one of its
 * operands or the scatter of its sum, one loop? Both at the compiled level. whole: if so, the
 * operand all of which meets every piece; WINDOW_NO_OPERAND where both are cut into pieces. */
enum { WINDOW_NO_OPERAND = 2 };
bool windowed_einsum(const device *dev, const mesh_links *links, const lowered *l, lop_id dot,
	lop_id collective, const contraction *c, uint32_t *whole);

/* ---------------------------------------------------------------- calibration */
typedef struct measurement { /* one measured collective over one link class */
	uint8_t kind;
	uint32_t link;
	int64_t group, bytes, time_ns; /* bytes as collective_time_ns takes them */
} measurement;
typedef VEC(measurement) measurements; /* released with vec_release */
typedef enum kernel_kind { KERNEL_MATMUL, KERNEL_ELEMENTWISE, KERNEL_KINDS } kernel_kind;
const char *kernel_kind_name(kernel_kind k);
typedef struct kernel_measurement { /* one measured kernel on one device */
	uint8_t kind, elem;             /* elem: of a matmul's operands */
	int64_t flops, bytes, time_ns;  /* flops: of a matmul, else 0; bytes: read and written */
} kernel_measurement;
typedef VEC(kernel_measurement) kernel_measurements;
typedef struct table_defaults { /* for columns that a table does not have; group 0: it must have one
	                             */
	uint8_t kind;
	uint32_t link;
	int64_t group;
} table_defaults;
/* Appends the rows of a table, of collectives or of kernels (formats: docs/device-profiles.md).
 * Errors have positions. */
status measurements_read(const char *text, size_t n, const device *dev,
	const table_defaults *defaults, measurements *out, kernel_measurements *kernels,
	diag *d) MUST_USE;
enum { MAX_SAMPLES = 64, LARGE_BYTES = 16 << 20 };
typedef struct calibration_row { /* one link and group size; errors are means of |model / measured -
	                                1| */
	uint32_t link, rows, large_rows;
	int64_t group;
	double before, after, large, worst; /* large: of rows from LARGE_BYTES on */
} calibration_row;
typedef struct calibration { /* kernels: link and group 0, no rows where none were measured */
	uint32_t n;
	calibration_row rows[MAX_SAMPLES], kernels[KERNEL_KINDS];
} calibration;
/* Launch, latency, bandwidth and efficiency of the links that the rows are about, fitted by
 * relative error; outliers weigh less. Sorts the rows. Deterministic. */
status calibrate(
	const device *base, measurements *rows, device *out, calibration *result, diag *d) MUST_USE;
/* Launch and efficiency by size of matmuls and of elementwise kernels, in `out`, which holds a
 * profile. Sorts the rows; none: nothing changes. Of a device whose compiler says what kernels take
 * (TPU): ST_ERR_INVALID. Deterministic. */
status calibrate_kernels(const device *base, kernel_measurements *rows, device *out,
	calibration *result, diag *d) MUST_USE;
/* The base profile's JSON with what was fitted, and another name. */
status calibration_profile(const char *base_json, const device *fitted, const calibration *result,
	const char *name, const char *source, strbuf *out, diag *d) MUST_USE;

#define COST_MODEL_VERSION "47"

#endif
