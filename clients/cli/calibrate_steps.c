/* calibrate --store: rates of a device profile fitted to measured steps.
 *
 * Three factors: on what computes, on what memory moves, on what links move. Steps are simulated
 * with them, not taken apart: what of a collective is hidden, and what bounds a kernel, changes
 * with the rates. Least squares on the logarithm of predicted over measured, by Gauss and Newton
 * with finite differences, each factor held near 1 by as much as a row that is off by tens of
 * percent could move it. */
#include "batch/batch.h"
#include "clients/cli/calibrate.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

enum { FACTORS = 3, LEAST_ROWS = 5, LEAST_PROGRAMS = 2, ROUNDS = 5, ROUNDS_LEFT_OUT = 4 };
static const double STEP = 0.05, PRIOR = 0.003, MOST_STEP = 0.7,
					MOST_LOG = 1.8; /* a factor of six either way */
static const char *const factor_names[FACTORS] = {"compute", "memory", "links"};

typedef struct row {
	const measured_row *of;
	module *m, *annotated; /* the second one uses tables of the first */
	strategy s;
	double predicted[FACTORS + 1]; /* ns: with the factors, and with one of them a step further */
	double base, fitted, left_out; /* ns */
	status st;
	diag d;
} row;

typedef struct fit {
	const char *base_json;
	row *rows;
	uint32_t n;
	device devices[FACTORS + 1]; /* of the present derivatives */
	bool *used;                  /* rows that are fitted */
} fit;

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

/* The base with its rates times the exponentials of logs. */
static status profile_with(const char *base_json, const double logs[FACTORS], const char *name,
	const char *source, strbuf *out, device *dev, diag *d)
{
	static const char *const of_compute[] = {"vector_flops", "matmul_results_s",
		"matmul_results_on_chip_s", "vector_elements_s", "lone_elements_s", "channel_taps_s"},
							 *const of_memory[] = {"memory_bytes_s", "reorder_elements_s"};
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

static status predict(row *r, const device *dev, double *out)
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
	fit *f = user;
	row *r = &f->rows[i];
	for (int k = 0; f->used[i] && k <= FACTORS && r->st == ST_OK; k++)
		r->st = predict(r, &f->devices[k], &r->predicted[k]);
}

static status first_failure(const fit *f, diag *d)
{
	for (uint32_t i = 0; i < f->n; i++)
		if (f->rows[i].st != ST_OK) {
			*d = f->rows[i].d;
			return f->rows[i].st;
		}
	return ST_OK;
}

