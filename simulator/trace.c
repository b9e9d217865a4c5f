/* Chrome trace of the last simulate call: streams as threads, kernels and collectives as complete
 * events, memory as a counter, what is live at its peak as an instant. Times are microseconds with
 * three decimals. Loops show their first iteration inside the whole loop's bar. */
#include "simulator/state.h"

enum { MOST_LIVE = 512 }; /* temporaries that the peak lists */

static void add_text(strbuf *out, str s)
{
	strbuf_putc(out, '"');
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c == '"' || c == '\\')
			strbuf_printf(out, "\\%c", c);
		else if (c < 0x20)
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

static void thread_name(strbuf *out, uint32_t tid, const char *name, bool *first)
{
	strbuf_printf(out,
		"%s{\"ph\":\"M\",\"pid\":1,\"tid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":",
		*first ? "" : ",\n", tid);
	add_text(out, str_of(name));
	strbuf_puts(out, "}}");
	*first = false;
}

static str op_name(const lowered *l, const lop *o)
{
	if (o->kind == LOP_COLLECTIVE)
		return str_of(collective_name((collective_kind)o->coll));
	if (o->node == ID_NONE)
		return STR("loop");
	const module *m = l->p->m;
	return strtab_get(&m->strs, op_at(m, l->p->nodes.p[o->node].op)->name);
}

/* What most of a kernel's time goes into. Work beside the memory's overlaps all but a fifth of the
 * shorter part (contraction_kernel_ns). */
static const char *limit_of(const device *dev, const op_event *e)
{
	int64_t all = e->end_ns - e->start_ns, work = all - dev->op_launch_ns;
	if (work < all / 2)
		return "launch";
	return memory_time_ns(dev, e->hbm_bytes) >= work - work / 6 ? "memory" : "compute";
}

static void add_location(const lowered *l, const lop *o, strbuf *out, strbuf *scratch)
{
	if (o->node == ID_NONE)
		return;
	strbuf_clear(scratch);
	loc_print(l->p->m, op_at(l->p->m, l->p->nodes.p[o->node].op)->loc, scratch);
	strbuf_puts(out, ",\"location\":");
	add_text(out, (str){scratch->p, scratch->n});
}

static void add_event(
	const device *dev, const op_event *e, const lowered *l, strbuf *out, strbuf *scratch)
{
	lop_id id = e->op;
	const lop *o = &l->ops.p[id];
	strbuf_puts(out, ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":");
	strbuf_printf(out, "%u,\"ts\":", e->stream);
	add_us(out, e->start_ns);
	strbuf_puts(out, ",\"dur\":");
	add_us(out, e->end_ns - e->start_ns);
	strbuf_puts(out, ",\"name\":");
	add_text(out, op_name(l, o));
	strbuf_printf(out, ",\"args\":{\"op\":%u", id);
	if (o->kind == LOP_COLLECTIVE)
		strbuf_printf(out, ",\"bytes\":%lld,\"group\":%lld,\"exposed_ns\":%lld",
			(long long)o->bytes, (long long)lop_group_size(o), (long long)e->exposed_ns);
	else if (o->kind == LOP_REGION)
		strbuf_printf(out, ",\"trips\":%lld", (long long)o->trips);
	else
		strbuf_printf(out, ",\"memory_traffic_bytes\":%lld,\"limit\":\"%s\"",
			(long long)e->hbm_bytes, limit_of(dev, e));
	if (e->windowed)
		strbuf_puts(out, ",\"windowed_einsum\":true");
	add_location(l, o, out, scratch);
	strbuf_puts(out, "}}");
}

/* What a step waits for behind its last kernel. */
static void add_copies(const simulator *s, strbuf *out)
{
	if (!s->waited_ns)
		return;
	strbuf_puts(
		out, ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":0,\"name\":\"results copied out\",\"ts\":");
	add_us(out, s->now - s->waited_ns);
	strbuf_puts(out, ",\"dur\":");
	add_us(out, s->waited_ns);
	strbuf_puts(out, ",\"args\":{\"limit\":\"memory\"}}");
}

/* The temporaries that are live where they take most, largest first: all of them counted, the
 * largest listed. */
static void add_peak(simulator *s, const lowered *l, strbuf *out, strbuf *scratch)
{
	uint32_t n, n_events;
	const live_at_peak *live = simulator_peak(s, l, &n);
	const op_event *events = simulator_events(s, &n_events);
	int64_t bytes = 0;
	if (!n)
		return;
	for (uint32_t i = 0; i < n; i++)
		bytes += live[i].bytes;
	strbuf_puts(out,
		",\n{\"ph\":\"i\",\"s\":\"p\",\"pid\":1,\"tid\":0,\"name\":\"peak of temporary "
		"bytes\",\"ts\":");
	add_us(out, events[s->peak_at].start_ns);
	strbuf_printf(out, ",\"args\":{\"bytes\":%lld,\"values\":%u,\"live\":[", (long long)bytes, n);
	for (uint32_t i = 0; i < MIN(n, (uint32_t)MOST_LIVE); i++) {
		const lop *o = &l->ops.p[l->vals.p[live[i].val].def];
		strbuf_printf(out, "%s{\"bytes\":%lld,\"op\":", i ? "," : "", (long long)live[i].bytes);
		add_text(out, op_name(l, o));
		add_location(l, o, out, scratch);
		strbuf_putc(out, '}');
	}
	strbuf_puts(out, "]}}");
}

void simulator_trace(simulator *s, const lowered *l, strbuf *out)
{
	strbuf scratch;
	strbuf_init(&scratch);
	bool first = true;
	strbuf_puts(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
	thread_name(out, 0, "compute", &first);
	for (uint32_t i = 0; i < s->dev.n_links; i++)
		thread_name(out, 1 + i, s->dev.links[i].name, &first);
	int64_t live = 0, shown = -1;
	uint32_t n;
	const op_event *events = simulator_events(s, &n);
	for (lop_id i = 0; i < l->ops.n; i++) {
		const op_event *e = &events[i];
		live += s->delta[i].before + (i ? s->delta[i - 1].after : 0) -
			(i && i - 1 == s->late.until ? s->late.bytes : 0);
		bool runs = s->ops[i].mode == MODE_ROOT ||
			(l->ops.p[i].kind == LOP_REGION && e->end_ns > e->start_ns);
		if (!runs)
			continue;
		add_event(&s->dev, e, l, out, &scratch);
		if (live != shown && !e->stream) {
			strbuf_puts(out, ",\n{\"ph\":\"C\",\"pid\":1,\"name\":\"temporary bytes\",\"ts\":");
			add_us(out, e->start_ns);
			strbuf_printf(out, ",\"args\":{\"bytes\":%lld}}", (long long)live);
			shown = live;
		}
	}
	add_copies(s, out);
	add_peak(s, l, out, &scratch);
	strbuf_puts(out, "\n]}\n");
	strbuf_release(&scratch);
}
