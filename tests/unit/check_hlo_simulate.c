/* Simulation of HLO text: order and overlap, loops, links of groups, buffers. */
#include "tests/unit/hlo_fixture.h"

/* ---------------------------------------------------------------- order and overlap */

START_TEST(asynchronous_collectives_overlap)
{
	/* gather of 8000 bytes over 8: 7000 ns; the kernel between its halves: 100 + 2 * 2000 ns */
	static const char async[] =
		"  %p = f32[250] parameter(0)\n  %q = f32[500] parameter(1)\n"
		"  %s = (f32[250], f32[2000]) all-gather-start(%p), channel_id=1, " GROUPS8
		", dimensions={0}\n"
		"  %k = f32[500] negate(%q)\n  ROOT %d = f32[2000] all-gather-done(%s)\n";
	static const char sync[] = "  %p = f32[250] parameter(0)\n  %q = f32[500] parameter(1)\n"
							   "  %s = f32[2000] all-gather(%p), channel_id=1, " GROUPS8
							   ", dimensions={0}\n  ROOT %k = f32[500] negate(%q)\n";
	static const char generic[] =
		"  %p = f32[250] parameter(0)\n  %q = f32[500] parameter(1)\n"
		"  %s = ((f32[2000]), f32[250], u32[]) reduce-scatter-start(%w), channel_id=1, " GROUPS8
		", dimensions={0}, to_apply=%add\n"
		"  %k = f32[500] negate(%q)\n  ROOT %d = f32[250] reduce-scatter-done(%s)\n";
	cost a = cost_of("h100", "", async), b = cost_of("h100", "", sync);
	ck_assert_int_eq(a.communication_ns, 7000);
	ck_assert_int_eq(a.compute_ns, 4100);
	ck_assert_int_eq(a.runtime_ns, 7000);
	ck_assert_int_eq(a.exposed_communication_ns, 2900);
	ck_assert_int_eq(a.collectives[COLL_ALL_GATHER].bytes, 8000);
	ck_assert_int_eq(b.runtime_ns, 11100);
	ck_assert_int_eq(b.exposed_communication_ns, 7000);
	char lines[1024];
	snprintf(lines, sizeof lines, "  %%w = f32[2000] parameter(2)\n%s", generic);
	cost g = cost_of("h100", ADD, lines);
	ck_assert_int_eq(g.communication_ns, 7000);
	ck_assert_int_eq(g.runtime_ns, 7000);
	ck_assert_int_eq(g.collectives[COLL_REDUCE_SCATTER].count, 1);
}
END_TEST

/* Kernels take what the compiler wrote down, but the program no less than its traffic; where the
 * profile has no clock, the model counts. */
START_TEST(estimates_of_the_compiler_are_taken)
{
#define DOUBLED(config) "  %p = f32[250] parameter(0)\n  ROOT %a = f32[250] add(%p, %p)" config "\n"
	ck_assert_int_eq(
		cost_of("h100", "", DOUBLED(", backend_config={\"estimated_cycles\":\"15000\"}"))
			.runtime_ns,
		cost_of("h100", "", DOUBLED("")).runtime_ns);
	cost long_one = cost_of("tpu-v5e", "",
		DOUBLED(", backend_config={\"window_config\":{\"estimated_cycles\":\"15000\"}}"));
	ck_assert_int_eq(long_one.compute_ns, 10000);
	ck_assert_int_eq(long_one.runtime_ns, 10000);
	cost short_one =
		cost_of("tpu-v5e", "", DOUBLED(", backend_config={\"estimated_cycles\":\"1500\"}"));
	ck_assert_int_eq(short_one.runtime_ns, 1000);
	cost fetched = cost_of("tpu-v5e", "",
		"  %p = f32[250] parameter(0)\n  %c = (f32[250]{0:S(1)}, f32[250], u32[]) copy-start(%p)\n"
		"  %q = f32[250] parameter(1)\n"
		"  %b = f32[250] add(%q, %q), backend_config={\"estimated_cycles\":\"1500\"}\n"
		"  %cd = f32[250]{0:S(1)} copy-done(%c)\n"
		"  ROOT %a = f32[250] add(%cd, %b), backend_config={\"estimated_cycles\":\"300\"}\n");
	ck_assert_int_eq(fetched.compute_ns, 1200);
	ck_assert_int_eq(fetched.runtime_ns,
		2200); /* 1000 fetched beside the first, whose traffic takes as long as it does */
#undef DOUBLED
}
END_TEST

