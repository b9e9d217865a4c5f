/* Time of one kernel: the longest of matmul unit, vector unit and memory, each with its efficiency,
 * plus the launch. All in integers: what orders results must not depend on a math library. */
#include "costmodel/costmodel.h"

#define NS_PER_S 1000000000
#define PPM 1000000

int64_t log2_fixed(int64_t x)
{
	int k = 63 - __builtin_clzll((uint64_t)x);
	uint64_t rest = (uint64_t)x - (1ull << k);
	return (int64_t)k * LOG2_ONE + (int64_t)(k >= 16 ? rest >> (k - 16) : rest << (16 - k));
}

int64_t curve_at(const curve *c, int64_t x)
{
	if (!c->n)
		return PPM;
	if (x <= c->x[0])
		return c->ppm[0];
	if (x >= c->x[c->n - 1])
		return c->ppm[c->n - 1];
	uint32_t i = 1;
	while (x > c->x[i])
		i++;
	int64_t from = log2_fixed(c->x[i - 1]), span = log2_fixed(c->x[i]) - from;
	return c->ppm[i - 1] + (c->ppm[i] - c->ppm[i - 1]) * (log2_fixed(x) - from) / MAX(span, 1);
}

/* work / (rate * ppm / 10^6) in ns, rounded up, saturating. */
static int64_t time_of(int64_t work, int64_t rate, int64_t ppm)
{
	if (work <= 0)
		return 0;
	/* rate * ppm < 2^53 * 2^20 overflows 64 bits: scale the rate first, it is far above 10^6 in any
	 * real profile */
	__int128 effective = (__int128)rate * ppm;
	__int128 scaled = (__int128)work * NS_PER_S;
	if (scaled >= (__int128)1 << 106)
		return INT64_MAX / 4;
	__int128 t = (scaled * PPM + effective - 1) / effective;
	return t > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)t;
}

static int64_t padded(int64_t n, int64_t tile) { return sat_mul(ceil_div(MAX(n, 1), tile), tile); }

/* Peak of the element type, or of the next wider one that the device has; floats are not multiplied
 * as integers. */
static int64_t matmul_peak(const device *dev, uint8_t e)
{
	if (dev->peak_flops[e])
		return dev->peak_flops[e];
	static const uint8_t wider[] = {ELEM_I8, ELEM_BF16, ELEM_F16, ELEM_TF32, ELEM_F32, ELEM_F64};
	int bits = elem_bits((enum elem)e);
	for (uint32_t i = 0; i < COUNT_OF(wider); i++)
		if (elem_bits((enum elem)wider[i]) >= bits && dev->peak_flops[wider[i]] &&
			(wider[i] != ELEM_I8 || elem_is_int((enum elem)e)))
			return dev->peak_flops[wider[i]];
	return dev->vector_flops;
}

int64_t matmul_results_ns(const device *dev, int64_t results, bool narrow, bool on_chip)
{
	int64_t rate = (on_chip ? dev->matmul_results_on_chip_s : dev->matmul_results_s)[narrow];
	return rate ? time_of(results, rate, PPM) : 0;
}

/* libtpu 0.0.51, products of 128 to 4096 rows, summands and columns on v5e, v5p and v6e: beyond the
 * launch 0.5 us for 0.26 million results in float32 on v5p, 1 us for all above half a million
 * (`product` in tests/judged/kernels.py). */
enum { BLOCK_RESULTS = 400000 };

int64_t matmul_tail_ns(const device *dev, int64_t results, bool narrow, bool on_chip)
{
	return matmul_results_ns(dev, MIN(results, BLOCK_RESULTS), narrow, on_chip);
}

int64_t matmul_intake_ns(const device *dev, int64_t bytes)
{
	return dev->matmul_intake_bytes_s ? time_of(MAX(bytes, 0), dev->matmul_intake_bytes_s, PPM) : 0;
}

static int64_t padded_parts(int64_t n, int64_t part, int64_t tile)
{
	return part > 0 ? sat_mul(ceil_div(n, part), padded(part, tile)) : padded(n, tile);
}

