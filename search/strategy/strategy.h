/* Shared by strategies, their documents and tables. */
#ifndef SW_SEARCH_STRATEGY_H
#define SW_SEARCH_STRATEGY_H

#include "search/search.h"

/* ---------------------------------------------------------------- strategy.c */

/* The mesh that the module declares with the same axes and devices, so that its shardings and a strategy's agree; ID_NONE
 * when it declares none. */
mesh_id module_own_mesh(const module *m, mesh_id wanted);
/* Shardings on a mesh without axes, as JAX writes for random keys outside of any mesh, say the same on every mesh: they get this one. */
void module_fill_empty_mesh(module *m, mesh_id mesh);

/* ---------------------------------------------------------------- listed.c */

/* One more op of its name at its place, with bytes that it keeps; texts go to mem. */
void listed_op_add(arena *mem, const module *m, op_id o, int64_t bytes, listed_ops *list);
struct cJSON *listed_ops_json(const listed_ops *ops);
/* Loops whose number of iterations the program does not say. */
void list_uncounted_loops(const program *p, arena *mem, listed_ops *out);
/* "uncounted_loops" of a cost, left out where there are none; trip_count: 0, or what each counts. */
void add_listed_loops(struct cJSON *to, const listed_ops *loops, int64_t trip_count);

/* ---------------------------------------------------------------- report.c */

/* Names that differ in numbers only have one pattern: layers[0] .. layers[31] become layers[*]. */
void report_name_pattern(str name, strbuf *out);

#endif