START_TEST(queues_are_in_order_and_copies_have_their_own)
{
	result r = run_on("tpu-v5e",
		entry("",
			"  %p = f32[250] parameter(0)\n"
			"  %c = (f32[250]{0:S(1)}, f32[250], u32[]) copy-start(%p)\n"
			"  %s = (f32[250], f32[250]) collective-permute-start(%p), channel_id=1, "
			"source_target_pairs={{0,1},{1,0}}\n"
			"  %t = (f32[250], f32[250]) collective-permute-start(%p), channel_id=2, "
			"source_target_pairs={{0,1},{1,0}}\n"
			"  %cd = f32[250]{0:S(1)} copy-done(%c)\n  %td = f32[250] collective-permute-done(%t)\n"
			"  ROOT %sd = f32[250] collective-permute-done(%s)\n"));
	const hlo_event *s = event_of(&r, "s"), *t = event_of(&r, "t"), *c = event_of(&r, "c");
	ck_assert_int_eq(t->start_ns, s->end_ns);
	ck_assert_int_eq(c->start_ns, 0);
	ck_assert_int_eq(c->hbm_bytes, 1000);
	ck_assert_str_eq(hlo_stream_name(r.s, c->stream), "copies");
	ck_assert_str_eq(hlo_stream_name(r.s, s->stream), "ici");
	ck_assert_int_gt(c->exposed_ns, 0);
	ck_assert_int_eq(t->exposed_ns,
		r.c.exposed_communication_ns); /* who waits for a copy waits for no communication */
	done(&r);
	cost copies = cost_of("tpu-v5e", "",
		"  %p = f32[250] parameter(0)\n  %c = (f32[250]{0:S(1)}, f32[250], u32[]) copy-start(%p)\n"
		"  ROOT %cd = f32[250]{0:S(1)} copy-done(%c)\n");
	ck_assert_int_eq(copies.runtime_ns, 1000);
	ck_assert_int_eq(copies.exposed_communication_ns, 0);
}
END_TEST

START_TEST(tpu_collectives_inside_fusions_count_once)
{
#define AG "  %g = f32[2000] all-gather(%p), channel_id=7, " GROUPS8 ", dimensions={0}\n"
	static const char comps[] =
		"%begin (p: f32[250]) -> (f32[250], f32[2000]) {\n  %p = f32[250] parameter(0)\n" AG
		"  ROOT %c = (f32[250], f32[2000]) custom-call(%g), "
		"custom_call_target=\"AsyncCollectiveStart\"\n}\n"
		"%carry (p: f32[250], x: f32[2000], q: f32[500]) -> (f32[250], f32[2000], f32[500]) {\n  "
		"%p = f32[250] parameter(0)\n  %x = f32[2000] parameter(1)\n"
		"  %q = f32[500] parameter(2)\n" AG "  %n = f32[500] negate(%q)\n  ROOT %t = (f32[250], "
		"f32[2000], f32[500]) tuple(%p, %g, %n)\n}\n"
		"%finish (p: f32[250], x: f32[2000]) -> f32[2000] {\n  %p = f32[250] parameter(0)\n  %x = "
		"f32[2000] parameter(1)\n" AG "  ROOT %c = f32[2000] custom-call(%p, %x, %g), "
		"custom_call_target=\"AsyncCollectiveDone\"\n}\n"
		"%all-reduce-scatter.3 (p: f32[2000]) -> f32[250] {\n  %p = f32[2000] parameter(0)\n  %r = "
		"f32[2000] all-reduce(%p), channel_id=9, " GROUPS8
		", to_apply=%add\n  ROOT %s = f32[250] slice(%r), slice={[0:250]}\n}\n";
	static const char lines[] =
		"  %p = f32[250] parameter(0)\n  %q = f32[500] parameter(1)\n"
		"  %b = (f32[250], f32[2000]) fusion(%p), kind=kCustom, output_to_operand_aliasing={{0}: "
		"(0, {})}, calls=%begin\n"
		"  %b0 = f32[250] get-tuple-element(%b), index=0\n  %b1 = f32[2000] get-tuple-element(%b), "
		"index=1\n"
		"  %k = (f32[250], f32[2000], f32[500]) fusion(%b0, %b1, %q), kind=kOutput, "
		"output_to_operand_aliasing={{0}: (0, {}), {1}: (1, {})}, calls=%carry\n"
		"  %k0 = f32[250] get-tuple-element(%k), index=0\n  %k1 = f32[2000] get-tuple-element(%k), "
		"index=1\n"
		"  %d = f32[2000] fusion(%k0, %k1), kind=kCustom, output_to_operand_aliasing={{}: (1, "
		"{})}, calls=%finish\n"
		"  ROOT %r = f32[250] fusion(%d), kind=kCustom, calls=%all-reduce-scatter.3\n";
	char all[8192];
	snprintf(all, sizeof all, "%s%s", ADD, comps);
	result r = run_on("tpu-v5e", entry(all, lines));
	ck_assert_int_eq(r.c.collectives[COLL_ALL_GATHER].count, 1);
	ck_assert_int_eq(r.c.collectives[COLL_ALL_REDUCE].count, 0);
	ck_assert_int_eq(r.c.collectives[COLL_REDUCE_SCATTER].count, 1);
	ck_assert_int_eq(r.c.collectives[COLL_REDUCE_SCATTER].bytes, 8000);
	const hlo_event *b = event_of(&r, "b"), *k = event_of(&r, "k");
	ck_assert_int_lt(k->start_ns, b->end_ns); /* it runs beside the compute fusion */
	ck_assert_int_eq(r.c.temporary_bytes,
		8000 + 2000); /* the gathered buffer once, and what the fusion writes */
	done(&r);
}
END_TEST