int64_t matrix_elements(const device *dev, int64_t batch, int64_t rows, int64_t columns)
{
	int64_t one = sat_mul(padded(rows, dev->tile_second), padded(columns, dev->tile_minor)),
			other = sat_mul(padded(columns, dev->tile_second), padded(rows, dev->tile_minor));
	return sat_mul(MAX(batch, 1), MIN(one, other));
}

int64_t matmul_stored_results(const device *dev, const op_work *w)
{
	if (w->m <= 1 || w->n <= 1) /* the batch is in the lanes */
		return sat_mul(MAX(w->batch, 1), sat_mul(w->m, w->n));
	return matrix_elements(dev, w->batch, w->m, w->n);
}

/* Images lie with their number or with their features in the lanes, whichever leaves fewer of them
 * empty, and the other one in the rows of tiles: libtpu 0.0.51, 3x3 convolutions of 8 to 256 images
 * of 32 to 192 features (`lanes` in tests/judged/kernels.py). */
static bool has_images_in_lanes(const device *dev, const op_work *w)
{
	return dev->target == TARGET_TPU && w->images > 0 &&
		sat_mul(padded(w->images, dev->tile_minor), w->features) <
		sat_mul(padded(w->features, dev->tile_minor), w->images);
}

/* The images are the side that stays, and the kernel's features pass by: 63 us of 128 images of 32
 * x 32 and 64 features, 71 of 24 x 24 and 96, 121 of 16 x 16 and 192, 70 of 160 images of 24 x 24
 * and 64, which are as many as 256 (libtpu 0.0.51 on v5e, 3 x 3 taps). Ten rows more than there are
 * features explain all four at the peak rate; on v6e twice as many are taken, not measured. */
static int64_t images_in_lanes_flops(const device *dev, const op_work *w)
{
	int64_t images = sat_mul(w->m / w->images, padded(w->images, dev->tile_minor));
	return sat_mul(sat_mul(2, images), sat_mul(padded(w->k, dev->tile_k), w->n + dev->tile_k / 12));
}

/* Of few features several taps share a tile: libtpu 0.0.51 on v5e takes 44 us for 16 images of 56 x
 * 56 places, 32 features, 3 x 3 taps and 64 results, 56 for 64 features and 81 for 96, when the
 * images are on the chip, on v5p 33, 27 and 37; of 64 features that come from main memory each tap
 * has its own, 83 and 41 us (tests/judged/kernels.py). */
static int64_t shared_part(const device *dev, const op_work *w)
{
	bool shares = 2 * w->k_part < dev->tile_minor ||
		(2 * w->k_part == dev->tile_minor && !dev->products_off_chip);
	return shares ? sat_mul(w->k_part, MAX(w->k_taps, 1)) : w->k_part;
}

/* Images at a place fill rows of their own where the input has holes, a single one in 8 stripes
 * (`holes` in tests/judged/kernels.py; docs/lowering-and-cost.md). */
static bool has_rows_of_holes(const device *dev, const op_work *w)
{
	return dev->holes_images && w->has_holes && w->images > 0;
}

static int64_t holes_flops(const device *dev, const op_work *w)
{
	enum { STRIPES = 8 };
	int64_t images = w->images > 1 ? w->images : STRIPES;
	int64_t rows = sat_mul(ceil_div(w->m, images), padded(images, dev->holes_images));
	int64_t part = w->k_part ? shared_part(dev, w) : w->k;
	/* w->k counts the taps that meet no hole, which are no whole number of parts */
	int64_t k = sat_mul(w->k, padded(part, MIN(dev->tile_k, dev->tile_minor))) / MAX(part, 1);
	return sat_mul(sat_mul(2, rows), sat_mul(padded(w->n, dev->tile_n), k));
}

