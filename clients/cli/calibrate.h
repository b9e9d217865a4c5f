/* calibrate --store: what is read and told is calibrate_steps.c, the fit calibrate_fit.c. */
#ifndef SW_CLI_CALIBRATE_H
#define SW_CLI_CALIBRATE_H

#include "batch/batch.h"
#include "search/search.h"

/* Fits factors on the rates of a profile (compute, memory, links) to the steps that a store knows
 * for it: measured ones, which are held near what compiled ones give; those alone, where too few
 * were measured. Prints the error of each step before, after and by a fit to all other programs,
 * and appends the profile. ST_ERR_INVALID: too little is known. */
status calibrate_steps(const char *store, const char *base_json, const device *base,
	const char *name, FILE *table, strbuf *profile, diag *d) MUST_USE;

/* ---------------------------------------------------------------- calibrate_fit.c */

enum { FACTORS = 3 }; /* compute, memory, links; as logarithms */

typedef struct step_row {
	const known_step *of;
	module *m, *annotated; /* the second one uses tables of the first */
	strategy s;
	double predicted[FACTORS + 1]; /* ns: with the factors, and with one of them a step further */
	double base, fitted, left_out; /* ns */
	double logs_without[FACTORS];  /* factors of a fit to all other programs */
	status st;
	diag d;
} step_row;

typedef struct step_fit {
	const char *base_json;
	step_row *rows; /* those of a program together */
	uint32_t n;
	bool enough;                 /* to be fitted; else they are only predicted */
	double hold;                 /* how much a factor is worth that stays at the centre, in rows */
	double far_off;              /* of a row, beyond which it pulls no harder; in logarithms */
	device devices[FACTORS + 1]; /* of the present derivatives */
	bool *used;                  /* rows that are fitted */
	double logs[FACTORS];        /* what is found */
} step_fit;

/* Factors for the rows, held near those of another fit, which has been made or has no rows. Fills
 * logs and what the rows take. */
status calibrate_fit(step_fit *f, const step_fit *begin, diag *d) MUST_USE;

/* The base with its rates times the exponentials of logs, as text and as device. name: NULL: the
 * base's. */
status calibrate_profile(const char *base_json, const double logs[FACTORS], const char *name,
	const char *source, strbuf *out, device *dev, diag *d) MUST_USE;

#endif
