/* Fits the links of a device profile to measured collectives.
 *
 *   calibrate_table.c    reads tables of measurements    calibrate_math.c  the two fits
 *   calibrate_kernels.c  launch and efficiencies of matmuls and elementwise kernels
 *   calibrate.c          launch, latency and efficiency of a link; the profile that comes out
 *
 * A collective takes launch + steps * latency + wire time, and wire time is that of a perfect link
 * divided by an efficiency that grows with the size. Per link and group size a straight line over
 * the size gives the fixed part; a line over the steps of all group sizes parts it into launch and
 * latency; what is left over a perfect link's time is the efficiency, as points per group size. The
 * steps and the perfect link's time are asked of the cost model itself, so every kind of link and
 * collective is fitted by the formula that will use it. */
#include "costmodel/calibrate.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

enum { PPM = 1000000, PROBE_LATENCY_NS = 1000000 };

static int by_place(const void *a, const void *b)
{
	const measurement *x = a, *y = b;
	if (x->link != y->link)
		return x->link < y->link ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static int64_t model_ns(const device *dev, const measurement *m)
{
	sharding_table *t = sharding_table_new();
	str_id name = strtab_add(&t->names, STR("x"));
	mesh_id mesh = mesh_intern(t,
		&(device_mesh){
			.n_axes = 1, .axis_names = &name, .axis_sizes = &m->group, .n_devices = m->group});
	const char *link = dev->links[m->link].name;
	mesh_links links;
	axes_buf a = {.n = 1};
	uint8_t ignored;
	int64_t ns = -1;
	a.a[0] = mesh_full_axis(t, mesh, 0);
	if (mesh_links_assign(dev, t, mesh, &link, &links, NULL) == ST_OK)
		ns = collective_time_ns(
			dev, &links, (collective_kind)m->kind, axes_of(&a), m->bytes, &ignored);
	sharding_table_unref(t);
	return ns;
}

/* The link without launch, without inefficiency, with the given latency. */
static device probe(const device *dev, uint32_t link, int64_t latency_ns)
{
	device d = *dev;
	link_class *l = &d.links[link];
	l->launch_ns = 0;
	l->latency_ns = latency_ns;
	l->efficiency_ppm = PPM;
	l->half_bytes = 0;
	l->n_groups = 0;
	return d;
}

/* One group size of one link: its rows, ascending by size. */
typedef struct sample {
	const measurement *rows;
	uint32_t n;
	double *wire, *time; /* of a perfect link; measured */
	double steps, fixed,
		room; /* room: the largest fixed part that leaves a perfect link its time in every row */
	double slope; /* of the time over a perfect link's: below 1 the link is faster than the profile
	                 says */
} sample;

static void prepare(const device *dev, sample *s)
{
	device perfect = probe(dev, s->rows->link, 0),
		   slow = probe(dev, s->rows->link, PROBE_LATENCY_NS);
	measurement large = s->rows[s->n - 1];
	large.bytes = MAX(large.bytes, 1ll << 40); /* latency is a ring's there */
	s->steps = (double)(model_ns(&slow, &large) - model_ns(&perfect, &large)) / PROBE_LATENCY_NS;
	s->wire = xmalloc(s->n * sizeof *s->wire);
	s->time = xmalloc(s->n * sizeof *s->time);
	for (uint32_t i = 0; i < s->n; i++) {
		s->wire[i] = (double)model_ns(&perfect, &s->rows[i]);
		s->time[i] = (double)s->rows[i].time_ns;
	}
	fit_straight_line(s->wire, s->time, s->n, &s->fixed, &s->slope);
	s->room = s->time[0];
	for (uint32_t i = 0; i < s->n; i++) {
		double left = s->time[i] - s->wire[i] * MIN(s->slope, 1);
		s->room = MIN(s->room, MAX(left, 0.05 * s->time[i]));
	}
}

/* Launch and latency from the fixed parts of all group sizes. */
static void fit_fixed(link_class *l, const sample *s, uint32_t n)
{
	double launch = 0, latency = (double)l->latency_ns, x[MAX_SAMPLES], y[MAX_SAMPLES];
	bool differ = false;
	for (uint32_t i = 0; i < n; i++) {
		x[i] = s[i].steps;
		y[i] = MAX(MIN(s[i].fixed, s[i].room), 1);
		differ |= i && s[i].steps != s[0].steps;
	}
	if (differ) {
		fit_straight_line(x, y, n, &launch, &latency);
	} else { /* one group size: the latency of the profile stays where there is room for it */
		latency = s[0].steps > 0 ? MIN(latency, y[0] / s[0].steps / 2) : latency;
		launch = y[0] - s[0].steps * latency;
	}
	for (uint32_t i = 0; i < n; i++) {
		double room = s[i].room, fixed = launch + s[i].steps * latency;
		if (fixed > room) {
			launch *= room / fixed;
			latency *= room / fixed;
		}
	}
	l->launch_ns = (int64_t)(launch + .5);
	l->latency_ns = (int64_t)(latency + .5);
}

/* Sizes at which the efficiency is given: from the smallest to the largest, by equal factors, where
 * rows are. */
static uint32_t choose_knots(const measurement *rows, uint32_t n_rows, double *knots)
{
	uint32_t n = 0;
	double low = (double)rows[0].bytes, high = (double)rows[n_rows - 1].bytes, step = 1.5;
	for (;;) { /* the finest step from 1.5 on that leaves no more than MAX_CURVE points */
		double x = low;
		uint32_t count = 1;
		while (x * step < high * 0.999) {
			x *= step;
			count++;
		}
		if (count < MAX_CURVE)
			break;
		step *= 1.1;
	}
	for (double x = low; x < high * 0.999; x *= step) { /* only sizes that rows stand close to */
		uint32_t i = 0;
		while (i + 1 < n_rows && (double)rows[i].bytes < x)
			i++;
		double at = (double)rows[i].bytes;
		if (!n || at > knots[n - 1] * 1.2)
			knots[n++] = at;
	}
	if (!n || high > knots[n - 1])
		knots[n++] = high;
	return n;
}

/* Effective bytes at the knots: those a perfect link would move in the wire time. */
uint32_t fit_efficiency(const measurement *rows, const double *wire, const double *time, uint32_t n,
	double fixed, int64_t *size, int64_t *ppm)
{
	double knots[MAX_CURVE], values[MAX_CURVE] = {0};
	double *x = xmalloc(n * sizeof *x), *y = xmalloc(n * sizeof *y);
	uint32_t n_knots = choose_knots(rows, n, knots);
	for (uint32_t i = 0; i < n; i++) {
		x[i] = (double)rows[i].bytes;
		y[i] = MAX(time[i] - fixed, 0.02 * time[i]) * x[i] / MAX(wire[i], 1);
	}
	fit_line_through_knots(x, y, n, knots, n_knots, values);
	for (uint32_t k = 0; k < n_knots; k++) {
		double efficiency = values[k] > 0 ? knots[k] / values[k] : 1;
		size[k] = (int64_t)knots[k];
		ppm[k] = (int64_t)MAX(MIN(efficiency, 1) * PPM, 1);
	}
	free(x);
	free(y);
	return n_knots;
}

/* A size more must not take less time: the same rule as a profile's reader has. */
static void straighten(group_curve *g)
{
	for (uint32_t k = 0; k < g->n; k++) {
		g->ppm[k] = MIN(MAX(g->ppm[k], 1), PPM);
		if (k && (__int128)g->ppm[k] * g->bytes[k - 1] > (__int128)g->ppm[k - 1] * g->bytes[k])
			g->ppm[k] = (int64_t)((__int128)g->ppm[k - 1] * g->bytes[k] / g->bytes[k - 1]);
	}
}

/* With more group sizes than a profile holds: the smallest, the largest and those between with most
 * rows. */
static void choose_groups(const sample *s, uint32_t n, bool *take)
{
	uint32_t taken = 0;
	for (uint32_t i = 0; i < n; i++)
		take[i] = n <= MAX_GROUP_CURVES || i == 0 || i + 1 == n;
	for (uint32_t i = 0; i < n; i++)
		taken += take[i];
	while (taken < MIN(n, (uint32_t)MAX_GROUP_CURVES)) {
		uint32_t best = UINT32_MAX;
		for (uint32_t i = 0; i < n; i++)
			if (!take[i] && (best == UINT32_MAX || s[i].n > s[best].n))
				best = i;
		take[best] = true;
		taken++;
	}
}

static void fit_link(device *dev, uint32_t link, sample *s, uint32_t n)
{
	link_class *l = &dev->links[link];
	bool take[MAX_SAMPLES];
	double fastest = 1;
	for (uint32_t i = 0; i < n; i++) {
		prepare(dev, &s[i]);
		fastest = s[i].slope > 0 ? MIN(fastest, s[i].slope) : fastest;
	}
	if (fastest < 1) { /* faster than the profile says: the bandwidth is what was reached */
		l->bandwidth_bytes_s = (int64_t)((double)l->bandwidth_bytes_s / fastest) + 1;
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = 0; k < s[i].n; k++)
				s[i].wire[k] *= fastest;
	}
	fit_fixed(l, s, n);
	choose_groups(s, n, take);
	l->n_groups = 0;
	for (uint32_t i = 0; i < n; i++)
		if (take[i]) {
			group_curve *g = &l->groups[l->n_groups++];
			*g = (group_curve){.group = s[i].rows->group};
			g->n = fit_efficiency(s[i].rows, s[i].wire, s[i].time, s[i].n,
				(double)l->launch_ns + s[i].steps * (double)l->latency_ns, g->bytes, g->ppm);
		}
	for (uint32_t k = 0; k < l->n_groups; k++)
		straighten(&l->groups[k]);
	/* groups of other sizes: the best of the largest measured one */
	const group_curve *last = &l->groups[l->n_groups - 1];
	l->efficiency_ppm = last->ppm[last->n - 1];
	l->half_bytes = 0;
	for (uint32_t i = 0; i < n; i++) {
		free(s[i].wire);
		free(s[i].time);
	}
}