/* Without regard to w->blocks. */
static int64_t one_matmul_ns(const device *dev, const op_work *w)
{
	if (w->matmul_flops <= 0)
		return 0;
	int64_t flops = w->matmul_flops, tile_flops = flops;
	if (w->batch <= 1 && has_images_in_lanes(dev, w)) {
		tile_flops = images_in_lanes_flops(dev, w);
	} else if (w->batch <= 1 && has_rows_of_holes(dev, w)) {
		tile_flops = holes_flops(dev, w);
	} else if (w->m > 0) {
		/* the compiler may put either side on the rows, but not the weights of a convolution */
		int64_t one =
			sat_mul(padded_parts(w->m, w->m_part, dev->tile_m), padded(w->n, dev->tile_n));
		int64_t other = w->k_part
			? one
			: sat_mul(padded(w->n, dev->tile_m), padded_parts(w->m, w->m_part, dev->tile_n));
		int64_t k = w->k_part
			? padded_parts(w->k, shared_part(dev, w), MIN(dev->tile_k, dev->tile_minor))
			: padded(w->k, dev->tile_k);
		tile_flops = sat_mul(sat_mul(2 * MAX(w->batch, 1), MIN(one, other)), k);
	}
	if (w->channel_taps && dev->channel_taps_s)
		return time_of(sat_mul(w->channel_taps, padded(w->channels, dev->tile_minor)),
			dev->channel_taps_s, PPM);
	const curve *efficiency = w->dims.is_convolution && dev->convolution_efficiency.n
		? &dev->convolution_efficiency
		: &dev->matmul_efficiency;
	uint8_t e = w->elem;
	if (e == ELEM_F32 || e == ELEM_C64)
		tile_flops = sat_mul(
			tile_flops, dev->matmul_passes[w->precision < PRECISION_COUNT ? w->precision : 0]);
	return time_of(MAX(tile_flops, flops), matmul_peak(dev, e), curve_at(efficiency, flops));
}

/* libtpu 0.0.51, products of 1 to 32 rows and 2048 to 16384 columns, alone and in a batch, with
 * operands on the chip and in memory (`few` in tests/judged/kernels.py). */
int64_t matmul_operand_ns(const device *dev, const op_work *w)
{
	int64_t rate = dev->matmul_operand_s[w->batch > 1];
	bool many = w->batch > 1 && MIN(w->m, w->n) >= dev->tile_minor;
	if (!rate || w->matmul_flops <= 0 || w->m <= 0 || w->dims.is_convolution || many)
		return 0;
	int64_t elements = sat_mul(sat_mul(MAX(w->batch, 1), MAX(w->m, w->n)), w->k),
			ns = time_of(elements, rate, PPM);
	return ns > one_matmul_ns(dev, w) ? sat_mul(ns, MAX(w->blocks, 1)) : 0;
}

int64_t matmul_time_ns(const device *dev, const op_work *w)
{
	return MAX(sat_mul(one_matmul_ns(dev, w), MAX(w->blocks, 1)), matmul_operand_ns(dev, w));
}

int64_t matmul_pieces_ns(const device *dev, int64_t ns, int64_t flops, int64_t pieces)
{
	int64_t whole = curve_at(&dev->matmul_efficiency, flops),
			one = curve_at(&dev->matmul_efficiency, flops / MAX(pieces / 2, 1));
	return one > 0 && one < whole ? (int64_t)((__int128)ns * whole / one) : ns;
}

int64_t matmul_peak_ns(const device *dev, const op_work *w)
{
	return time_of(w->matmul_flops, matmul_peak(dev, w->elem), PPM);
}

int64_t vector_time_ns(const device *dev, int64_t flops)
{
	return time_of(flops, dev->vector_flops, PPM);
}

int64_t elements_time_ns(const device *dev, int64_t elements, bool lone)
{
	int64_t rate = lone && dev->lone_elements_s ? dev->lone_elements_s : dev->vector_elements_s;
	return rate ? time_of(elements, rate, PPM) : 0;
}

