/* The simulation of an HLO module from end to end, and its Chrome trace. */
#include "hlo/state.h"

#include <stdlib.h>

enum { MAX_VALUES = 1 << 28 };

static status check_size(const hlo_module *m, diag *d)
{
	uint64_t values = 0;
	for (hlo_id i = 0; i < m->instrs.n; i++)
		values += hlo_shape_of(m, i)->n_leaves;
	if (values > MAX_VALUES)
		return diag_set(d, ST_ERR_LIMIT, "%llu arrays in the program, more than the limit of %d",
			(unsigned long long)values, MAX_VALUES);
	return ST_OK;
}

static void measure_ends(const hlo_simulation *s, cost *out)
{
	const hlo_module *m = s->m;
	const hlo_comp *e = &m->comps.p[m->entry];
	for (uint32_t k = 0; k < e->n_params; k++)
		out->argument_bytes =
			sat_add(out->argument_bytes, hlo_shape_of(m, hlo_param(m, m->entry, k))->bytes);
	const hlo_shape *result = hlo_shape_of(m, e->root);
	out->output_bytes = result->bytes;
	for (uint32_t k = 0; k < m->aliases.n; k++)
		out->alias_bytes =
			sat_add(out->alias_bytes, hlo_leaf(m, result, m->aliases.p[k].output_leaf)->bytes);
}

static status simulate_module_text(hlo_simulation *s, cost *out, diag *d)
{
	TRY(check_size(s->m, d));
	TRY(hlo_links_assign(s, d));
	hlo_look_inside(s);
	hlo_run_timeline(s);
	if (s->runs > HLO_MAX_RUNS)
		return diag_set(
			d, ST_ERR_LIMIT, "calls of calls unfold into more than %d instructions", HLO_MAX_RUNS);
	hlo_measure_memory(s);
	*out = (cost){.runtime_ns = s->sum.step,
		.compute_ns = s->sum.compute,
		.communication_ns = s->sum.communication,
		.exposed_communication_ns = s->sum.exposed,
		.temporary_bytes = s->temporary,
		.flops_per_device = s->sum.flops};
	for (uint32_t k = 0; k < COLL_COUNT; k++) {
		out->collectives[k].dynamic_count = s->sum.dynamic_count[k];
		out->collectives[k].bytes = s->sum.bytes[k];
	}
	for (uint32_t k = 0; k < s->collectives.n; k++)
		out->collectives[s->collectives.p[k].kind].count++;
	measure_ends(s, out);
	out->peak_bytes = sat_add(
		sat_add(out->argument_bytes, out->output_bytes - out->alias_bytes), out->temporary_bytes);
	return ST_OK;
}

status hlo_simulate(
	const hlo_module *m, const device *dev, cost *out, hlo_simulation **keep, diag *d)
{
	hlo_simulation *s = xcalloc(1, sizeof *s);
	s->m = m;
	s->dev = *dev;
	status st = simulate_module_text(s, out, d);
	if (st == ST_OK && keep)
		*keep = s;
	else
		hlo_simulation_free(s);
	return st;
}

void hlo_simulation_free(hlo_simulation *s)
{
	if (!s)
		return;
	if (s->table)
		sharding_table_unref(s->table);
	vec_release(&s->groups);
	vec_release(&s->async_channels);
	vec_release(&s->events);
	vec_release(&s->collectives);
	vec_release(&s->live);
	vec_release(&s->curve);
	vec_release(&s->open);
	free(s->inside);
	free(s->read_bytes);
	free(s->write_bytes);
	free(s->ready_ns);
	free(s->event_of);
	free(s);
}

const hlo_event *hlo_events(const hlo_simulation *s, uint32_t *n)
{
	*n = s->events.n;
	return s->events.p;
}
const hlo_live *hlo_peak(const hlo_simulation *s, uint32_t *n)
{
	*n = s->live.n;
	return s->live.p;
}
const hlo_collective *hlo_collectives(const hlo_simulation *s, uint32_t *n)
{
	*n = s->collectives.n;
	return s->collectives.p;
}
uint32_t hlo_unknown_loops(const hlo_simulation *s) { return s->unknown_loops; }
uint32_t hlo_bounded_loops(const hlo_simulation *s) { return s->bounded_loops; }
bool hlo_has_estimates(const hlo_simulation *s) { return s->noted; }
int64_t hlo_unestimated_ns(const hlo_simulation *s) { return s->sum.unestimated; }
hlo_share hlo_share_of(const hlo_simulation *s, hlo_part p, hlo_source from)
{
	return s->sum.share[p][from];
}