START_TEST(loops_and_branches)
{
	static const char comps[] =
		"%cond (t: (s32[], f32[500])) -> pred[] {\n  %t = (s32[], f32[500]) parameter(0)\n  %i = "
		"s32[] get-tuple-element(%t), index=0\n"
		"  %n = s32[] constant(10)\n  ROOT %c = pred[] compare(%i, %n), direction=LT\n}\n"
		"%body (t: (s32[], f32[500])) -> (s32[], f32[500]) {\n  %t = (s32[], f32[500]) "
		"parameter(0)\n  %i = s32[] get-tuple-element(%t), index=0\n"
		"  %x = f32[500] get-tuple-element(%t), index=1\n  %one = s32[] constant(1)\n  %j = s32[] "
		"add(%i, %one)\n"
		"  %y = f32[500] negate(%x)\n  %w = f32[500] all-reduce(%y), channel_id=1, " GROUPS8
		", to_apply=%add\n"
		"  ROOT %r = (s32[], f32[500]) tuple(%j, %w)\n}\n"
		"%short (a: f32[500]) -> f32[500] {\n  %a = f32[500] parameter(0)\n  ROOT %n = f32[500] "
		"negate(%a)\n}\n"
		"%long (a: f32[500]) -> f32[500] {\n  %a = f32[500] parameter(0)\n  %n = f32[500] "
		"negate(%a)\n  ROOT %m = f32[500] negate(%n)\n}\n";
	char all[4096];
	snprintf(all, sizeof all, "%s%s", ADD, comps);
	result r = run_on("h100",
		entry(all,
			"  %p = f32[500] parameter(0)\n  %z = s32[] constant(0)\n  %t = (s32[], f32[500]) "
			"tuple(%z, %p)\n"
			"  ROOT %w = (s32[], f32[500]) while(%t), condition=%cond, body=%body\n"));
	/* compare: 100 + 9 bytes; add: 100 + 12; negate: 100 + 4000; reduce of 2000 bytes over 8: 3500
	 */
	ck_assert_int_eq(r.c.runtime_ns, 10 * (109 + 112 + 4100 + 3500));
	ck_assert_int_eq(r.c.collectives[COLL_ALL_REDUCE].count, 1);
	ck_assert_int_eq(r.c.collectives[COLL_ALL_REDUCE].dynamic_count, 10);
	ck_assert_int_eq(r.c.collectives[COLL_ALL_REDUCE].bytes, 20000);
	ck_assert_uint_eq(hlo_unknown_loops(r.s), 0);
	done(&r);
	char unknown[4096]; /* the counter is doubled */
	snprintf(unknown, sizeof unknown, "%s", all);
	memcpy(strstr(unknown, "add(%i, %one)"), "add(%i, %i)  ", 13);
	r = run_on("h100",
		entry(unknown,
			"  %p = f32[500] parameter(0)\n  %z = s32[] parameter(1)\n  %t = (s32[], f32[500]) "
			"tuple(%z, %p)\n"
			"  ROOT %w = (s32[], f32[500]) while(%t), condition=%cond, body=%body\n"));
	ck_assert_uint_eq(hlo_unknown_loops(r.s), 1);
	ck_assert_int_eq(r.c.collectives[COLL_ALL_REDUCE].dynamic_count, 1);
	done(&r);
	cost c = cost_of("h100", all,
		"  %p = f32[500] parameter(0)\n  %b = pred[] parameter(1)\n"
		"  ROOT %c = f32[500] conditional(%b, %p, %p), true_computation=%short, "
		"false_computation=%long\n");
	ck_assert_int_eq(c.runtime_ns, 2 * 4100);
	ck_assert(c.flops_per_device == 1000);
}
END_TEST

