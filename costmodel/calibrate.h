/* Private to calibration: its map is in calibrate.c, its contract in costmodel.h. */
#ifndef SW_COSTMODEL_CALIBRATE_H
#define SW_COSTMODEL_CALIBRATE_H

#include "costmodel/costmodel.h"

/* Piecewise linear fit through knots (ascending) to points x, y > 0: weighted by relative error,
 * outliers by Huber's rule. knots[0] is where the line begins, below it y is proportional to x;
 * values never fall. Deterministic. */
void fit_line_through_knots(const double *x, const double *y, uint32_t n, const double *knots,
	uint32_t n_knots, double *values);
/* y = a + b x by relative error with Huber's rule, a >= 0, b >= 0. */
void fit_straight_line(const double *x, const double *y, uint32_t n, double *a, double *b);

/* Rows of one place or one kind of kernel, ascending by size (measurement.bytes; flops of matmuls),
 * as an efficiency by size: that of a perfect device's time `wire` over what was measured without
 * the `fixed` part. At most MAX_CURVE points, to size and ppm; how many. */
uint32_t fit_efficiency(const measurement *rows, const double *wire, const double *time, uint32_t n,
	double fixed, int64_t *size, int64_t *ppm);

#endif
