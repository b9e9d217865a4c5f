/* calibrate --store: rates of a device profile fitted to the steps that a store knows.
 *
 * Two fits. What a compiler's schedule costs says how much more or less it makes of a program than
 * was predicted, and nothing of the device: its kernels are costed with the profile's own rates.
 * What was measured says both. So measured steps decide, where there are enough, and their factors
 * are held near those of compiled steps; without enough of them, the latter are the result. */
#include "clients/cli/calibrate.h"

#include <math.h>
#include <stdlib.h>

enum { LEAST_ROWS = 5, LEAST_PROGRAMS = 2 };
static const char *const factor_names[FACTORS] = {"compute", "memory", "links"};

/* A measured step is true to a few percent. A schedule's is off for reasons of its own, such as a
 * tensor that is padded or gathered: a tenth, say, and now and then a factor, while rates that are
 * off by a third would be a surprise. So the square of a tenth over a third holds its factors. */
static const struct {
	const char *title;
	double hold, far_off;
} sources[STEP_SOURCE_COUNT] = {
	[STEP_MEASURED] = {"MEASURED", 0.003, INFINITY},
	[STEP_COMPILED] = {"COMPILED", 0.1, 0.2},
};

/* What a store has of a source. */
typedef struct known {
	known_step *steps;
	known_steps_left left;
	uint32_t programs;
	step_fit fit;
} known;

/* ---------------------------------------------------------------- the table */

static double off(double predicted, int64_t found) { return 100 * (predicted / (double)found - 1); }

static void report_row(FILE *out, const step_row *r, double sums[3])
{
	strbuf time = {0};
	double offs[3] = {off(r->base, r->of->step_ns), off(r->fitted, r->of->step_ns),
		off(r->left_out, r->of->step_ns)};
	strbuf_duration(&time, r->of->step_ns);
	fprintf(out, "%-28.28s %-22.22s %12s %+9.1f%% %+9.1f%% %+11.1f%%%s%s\n", r->of->name,
		r->of->mesh, time.p, offs[0], offs[1], offs[2], r->of->plan[0] ? "  " : "", r->of->plan);
	for (int k = 0; k < 3; k++)
		sums[k] += fabs(offs[k]);
	strbuf_release(&time);
}

static void report(FILE *out, const known *k, step_source source)
{
	const step_fit *f = &k->fit;
	double sums[3] = {0};
	if (!f->n)
		return;
	fprintf(out, "%-28s %-22s %12s %10s %10s %12s%s\n", "MODULE", "MESH", sources[source].title,
		"BEFORE", "AFTER", "LEFT OUT", source == STEP_COMPILED ? "  PLAN" : "");
	for (uint32_t i = 0; i < f->n; i++)
		report_row(out, &f->rows[i], sums);
	fprintf(out, "%-28s %-22s %12s %9.1f%% %9.1f%% %11.1f%%\n", "mean error", "", "",
		sums[0] / f->n, sums[1] / f->n, sums[2] / f->n);
	for (int i = 0; i < FACTORS; i++)
		fprintf(out, "%s%s x%.3f", i ? ", " : "rates: ", factor_names[i], exp(f->logs[i]));
	fputs(f->enough ? "\n" : ": too few rows to fit, as by compiled steps\n", out);
	if (f->enough && sums[2] >= sums[0])
		fputs("programs that it has not seen are predicted no better: keep the profile as it was\n",
			out);
	if (k->left.lost)
		fprintf(out, "left out: %u whose modules are lost\n", k->left.lost);
	if (k->left.undocumented)
		fprintf(
			out, "left out: %u baselines, whose decisions are not kept\n", k->left.undocumented);
	if (k->left.other_model)
		fprintf(out, "left out: %u of another cost model\n", k->left.other_model);
	fputc('\n', out);
}

/* ---------------------------------------------------------------- all of it */

static status open_row(step_row *r, const known_step *of, diag *d)
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