/* What is in flight when a loop begins is waited for once, behind the loop, and exposed
 * communication is never above all of it. */
START_TEST(loops_have_queues_of_their_own)
{
	static const char comps[] =
		"%cond (t: (s32[], f32[500])) -> pred[] {\n  %t = (s32[], f32[500]) parameter(0)\n  %i = "
		"s32[] get-tuple-element(%t), index=0\n"
		"  %n = s32[] constant(10)\n  ROOT %c = pred[] compare(%i, %n), direction=LT\n}\n"
		"%body (t: (s32[], f32[500])) -> (s32[], f32[500]) {\n  %t = (s32[], f32[500]) "
		"parameter(0)\n  %i = s32[] get-tuple-element(%t), index=0\n"
		"  %x = f32[500] get-tuple-element(%t), index=1\n  %one = s32[] constant(1)\n  %j = s32[] "
		"add(%i, %one)\n"
		"  %w = f32[500] all-reduce(%x), channel_id=1, " GROUPS8
		", to_apply=%add\n  ROOT %r = (s32[], f32[500]) tuple(%j, %w)\n}\n";
	char all[4096];
	snprintf(all, sizeof all, "%s%s", ADD, comps);
	cost c = cost_of("h100", all,
		"  %p = f32[500] parameter(0)\n  %q = f32[50000] parameter(1)\n"
		"  %s = (f32[50000], f32[400000]) all-gather-start(%q), channel_id=2, " GROUPS8
		", dimensions={0}\n  %z = s32[] constant(0)\n"
		"  %t = (s32[], f32[500]) tuple(%z, %p)\n  %w = (s32[], f32[500]) while(%t), "
		"condition=%cond, body=%body\n"
		"  %d = f32[400000] all-gather-done(%s)\n  ROOT %r = ((s32[], f32[500]), f32[400000]) "
		"tuple(%w, %d)\n");
	int64_t gather = 1400000, loop = 10 * (109 + 112 + 3500);
	ck_assert_int_eq(c.communication_ns, gather + 10 * 3500);
	ck_assert_int_eq(c.exposed_communication_ns, gather - loop + 10 * 3500);
	ck_assert_int_eq(c.runtime_ns, gather);
}
END_TEST

/* A counter from an unknown start, beside another condition: it runs from 0 to its bound, or less
 * where that is given. */
START_TEST(loops_that_may_end_early_run_to_their_bound)
{
	static const char comps[] =
		"%cond (t: (s32[], pred[])) -> pred[] {\n  %t = (s32[], pred[]) parameter(0)\n  %i = s32[] "
		"get-tuple-element(%t), index=0\n"
		"  %e = pred[] get-tuple-element(%t), index=1\n  %n = s32[] constant(31)\n  %l = pred[] "
		"compare(%i, %n), direction=LT\n  %not = pred[] not(%e)\n"
		"  ROOT %c = pred[] and(%not, %l)\n}\n"
		"%body (t: (s32[], pred[])) -> (s32[], pred[]) {\n  %t = (s32[], pred[]) parameter(0)\n  "
		"%i = s32[] get-tuple-element(%t), index=0\n"
		"  %e = pred[] get-tuple-element(%t), index=1\n  %two = s32[] constant(2)\n  %j = s32[] "
		"add(%i, %two)\n"
		"  ROOT %r = (s32[], pred[]) tuple(%j, %e)\n}\n";
	static const struct {
		const char *start;
		int64_t given, trips;
	} rows[] = {{"parameter(0)", 0, 16}, {"constant(11)", 0, 10}, {"parameter(0)", 3, 3},
		{"parameter(0)", 100, 16}};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char lines[512];
		diag d = {0};
		hlo_module *m;
		hlo_simulation *s;
		cost c;
		device dev = plain("h100");
		snprintf(lines, sizeof lines,
			"  %%z = s32[] %s\n  %%e = pred[] parameter(%d)\n  %%t = (s32[], pred[]) tuple(%%z, "
			"%%e)\n"
			"  ROOT %%w = (s32[], pred[]) while(%%t), condition=%%cond, body=%%body\n",
			rows[i].start, rows[i].start[0] == 'p');
		const char *text = entry(comps, lines);
		ck_assert_int_eq(hlo_read(text, strlen(text), "t", &m, &d), ST_OK);
		m->trip_count = rows[i].given;
		ck_assert_int_eq(hlo_simulate(m, &dev, &c, &s, &d), ST_OK);
		ck_assert_uint_eq(hlo_unknown_loops(s), 0);
		ck_assert_uint_eq(hlo_bounded_loops(s), 1);
		/* compare: 100 + 9 bytes; not: 100 + 2; and: 100 + 3; add: 100 + 12 */
		ck_assert_int_eq(c.runtime_ns, rows[i].trips * (109 + 102 + 103 + 112));
		hlo_simulation_free(s);
		hlo_free(m);
	}
}
END_TEST

