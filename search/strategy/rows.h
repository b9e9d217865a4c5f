/* The arguments of a document in rows: those whose names have one pattern, and whose type, role and
 * sharding are the same. */
#ifndef SW_SEARCH_STRATEGY_ROWS_H
#define SW_SEARCH_STRATEGY_ROWS_H

#include "search/strategy/read_json.h"
#include "search/strategy/strategy.h"

typedef struct argument {
	str name, type, role, sharding;
	int64_t group;   /* -1: of none */
	bool propagated; /* the sharding is not the strategy's */
} argument;

typedef struct row {
	str name;              /* what their names have in common */
	uint32_t first, count; /* first: argument */
} row;

typedef struct row_table {
	arena mem;
	VEC(argument) args;
	VEC(row) rows;
	VEC(uint32_t) row_of; /* by argument, of rows_fold */
} row_table;

/* Into a table that is all zero, which the caller releases. Rows are in the order of their first
 * arguments. */
void rows_fold(row_table *t, const cJSON *document);
void rows_release(row_table *t);

/* A text that lives as long as the table. */
str rows_keep(row_table *t, const strbuf *b);
/* Type, role and sharding. */
bool rows_alike(const argument *a, const argument *b);
uint64_t rows_hash(const argument *a, uint64_t h);

#endif
