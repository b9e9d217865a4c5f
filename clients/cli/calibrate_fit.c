/* Factors on the rates of a device profile, fitted to steps.
 *
 * Three factors: on what computes, on what memory moves, on what links move. Steps are simulated
 * with them, not taken apart: what of a collective is hidden, and what bounds a kernel, changes
 * with the rates. Least squares on the logarithm of predicted over known, by Gauss and Newton
 * with finite differences. Each factor is held near a centre, and a row that is far off is worth
 * less (Huber's weights), both by as much as the source of the steps asks for. */
#include "clients/cli/calibrate.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 5, ROUNDS_LEFT_OUT = 4 };
static const double STEP = 0.05, MOST_STEP = 0.7, MOST_LOG = 1.8; /* a factor of six either way */

/* ---------------------------------------------------------------- profiles */

static void scale(cJSON *entry, double factor, const char *source)
{
	cJSON *value = cJSON_GetObjectItemCaseSensitive(entry, "value");
	for (cJSON *e = cJSON_IsArray(value) ? value->child : NULL; e; e = e->next)
		cJSON_SetNumberValue(e, floor(e->valuedouble * factor + 0.5));
	if (value && cJSON_IsNumber(value))
		cJSON_SetNumberValue(value, floor(value->valuedouble * factor + 0.5));
	if (value)
		cJSON_ReplaceItemInObjectCaseSensitive(entry, "source", cJSON_CreateString(source));
}

status calibrate_profile(const char *base_json, const double logs[FACTORS], const char *name,
	const char *source, strbuf *out, device *dev, diag *d)
{
	static const char *const of_compute[] = {"vector_flops", "matmul_results_s",
		"matmul_results_on_chip_s", "stream_elements_s", "vector_elements_s", "lone_elements_s",
		"many_operands_elements_s", "channel_taps_s", "image_rows_s", "matmul_operand_s"},
							 *const of_memory[] = {"memory_bytes_s", "vector_bytes_s",
								 "matmul_intake_bytes_s", "reorder_elements_s",
								 "transposed_elements_s"};
	cJSON *o = cJSON_Parse(base_json);
	if (!o)
		return diag_set(d, ST_ERR_PARSE, "device profile: expected valid JSON");
	if (name)
		cJSON_ReplaceItemInObjectCaseSensitive(o, "name", cJSON_CreateString(name));
	cJSON *flops = cJSON_GetObjectItemCaseSensitive(o, "peak_flops"),
		  *links = cJSON_GetObjectItemCaseSensitive(o, "links");
	for (cJSON *e = flops ? flops->child : NULL; e; e = e->next)
		scale(e, exp(logs[0]), source);
	for (size_t i = 0; i < COUNT_OF(of_compute); i++)
		scale(cJSON_GetObjectItemCaseSensitive(o, of_compute[i]), exp(logs[0]), source);
	for (size_t i = 0; i < COUNT_OF(of_memory); i++)
		scale(cJSON_GetObjectItemCaseSensitive(o, of_memory[i]), exp(logs[1]), source);
	for (cJSON *l = links ? links->child : NULL; l; l = l->next)
		scale(cJSON_GetObjectItemCaseSensitive(l, "bandwidth_bytes_s"), exp(logs[2]), source);
	char *text = cJSON_Print(o);
	strbuf_clear(out);
	strbuf_puts(out, text);
	strbuf_putc(out, '\n');
	cJSON_free(text);
	cJSON_Delete(o);
	return device_parse(out->p, out->n, dev, d);
}

/* ---------------------------------------------------------------- steps */

static status predict(step_row *r, const device *dev, double *out)
{
	cost c;
	device own;
	strategy_device(&r->s, dev, &own);
	status st = simulate_applied(
		r->annotated, &own, r->s.apply, r->s.has_links ? r->s.axis_links : NULL, &c, NULL, &r->d);
	*out = (double)MAX(c.runtime_ns, 1);
	return st;
}

static void predict_row(void *user, int i)
{
	step_fit *f = user;
	step_row *r = &f->rows[i];
	for (int k = 0; f->used[i] && k <= FACTORS && r->st == ST_OK; k++)
		r->st = predict(r, &f->devices[k], &r->predicted[k]);
}

static status first_failure(const step_fit *f, diag *d)
{
	for (uint32_t i = 0; i < f->n; i++)
		if (f->rows[i].st != ST_OK) {
			*d = f->rows[i].d;
			return f->rows[i].st;
		}
	return ST_OK;
}

/* Of all rows in use, with these factors and beside them. */
static status differentiate(step_fit *f, const double logs[FACTORS], diag *d)
{
	strbuf text = {0};
	status st = ST_OK;
	for (int k = 0; k <= FACTORS && st == ST_OK; k++) {
		double at[FACTORS];
		memcpy(at, logs, sizeof at);
		if (k)
			at[k - 1] += STEP;
		st = calibrate_profile(f->base_json, at, NULL, "calibrating", &text, &f->devices[k], d);
	}
	strbuf_release(&text);
	TRY(st);
	parallel_for((int)f->n, parallel_cores(), predict_row, f);
	return first_failure(f, d);
}