START_TEST(groups_find_their_links)
{
	static const struct {
		const char *groups, *link;
		int64_t ns; /* all_gather to 16 kB */
	} rows[] = {
		{"{{0,1,2,3,4,5,6,7},{8,9,10,11,12,13,14,15}}", "nvlink", 14000},
		{"{{0,8},{1,9},{2,10},{3,11},{4,12},{5,13},{6,14},{7,15}}", "nic", 8000},
		{"[8,2]<=[2,8]T(1,0)", "nic", 8000},
		{"mesh['a'=2,'b'=8] {'b'}", "nvlink", 14000},
		{"mesh['a'=2,'b'=8] {'a'}", "nic", 8000},
		{"{}", "nvlink", 14000}, /* inside 7/8 of it, then half of an eighth over the network: the
	                                slower of the two */
		{"{{0,2,4,6},{1,3,5,7},{8,10,12,14},{9,11,13,15}}", "nvlink", 12000},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char lines[512];
		snprintf(lines, sizeof lines,
			"  %%p = f32[500] parameter(0)\n  ROOT %%g = f32[4000] all-gather(%%p), channel_id=1, "
			"replica_groups=%s, "
			"use_global_device_ids=true, dimensions={0}\n",
			rows[i].groups);
		result r = run_on("h100", entry("", lines));
		const hlo_event *e = event_of(&r, "g");
		ck_assert_str_eq(hlo_stream_name(r.s, e->stream), rows[i].link);
		ck_assert_msg(e->end_ns - e->start_ns == rows[i].ns, "%s: %lld", rows[i].groups,
			(long long)(e->end_ns - e->start_ns));
		done(&r);
	}
	hlo_module *m;
	diag d = {0};
	device dev = plain("cpu-host");
	dev.n_links = 1;
	dev.links[0].size = 4;
	cost c;
	const char *text = entry("",
		"  %p = f32[8] parameter(0)\n  ROOT %g = f32[8] all-reduce(%p), replica_groups={}, "
		"channel_id=1, use_global_device_ids=true\n");
	ck_assert_int_eq(hlo_read(text, strlen(text), "t", &m, &d), ST_OK);
	ck_assert_int_eq(hlo_simulate(m, &dev, &c, NULL, &d), ST_ERR_INVALID);
	ck_assert_ptr_nonnull(strstr(d.msg, "does not fit"));
	hlo_free(m);
}
END_TEST

/* In a text with cycles: 0.9 of the sheet's bandwidth, here 1 byte/ns, in each direction of a dim
 * of 4 x 4 without rings, 1 us a hop. */
