/* What `simulate` and `lower` print of compiled HLO text. */
#include "clients/cli/hlo.h"

#include <cjson/cJSON.h>

status cli_read_hlo(const char *path, strbuf *text, hlo_module **out, diag *d)
{
	*out = NULL;
	TRY(file_read(path, MAX_TEXT_BYTES, text, d));
	return hlo_is_text(text->p, text->n) ? hlo_read(text->p, text->n, path, out, d) : ST_OK;
}

static void add_view(cJSON *to, const char *key, str s)
{
	strbuf text = {0};
	strbuf_str(&text, s);
	cJSON_AddStringToObject(to, key, text.p ? text.p : "");
	strbuf_release(&text);
}

static void add_location(cJSON *to, const hlo_module *m, hlo_id i)
{
	strbuf where = {0};
	hlo_location(m, i, &where);
	cJSON_AddStringToObject(to, "location", where.p ? where.p : "");
	strbuf_release(&where);
}

cJSON *cli_hlo_ops(const hlo_module *m, const hlo_simulation *s)
{
	uint32_t n;
	const hlo_event *e = hlo_events(s, &n);
	cJSON *list = cJSON_CreateArray();
	for (uint32_t k = 0; k < n; k++, e++) {
		if (e->end_ns == e->start_ns)
			continue;
		cJSON *j = cJSON_CreateObject();
		cJSON_AddNumberToObject(j, "op", e->instr);
		add_view(j, "name", hlo_name(m, e->instr));
		cJSON_AddStringToObject(j, "opcode",
			e->coll >= 0 ? collective_name((collective_kind)e->coll)
						 : hlo_op_text((hlo_op)m->instrs.p[e->instr].op));
		cJSON_AddStringToObject(j, "stream", hlo_stream_name(s, e->stream));
		cJSON_AddNumberToObject(j, "start_ns", (double)e->start_ns);
		cJSON_AddNumberToObject(j, "end_ns", (double)e->end_ns);
		cJSON_AddNumberToObject(j, "executions", (double)e->executions);
		cJSON_AddStringToObject(j, "source", hlo_source_name((hlo_source)e->source));
		if (e->coll >= 0) {
			cJSON_AddNumberToObject(j, "bytes", (double)e->bytes);
			cJSON_AddNumberToObject(j, "exposed_ns", (double)e->exposed_ns);
		} else {
			cJSON_AddNumberToObject(j, "memory_traffic_bytes", (double)e->hbm_bytes);
		}
		add_location(j, m, e->instr);
		cJSON_AddItemToArray(list, j);
	}
	return list;
}

static cJSON *groups_json(const hlo_module *m, hlo_id i)
{
	hlo_members g;
	hlo_group_members(m, i, &g);
	cJSON *groups = cJSON_CreateArray();
	for (uint32_t k = 0; k + 1 < g.starts.n; k++)
		cJSON_AddItemToArray(groups,
			cJSON_CreateIntArray(
				g.ids.p + g.starts.p[k], (int)(g.starts.p[k + 1] - g.starts.p[k])));
	hlo_members_release(&g);
	return groups;
}

cJSON *cli_hlo_collectives(const hlo_module *m, const hlo_simulation *s)
{
	uint32_t n;
	const hlo_collective *c = hlo_collectives(s, &n);
	cJSON *list = cJSON_CreateArray();
	for (uint32_t k = 0; k < n; k++, c++) {
		cJSON *j = cJSON_CreateObject();
		cJSON_AddStringToObject(j, "kind", collective_name((collective_kind)c->kind));
		cJSON_AddItemToObject(j, "groups", groups_json(m, c->instr));
		cJSON_AddNumberToObject(j, "bytes", (double)c->bytes);
		cJSON_AddNumberToObject(j, "trip_count", (double)c->trip_count);
		cJSON_AddNumberToObject(j, "combined", c->combined);
		add_location(j, m, c->instr);
		add_view(j, "op", hlo_name(m, c->instr));
		cJSON_AddItemToArray(list, j);
	}
	return list;
}

cJSON *cli_hlo_counts(const cost *c)
{
	cJSON *j = cJSON_CreateObject();
	for (int k = 0; k < COLL_COUNT; k++)
		if (k != COLL_ALL_SLICE)
			cJSON_AddNumberToObject(
				j, collective_name((collective_kind)k), (double)c->collectives[k].count);
	return j;
}

