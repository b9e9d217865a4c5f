/* The launch and the efficiencies by size of a device profile, fitted to kernels measured on one
 * device.
 *
 * A kernel takes its launch and the longer of two times, of its flops and of its bytes: those of
 * the peak rates, each over an efficiency that grows with the size. Launches are what small
 * elementwise kernels take beyond their bytes. Matmuls whose bytes take half of the measured time
 * or more say nothing about the matmul unit and are left out of its curve. Rates stay those of the
 * base, unless the largest kernels are faster: smaller ones may be as their values are in a cache,
 * and are taken to reach the rate. */
#include "costmodel/calibrate.h"

#include <stdlib.h>

enum { SMALL_BYTES = 1 << 20, MAX_LAUNCH_NS = 1000000000 };
#define MAX_RATE ((int64_t)1 << 52) /* a profile's numbers are below 2^53 */

const char *kernel_kind_name(kernel_kind k)
{
	static const char *const names[KERNEL_KINDS] = {"matmul", "elementwise"};
	return names[k];
}

static int64_t size_of(const kernel_measurement *m)
{
	return m->kind == KERNEL_MATMUL ? m->flops : m->bytes;
}

static int by_size(const void *a, const void *b)
{
	const kernel_measurement *x = a, *y = b;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (size_of(x) != size_of(y))
		return size_of(x) < size_of(y) ? -1 : 1;
	if (x->elem != y->elem)
		return x->elem < y->elem ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static op_work work_of(const kernel_measurement *m)
{
	return (op_work){.matmul_flops = m->flops, .elem = m->elem};
}

/* At the device's rates, without the launch. */
static int64_t perfect_ns(const device *dev, const kernel_measurement *m)
{
	op_work w = work_of(m);
	return m->kind == KERNEL_MATMUL ? matmul_peak_ns(dev, &w) : copy_time_ns(dev, m->bytes);
}

static double error_of(const device *dev, const kernel_measurement *m)
{
	op_work w = work_of(m);
	int64_t flops = m->flops ? matmul_time_ns(dev, &w) : 0,
			ns = sat_add(dev->op_launch_ns, MAX(flops, memory_time_ns(dev, m->bytes)));
	double off = (double)ns / (double)m->time_ns - 1;
	return off < 0 ? -off : off;
}

static bool waits_for_memory(const device *dev, const kernel_measurement *m)
{
	return m->kind == KERNEL_MATMUL && copy_time_ns(dev, m->bytes) >= m->time_ns / 2;
}

/* Rates that kernels of at least half the size of the largest one of their kind reach. */
static void raise_rates(device *dev, const kernel_measurements *rows)
{
	int64_t largest[KERNEL_KINDS] = {0};
	for (uint32_t i = 0; i < rows->n; i++)
		largest[rows->p[i].kind] = MAX(largest[rows->p[i].kind], size_of(&rows->p[i]));
	for (uint32_t i = 0; i < rows->n; i++) {
		const kernel_measurement *m = &rows->p[i];
		int64_t *rate = m->kind == KERNEL_MATMUL ? &dev->peak_flops[m->elem] : &dev->memory_bytes_s;
		__int128 reached = (__int128)size_of(m) * 1000000000 / m->time_ns;
		if (*rate && size_of(m) >= largest[m->kind] / 2 && reached > *rate)
			*rate = (int64_t)MIN(reached, MAX_RATE);
	}
}

/* What every small kernel leaves; where none was measured, that of the base. Never so much that
 * nothing is left for what a kernel does. */
static int64_t fit_launch(const device *dev, const kernel_measurements *rows)
{
	double launch = (double)dev->op_launch_ns, small = -1, room = 1e18;
	for (uint32_t i = 0; i < rows->n; i++) {
		const kernel_measurement *m = &rows->p[i];
		double time = (double)m->time_ns, left = time - (double)perfect_ns(dev, m);
		room = MIN(room, MAX(left, 0.05 * time));
		if (m->kind == KERNEL_ELEMENTWISE && m->bytes <= SMALL_BYTES)
			small = small < 0 ? left : MIN(small, left);
	}
	return (int64_t)(MAX(MIN(MIN(small < 0 ? launch : small, room), MAX_LAUNCH_NS), 0) + .5);
}

/* Larger sizes must not take less time, as a profile's reader has it: on a log2 scale an octave
 * that begins with an efficiency gains no more than that. */
static void straighten(curve *c)
{
	for (uint32_t k = 1; k < c->n; k++) {
		int64_t from = log2_fixed(c->x[k - 1]), octave = LOG2_ONE + from % LOG2_ONE;
		__int128 most =
			c->ppm[k - 1] + (__int128)c->ppm[k - 1] * (log2_fixed(c->x[k]) - from) / octave;
		__int128 flat = (__int128)c->ppm[k - 1] * c->x[k] / c->x[k - 1];
		c->ppm[k] = (int64_t)MIN((__int128)c->ppm[k], MIN(most, flat));
	}
}

static void fit_curve(
	const device *dev, const kernel_measurement *m, uint32_t n, int64_t launch, curve *out)
{
	measurement *rows = xcalloc(n, sizeof *rows);
	double *wire = xmalloc(n * sizeof *wire), *time = xmalloc(n * sizeof *time);
	uint32_t used = 0;
	for (uint32_t i = 0; i < n; i++)
		if (!waits_for_memory(dev, &m[i])) {
			rows[used].bytes = size_of(&m[i]);
			wire[used] = (double)perfect_ns(dev, &m[i]);
			time[used++] = (double)m[i].time_ns;
		}
	if (used) {
		*out = (curve){0};
		out->n = fit_efficiency(rows, wire, time, used, (double)launch, out->x, out->ppm);
		straighten(out);
	}
	free(rows);
	free(wire);
	free(time);
}

static void report(const device *before, const device *after, const kernel_measurement *m,
	uint32_t n, calibration_row *out)
{
	*out = (calibration_row){.rows = n};
	for (uint32_t i = 0; i < n; i++) {
		double is = error_of(after, &m[i]);
		out->before += error_of(before, &m[i]) / n;
		out->after += is / n;
		out->worst = MAX(out->worst, is);
		if (m[i].bytes >= LARGE_BYTES) {
			out->large_rows++;
			out->large += is;
		}
	}
	if (out->large_rows)
		out->large /= out->large_rows;
}

status calibrate_kernels(
	const device *base, kernel_measurements *rows, device *out, calibration *result, diag *d)
{
	if (rows->n && base->target == TARGET_TPU)
		return diag_set(d, ST_ERR_INVALID,
			"kernels of %s: its rates are those of its compiler's estimates, which --store fits to "
			"measured steps",
			base->name);
	if (!rows->n)
		return ST_OK;
	qsort(rows->p, rows->n, sizeof *rows->p, by_size);
	uint32_t first[KERNEL_KINDS + 1] = {0};
	for (uint32_t i = 0; i < rows->n; i++)
		for (uint32_t k = rows->p[i].kind + 1u; k <= KERNEL_KINDS; k++)
			first[k] = i + 1;
	curve *const curves[KERNEL_KINDS] = {&out->matmul_efficiency, &out->memory_efficiency};
	raise_rates(out, rows);
	out->op_launch_ns = fit_launch(out, rows);
	for (uint32_t k = 0; k < KERNEL_KINDS; k++)
		fit_curve(out, rows->p + first[k], first[k + 1] - first[k], out->op_launch_ns, curves[k]);
	for (uint32_t k = 0; k < KERNEL_KINDS; k++)
		report(base, out, rows->p + first[k], first[k + 1] - first[k], &result->kernels[k]);
	return ST_OK;
}
