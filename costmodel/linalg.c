/* Work of dense linear algebra: factorizations and solves, as ops and as the calls that JAX lowers
 * them to for TPU, GPU and CPU.
 *
 * XLA for TPU works in blocks of BLOCK columns, one after the other: a panel of that many columns
 * is factorized, then the rest is updated by matrix products at the highest precision. Libraries
 * for GPU and CPU do the same with blocks of their own. So a factorization is: as many operations
 * as the algorithm has (LAPACK Working Note 41), those inside of panels on the vector unit and the
 * rest on the matmul unit, block by block; and for every block some small kernels that wait for
 * each other. How many was taken from libtpu 0.0.52: what is left of its estimates at 256 to 1024
 * columns without the products, in launches of 0.5 us. Its panel kernels carry no estimate and are
 * in none of these figures.
 *
 * Reductions to a band (of eigenvalues and singular values) read all that is left of the matrix for
 * every column. */
#include "costmodel/work.h"

enum { BLOCK = 128 };

typedef struct factorization {
	const char *calls[4];    /* globs of call targets */
	int64_t wide, cube;      /* operations: (wide * larger * smaller^2 - cube * smaller^3) / 3 */
	int64_t block_launches;  /* small kernels per block of columns */
	int64_t column_launches; /* .. and per column */
	int64_t reads_thirds;    /* elements read again: reads_thirds / 3 * larger * smaller^2 */
	bool rotates;            /* on the vector unit alone */
} factorization;

enum { SWEEPS = 8 /* of Jacobi's method, a judgement: it converges in 5 to 10 */ };

/* Symmetric eigenvalues: 4/3 n^3 to tridiagonal form, half of it with the matrix read per column,
 * up to 8/3 to divide and conquer, 2 back to the vectors. Singular values: the same to bidiagonal
 * form with both sides. Jacobi: 9 n^3 a sweep, for two sides and the vectors. */
static const factorization factorizations[] = {
	{{"*potrf*", "Cholesky", NULL}, 1, 0, 14, 0, 0, false},
	{{"*getrf*", "LuDecomposition*", NULL}, 3, 1, 21, 0, 0, false},
	{{"*geqrf*", "*geqp3*", "Qr", NULL}, 6, 2, 15, 0, 0, false},
	{{"*orgqr*", "*ungqr*", "ProductOfElementaryHouseholderReflectors", NULL}, 6, 2, 10, 0, 0,
		false},
	{{"*ormqr*", "*unmqr*", NULL}, 6, 0, 10, 0, 0, false},
	{{"*syevj*", "*heevj*", "Eigh*", NULL}, 27 * SWEEPS, 0, 0, SWEEPS, 0, true},
	{{"*syev*", "*heev*", NULL}, 18, 0, 25, 2, 1, false},
	{{"*gesvdj*", NULL}, 24 * SWEEPS, 0, 0, SWEEPS, 0, true},
	{{"*gesvd*", "*gesdd*", NULL}, 36, 0, 25, 2, 2, false},
	{{"*geev*", "*gees*", NULL}, 75, 0, 25, 4, 10, false},
	{{"*sytrd*", "*hetrd*", NULL}, 4, 0, 0, 2, 1, false},
	{{"*gehrd*", NULL}, 10, 0, 15, 2, 1, false},
};

static bool is_complex(const ir_type *ty) { return ty->elem == ELEM_C64 || ty->elem == ELEM_C128; }

/* Blocks of columns, each with a product of rows by BLOCK by what makes up the operations. */
static void set_blocks(
	op_work *w, const ir_type *ty, int64_t batch, int64_t rows, int64_t columns, int64_t flops)
{
	w->blocks = MAX(ceil_div(columns, BLOCK), 1);
	w->elem = ty->elem;
	w->precision = PRECISION_HIGHEST;
	w->batch = batch, w->m = MAX(rows, 1), w->n = MIN(columns, BLOCK);
	w->matmul_flops = flops / w->blocks;
	w->k = MAX(w->matmul_flops / MAX(sat_mul(sat_mul(2 * batch, w->m), w->n), 1), 1);
}

static void cost_factorization(const op_view *v, const factorization *f, op_work *w)
{
	const ir_type *ty = slot_type(v, 0);
	if (!ty || ty->rank < 2)
		return;
	int64_t rows = local_dim(v, 0, ty->rank - 2), columns = local_dim(v, 0, ty->rank - 1);
	int64_t large = MAX(rows, columns), small = MIN(rows, columns), panel = MIN(small, BLOCK);
	if (small <= 0)
		return;
	int64_t batch = MAX(local_elements(v, 0) / MAX(rows * columns, 1), 1),
			per = is_complex(ty) ? 4 : 1;
	int64_t square = sat_mul(small, small);
	int64_t each = sat_mul(
		(sat_mul(f->wide, sat_mul(square, large)) - sat_mul(f->cube, sat_mul(square, small))) / 3,
		per);
	int64_t inside = f->rotates ? each : (int64_t)((__int128)each * panel / small);
	w->vector_flops = sat_mul(batch, inside);
	if (each > inside)
		set_blocks(w, ty, batch, large / 2, small, sat_mul(batch, each - inside));
	/* what is batched runs at once */
	w->launches = sat_add(
		sat_mul(f->block_launches, ceil_div(small, BLOCK) - 1), sat_mul(f->column_launches, small));
	w->again_bytes = sat_mul(batch,
		sat_mul(sat_mul(f->reads_thirds, sat_mul(square, large)) / 3,
			ceil_div(elem_bits((enum elem)ty->elem), 8)));
}

