/* Shared by strategies, their documents and tables. */
#ifndef SW_SEARCH_STRATEGY_H
#define SW_SEARCH_STRATEGY_H

#include "search/search.h"

static inline str copy_str(arena *mem, str s)
{
	return (str){arena_strdup(mem, s.p ? s.p : "", s.n), s.n};
}

/* ---------------------------------------------------------------- strategy_apply.c */

/* Pre-order index -> op of a function; ID_NONE beyond its end. */
op_id op_by_index(const module *m, op_id function, uint32_t index);
/* The mesh that the module declares with the same axes and devices, so that its shardings and a
 * strategy's agree; ID_NONE when it declares none. */
mesh_id module_own_mesh(const module *m, mesh_id wanted);
/* Shardings on a mesh without axes, as JAX writes for random keys outside of any mesh, say the same
 * on every mesh: they get this one. */
void module_fill_empty_mesh(module *m, mesh_id mesh);

/* ---------------------------------------------------------------- simpler_json.c */

/* "simpler" of a document; where there is none, any is false. */
struct cJSON *simpler_to_json(const simpler_than *s);
void simpler_from_json(const struct cJSON *document, simpler_than *out);
/* Why the answer is not the cheapest plan, as a line. */
void report_simpler(const struct cJSON *document, strbuf *out);

/* ---------------------------------------------------------------- listed.c */

/* One more op of its name at its place, with bytes that it keeps; texts go to mem. */
listed_op *listed_op_add(arena *mem, const module *m, op_id o, int64_t bytes, listed_ops *list);
/* Of all that the node reads and makes, on a device that has it whole. */
int64_t node_whole_bytes(const program *p, const node *n);
void document_add_text(struct cJSON *o, const char *key, str s);
struct cJSON *listed_ops_json(const listed_ops *ops);
/* Loops whose number of iterations the program does not say. */
void list_uncounted_loops(const program *p, arena *mem, listed_ops *out);
/* "uncounted_loops" of a cost, left out where there are none; trip_count: as module.trip_count. */
void add_listed_loops(struct cJSON *to, const listed_ops *loops, int64_t trip_count);
/* "pareto" of what is too large. */
void document_add_pareto(struct cJSON *to, const search_result *r);

/* ---------------------------------------------------------------- report.c */

void report_cost_header(uint32_t columns, strbuf *out); /* columns: as of report_document */
/* One row of the cost table; best_ns: the answer's step time, for the ratio; 0: no ratio. */
void report_cost_row(strbuf *out, const char *name, const struct cJSON *cost_json, bool fits,
	int64_t best_ns, uint32_t columns);

/* ---------------------------------------------------------------- report_cells.c */

/* Names that differ in numbers only have one pattern: layers[0] .. layers[31] become layers[*]. */
void report_name_pattern(str name, strbuf *out);
/* The name that two of one pattern have in common: a number that both have stays. */
void report_common_name(str a, str b, strbuf *out);
/* What any names have in common before and behind a '*', in whole words; without any, the first and
 * the last: arg3..arg91. */
void report_name_of_all(const str *names, uint32_t n, strbuf *out);
/* [data+model, -] */
void report_sharding(const struct cJSON *sharding, strbuf *out);
/* In characters. What is too long is left out in the middle; a cell is filled up with blanks. */
size_t report_width(str text);
void report_shortened(str text, size_t most, strbuf *out);
void report_cell(str text, size_t width, strbuf *out);

void report_title(strbuf *out, const char *title);
/* With a sign. */
void report_change_ns(strbuf *out, int64_t ns);
void report_change_bytes(strbuf *out, int64_t bytes);

/* ---------------------------------------------------------------- report_arguments.c */

/* columns: of the terminal; 0: as many as are needed. */
void report_arguments(const struct cJSON *document, uint32_t columns, strbuf *out);

/* ---------------------------------------------------------------- report_decisions.c */

void report_decisions(const struct cJSON *document, uint32_t columns, strbuf *out);
/* Inner values that are constrained and that no decision names; those of all layers in one row. */
void report_held(const struct cJSON *document, strbuf *out);

#endif