static status open_known(known *k, const char *store, const char *base_json, const device *base,
	step_source source, diag *d)
{
	uint32_t n = 0;
	TRY(store_known_steps(store, base->name, source, &k->steps, &n, &k->left, d));
	k->fit = (step_fit){.base_json = base_json,
		.rows = xcalloc(n + 1, sizeof *k->fit.rows),
		.used = xcalloc(n + 1, sizeof *k->fit.used),
		.n = n,
		.hold = sources[source].hold,
		.far_off = sources[source].far_off};
	for (uint32_t i = 0; i < n; i++) {
		k->programs += !i || strcmp(k->steps[i].fingerprint, k->steps[i - 1].fingerprint);
		status st = open_row(&k->fit.rows[i], &k->steps[i], d);
		if (st != ST_OK)
			diag_in_file(d, k->steps[i].strategy);
		TRY(st);
	}
	k->fit.enough = n >= LEAST_ROWS && k->programs >= LEAST_PROGRAMS;
	return ST_OK;
}

static void close_known(known *k)
{
	for (uint32_t i = 0; i < k->fit.n; i++) {
		strategy_release(&k->fit.rows[i].s);
		if (k->fit.rows[i].annotated)
			module_free(k->fit.rows[i].annotated);
		if (k->fit.rows[i].m)
			module_free(k->fit.rows[i].m);
	}
	free(k->fit.rows);
	free(k->fit.used);
	known_steps_free(k->steps, k->fit.n);
}

static status too_little(const known *measured, const known *compiled, const device *base, diag *d)
{
	const known_steps_left *a = &measured->left, *b = &compiled->left;
	return diag_set(d, ST_ERR_INVALID,
		"the store has %u measured strategies of %u programs for %s, and %u compiled ones of %u%s: "
		"three factors and a test of them need at least %d of %d",
		measured->fit.n, measured->programs, base->name, compiled->fit.n, compiled->programs,
		a->lost || b->lost    ? ", beside those whose modules are lost"
			: b->other_model  ? ", beside those of another cost model"
			: b->undocumented ? ", beside baselines"
							  : "",
		LEAST_ROWS, LEAST_PROGRAMS);
}

static status fit_both(known of[STEP_SOURCE_COUNT], const char *base_json, const char *name,
	FILE *table, strbuf *profile, diag *d)
{
	static const step_fit nothing = {0};
	known *measured = &of[STEP_MEASURED], *compiled = &of[STEP_COMPILED];
	char source[160];
	device dev;
	if (compiled->fit.enough)
		TRY(calibrate_fit(&compiled->fit, &nothing, d));
	TRY(calibrate_fit(&measured->fit, &compiled->fit, d));
	if (compiled->fit.enough)
		report(table, compiled, STEP_COMPILED);
	report(table, measured, STEP_MEASURED);
	if (!measured->fit.enough)
		snprintf(source, sizeof source, "calibrated to %u compiled steps", compiled->fit.n);
	else if (!compiled->fit.enough)
		snprintf(source, sizeof source, "calibrated to %u measured steps", measured->fit.n);
	else
		snprintf(source, sizeof source,
			"calibrated to %u measured steps, near the rates of %u compiled ones", measured->fit.n,
			compiled->fit.n);
	fprintf(table, "%s\n", source);
	return calibrate_profile(base_json, measured->fit.logs, name, source, profile, &dev, d);
}

status calibrate_steps(const char *store, const char *base_json, const device *base,
	const char *name, FILE *table, strbuf *profile, diag *d)
{
	known of[STEP_SOURCE_COUNT] = {0};
	status st = ST_OK;
	for (int k = 0; k < STEP_SOURCE_COUNT && st == ST_OK; k++)
		st = open_known(&of[k], store, base_json, base, (step_source)k, d);
	if (st == ST_OK && !of[STEP_MEASURED].fit.enough && !of[STEP_COMPILED].fit.enough)
		st = too_little(&of[STEP_MEASURED], &of[STEP_COMPILED], base, d);
	if (st == ST_OK)
		st = fit_both(of, base_json, name, table, profile, d);
	for (int k = 0; k < STEP_SOURCE_COUNT; k++)
		close_known(&of[k]);
	return st;
}