bool cost_linalg_call(const op_view *v, str target, op_work *w)
{
	for (uint32_t i = 0; i < COUNT_OF(factorizations); i++)
		for (uint32_t k = 0; k < COUNT_OF(factorizations[i].calls) && factorizations[i].calls[k];
			 k++)
			if (glob_match(factorizations[i].calls[k], target)) {
				cost_factorization(v, &factorizations[i], w);
				return true;
			}
	if (!glob_match("*trsm*", target))
		return false;
	cost_triangular_solve(v, w);
	return true;
}

void cost_cholesky(const op_view *v, op_work *w) { cost_factorization(v, &factorizations[0], w); }

/* n^2 operations per right-hand side, twice where multiply and add count; the blocks on the
 * diagonal are inverted first. */
void cost_triangular_solve(const op_view *v, op_work *w)
{
	enum { BLOCK_LAUNCHES = 15 };
	const ir_type *ty = slot_type(v, 0);
	if (!ty || ty->rank < 2)
		return;
	int64_t n = local_dim(v, 0, ty->rank - 1), batch = MAX(local_elements(v, 0) / MAX(n * n, 1), 1);
	int64_t sides = MAX(local_elements(v, 1) / MAX(sat_mul(batch, n), 1), 1),
			per = is_complex(ty) ? 4 : 1;
	int64_t all = sat_mul(sat_mul(local_elements(v, 1), n), per);
	int64_t inside =
		n > BLOCK ? sat_mul(sat_mul(sat_mul(batch, n), (int64_t)BLOCK * BLOCK / 3), per) : all;
	w->vector_flops = inside;
	if (n > BLOCK)
		set_blocks(w, ty, batch, sides, n, all);
	w->launches = sat_mul(BLOCK_LAUNCHES, ceil_div(n, BLOCK) - 1);
}

/* A transform of many points is one of DFT_POINTS after the other. */
enum { DFT_POINTS = 128 };

int64_t dft_stages(int64_t points)
{
	int64_t stages = 1;
	for (; points > DFT_POINTS; points = ceil_div(points, DFT_POINTS))
		stages++;
	return stages;
}

/* A complex product is three real ones; what comes out is turned by one factor per element (6
 * operations) and put together (4). */
void work_as_dft(op_work *w)
{
	enum { REAL_PRODUCTS = 3, TURN_FLOPS = 10 };
	w->blocks = w->dft_stages;
	w->precision = PRECISION_HIGHEST;
	w->batch = 1, w->n = w->k = DFT_POINTS;
	w->m = MAX(sat_mul(REAL_PRODUCTS, w->dft_elements) / DFT_POINTS, 1);
	w->matmul_flops = sat_mul(sat_mul(2, w->m), DFT_POINTS * DFT_POINTS);
	w->vector_flops = sat_mul(sat_mul(TURN_FLOPS, w->dft_elements), w->dft_stages);
	w->launches = w->dft_stages - 1;
}

/* Eight bits of the keys at a time: all of it is read once to count, and read and written once per
 * pass. */
void work_as_radix_sort(op_work *w)
{
	int64_t passes = ceil_div(elem_bits((enum elem)w->elem), 8);
	w->again_bytes =
		sat_add(sat_mul(passes - 1, sat_add(w->read_bytes, w->write_bytes)), w->read_bytes);
	w->launches = 2 * passes;
}

/* libtpu 0.0.51 for v5e, v5p and v6e, sorts and top_ks of rows of 256 to 32768 (docs,
 * "One op"): every array is copied so that what is sorted lies across rows, in words of 32
 * bits, and back, at about half of the memory's rate. Positions are another array, which is made.
 * A top_k of 16-bit keys packs both into a word: nothing comes back. */
void work_as_turned_sort(op_work *w, int64_t lanes)
{
	enum { WORD = 4, HALF_RATE = 2 };
	if (w->sorted_row < lanes)
		return;
	int64_t array = sat_mul(WORD, w->sorted_elements), in = MAX(w->sorted_arrays, 1u), out = in;
	bool packed = !w->sorted_arrays && elem_bits((enum elem)w->elem) <= 16;
	if (packed)
		out = 0;
	int64_t turned = sat_mul(sat_mul(2 * HALF_RATE, in + out), array);
	w->again_bytes = sat_add(turned, in == 1 ? array : 0);
}

void work_as_selection(op_work *w)
{
	w->vector_flops = w->selected_flops;
	w->sorted_row = 0;
}