const char *hlo_source_name(hlo_source s)
{
	static const char *const names[] = {
#define X(id, text) text,
		HLO_SOURCES(X)
#undef X
	};
	return names[s];
}
const char *hlo_part_name(hlo_part p)
{
	return p == HLO_KERNELS ? "kernels" : p == HLO_COLLECTIVES ? "collectives" : "copies";
}

const char *hlo_stream_name(const hlo_simulation *s, uint8_t stream)
{
	if (!stream)
		return "compute";
	if (stream <= s->dev.n_links)
		return s->dev.links[stream - 1].name;
	return stream == s->dev.n_links + 1 ? "copies" : "asynchronous";
}

/* ---------------------------------------------------------------- trace */

static void add_text(strbuf *out, const char *p, size_t n)
{
	strbuf_putc(out, '"');
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];
		if (c == '"' || c == '\\')
			strbuf_printf(out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			strbuf_printf(out, "\\u%04x", c);
		else
			strbuf_putc(out, (char)c);
	}
	strbuf_putc(out, '"');
}

static void add_us(strbuf *out, int64_t ns)
{
	strbuf_printf(out, "%lld.%03lld", (long long)(ns / 1000), (long long)(ns % 1000));
}

static void add_event(const hlo_simulation *s, const hlo_event *e, strbuf *out, strbuf *scratch)
{
	const hlo_module *m = s->m;
	str name = hlo_name(m, e->instr);
	strbuf_printf(out, ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":", e->stream);
	add_us(out, e->start_ns);
	strbuf_puts(out, ",\"dur\":");
	add_us(out, e->end_ns - e->start_ns);
	strbuf_puts(out, ",\"name\":");
	add_text(out, name.p, name.n);
	strbuf_printf(out, ",\"args\":{\"opcode\":\"%s\",\"executions\":%lld",
		hlo_op_text((hlo_op)m->instrs.p[e->instr].op), (long long)e->executions);
	if (e->coll >= 0)
		strbuf_printf(out, ",\"bytes\":%lld,\"exposed_ns\":%lld", (long long)e->bytes,
			(long long)e->exposed_ns);
	else
		strbuf_printf(out, ",\"memory_traffic_bytes\":%lld", (long long)e->hbm_bytes);
	strbuf_clear(scratch);
	hlo_location(m, e->instr, scratch);
	if (scratch->n) {
		strbuf_puts(out, ",\"location\":");
		add_text(out, scratch->p, scratch->n);
	}
	strbuf_puts(out, "}}");
}

void hlo_trace(const hlo_simulation *s, strbuf *out)
{
	const hlo_comp *entry = &s->m->comps.p[s->m->entry];
	strbuf scratch;
	strbuf_init(&scratch);
	strbuf_puts(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
	for (uint32_t k = 0; k <= s->dev.n_links + 2; k++) {
		const char *name = hlo_stream_name(s, (uint8_t)k);
		strbuf_printf(out,
			"%s{\"ph\":\"M\",\"pid\":1,\"tid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":",
			k ? ",\n" : "", k);
		add_text(out, name, strlen(name));
		strbuf_puts(out, "}}");
	}
	int64_t shown = -1;
	for (uint32_t k = 0; k < s->events.n; k++) {
		const hlo_event *e = &s->events.p[k];
		add_event(s, e, out, &scratch);
		bool top = e->instr >= entry->first && e->instr - entry->first < s->curve.n;
		if (!top || e->stream || s->curve.p[e->instr - entry->first] == shown)
			continue;
		shown = s->curve.p[e->instr - entry->first];
		strbuf_puts(out, ",\n{\"ph\":\"C\",\"pid\":1,\"name\":\"temporary bytes\",\"ts\":");
		add_us(out, e->start_ns);
		strbuf_printf(out, ",\"args\":{\"bytes\":%lld}}", (long long)shown);
	}
	strbuf_puts(out, "\n]}\n");
	strbuf_release(&scratch);
}
