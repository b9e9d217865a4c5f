/* The part of `shardwright store` that is about a store as a whole. */
#ifndef SW_STORE_CARE_H
#define SW_STORE_CARE_H

#include "batch/batch.h"

typedef struct care_options {
	const char *store, *module, *mesh, *device, *label; /* NULL: any */
	char **operands;
	int n_operands;
	int64_t keep_days, keep_size;
	bool json;
} care_options;

void care_help(void); /* a line per action */
bool care_is_action(const char *name);
/* The exit code. */
int care_run(const char *name, const care_options *o);

#endif