/* Solves a x = b for a symmetric positive definite a. */
static void solve(double a[FACTORS][FACTORS], const double b[FACTORS], double x[FACTORS])
{
	double l[FACTORS][FACTORS] = {0};
	for (int i = 0; i < FACTORS; i++)
		for (int j = 0; j <= i; j++) {
			double sum = a[i][j];
			for (int k = 0; k < j; k++)
				sum -= l[i][k] * l[j][k];
			l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
		}
	for (int i = 0; i < FACTORS; i++) {
		x[i] = b[i];
		for (int k = 0; k < i; k++)
			x[i] -= l[i][k] * x[k];
		x[i] /= l[i][i];
	}
	for (int i = FACTORS; i-- > 0;) {
		for (int k = i + 1; k < FACTORS; k++)
			x[i] -= l[k][i] * x[k];
		x[i] /= l[i][i];
	}
}

static void step(const step_fit *f, const double centre[FACTORS], double logs[FACTORS])
{
	double a[FACTORS][FACTORS] = {0}, b[FACTORS], x[FACTORS];
	for (int i = 0; i < FACTORS; i++) {
		a[i][i] = f->hold;
		b[i] = f->hold * (centre[i] - logs[i]);
	}
	for (uint32_t r = 0; r < f->n; r++) {
		double slope[FACTORS];
		const double *p = f->rows[r].predicted;
		if (!f->used[r])
			continue;
		double off = log((double)f->rows[r].of->step_ns / p[0]),
			   weight = fabs(off) > f->far_off ? f->far_off / fabs(off) : 1;
		for (int i = 0; i < FACTORS; i++)
			slope[i] = log(p[i + 1] / p[0]) / STEP;
		for (int i = 0; i < FACTORS; i++) {
			b[i] += weight * slope[i] * off;
			for (int k = 0; k < FACTORS; k++)
				a[i][k] += weight * slope[i] * slope[k];
		}
	}
	solve(a, b, x);
	for (int i = 0; i < FACTORS; i++)
		logs[i] =
			fmin(MOST_LOG, fmax(-MOST_LOG, logs[i] + fmin(MOST_STEP, fmax(-MOST_STEP, x[i]))));
}

/* From the centre on; where there is too little to fit, that is the result. */
static status solve_for(
	step_fit *f, int rounds, const double centre[FACTORS], double logs[FACTORS], diag *d)
{
	memcpy(logs, centre, FACTORS * sizeof *logs);
	for (int i = 0; f->enough && i < rounds; i++) {
		TRY(differentiate(f, logs, d));
		step(f, centre, logs);
	}
	return ST_OK;
}

/* What rows [from, end) take with these factors, by the field at `offset` of a row. */
static status tell_with(
	step_fit *f, const double logs[FACTORS], uint32_t from, uint32_t end, size_t offset, diag *d)
{
	strbuf text = {0};
	device dev;
	status st = calibrate_profile(f->base_json, logs, NULL, "calibrating", &text, &dev, d);
	for (uint32_t i = from; i < end && st == ST_OK; i++) {
		st = predict(&f->rows[i], &dev, (double *)((char *)&f->rows[i] + offset));
		if (st != ST_OK)
			*d = f->rows[i].d;
	}
	strbuf_release(&text);
	return st;
}

/* ---------------------------------------------------------------- programs left out */

/* The end of the rows of a program that begins at `from`. */
static uint32_t program_end(const step_fit *f, uint32_t from)
{
	uint32_t end = from;
	while (end < f->n && !strcmp(f->rows[end].of->fingerprint, f->rows[from].of->fingerprint))
		end++;
	return end;
}

/* Factors that a fit has without a program: where it has no rows of it, those of all its rows. */
static const double *logs_without(const step_fit *f, const char *fingerprint)
{
	for (uint32_t i = 0; i < f->n; i++)
		if (!strcmp(f->rows[i].of->fingerprint, fingerprint))
			return f->rows[i].logs_without;
	return f->logs;
}

/* Each program is predicted by a fit to all others, held near a centre that knows only those. */
static status leave_out(step_fit *f, const step_fit *begin, diag *d)
{
	for (uint32_t from = 0, end; from < f->n; from = end) {
		double logs[FACTORS];
		end = program_end(f, from);
		for (uint32_t i = 0; i < f->n; i++)
			f->used[i] = i < from || i >= end;
		TRY(solve_for(
			f, ROUNDS_LEFT_OUT, logs_without(begin, f->rows[from].of->fingerprint), logs, d));
		TRY(tell_with(f, logs, from, end, offsetof(step_row, left_out), d));
		for (uint32_t i = from; i < end; i++)
			memcpy(f->rows[i].logs_without, logs, sizeof logs);
	}
	return ST_OK;
}

status calibrate_fit(step_fit *f, const step_fit *begin, diag *d)
{
	static const double ones[FACTORS] = {0};
	TRY(tell_with(f, ones, 0, f->n, offsetof(step_row, base), d));
	TRY(leave_out(f, begin, d));
	memset(f->used, true, f->n);
	TRY(solve_for(f, ROUNDS, begin->logs, f->logs, d));
	return tell_with(f, f->logs, 0, f->n, offsetof(step_row, fitted), d);
}
