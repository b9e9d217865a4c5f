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

/* ---------------------------------------------------------------- report.c */

/* Names that differ in numbers only have one pattern: layers[0] .. layers[31] become layers[*]. */
void report_name_pattern(str name, strbuf *out);

#endif
