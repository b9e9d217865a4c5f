/* Scheduled HLO text on devices with round numbers: check_hlo_simulate.c, check_hlo_kernels.c. */
#ifndef HLO_FIXTURE_H
#define HLO_FIXTURE_H

#include "hlo/hlo.h"
#include "tests/unit/module_fixture.h"

/* A device with round numbers: 1 byte/ns of memory, 1 flop/ns of vectors, 1000 flop/ns of matmul,
 * 100 ns a launch. */
static inline device plain(const char *base)
{
	device dev;
	ck_assert_int_eq(device_find(base, &dev, NULL), ST_OK);
	for (int e = 0; e < ELEM_COUNT; e++)
		dev.peak_flops[e] = e == ELEM_F32 ? 1000000000000 : 0;
	dev.vector_flops = 1000000000;
	dev.memory_bytes_s = 1000000000;
	dev.op_launch_ns = 100;
	dev.tile_m = dev.tile_n = dev.tile_k = 1;
	dev.matmul_efficiency = dev.memory_efficiency = (curve){0};
	for (uint32_t i = 0; i < dev.n_links; i++) {
		link_class *l = &dev.links[i];
		l->launch_ns = l->latency_ns = l->half_bytes = 0;
		l->efficiency_ppm = 1000000;
		l->bandwidth_bytes_s = 1000000000;
		l->n_groups = 0;
	}
	return dev;
}

typedef struct result {
	hlo_module *m;
	hlo_simulation *s;
	cost c;
} result;

static inline result run_with(const device *dev, const char *text)
{
	result r;
	diag d = {0};
	if (hlo_read(text, strlen(text), "t.hlo", &r.m, &d) != ST_OK ||
		hlo_simulate(r.m, dev, &r.c, &r.s, &d) != ST_OK)
		ck_abort_msg("%s\n%u:%u: %s", text, d.line, d.col, d.msg);
	return r;
}
static inline result run_on(const char *base, const char *text)
{
	device dev = plain(base);
	return run_with(&dev, text);
}
static inline void done(result *r)
{
	hlo_simulation_free(r->s);
	hlo_free(r->m);
}

/* ENTRY with these computations before it. */
static inline const char *entry(const char *comps, const char *lines)
{
	static char text[16384];
	ck_assert_int_lt(
		snprintf(text, sizeof text,
			"HloModule m, is_scheduled=true, num_partitions=16\n%s\nENTRY %%main {\n%s}\n", comps,
			lines),
		(int)sizeof text);
	return text;
}
static inline cost cost_of(const char *base, const char *comps, const char *lines)
{
	result r = run_on(base, entry(comps, lines));
	done(&r);
	return r.c;
}

static inline const hlo_event *event_of(const result *r, const char *name)
{
	uint32_t n;
	const hlo_event *e = hlo_events(r->s, &n);
	for (uint32_t i = 0; i < n; i++)
		if (str_is(hlo_name(r->m, e[i].instr), name))
			return &e[i];
	ck_abort_msg("no event of %s", name);
	return NULL;
}

#define ADD \
	"%add (x: f32[], y: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n  %y = f32[] " \
	"parameter(1)\n  ROOT %z = f32[] add(%x, %y)\n}\n"
#define GROUPS8 "replica_groups=[2,8]<=[16], use_global_device_ids=true"

#endif