static double error_of(const device *dev, const measurement *m)
{
	double model = (double)model_ns(dev, m), off = model / (double)m->time_ns - 1;
	return off < 0 ? -off : off;
}

static void report(const device *before, const device *after, const sample *s, calibration_row *out)
{
	*out = (calibration_row){.link = s->rows->link, .group = s->rows->group, .rows = s->n};
	for (uint32_t i = 0; i < s->n; i++) {
		double was = error_of(before, &s->rows[i]), is = error_of(after, &s->rows[i]);
		out->before += was / s->n;
		out->after += is / s->n;
		out->worst = MAX(out->worst, is);
		if (s->rows[i].bytes >= LARGE_BYTES) {
			out->large_rows++;
			out->large += is;
		}
	}
	if (out->large_rows)
		out->large /= out->large_rows;
}

status calibrate(const device *base, measurements *rows, device *out, calibration *result, diag *d)
{
	sample s[MAX_SAMPLES];
	uint32_t n = 0;
	*result = (calibration){0};
	if (!rows->n)
		return diag_set(d, ST_ERR_INVALID, "no measurements to fit to");
	qsort(rows->p, rows->n, sizeof *rows->p, by_place);
	*out = *base;
	for (uint32_t i = 0; i < rows->n; i++) {
		if (i && rows->p[i].link == rows->p[i - 1].link &&
			rows->p[i].group == rows->p[i - 1].group) {
			s[n - 1].n++;
			continue;
		}
		if (n == MAX_SAMPLES)
			return diag_set(d, ST_ERR_LIMIT, "more than %d group sizes", MAX_SAMPLES);
		if (model_ns(base, &rows->p[i]) < 0)
			return diag_set(d, ST_ERR_INVALID, "a group of %lld does not fit link %s of device %s",
				(long long)rows->p[i].group, base->links[rows->p[i].link].name, base->name);
		s[n++] = (sample){.rows = &rows->p[i], .n = 1};
	}
	for (uint32_t i = 0, k; i < n; i = k) {
		for (k = i; k < n && s[k].rows->link == s[i].rows->link; k++)
			;
		fit_link(out, s[i].rows->link, s + i, k - i);
	}
	result->n = n;
	for (uint32_t i = 0; i < n; i++)
		report(base, out, &s[i], &result->rows[i]);
	return ST_OK;
}