cJSON *cli_hlo_sources(const hlo_simulation *s)
{
	cJSON *all = cJSON_CreateObject();
	for (int p = 0; p < HLO_PART_COUNT; p++) {
		cJSON *part = cJSON_AddObjectToObject(all, hlo_part_name((hlo_part)p));
		for (int k = 0; k < HLO_SOURCE_COUNT; k++) {
			hlo_share share = hlo_share_of(s, (hlo_part)p, (hlo_source)k);
			if (!share.count)
				continue;
			cJSON *j = cJSON_AddObjectToObject(part, hlo_source_name((hlo_source)k));
			cJSON_AddNumberToObject(j, "count", (double)share.count);
			cJSON_AddNumberToObject(j, "ns", (double)share.ns);
			if (k == HLO_FROM_TRAFFIC)
				cJSON_AddNumberToObject(j, "model_ns", (double)hlo_unestimated_ns(s));
		}
	}
	return all;
}

static const char *explained(hlo_part p, hlo_source from)
{
	switch (from) {
	case HLO_FROM_COMPILER: return "the compiler's own estimates in the text";
	case HLO_FROM_TRAFFIC: return "no estimate in the text: their traffic to memory";
	case HLO_FROM_MODEL: return "the cost model: no estimate in the text";
	case HLO_FROM_PUBLISHED:
		return p == HLO_COPIES ? "the memory's published rate"
							   : "published bandwidths of the links, 1 us a hop";
	case HLO_FROM_PROFILE:
		return p == HLO_COPIES ? "the memory of the device profile"
							   : "the links of the device profile";
	default: return "";
	}
}

static void print_sources(const hlo_simulation *s)
{
	printf("\nWHERE THE TIMES ARE FROM\n");
	for (int p = 0; p < HLO_PART_COUNT; p++)
		for (int k = 0; k < HLO_SOURCE_COUNT; k++) {
			hlo_share share = hlo_share_of(s, (hlo_part)p, (hlo_source)k);
			if (share.count)
				printf("  %-12s %10lld x %12.3f ms  %s\n", hlo_part_name((hlo_part)p),
					(long long)share.count, (double)share.ns / 1e6,
					explained((hlo_part)p, (hlo_source)k));
		}
	if (hlo_unestimated_ns(s))
		printf("  kernels without an estimate would take %.3f ms by the cost model\n",
			(double)hlo_unestimated_ns(s) / 1e6);
}

void cli_hlo_print_peak(const hlo_module *m, const hlo_simulation *s)
{
	enum { MAX_ROWS = 8 };
	uint32_t n;
	const hlo_live *live = hlo_peak(s, &n);
	printf("\nTEMPORARIES AT THE PEAK (%u buffers, largest first)\n", n);
	for (uint32_t k = 0; k < n && k < MAX_ROWS; k++) {
		strbuf size = {0}, where = {0};
		str name = hlo_name(m, live[k].instr);
		strbuf_bytes(&size, live[k].bytes);
		hlo_location(m, live[k].instr, &where);
		printf("  %-12s %-34.*s %s\n", size.p, STR_ARG(name), where.p ? where.p : "");
		strbuf_release(&size);
		strbuf_release(&where);
	}
	print_sources(s);
	if (hlo_bounded_loops(s))
		printf("\n%u loops that may end early or begin late were taken to run %s; --trip-count N "
			   "gives another number\n",
			hlo_bounded_loops(s),
			m->trip_count ? "as often as --trip-count says, at most to their bound"
						  : "from 0 to their bound");
	if (hlo_unknown_loops(s) && m->trip_count)
		printf(
			"\n%u loops of unknown trip count were taken to run %lld times, as --trip-count says\n",
			hlo_unknown_loops(s), (long long)m->trip_count);
	else if (hlo_unknown_loops(s))
		printf("\n%u loops of unknown trip count were taken to run once; --trip-count N gives it\n",
			hlo_unknown_loops(s));
}

void cli_hlo_print_collectives(const hlo_module *m, const hlo_simulation *s)
{
	enum { MAX_ROWS = 40 };
	uint32_t n;
	const hlo_collective *c = hlo_collectives(s, &n);
	printf("%-18s  %12s  %12s  %-7s  %-28s  %s\n", "kind", "groups", "bytes", "times", "op",
		"location");
	for (uint32_t k = 0; k < n && k < MAX_ROWS; k++, c++) {
		hlo_members g;
		strbuf bytes = {0}, where = {0}, shape = {0};
		hlo_group_members(m, c->instr, &g);
		strbuf_printf(&shape, "%u x %u", g.starts.n - 1, g.starts.n > 1 ? g.starts.p[1] : 0);
		hlo_members_release(&g);
		strbuf_bytes(&bytes, c->bytes);
		hlo_location(m, c->instr, &where);
		str name = hlo_name(m, c->instr);
		printf("%-18s  %12s  %12s  x%-6lld  %-28.*s  %s\n",
			collective_name((collective_kind)c->kind), shape.p, bytes.p, (long long)c->trip_count,
			STR_ARG(name), where.p ? where.p : "");
		strbuf_release(&bytes);
		strbuf_release(&where);
		strbuf_release(&shape);
	}
	if (n > MAX_ROWS)
		printf("... and %u more (--json lists all)\n", n - MAX_ROWS);
}