int64_t many_operands_ns(const device *dev, int64_t operands, int64_t elements)
{
	enum { MANY_OPERANDS = 12 /* libtpu 0.0.51 on v5e, v5p and v6e alike */ };
	return operands > MANY_OPERANDS && dev->many_operands_elements_s
		? time_of(elements, dev->many_operands_elements_s, PPM)
		: 0;
}

int64_t stream_elements_ns(const device *dev, int64_t elements)
{
	return dev->stream_elements_s ? time_of(elements, dev->stream_elements_s, PPM) : 0;
}

/* libtpu 0.0.51 on v5e, 3x3 convolutions of 16 and 128 images of 32 and 64 features: 8.4 ps for
 * each element of a result that is made from one array of images, 12.5 from two, with those that
 * leave lanes empty; v6e 3.6 and 5.3 (`lanes` in tests/judged/kernels.py). That is four tenths of
 * what elements take in other kernels, for each array; kernels of whole networks are nearer to
 * three. */
enum { BESIDE_PPM = 350000 };

int64_t convolution_elements_ns(const device *dev, int64_t elements)
{
	return dev->target == TARGET_TPU
		? (int64_t)((__int128)elements_time_ns(dev, elements, false) * BESIDE_PPM / PPM)
		: 0;
}

/* The number of images is in the lanes of such values, and their features are in the lanes of
 * images: libtpu 0.0.51 turns one number a cycle and core (v5e 0.70 ns each, v5p 0.32, v6e 0.61:
 * `normed` in tests/judged/kernels.py). */
int64_t image_rows_ns(const device *dev, int64_t rows)
{
	return dev->image_rows_s ? time_of(rows, dev->image_rows_s, PPM) : 0;
}

/* libtpu 0.0.51 on v5e, three 3x3 convolutions of 1, 2 and 4 images of 64 x 64 and 32 x 32 with
 * their gradients, beside 8 images (tests/judged/kernels.py): so many bytes per element are read or
 * written, in so many kernels. */
enum { RELAID_BYTES = 55, RELAID_LAUNCHES = 6 };

int64_t relaid_time_ns(const device *dev, const op_work *w)
{
	if (dev->target != TARGET_TPU || !w->relaid_rows || !dev->vector_bytes_s[0])
		return 0;
	int64_t elements = sat_mul(w->relaid_rows, padded(w->relaid_features, dev->tile_minor));
	return sat_add(time_of(sat_mul(RELAID_BYTES, elements), dev->vector_bytes_s[0], PPM),
		sat_mul(RELAID_LAUNCHES, dev->op_launch_ns));
}

/* XLA makes what a transposed convolution read the kernel of its gradient, which is the smaller
 * side, and reverses the other one for that: libtpu 0.0.51 takes as long as for any op alone in its
 * kernel, 674 us of 128 x 64 x 64 x 64 numbers on v5e, 269 on v5p, 435 on v6e; of 32 images, whose
 * features fill half of the lanes, 292, 135 and 197 (`reversed` in tests/judged/partitioned.py). */
int64_t reversed_time_ns(const device *dev, const op_work *w)
{
	if (dev->target != TARGET_TPU || !w->reversed_images)
		return 0;
	int64_t by_images = sat_mul(padded(w->reversed_images, dev->tile_minor), w->reversed_features),
			by_features =
				sat_mul(padded(w->reversed_features, dev->tile_minor), w->reversed_images);
	return elements_time_ns(dev, sat_mul(w->reversed_rows, MIN(by_images, by_features)), true);
}

int64_t memory_time_ns(const device *dev, int64_t bytes)
{
	return bytes <= 0
		? 0
		: time_of(bytes, dev->memory_bytes_s, curve_at(&dev->memory_efficiency, bytes));
}

int64_t copy_time_ns(const device *dev, int64_t bytes)
{
	return bytes <= 0 ? 0 : time_of(bytes, dev->memory_bytes_s, PPM);
}

