/* The two fits of calibration: a straight line, and a line through knots; both least squares on
 * relative errors, solved a few times over with the weight of far points lowered (Huber's rule).
 * Plain arithmetic in a fixed order. */
#include "costmodel/calibrate.h"

#define HUBER 0.03 /* relative error beyond which a point pulls no harder */
enum { ROUNDS = 12 };

static double absolute(double v) { return v < 0 ? -v : v; }

static double huber_weight(double y, double model)
{
	double off = absolute(model - y) / y, w = 1 / (y * y);
	return off > HUBER ? w * HUBER / off : w;
}

void fit_straight_line(const double *x, const double *y, uint32_t n, double *a, double *b)
{
	*a = *b = 0;
	for (int round = 0; round < ROUNDS; round++) {
		double s = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
		for (uint32_t i = 0; i < n; i++) {
			double w = round ? huber_weight(y[i], *a + *b * x[i]) : 1 / (y[i] * y[i]);
			s += w, sx += w * x[i], sy += w * y[i], sxx += w * x[i] * x[i], sxy += w * x[i] * y[i];
		}
		double d = s * sxx - sx * sx;
		if (d > s * sxx * 1e-12) {
			*b = (s * sxy - sx * sy) / d;
			*a = (sy - *b * sx) / s;
		} else { /* one size only: proportional */
			*a = 0;
			*b = sxx > 0 ? sxy / sxx : 0;
		}
		if (*a < 0) {
			*a = 0;
			*b = sxx > 0 ? sxy / sxx : 0;
		}
		if (*b < 0) {
			*b = 0;
			*a = s > 0 ? sy / s : 0;
		}
	}
}

/* Shares of the two knots around x; below the first one proportional to it, above the last one too.
 */
static uint32_t place(double x, const double *knots, uint32_t n, double *left, double *right)
{
	*right = 0;
	if (n == 1 || x <= knots[0]) {
		*left = x / knots[0];
		return 0;
	}
	if (x >= knots[n - 1]) {
		*left = x / knots[n - 1];
		return n - 1;
	}
	uint32_t i = 0;
	while (x > knots[i + 1])
		i++;
	*right = (x - knots[i]) / (knots[i + 1] - knots[i]);
	*left = 1 - *right;
	return i;
}

/* Tridiagonal system, diag[i] v[i] + off[i] v[i+1] + off[i-1] v[i-1] = rhs[i]; a knot without
 * points follows its neighbour. */
static void solve(double *diag_, double *off, double *rhs, uint32_t n, double *v)
{
	for (uint32_t i = 1; i < n; i++) {
		double f = diag_[i - 1] > 0 ? off[i - 1] / diag_[i - 1] : 0;
		diag_[i] -= f * off[i - 1];
		rhs[i] -= f * rhs[i - 1];
	}
	for (uint32_t i = n; i-- > 0;) {
		double next = i + 1 < n ? off[i] * v[i + 1] : 0;
		v[i] = diag_[i] > 0 ? (rhs[i] - next) / diag_[i] : 0;
	}
}

/* Values that fall are replaced by their mean, weighted; repeated until none falls. */
static void never_fall(double *v, const double *weight, uint32_t n)
{
	double mean[MAX_CURVE], total[MAX_CURVE];
	uint32_t count[MAX_CURVE], blocks = 0;
	for (uint32_t i = 0; i < n; i++) {
		mean[blocks] = v[i];
		total[blocks] = weight[i];
		count[blocks++] = 1;
		while (blocks > 1 && mean[blocks - 2] > mean[blocks - 1]) {
			double w = total[blocks - 2] + total[blocks - 1];
			mean[blocks - 2] =
				(mean[blocks - 2] * total[blocks - 2] + mean[blocks - 1] * total[blocks - 1]) / w;
			total[blocks - 2] = w;
			count[blocks - 2] += count[blocks - 1];
			blocks--;
		}
	}
	for (uint32_t b = 0, i = 0; b < blocks; b++)
		for (uint32_t k = 0; k < count[b]; k++)
			v[i++] = mean[b];
}

void fit_line_through_knots(const double *x, const double *y, uint32_t n, const double *knots,
	uint32_t n_knots, double *values)
{
	double diag_[MAX_CURVE], off[MAX_CURVE], rhs[MAX_CURVE], weight[MAX_CURVE];
	for (int round = 0; round < ROUNDS; round++) {
		for (uint32_t k = 0; k < n_knots; k++)
			diag_[k] = off[k] = rhs[k] = 0, weight[k] = 1e-300;
		for (uint32_t i = 0; i < n; i++) {
			double left, right;
			uint32_t k = place(x[i], knots, n_knots, &left, &right);
			double model = left * values[k] + (right > 0 ? right * values[k + 1] : 0);
			double w = round ? huber_weight(y[i], model) : 1 / (y[i] * y[i]);
			diag_[k] += w * left * left;
			rhs[k] += w * left * y[i];
			weight[k] += w * left;
			if (right > 0) {
				diag_[k + 1] += w * right * right;
				off[k] += w * left * right;
				rhs[k + 1] += w * right * y[i];
				weight[k + 1] += w * right;
			}
		}
		solve(diag_, off, rhs, n_knots, values);
		never_fall(values, weight, n_knots);
	}
}