/* Of all rows in use, with these factors and beside them. */
static status differentiate(fit *f, const double logs[FACTORS], diag *d)
{
	strbuf text = {0};
	status st = ST_OK;
	for (int k = 0; k <= FACTORS && st == ST_OK; k++) {
		double at[FACTORS];
		memcpy(at, logs, sizeof at);
		if (k)
			at[k - 1] += STEP;
		st = profile_with(f->base_json, at, NULL, "calibrating", &text, &f->devices[k], d);
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

static void step(const fit *f, double logs[FACTORS])
{
	double a[FACTORS][FACTORS] = {0}, b[FACTORS], x[FACTORS];
	for (int i = 0; i < FACTORS; i++) {
		a[i][i] = PRIOR;
		b[i] = -PRIOR * logs[i];
	}
	for (uint32_t r = 0; r < f->n; r++) {
		double slope[FACTORS];
		const double *p = f->rows[r].predicted;
		if (!f->used[r])
			continue;
		for (int i = 0; i < FACTORS; i++)
			slope[i] = log(p[i + 1] / p[0]) / STEP;
		for (int i = 0; i < FACTORS; i++) {
			b[i] += slope[i] * log((double)f->rows[r].of->step_ns / p[0]);
			for (int k = 0; k < FACTORS; k++)
				a[i][k] += slope[i] * slope[k];
		}
	}
	solve(a, b, x);
	for (int i = 0; i < FACTORS; i++)
		logs[i] =
			fmin(MOST_LOG, fmax(-MOST_LOG, logs[i] + fmin(MOST_STEP, fmax(-MOST_STEP, x[i]))));
}

/* From factors of 1. */
static status solve_for(fit *f, int rounds, double logs[FACTORS], diag *d)
{
	memset(logs, 0, FACTORS * sizeof *logs);
	for (int i = 0; i < rounds; i++) {
		TRY(differentiate(f, logs, d));
		step(f, logs);
	}
	return ST_OK;
}

/* What the rows that are marked take with these factors, by the field at `offset` of a row. */
static status tell_with(
	fit *f, const double logs[FACTORS], const bool *which, size_t offset, diag *d)
{
	strbuf text = {0};
	device dev;
	status st = profile_with(f->base_json, logs, NULL, "calibrating", &text, &dev, d);
	for (uint32_t i = 0; i < f->n && st == ST_OK; i++)
		if (which[i] &&
			(st = predict(&f->rows[i], &dev, (double *)((char *)&f->rows[i] + offset))) != ST_OK)
			*d = f->rows[i].d;
	strbuf_release(&text);
	return st;
}

/* Each program is predicted by a fit to all others. */
static status leave_out(fit *f, diag *d)
{
	bool *left = xcalloc(f->n, sizeof *left);
	status st = ST_OK;
	for (uint32_t from = 0, end; from < f->n && st == ST_OK; from = end) {
		double logs[FACTORS];
		for (end = from;
			 end < f->n && !strcmp(f->rows[end].of->fingerprint, f->rows[from].of->fingerprint);)
			end++;
		for (uint32_t i = 0; i < f->n; i++) {
			left[i] = i >= from && i < end;
			f->used[i] = !left[i];
		}
		st = solve_for(f, ROUNDS_LEFT_OUT, logs, d);
		if (st == ST_OK)
			st = tell_with(f, logs, left, offsetof(row, left_out), d);
	}
	free(left);
	return st;
}

/* ---------------------------------------------------------------- the table */

static double off(double predicted, int64_t measured)
{
	return 100 * (predicted / (double)measured - 1);
}

static void report(FILE *out, const fit *f, const double logs[FACTORS])
{
	double sums[3] = {0};
	fprintf(out, "%-28s %-22s %12s %10s %10s %12s\n", "MODULE", "MESH", "MEASURED", "BEFORE",
		"AFTER", "LEFT OUT");
	for (uint32_t i = 0; i < f->n; i++) {
		const row *r = &f->rows[i];
		strbuf time = {0};
		double offs[3] = {off(r->base, r->of->step_ns), off(r->fitted, r->of->step_ns),
			off(r->left_out, r->of->step_ns)};
		strbuf_duration(&time, r->of->step_ns);
		fprintf(out, "%-28.28s %-22.22s %12s %+9.1f%% %+9.1f%% %+11.1f%%\n", r->of->name,
			r->of->mesh, time.p, offs[0], offs[1], offs[2]);
		for (int k = 0; k < 3; k++)
			sums[k] += fabs(offs[k]) / f->n;
		strbuf_release(&time);
	}
	fprintf(out, "%-28s %-22s %12s %9.1f%% %9.1f%% %11.1f%%\n", "mean error", "", "", sums[0],
		sums[1], sums[2]);
	for (int k = 0; k < FACTORS; k++)
		fprintf(out, "%s%s x%.3f", k ? ", " : "rates: ", factor_names[k], exp(logs[k]));
	fputc('\n', out);
}

/* ---------------------------------------------------------------- all of it */

static status open_row(row *r, const measured_row *of, diag *d)
{
	char device_name[64];
	int64_t limit;
	r->of = of;
	TRY(module_read_file(of->module_path, NULL, &r->m, d));
	status st = module_verify_types(r->m, d);
	if (st == ST_OK)
		st = strategy_read(r->m, of->document.p, of->document.n, &r->s, device_name, &limit, d);
	if (st == ST_OK)
		st = strategy_apply(r->m, &r->s, &r->annotated, d);
	return st;
}

static status check_enough(
	const measured_row *rows, uint32_t n, uint32_t lost, const device *base, diag *d)
{
	uint32_t programs = 0;
	for (uint32_t i = 0; i < n; i++)
		programs += !i || strcmp(rows[i].fingerprint, rows[i - 1].fingerprint);
	if (n >= LEAST_ROWS && programs >= LEAST_PROGRAMS)
		return ST_OK;
	return diag_set(d, ST_ERR_INVALID,
		"the store has %u measured strategies of %u programs for %s%s: three factors and a test of "
		"them need at least %d of %d",
		n, programs, base->name, lost ? ", beside those whose modules are lost" : "", LEAST_ROWS,
		LEAST_PROGRAMS);
}

static status fit_rows(fit *f, const char *name, strbuf *profile, double logs[FACTORS], diag *d)
{
	static const double ones[FACTORS] = {0};
	bool *all = xcalloc(f->n, sizeof *all);
	char source[160];
	device dev;
	memset(all, true, f->n);
	status st = tell_with(f, ones, all, offsetof(row, base), d);
	if (st == ST_OK)
		st = leave_out(f, d);
	memset(f->used, true, f->n);
	if (st == ST_OK)
		st = solve_for(f, ROUNDS, logs, d);
	if (st == ST_OK)
		st = tell_with(f, logs, all, offsetof(row, fitted), d);
	snprintf(source, sizeof source, "calibrated to %u measured steps", f->n);
	if (st == ST_OK)
		st = profile_with(f->base_json, logs, name, source, profile, &dev, d);
	free(all);
	return st;
}

status calibrate_steps(const char *store, const char *base_json, const device *base,
	const char *name, FILE *table, strbuf *profile, diag *d)
{
	measured_row *measured = NULL;
	uint32_t n = 0, lost = 0;
	double logs[FACTORS];
	status st = store_measured(store, base->name, &measured, &n, &lost, d);
	if (st == ST_OK)
		st = check_enough(measured, n, lost, base, d);
	fit f = {.base_json = base_json,
		.rows = xcalloc(n + 1, sizeof *f.rows),
		.used = xcalloc(n + 1, sizeof *f.used),
		.n = n};
	for (uint32_t i = 0; i < n && st == ST_OK; i++)
		st = open_row(&f.rows[i], &measured[i], d);
	if (st == ST_OK)
		st = fit_rows(&f, name, profile, logs, d);
	if (st == ST_OK)
		report(table, &f, logs);
	for (uint32_t i = 0; i < n; i++) {
		strategy_release(&f.rows[i].s);
		if (f.rows[i].annotated)
			module_free(f.rows[i].annotated);
		if (f.rows[i].m)
			module_free(f.rows[i].m);
	}
	free(f.rows);
	free(f.used);
	measured_rows_free(measured, n);
	return st;
}