START_TEST(links_of_estimated_schedules_are_the_published_ones)
{
#define ROWS "[4,4]<=[16]"
#define COLUMNS "[4,4]<=[4,4]T(1,0)"
	static const struct {
		const char *what;
		int64_t ns;
	} rows[] = {
		{"f32[4500] all-gather(%p), channel_id=1, replica_groups=" ROWS ", dimensions={0}",
			18000 * 10 / 9 + 3000},
		{"f32[4500] all-gather(%p), channel_id=1, replica_groups=" COLUMNS ", dimensions={0}",
			18000 * 10 / 9 + 3000},
		{"f32[18000] all-gather(%p), channel_id=1, replica_groups=[1,16]<=[16], dimensions={0}",
			72000 * 10 / 18 + 6000},
		{"f32[1125] all-reduce(%p), channel_id=1, replica_groups=" ROWS ", to_apply=%add",
			9000 * 10 / 9 + 6000},
		{"f32[1125] all-reduce(%p), channel_id=1, replica_groups=[1,16]<=[16], to_apply=%add",
			9000 * 10 / 18 + 12000},
		{"f32[1125] collective-permute(%p), channel_id=1, source_target_pairs={{0,2},{1,3}}",
			4500 * 10 / 9 + 1000},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char lines[512];
		snprintf(lines, sizeof lines,
			"  %%p = f32[1125] parameter(0)\n  %%k = f32[1125] negate(%%p), "
			"backend_config={\"estimated_cycles\":\"15000\"}\n"
			"  ROOT %%g = %s, use_global_device_ids=true\n",
			rows[i].what);
		if (strstr(rows[i].what, "permute"))
			strcpy(strstr(lines, ", use_global"), "\n");
		result r = run_on("tpu-v5e", entry(ADD, lines));
		ck_assert_msg(r.c.communication_ns == rows[i].ns, "%s: %lld", rows[i].what,
			(long long)r.c.communication_ns);
		ck_assert_int_eq(hlo_share_of(r.s, HLO_COLLECTIVES, HLO_FROM_PUBLISHED).count, 1);
		ck_assert_int_eq(hlo_share_of(r.s, HLO_COLLECTIVES, HLO_FROM_PUBLISHED).ns, rows[i].ns);
		ck_assert_int_eq(r.c.runtime_ns, 10000 + rows[i].ns);
		done(&r);
	}
	/* pairs and few bytes within half an axis do not lay the axis anew */
	result r = run_on("tpu-v5e",
		entry(ADD,
			"  %p = f32[1125] parameter(0)\n  %k = f32[1125] negate(%p), "
			"backend_config={\"estimated_cycles\":\"15000\"}\n"
			"  %a = f32[4500] all-gather(%p), channel_id=1, replica_groups=" ROWS
			", dimensions={0}, use_global_device_ids=true\n"
			"  %b = f32[4500] all-gather(%p), channel_id=2, replica_groups=" COLUMNS
			", dimensions={0}, use_global_device_ids=true\n"
			"  %c = f32[1125] collective-permute(%p), channel_id=3, "
			"source_target_pairs={{0,1},{1,0}}\n"
			"  %d = f32[] constant(1)\n"
			"  %e = f32[] all-reduce(%d), channel_id=4, replica_groups=[8,2]<=[2,2,4]T(0,2,1), "
			"use_global_device_ids=true, to_apply=%add\n"
			"  ROOT %r = (f32[4500], f32[4500], f32[1125], f32[]) tuple(%a, %b, %c, %e)\n"));
	const hlo_event *a = event_of(&r, "a"), *b = event_of(&r, "b");
	ck_assert_int_eq(a->end_ns - a->start_ns, 23000);
	ck_assert_int_eq(b->end_ns - b->start_ns, 23000);
	done(&r);
}
END_TEST

/* ---------------------------------------------------------------- memory */

START_TEST(buffers_live_from_first_write_to_last_read)
{
	/* a and b are alive together, c takes the place of b, the result is no temporary */
	cost c = cost_of("h100", "",
		"  %p = f32[250] parameter(0)\n  %a = f32[250] negate(%p)\n  %b = f32[250] negate(%p)\n  "
		"%c = f32[250] negate(%b)\n"
		"  ROOT %r = f32[250] add(%a, %c)\n");
	ck_assert_int_eq(c.argument_bytes, 1000);
	ck_assert_int_eq(c.output_bytes, 1000);
	ck_assert_int_eq(c.temporary_bytes, 2000);
	/* a reverse cannot work in place */
	c = cost_of("h100", "",
		"  %p = f32[250] parameter(0)\n  %a = f32[250] negate(%p)\n  %b = f32[250] reverse(%a), "
		"dimensions={0}\n  ROOT %r = f32[250] negate(%b)\n");
	ck_assert_int_eq(c.temporary_bytes, 2000);
	/* tuples, elements and bitcasts are no buffers; constants and memory on the chip are no
	 * temporaries */
	c = cost_of("tpu-v5e", "",
		"  %p = f32[250] parameter(0)\n  %a = f32[250] negate(%p)\n  %t = (f32[250], f32[250]) "
		"tuple(%a, %p)\n"
		"  %g = f32[250] get-tuple-element(%t), index=0\n  %b = f32[25,10] bitcast(%g)\n  %v = "
		"f32[25,10]{1,0:S(1)} negate(%b)\n"
		"  %k = f32[25,10] constant({...})\n  ROOT %r = f32[25,10] add(%v, %k)\n");
	ck_assert_int_eq(c.temporary_bytes, 1000);
	/* padded to the tiles of the layout */
	c = cost_of("tpu-v5e", "",
		"  %p = f32[250,1]{1,0:T(8,128)} parameter(0)\n  %a = f32[250,1]{1,0:T(8,128)} "
		"negate(%p)\n  ROOT %r = f32[250,1]{0,1:T(1,128)} copy(%a)\n");
	ck_assert_int_eq(c.argument_bytes, 256 * 128 * 4);
	ck_assert_int_eq(c.temporary_bytes, 256 * 128 * 4);
	ck_assert_int_eq(c.output_bytes, 256 * 4);
}
END_TEST

