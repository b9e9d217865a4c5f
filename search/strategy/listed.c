/* Ops that an answer lists by name and place of the source: those without a rule, those that run
 * whole, loops of unknown trip count. */
#include "search/strategy/strategy.h"

#include <cjson/cJSON.h>

listed_op *listed_op_add(arena *mem, const module *m, op_id o, int64_t bytes, listed_ops *list)
{
	strbuf where = {0};
	loc_print(m, m->ops.p[o].loc, &where);
	str name = strtab_get(&m->strs, m->ops.p[o].name), at = {where.p ? where.p : "", where.n};
	uint32_t k = 0;
	while (k < list->n && !(str_equal(list->p[k].op, name) && str_equal(list->p[k].location, at)))
		k++;
	if (k == list->n)
		vec_push(list, (listed_op){.op = copy_str(mem, name), .location = copy_str(mem, at)});
	list->p[k].count++;
	list->p[k].bytes = sat_add(list->p[k].bytes, bytes);
	strbuf_release(&where);
	return &list->p[k];
}

int64_t node_whole_bytes(const program *p, const node *n)
{
	int64_t bytes = 0;
	for (uint32_t k = 0; k < (uint32_t)n->n_operands + n->n_results; k++)
		bytes = sat_add(bytes,
			sharding_local_bytes(
				p->m->shardings, SHARDING_NONE, pval_type(p, node_slots(p, n)[k])));
	return bytes;
}

void document_add_text(cJSON *o, const char *key, str s)
{
	strbuf b = {0};
	strbuf_str(&b, s);
	cJSON_AddStringToObject(o, key, b.p ? b.p : "");
	strbuf_release(&b);
}

cJSON *listed_ops_json(const listed_ops *ops)
{
	cJSON *list = cJSON_CreateArray();
	for (uint32_t i = 0; i < ops->n; i++) {
		cJSON *o = cJSON_CreateObject();
		cJSON_AddStringToObject(o, "op", ops->p[i].op.p);
		cJSON_AddStringToObject(o, "location", ops->p[i].location.p);
		cJSON_AddNumberToObject(o, "count", ops->p[i].count);
		cJSON_AddNumberToObject(o, "bytes", (double)ops->p[i].bytes);
		cJSON_AddItemToArray(list, o);
	}
	return list;
}

/* ---------------------------------------------------------------- loops */

void list_uncounted_loops(const program *p, arena *mem, listed_ops *out)
{
	for (node_id i = 0; i < p->nodes.n; i++) {
		const node *n = &p->nodes.p[i];
		if (n->op_kind != OP_WHILE || n->kind != NODE_REGION || n->trips_known)
			continue;
		listed_op *of = listed_op_add(mem, p->m, n->op, 0, out);
		of->trips = MAX(of->trips, n->trips);
		of->bounded |= n->trips_bounded;
	}
}

void add_listed_loops(cJSON *to, const listed_ops *loops, int64_t trip_count)
{
	if (!loops->n)
		return;
	cJSON *list = cJSON_AddArrayToObject(to, "uncounted_loops");
	for (uint32_t i = 0; i < loops->n; i++) {
		cJSON *o = cJSON_CreateObject();
		cJSON_AddStringToObject(o, "location", loops->p[i].location.p);
		cJSON_AddNumberToObject(o, "count", loops->p[i].count);
		cJSON_AddNumberToObject(o, "trips", (double)loops->p[i].trips);
		cJSON_AddStringToObject(o, "by",
			loops->p[i].trips == trip_count ? "request"
				: loops->p[i].bounded       ? "bound"
											: "unknown");
		cJSON_AddItemToArray(list, o);
	}
}

void add_uncounted_loops(cJSON *to, const program *p)
{
	arena mem;
	listed_ops loops = {0};
	arena_init(&mem);
	list_uncounted_loops(p, &mem, &loops);
	add_listed_loops(to, &loops, p->m->trip_count);
	vec_release(&loops);
	arena_release(&mem);
}

void report_uncounted_loops(const cJSON *of, strbuf *out)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(of, "uncounted_loops"),
				*o = list ? list->child : NULL;
	for (; o; o = o->next) {
		const cJSON *at = cJSON_GetObjectItemCaseSensitive(o, "location"),
					*trips = cJSON_GetObjectItemCaseSensitive(o, "trips"),
					*by = cJSON_GetObjectItemCaseSensitive(o, "by");
		const char *location_text =
			cJSON_IsString(at) && at->valuestring[0] ? at->valuestring : "an unknown place";
		if (cJSON_IsString(by) && !strcmp(by->valuestring, "bound") && cJSON_IsNumber(trips))
			strbuf_printf(out,
				"  the loop at %s counts %.0f times, the bound of its counter: it may end early; "
				"--trip-count N gives another number\n",
				location_text, trips->valuedouble);
		else if (cJSON_IsNumber(trips) && trips->valuedouble > 1)
			strbuf_printf(out, "  the loop at %s counts %.0f times, as --trip-count says\n",
				location_text, trips->valuedouble);
		else
			strbuf_printf(out,
				"  the loop at %s counts once: its trip count is not known; --trip-count N gives "
				"it\n",
				location_text);
	}
}

void document_add_pareto(cJSON *to, const search_result *r)
{
	cJSON *list = cJSON_AddArrayToObject(to, "pareto");
	for (uint32_t i = 0; i < r->pareto.n; i++) {
		const pareto_point *x = &r->pareto.p[i];
		cJSON *point = cJSON_CreateObject();
		cJSON_AddNumberToObject(point, "peak_bytes", (double)x->peak_bytes);
		cJSON_AddNumberToObject(point, "runtime_ns", (double)x->runtime_ns);
		if (x->is_answer)
			cJSON_AddTrueToObject(point, "answer");
		if (x->name.n)
			document_add_text(point, "baseline", x->name);
		cJSON_AddItemToArray(list, point);
	}
}