/* Strided traffic; what is packed into words is unpacked and packed again besides. */
int64_t reorder_time_ns(const device *dev, int64_t bytes, int bits)
{
	int64_t t = time_of(sat_mul(2, bytes), dev->memory_bytes_s, dev->strided_rate_ppm);
	if (bits >= 32 || !dev->reorder_elements_s)
		return t;
	return sat_add(t, time_of(sat_mul(bytes, 8) / MAX(bits, 1), dev->reorder_elements_s, PPM));
}

/* Rows of eight bits lie four to a word: a tile has no fewer. */
static int64_t least_tile_rows(const struct op_rows *r)
{
	return elem_bits((enum elem)r->elem) == 8 ? 4 : 1;
}

int64_t padded_rows_bytes(const device *dev, const struct op_rows *r)
{
	bool fills = dev->tile_minor > 1 && r->row % dev->tile_minor == 0 &&
		(!r->rows || r->rows >= least_tile_rows(r));
	if (dev->target != TARGET_TPU || r->row <= 0 || dev->tile_minor <= 1 || fills ||
		r->elements / r->row < dev->tile_minor)
		return 0;
	int64_t elements = sat_mul(r->elements / r->row, padded(r->row, dev->tile_minor));
	if (r->rows) { /* a tile of the next power of two rows */
		int64_t rows = least_tile_rows(r);
		while (rows < r->rows && rows < dev->tile_second)
			rows *= 2;
		elements = sat_mul(elements / r->rows, padded(r->rows, rows));
	}
	return sat_mul(elements, elem_bits((enum elem)r->elem)) / 8;
}

int64_t padded_rows_elements(const device *dev, const struct op_rows *r)
{
	int64_t rows = MAX(r->rows, 1);
	if (dev->target != TARGET_TPU || r->row <= 1 || dev->tile_minor <= 1 ||
		r->elements / r->row / rows < dev->tile_minor)
		return r->elements;
	return sat_mul(r->elements / r->row / rows,
		sat_mul(padded(r->row, dev->tile_minor), r->rows ? padded(r->rows, dev->tile_second) : 1));
}

int64_t transposed_time_ns(const device *dev, int64_t bytes, int bits, int sides)
{
	return dev->transposed_elements_s
		? time_of(sat_mul(sat_mul(bytes, 8) / MAX(bits, 1), sides), dev->transposed_elements_s, PPM)
		: reorder_time_ns(dev, bytes, bits);
}

/* XLA's partitioner gathers along two dims at once into a new leading one, and brings the parts
 * into their order in copies with half-filled tiles: together three and a half passes over all
 * elements. libtpu 0.0.51, matrices of 1024 to 8192 a side gathered over 4 x 4 devices, ps for each
 * element: v5e 24 to 39, v5p 10 to 13, v6e 10 to 28, of 16 and of 32 bits alike. */
int64_t parts_time_ns(const device *dev, int64_t elements)
{
	enum { HALF_PASSES = 7 };
	return elements_time_ns(dev, elements, false) * HALF_PASSES / 2;
}

int64_t padded_rows_ns(const device *dev, const struct op_rows *r)
{
	int64_t bytes = padded_rows_bytes(dev, r), bits = MAX(elem_bits((enum elem)r->elem), 1);
	int64_t t = time_of(bytes, dev->memory_bytes_s, dev->strided_rate_ppm);
	return bits >= 32 || !dev->reorder_elements_s
		? t
		: sat_add(t, time_of(sat_mul(bytes, 8) / bits, dev->reorder_elements_s, PPM));
}

/* libtpu 0.0.51 gathers windows of 512 KiB and more (v5e, v5p; 1 MiB on v6e) from a copy, in whole
 * tiles, where the last two dims do not fill any, and copies what it makes back. It cuts larger
 * ones into parts of that size, which come together by half as many passes, or in place where there
 * are more than four: 64 of 1024 x 1 to 16 x 128 bfloat16 (`windows` in tests/judged/kernels.py).
 */