START_TEST(buffers_that_are_shared)
{
	/* updates in place and through fusions; what a loop carries; one peak of its body */
	static const char comps[] =
		"%updates (p: f32[1000,16], q: f32[16], i: s32[]) -> f32[1000,16] {\n  %p = f32[1000,16] "
		"parameter(0)\n  %q = f32[16] parameter(1)\n"
		"  %i = s32[] parameter(2)\n  %z = s32[] constant(0)\n  %b = f32[1,16] bitcast(%q)\n  ROOT "
		"%r = f32[1000,16] dynamic-update-slice(%p, %b, %i, %z)\n}\n"
		"%cond (t: (s32[], f32[1000,16])) -> pred[] {\n  %t = (s32[], f32[1000,16]) parameter(0)\n "
		" %i = s32[] get-tuple-element(%t), index=0\n"
		"  %n = s32[] constant(10)\n  ROOT %c = pred[] compare(%i, %n), direction=LT\n}\n"
		"%body (t: (s32[], f32[1000,16])) -> (s32[], f32[1000,16]) {\n  %t = (s32[], f32[1000,16]) "
		"parameter(0)\n"
		"  %i = s32[] get-tuple-element(%t), index=0\n  %x = f32[1000,16] get-tuple-element(%t), "
		"index=1\n  %one = s32[] constant(1)\n"
		"  %j = s32[] add(%i, %one)\n  %q = f32[16] custom-call(), custom_call_target=\"fill\"\n  "
		"%big = f32[500] custom-call(%q), custom_call_target=\"use\"\n"
		"  %q2 = f32[16] custom-call(%big), custom_call_target=\"use\"\n  %y = f32[1000,16] "
		"fusion(%x, %q2, %i), kind=kLoop, calls=%updates\n"
		"  ROOT %r = (s32[], f32[1000,16]) tuple(%j, %y)\n}\n";
	static const char lines[] = "  %p = f32[1000,16] parameter(0)\n  %z = s32[] constant(0)\n  %i "
								"= s32[] copy(%z)\n  %x = f32[1000,16] copy(%p)\n"
								"  %t = (s32[], f32[1000,16]) tuple(%i, %x)\n  %w = (s32[], "
								"f32[1000,16]) while(%t), condition=%cond, body=%body\n"
								"  %y = f32[1000,16] get-tuple-element(%w), index=1\n  ROOT %r = "
								"f32[] custom-call(%y), custom_call_target=\"sum\"\n";
	result r = run_on("h100", entry(comps, lines));
	/* the carried array and counter, the new counter of the body beside it, and q2 beside big */
	ck_assert_int_eq(r.c.temporary_bytes, 64000 + 4 + 2000 + 64);
	uint32_t n;
	const hlo_live *live = hlo_peak(r.s, &n);
	ck_assert_int_eq(live[0].bytes, 64000);
	ck_assert(str_is(hlo_name(r.m, live[0].instr), "x"));
	ck_assert(str_is(hlo_name(r.m, live[1].instr), "big"));
	done(&r);
}
END_TEST

START_TEST(donated_arguments_are_the_results)
{
	static const char text[] =
		"HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }\nENTRY %main {\n  %p = "
		"f32[250] parameter(0)\n  %q = f32[100] parameter(1)\n"
		"  %a = f32[250] negate(%p)\n  %b = f32[100] negate(%q)\n  ROOT %t = (f32[250], f32[100]) "
		"tuple(%a, %b)\n}\n";
	result r = run_on("h100", text);
	ck_assert_int_eq(r.c.argument_bytes, 1400);
	ck_assert_int_eq(r.c.output_bytes, 1400);
	ck_assert_int_eq(r.c.alias_bytes, 1000);
	ck_assert_int_eq(r.c.temporary_bytes, 0);
	ck_assert_int_eq(r.c.peak_bytes, 1800);
	done(&r);
}
END_TEST