/* ---------------------------------------------------------------- the profile */

static void set_number(cJSON *o, const char *key, int64_t v, const char *source)
{
	cJSON *n = cJSON_CreateObject();
	cJSON_AddNumberToObject(n, "value", (double)v);
	cJSON_AddStringToObject(n, "source", source);
	if (cJSON_GetObjectItemCaseSensitive(o, key))
		cJSON_ReplaceItemInObjectCaseSensitive(o, key, n);
	else
		cJSON_AddItemToObject(o, key, n);
}

static cJSON *points_of(uint32_t n, const int64_t *x, const int64_t *ppm)
{
	cJSON *points = cJSON_CreateArray();
	for (uint32_t p = 0; p < n; p++) {
		double pair[2] = {(double)x[p], (double)ppm[p]};
		cJSON_AddItemToArray(points, cJSON_CreateDoubleArray(pair, 2));
	}
	return points;
}

static void set_curve(cJSON *o, const char *key, const curve *c, const char *source)
{
	cJSON *n = cJSON_CreateObject();
	cJSON_AddItemToObject(n, "value", points_of(c->n, c->x, c->ppm));
	cJSON_AddStringToObject(n, "source", source);
	cJSON_ReplaceItemInObjectCaseSensitive(o, key, n);
}

static void set_groups(cJSON *o, const link_class *l, const char *source)
{
	cJSON *list = cJSON_CreateArray();
	for (uint32_t k = 0; k < l->n_groups; k++) {
		const group_curve *c = &l->groups[k];
		cJSON *g = cJSON_CreateObject();
		cJSON_AddNumberToObject(g, "group", (double)c->group);
		cJSON_AddItemToObject(g, "points", points_of(c->n, c->bytes, c->ppm));
		cJSON_AddStringToObject(g, "source", source);
		cJSON_AddItemToArray(list, g);
	}
	cJSON_DeleteItemFromObjectCaseSensitive(o, "group_efficiency");
	cJSON_AddItemToObject(o, "group_efficiency", list);
}