int64_t large_windows_ns(const device *dev, const struct op_window *w)
{
	enum { FEW_PARTS = 4, MANY_PASSES = 5 /* quarters of one */ };
	int64_t bits = MAX(elem_bits((enum elem)w->elem), 8), bytes = sat_mul(w->size, bits) / 8;
	if (!dev->gather_window_bytes || bytes < dev->gather_window_bytes)
		return 0;
	int64_t ns = 0, rows = w->last_two[0], parts = ceil_div(bytes, dev->gather_window_bytes);
	if (rows > 1 && rows < dev->tile_second)
		ns = elements_time_ns(
			dev, sat_mul(sat_add(w->table, w->made) / rows, dev->tile_second), false);
	if (parts > 1) {
		int64_t cut = sat_mul(w->table, 2 * bits) / 8;
		ns = sat_add(ns, time_of(cut, dev->memory_bytes_s, dev->strided_rate_ppm));
		int64_t passes = parts <= FEW_PARTS ? 2 * parts : MANY_PASSES;
		ns = sat_add(ns, elements_time_ns(dev, sat_mul(w->made, passes) / 4, false));
	}
	return ns;
}

/* libtpu 0.0.51, zeros of 65,536 x 512: 1.4 times the rate of other single kernels in float32, 1.2
 * times in bfloat16, on v5e, v5p and v6e alike (`windows` in tests/judged/kernels.py). */
enum { FILL_PPM = 1300000 };

int64_t fill_time_ns(const device *dev, int64_t bytes, int bits)
{
	int64_t t = memory_time_ns(dev, bytes);
	return dev->lone_elements_s
		? MAX(t, time_of(sat_mul(bytes, 8) / MAX(bits, 1), dev->lone_elements_s, FILL_PPM))
		: t;
}

/* Beside other work a contraction overlaps with memory but for a twentieth of the shorter of both,
 * with several results three tenths (distinct.py in tests/judged). With work on both sides blocks
 * of BLOCK rows and columns are computed, so that an operand is read and worked on again for every
 * block of the other, strided, and only half of the contraction runs meanwhile. With work on one
 * side, where the other operand is too large to be on the chip by then, what is worked on is read
 * for every block of the other one, and nothing runs meanwhile: libtpu 0.0.51 on v5e, normalised
 * rows times weights in main memory (tests/judged/kernels.py). */
enum { BLOCK = 1024, SERIAL_PPM = 50000, SERIAL_SEVERAL_PPM = 300000 };

/* Reads and writes of a stream do not overlap, but what it computes does, with all of them: updates
 * of an optimizer and normalisations of some 15 operations take what their bytes do (`distinct.py`
 * in tests/judged), chains of 128 and more what they compute. What is no result of 32 bits costs as
 * much as writing it to memory in 32 bits: sums, and what is converted or packed. libtpu 0.0.51 on
 * v5e, v5p and v6e: one to three operands of 16 and 32 bits, results of 1, 8, 16 and 32, in memory
 * and on the chip (`stream` in tests/judged/kernels.py). */
static int64_t stream_ns(const device *dev, const contraction_kernel *k)
{
	int64_t memory = sat_add(k->bytes, sat_mul(4, k->narrowed));
	return MAX(k->vector_ns,
		sat_add(k->elements_ns,
			sat_add(time_of(memory, dev->vector_bytes_s[0], PPM),
				time_of(k->near_bytes, dev->vector_bytes_s[1], PPM))));
}