START_TEST(asynchronous_operands_stay_until_the_done)
{
	/* a is an operand of the start: alive until the done although nothing else reads it */
	static const char lines[] =
		"  %p = f32[250] parameter(0)\n  %a = f32[250] negate(%p)\n"
		"  %s = (f32[250], f32[250]) collective-permute-start(%a), channel_id=1, "
		"source_target_pairs={{0,1},{1,0}}\n"
		"  %b = f32[250] reverse(%p), dimensions={0}\n  %c = f32[250] reverse(%b), dimensions={0}\n"
		"  %d = f32[250] collective-permute-done(%s)\n  ROOT %r = f32[250] add(%d, %c)\n";
	ck_assert_int_eq(cost_of("h100", "", lines).temporary_bytes, 4000);
	static const char generic[] =
		"  %p = f32[250] parameter(0)\n  %a = f32[250] negate(%p)\n"
		"  %s = ((f32[250]), f32[250], s32[]) reverse-start(%a), dimensions={0}\n"
		"  %b = f32[250] reverse(%p), dimensions={0}\n  %c = f32[250] reverse(%b), dimensions={0}\n"
		"  %d = f32[250] reverse-done(%s)\n  ROOT %r = f32[250] add(%d, %c)\n";
	ck_assert_int_eq(cost_of("h100", "", generic).temporary_bytes, 4000 + 4); /* and the context */
}
END_TEST

START_TEST(operands_that_an_update_brings_count_from_there)
{
	/* a begins to live behind the start, as the operand of an update; the op runs from there on.
	 * The plain form has the same buffers and time. */
	static const char comps[] =
		"%c (x: f32[250]) -> f32[250] {\n  %x = f32[250] parameter(0)\n  ROOT %v = f32[250] "
		"reverse(%x), dimensions={0}\n}\n";
	static const char late[] =
		"  %p = f32[250] parameter(0)\n"
		"  %s = ((), (), s32[]) async-start(), calls=%c\n"
		"  %a = f32[250] negate(%p)\n"
		"  %u = ((f32[250]), f32[250], s32[]) async-update(%s, %a)\n"
		"  %b = f32[250] reverse(%p), dimensions={0}\n  %e = f32[250] reverse(%b), dimensions={0}\n"
		"  %d = f32[250] async-done(%u)\n  ROOT %r = f32[250] add(%d, %e)\n";
	static const char plain[] =
		"  %p = f32[250] parameter(0)\n"
		"  %a = f32[250] negate(%p)\n"
		"  %s = ((f32[250]), f32[250], s32[]) async-start(%a), calls=%c\n"
		"  %b = f32[250] reverse(%p), dimensions={0}\n  %e = f32[250] reverse(%b), dimensions={0}\n"
		"  %d = f32[250] async-done(%s)\n  ROOT %r = f32[250] add(%d, %e)\n";
	cost a = cost_of("h100", comps, late), b = cost_of("h100", comps, plain);
	ck_assert_int_eq(b.temporary_bytes, 4000 + 4);
	ck_assert_int_eq(a.temporary_bytes, b.temporary_bytes);
	ck_assert_int_eq(a.runtime_ns, b.runtime_ns);
}
END_TEST

static void add_tests(TCase *t)
{
	tcase_add_test(t, asynchronous_collectives_overlap);
	tcase_add_test(t, estimates_of_the_compiler_are_taken);
	tcase_add_test(t, queues_are_in_order_and_copies_have_their_own);
	tcase_add_test(t, tpu_collectives_inside_fusions_count_once);
	tcase_add_test(t, loops_and_branches);
	tcase_add_test(t, loops_have_queues_of_their_own);
	tcase_add_test(t, loops_that_may_end_early_run_to_their_bound);
	tcase_add_test(t, groups_find_their_links);
	tcase_add_test(t, links_of_estimated_schedules_are_the_published_ones);
	tcase_add_test(t, buffers_live_from_first_write_to_last_read);
	tcase_add_test(t, buffers_that_are_shared);
	tcase_add_test(t, donated_arguments_are_the_results);
	tcase_add_test(t, asynchronous_operands_stay_until_the_done);
	tcase_add_test(t, operands_that_an_update_brings_count_from_there);
}

int main(void) { return run_added(add_tests, "hlo_simulate"); }
