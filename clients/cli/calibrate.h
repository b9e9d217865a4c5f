/* calibrate --store (calibrate_steps.c). */
#ifndef SW_CLI_CALIBRATE_H
#define SW_CLI_CALIBRATE_H

#include "search/search.h"

/* Fits factors on the rates of a profile (compute, memory, links) to the steps that a store has
 * measured with it, prints the error of each step before, after and by a fit to all other programs,
 * and appends the profile. ST_ERR_INVALID: too little was measured. */
status calibrate_steps(const char *store, const char *base_json, const device *base,
	const char *name, FILE *table, strbuf *profile, diag *d) MUST_USE;

#endif