status calibration_profile(const char *base_json, const device *fitted, const calibration *result,
	const char *name, const char *source, strbuf *out, diag *d)
{
	device base, check;
	TRY(device_parse(base_json, strlen(base_json), &base, d));
	cJSON *o = cJSON_Parse(base_json);
	if (!o)
		return diag_set(d, ST_ERR_PARSE, "device profile: expected valid JSON");
	cJSON_ReplaceItemInObjectCaseSensitive(o, "name", cJSON_CreateString(name));
	cJSON *links = cJSON_GetObjectItemCaseSensitive(o, "links");
	for (uint32_t i = 0; i < result->n; i++) {
		uint32_t link = result->rows[i].link;
		if (i && result->rows[i - 1].link == link)
			continue;
		cJSON *j = cJSON_GetArrayItem(links, (int)link);
		const link_class *l = &fitted->links[link];
		set_number(j, "bandwidth_bytes_s", l->bandwidth_bytes_s, source);
		set_number(j, "launch_ns", l->launch_ns, source);
		set_number(j, "latency_ns", l->latency_ns, source);
		set_number(j, "efficiency_ppm", l->efficiency_ppm, source);
		set_number(j, "half_bytes", l->half_bytes, source);
		set_groups(j, l, source);
	}
	const calibration_row *kernels = result->kernels;
	if (kernels[KERNEL_MATMUL].rows || kernels[KERNEL_ELEMENTWISE].rows)
		set_number(o, "op_launch_ns", fitted->op_launch_ns, source);
	for (uint32_t e = 0; kernels[KERNEL_MATMUL].rows && e < ELEM_COUNT; e++)
		if (fitted->peak_flops[e] != base.peak_flops[e])
			set_number(cJSON_GetObjectItemCaseSensitive(o, "peak_flops"), elem_text((elem)e),
				fitted->peak_flops[e], source);
	if (kernels[KERNEL_ELEMENTWISE].rows && fitted->memory_bytes_s != base.memory_bytes_s)
		set_number(o, "memory_bytes_s", fitted->memory_bytes_s, source);
	if (kernels[KERNEL_MATMUL].rows)
		set_curve(o, "matmul_efficiency", &fitted->matmul_efficiency, source);
	if (kernels[KERNEL_ELEMENTWISE].rows)
		set_curve(o, "memory_efficiency", &fitted->memory_efficiency, source);
	char *text = cJSON_Print(o);
	strbuf_clear(out);
	strbuf_puts(out, text);
	strbuf_putc(out, '\n');
	cJSON_free(text);
	cJSON_Delete(o);
	return device_parse(out->p, out->n, &check, d);
}