int64_t contraction_kernel_ns(const device *dev, const contraction_kernel *k)
{
	if (k->streams && dev->vector_bytes_s[0])
		return stream_ns(dev, k);
	int64_t compute = MAX(k->matmul_ns, k->vector_ns), memory = memory_time_ns(dev, k->bytes),
			t = MAX(compute, memory);
	if (k->results_ns)
		t = MAX(t, sat_add(k->results_ns, matmul_intake_ns(dev, k->bytes - k->written)));
	if (dev->target != TARGET_TPU || !k->fused)
		return t;
	int64_t ppm = k->several ? SERIAL_SEVERAL_PPM : SERIAL_PPM;
	t = sat_add(t, (int64_t)((__int128)MIN(compute, memory) * ppm / PPM));
	for (int i = 0; i < 2; i++)
		if (k->again >> i & 1)
			t = sat_add(t,
				copy_time_ns(
					dev, sat_mul(k->front_bytes[i], ceil_div(MAX(i ? k->m : k->n, 1), BLOCK))));
	if (!k->by_blocks)
		return t;
	int64_t again = sat_add(sat_mul(k->front_bytes[0], ceil_div(MAX(k->n, 1), BLOCK) - 1),
		sat_mul(k->front_bytes[1], ceil_div(MAX(k->m, 1), BLOCK) - 1));
	return MAX(t,
		sat_add(compute / 2,
			time_of(sat_add(k->bytes, again), dev->memory_bytes_s, dev->strided_rate_ppm)));
}

int64_t work_time_ns(const device *dev, const op_work *w, int64_t hbm_bytes)
{
	int64_t compute = MAX(matmul_time_ns(dev, w), vector_time_ns(dev, w->vector_flops));
	int64_t t = MAX(compute, memory_time_ns(dev, sat_add(hbm_bytes, w->again_bytes)));
	return t || !w->free ? sat_add(t, sat_mul(dev->op_launch_ns, 1 + w->launches)) : 0;
}

int64_t device_stored_bytes(const device *dev, const sharding_table *t, sharding_id id,
	const ir_type *ty, uint32_t minors, tile_dims *tile)
{
	tile_dims none;
	tile = tile ? tile : &none;
	*tile = (tile_dims){TILE_NO_DIM, TILE_NO_DIM};
	int64_t plain = sharding_local_bytes(t, id, ty);
	if (dev->target == TARGET_CPU && ty->kind == TYPE_TENSOR &&
		(ty->elem == ELEM_BF16 || ty->elem == ELEM_F16))
		return sat_mul(plain, 2);
	if ((dev->tile_minor <= 1 && dev->tile_second <= 1) || ty->kind != TYPE_TENSOR || ty->dynamic ||
		ty->elements <= 0)
		return plain;
	const sharding *s = id == SHARDING_NONE ? NULL : sharding_get(t, id);
	int64_t dims[MAX_RANK], all = 1;
	for (uint32_t d = 0; d < ty->rank; d++) {
		dims[d] = s && d < s->rank ? ceil_div(ty->dims[d], sharding_dim_parts(s, d)) : ty->dims[d];
		all = sat_mul(all, dims[d]);
	}
	if (all <= 0)
		return plain;
	int64_t best = INT64_MAX;
	if (ty->rank < 2) {
		/* in a row: whole tiles, or a power of two of a tile's rows */
		int64_t row = MAX(dev->tile_minor, 1), whole = sat_mul(row, MAX(dev->tile_second, 1));
		while (row < all && row < whole)
			row *= 2;
		best = padded(all, row);
	}
	bool chosen = false;
	for (uint32_t d = 0; d < ty->rank && minors != ALL_MINORS; d++)
		chosen |= minors >> d & 1 && dims[d] >= dev->tile_second;
	/* small second-minor dims get a tile of the next power of two rows */
	for (uint32_t a = ty->rank > 1 ? ty->rank : 0; a-- > 0;) {
		if (chosen && !(minors >> a & 1))
			continue;
		int64_t minor = padded(dims[a], dev->tile_minor);
		for (uint32_t b = ty->rank; b-- > 0;) {
			if (b == a)
				continue;
			int64_t rows = 1;
			while (rows < dims[b] && rows < dev->tile_second)
				rows *= 2;
			int64_t elements =
				sat_mul(sat_mul(minor, padded(dims[b], rows)), all / dims[a] / dims[b]);
			if (elements < best)
				best = elements, *tile = (tile_dims){a, b};
		}
	}
	__int128 stored = ((__int128)plain * best + all - 1) / all;
	return stored > INT64_MAX ? INT64_MAX : MAX(plain, (int64_t)stored);
}
