/* The reader of HLO text: every piece of syntax, every rule of the verifier, replica groups, trip
 * counts. */
#include "hlo/hlo.h"
#include "tests/unit/module_fixture.h"

static hlo_module *hlo_ok(const char *text)
{
	hlo_module *m;
	diag d;
	diag_clear(&d);
	if (hlo_read(text, strlen(text), "t.hlo", &m, &d) != ST_OK)
		ck_abort_msg("%s\n%u:%u: %s", text, d.line, d.col, d.msg);
	return m;
}

static void hlo_fails(const char *text, status code, uint32_t line, uint32_t col, const char *part)
{
	hlo_module *m;
	diag d;
	diag_clear(&d);
	status s = hlo_read(text, strlen(text), "t.hlo", &m, &d);
	ck_assert_msg(s == code, "%s: status %s (%s)", text, status_name(s), d.msg);
	ck_assert_ptr_null(m);
	ck_assert_msg(strstr(d.msg, part) != NULL, "message '%s' has no '%s'", d.msg, part);
	ck_assert_msg(d.line == line && d.col == col, "'%s' at %u:%u, expected %u:%u", d.msg, d.line,
		d.col, line, col);
	ck_assert_str_eq(d.file, "t.hlo");
}

/* A program with these computations and lines in ENTRY: lines begin on line 3 when there are no
 * computations. */
static char *text_of(const char *comps, const char *lines)
{
	static char text[16384];
	int n = snprintf(text, sizeof text,
		"HloModule m, is_scheduled=true, num_partitions=8\n%sENTRY %%main (p: f32[8]) -> f32[8] "
		"{\n%s}\n",
		comps, lines);
	ck_assert_int_lt(n, (int)sizeof text);
	return text;
}

static hlo_id named(const hlo_module *m, const char *name)
{
	for (hlo_id i = 0; i < m->instrs.n; i++)
		if (str_is(hlo_name(m, i), name) && !m->comps.p[m->instrs.p[i].comp].made)
			return i;
	ck_abort_msg("no instruction %s", name);
	return 0;
}

/* ---------------------------------------------------------------- syntax */

START_TEST(header_and_tables)
{
	hlo_module *m = hlo_ok(
		"HloModule jit_step, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias), {1, "
		"0}: (1, {1}, must-alias) }, "
		"entry_computation_layout={(f32[2]{0}, (s32[], f32[4]{0:T(256)}))->(f32[2]{0}, "
		"(f32[4]{0}))}, "
		"allow_spmd_sharding_propagation_to_output={true,false}, replica_count=2, "
		"num_partitions=4, "
		"frontend_attributes={a=\"x{\"}\n\n"
		"FileNames\n1 \"a.py\"\n2 \"dir/b.py\"\n\nFunctionNames\n1 \"f\"\n\n"
		"FileLocations\n1 {file_name_id=2 function_name_id=1 line=42 end_line=42 column=18 "
		"end_column=18}\n\n"
		"StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\n\n"
		"ENTRY %main {\n"
		"  %a = f32[2]{0} parameter(0)\n"
		"  %b = (s32[], f32[4]{0:T(256)}) parameter(1)\n"
		"  %c = f32[4]{0} get-tuple-element(%b), index=1, "
		"metadata={op_name=\"jit(step)/x[\\'w\\']\" stack_frame_id=1}\n"
		"  %n = f32[2]{0} negate(%a), metadata={op_name=\"n\" source_file=\"z.py\" source_line=7}\n"
		"  %o = f32[2]{0} negate(%n), metadata={op_name=\"params[\\'w\\']\"}\n"
		"  %i = (f32[4]{0}) tuple(%c)\n"
		"  ROOT %t = (f32[2]{0}, (f32[4]{0})) tuple(%o, %i)\n"
		"}\n");
	ck_assert(m->scheduled);
	ck_assert_int_eq(m->n_partitions, 4);
	ck_assert_int_eq(m->n_replicas, 2);
	ck_assert_uint_eq(m->aliases.n, 2);
	ck_assert_uint_eq(m->aliases.p[1].output_leaf, 1);
	ck_assert_uint_eq(m->aliases.p[1].param, 1);
	ck_assert_uint_eq(m->aliases.p[1].param_leaf, 1);
	static const char *const where[][2] = {
		{"c", "dir/b.py:42"}, {"n", "z.py:7"}, {"o", "params['w']"}, {"t", ""}};
	for (size_t i = 0; i < COUNT_OF(where); i++) {
		strbuf b = {0};
		hlo_location(m, named(m, where[i][0]), &b);
		ck_assert_str_eq(b.p ? b.p : "", where[i][1]);
		strbuf_release(&b);
	}
	hlo_free(m);
}
END_TEST

START_TEST(shapes_and_layouts)
{
	/* text, elements, stored bytes, memory space */
	static const struct {
		const char *text;
		int64_t elements, bytes;
		int space;
	} rows[] = {
		{"f32[]", 1, 4, 0},
		{"pred[3]", 3, 3, 0},
		{"bf16[32,4096]{1,0}", 131072, 262144, 0},
		{"bf16[32,4096]{1,0:T(8,128)(2,1)}", 131072, 262144, 0},
		{"f32[4096,1]{1,0:T(8,128)}", 4096, 4096 * 128 * 4, 0},
		{"f32[4096,1]{0,1:T(1,128)}", 4096, 4096 * 4, 0},
		{"f32[10,100]{0,1:T(8,128)}", 1000, 104 * 128 * 4, 0},
		{"f32[3,5]{1,0:T(8,128)S(1)}", 15, 8 * 128 * 4, 1},
		{"bf16[100]{0:T(256)(128)(2,1)}", 100, 512, 0},
		{"s32[]{:T(128)}", 1, 512, 0},
		{"s4[7]{0:E(4)}", 7, 4, 0},
		{"s4[7]{0}", 7, 7, 0},
		{"f8e4m3fn[16]{0:S(5)}", 16, 16, 5},
		{"c64[4]{0}", 4, 32, 0},
		{"f32[<=8,2]{1,0}", 16, 64, 0},
		{"u32[2]{0:T(128)L(1024)S(2)}", 2, 512, 2},
		{"f32[0,4]{1,0:T(8,128)}", 0, 0, 0},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char lines[256];
		snprintf(lines, sizeof lines, "  ROOT %%p = %s parameter(0)\n", rows[i].text);
		hlo_module *m = hlo_ok(text_of("", lines));
		const hlo_shape *s = hlo_shape_of(m, named(m, "p"));
		ck_assert_msg(s->elements == rows[i].elements && s->bytes == rows[i].bytes &&
				s->space == rows[i].space,
			"%s: %lld elements, %lld bytes, S(%d)", rows[i].text, (long long)s->elements,
			(long long)s->bytes, s->space);
		hlo_free(m);
	}
	hlo_module *m = hlo_ok(text_of("",
		"  ROOT %p = ((f32[2]{0}, token[]), opaque[], /*index=2*/(), bf16[4]{0}) parameter(0)\n"));
	const hlo_shape *s = hlo_shape_of(m, named(m, "p"));
	ck_assert_uint_eq(s->n_children, 4);
	ck_assert_uint_eq(s->n_leaves, 4);
	ck_assert_int_eq(s->bytes, 16);
	ck_assert_uint_eq(hlo_child_leaf(m, s, 3), 3);
	hlo_free(m);
}
END_TEST

START_TEST(instructions_in_all_spellings)
{
	hlo_module *m = hlo_ok(text_of(
		"%add (x: f32[], y: f32[]) -> f32[] {\n  x = f32[] parameter(0)\n  y = f32[] "
		"parameter(1)\n  ROOT z = f32[] add(f32[] x, f32[] %y)\n}\n\n",
		"  %p = f32[8]{0} parameter(0), sharding={devices=[2,4]<=[8] last_tile_dim_replicate}\n"
		"  q = f32[8] negate(f32[8] p)\n"
		"  %c.1 = f32[2,2]{1,0} constant({ { 1, -2 }, { inf, nan } })\n"
		"  %c.2 = s32[] constant(-7)\n"
		"  %i = s32[4]{0} iota(), iota_dimension=0\n"
		"  %s = f32[3]{0} slice(f32[8]{0} %p), slice={[1:7:2]}\n"
		"  %r = f32[] reduce(%q, %s), dimensions={0}, to_apply=%add\n"
		"  %k = f32[8]{0} custom-call(%p, /*index=1*/%q), custom_call_target=\"a \\\"b\\\" {\", "
		"backend_config={\"x\":{\"y\":[\"1\"]},\"s\":\"}\"}\n"
		"  %u = f32[8]{0} brand-new-op(%p), anything={[1]}, other=a_b-c\n"
		"  ROOT %out = f32[8]{0} add(%k, %u)\n"));
	ck_assert_uint_eq(m->comps.n, 2);
	ck_assert_uint_eq(m->instrs.p[named(m, "u")].op, HLO_UNKNOWN);
	ck_assert(str_is(hlo_word(m, named(m, "k"), HLO_ATTR_TARGET), "a \\\"b\\\" {"));
	hlo_instr c2 = m->instrs.p[named(m, "c.2")];
	ck_assert(str_is(hlo_text(m, c2.literal, c2.literal_n), "-7"));
	uint32_t n;
	const int64_t *v = hlo_ints(m, named(m, "s"), HLO_ATTR_SLICE, &n);
	ck_assert_uint_eq(n, 3);
	ck_assert(v[0] == 1 && v[1] == 7 && v[2] == 2);
	ck_assert_uint_eq(hlo_called(m, named(m, "r"), HLO_ATTR_TO_APPLY), 0);
	ck_assert_uint_eq(m->instrs.p[named(m, "p")].n_users, 4);
	hlo_free(m);
}
END_TEST

START_TEST(convolution_attributes)
{
	hlo_module *m = hlo_ok(text_of("",
		"  %p = f32[2,8,8,3]{3,2,1,0} parameter(0)\n  %k = f32[3,3,3,4]{3,2,1,0} parameter(1)\n"
		"  ROOT %c = f32[2,4,4,4]{3,2,1,0} convolution(%p, %k), window={size=3x3 stride=2x2 "
		"pad=0_1x1_0 lhs_dilate=1x2 "
		"rhs_dilate=2x1 rhs_reversal=0x1}, dim_labels=b01f_01io->b01f, feature_group_count=1, "
		"operand_precision={highest,default}\n"));
	uint32_t n;
	const int64_t *w = hlo_ints(m, named(m, "c"), HLO_ATTR_WINDOW, &n);
	static const int64_t want[] = {3, 2, 0, 1, 1, 2, 0, 3, 2, 1, 0, 2, 1, 1};
	ck_assert_uint_eq(n, COUNT_OF(want));
	ck_assert_mem_eq(w, want, sizeof want);
	const int64_t *l = hlo_ints(m, named(m, "c"), HLO_ATTR_LABELS, &n);
	static const int64_t labels[] = {0, 3, 1, 2, 2, 3, 0, 1, 0, 3, 1, 2};
	ck_assert_uint_eq(n, COUNT_OF(labels));
	ck_assert_mem_eq(l, labels, sizeof labels);
	hlo_free(m);
}
END_TEST

static void groups_are(const char *attributes, const char *want)
{
	char lines[1024];
	strbuf got = {0};
	snprintf(lines, sizeof lines, "  %%p = f32[8]{0} parameter(0)\n  ROOT %%g = f32[8]{0} %s\n",
		attributes);
	hlo_module *m =
		hlo_ok(text_of("%add (x: f32[], y: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n  %y = "
					   "f32[] parameter(1)\n  ROOT %z = f32[] add(%x, %y)\n}\n",
			lines));
	hlo_members g;
	hlo_group_members(m, named(m, "g"), &g);
	for (uint32_t k = 0; k + 1 < g.starts.n; k++) {
		strbuf_puts(&got, k ? " " : "");
		for (uint32_t i = g.starts.p[k]; i < g.starts.p[k + 1]; i++)
			strbuf_printf(&got, "%s%d", i > g.starts.p[k] ? "," : "", g.ids.p[i]);
	}
	ck_assert_str_eq(got.p ? got.p : "", want);
	strbuf_release(&got);
	hlo_members_release(&g);
	hlo_free(m);
}

START_TEST(replica_groups_in_all_spellings)
{
#define REDUCE(groups) \
	"all-reduce(%p), channel_id=1, replica_groups=" groups \
	", use_global_device_ids=true, to_apply=%add"
	groups_are(REDUCE("{{0,1,2,3},{4,5,6,7}}"), "0,1,2,3 4,5,6,7");
	groups_are(REDUCE("{{0,2},{1},{3,4,5}}"), "0,2 1 3,4,5");
	groups_are(REDUCE("{}"), "0,1,2,3,4,5,6,7");
	groups_are(REDUCE("{{}}"), "");
	groups_are(REDUCE("[2,4]<=[8]"), "0,1,2,3 4,5,6,7");
	groups_are(REDUCE("[4,2]<=[2,4]T(1,0)"), "0,4 1,5 2,6 3,7");
	groups_are(REDUCE("[2,4]<=[2,2,2]T(1,0,2)"), "0,1,4,5 2,3,6,7");
	groups_are(REDUCE("mesh['a'=4,'b'=2] {'b'}"), "0,1 2,3 4,5 6,7");
	groups_are(REDUCE("mesh['a'=4,'b'=2] {'a'}"), "0,2,4,6 1,3,5,7");
	groups_are(REDUCE("mesh['a'=4,'b'=2] {'a','b'}"), "0,1,2,3,4,5,6,7");
	groups_are(REDUCE("mesh['a'=4,'b'=2] {'a':(1)2}"), "0,4 1,5 2,6 3,7");
	groups_are(REDUCE("mesh['a'=4,'b'=2] {'a':(2)2}"), "0,2 1,3 4,6 5,7");
	groups_are(REDUCE("mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)) {'y'}"), "0,2,4,6 1,3,5,7");
	groups_are(REDUCE("mesh['x'=2,'y'=2], device_ids=(7,6,5,4) {'y'}"), "7,6 5,4");
	/* the modes of ids: replicas (one here) without a channel, every partition of the replicas with
	 * one */
	groups_are("all-reduce(%p), replica_groups={}, to_apply=%add", "0 1 2 3 4 5 6 7");
	groups_are(
		"all-reduce(%p), channel_id=1, replica_groups={{0}}, to_apply=%add", "0,1,2,3,4,5,6,7");
	groups_are(
		"all-to-all(%p), channel_id=1, replica_groups={{0,1},{2,3}}, dimensions={0}", "0,1 2,3");
	groups_are(
		"collective-permute(%p), channel_id=1, source_target_pairs={{0,1},{1,0}}", "0,1 1,0");
}
END_TEST

/* ---------------------------------------------------------------- asynchronous */

#define P "  %p = f32[8]{0} parameter(0)\n"
#define SLICE_COMP \
	"%c (a: f32[8]) -> f32[4] {\n  %a = f32[8]{0} parameter(0)\n  ROOT %s = f32[4]{0} slice(%a), " \
	"slice={[0:4]}\n}\n"

START_TEST(sugar_is_the_generic_form)
{
	/* the same program twice, as sugar and spelled out; flat and nested first elements */
	static const char *const sugar[] = {
		P "  %s = ((f32[8]{0}), f32[4]{0}, s32[]) slice-start(%p), slice={[0:4]}\n"
		  "  %u = ((f32[8]{0}), f32[4]{0}, s32[]) slice-update(%s), slice={[0:4]}\n"
		  "  ROOT %d = f32[4]{0} slice-done(%u)\n",
		P "  %s = (f32[8]{0}, f32[4]{0}, s32[]) slice-start(f32[8]{0} %p), slice={[0:4]}\n"
		  "  %u = (f32[8]{0}, f32[4]{0}, s32[]) slice-update((f32[8]{0}, f32[4]{0}, s32[]) %s), "
		  "slice={[0:4]}\n"
		  "  ROOT %d = f32[4]{0} slice-done((f32[8]{0}, f32[4]{0}, s32[]) %u)\n",
	};
	static const char generic[] =
		P "  %s = ((f32[8]{0}), f32[4]{0}, s32[]) async-start(%p), calls=%c\n"
		  "  %u = ((f32[8]{0}), f32[4]{0}, s32[]) async-update(%s)\n"
		  "  ROOT %d = f32[4]{0} async-done(%u)\n";
	for (size_t i = 0; i <= COUNT_OF(sugar); i++) {
		hlo_module *m =
			hlo_ok(i < COUNT_OF(sugar) ? text_of("", sugar[i]) : text_of(SLICE_COMP, generic));
		hlo_id start = named(m, "d");
		ck_assert_uint_eq(m->instrs.p[start].op, HLO_ASYNC_DONE);
		start = hlo_async_start(m, start);
		ck_assert_uint_eq(m->instrs.p[start].op, HLO_ASYNC_START);
		hlo_id wrapped = hlo_async_wrapped(m, start);
		ck_assert_uint_eq(m->instrs.p[wrapped].op, HLO_SLICE);
		ck_assert_uint_eq(m->comps.p[m->instrs.p[wrapped].comp].n, 2);
		ck_assert_int_eq(hlo_shape_of(m, wrapped)->elements, 4);
		uint32_t n;
		ck_assert_int_eq(hlo_ints(m, wrapped, HLO_ATTR_SLICE, &n)[1], 4);
		hlo_free(m);
	}
	/* groups mean what they mean for the op inside */
	hlo_free(hlo_ok(text_of("",
		P "  %s = ((f32[8]{0}), f32[8]{0}) all-to-all-start(%p), channel_id=2, "
		  "replica_groups={{0,1,2,3},{4,5,6,7}}, dimensions={0}\n"
		  "  ROOT %d = f32[8]{0} all-to-all-done(%s)\n")));
	/* several operands, and a computation that the wrapped op calls */
	hlo_module *m = hlo_ok(text_of(
		"%add (x: f32[], y: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n  %y = f32[] "
		"parameter(1)\n  ROOT %z = f32[] add(%x, %y)\n}\n",
		P "  %s = ((f32[8]{0}, f32[8]{0}), (f32[1]{0}, f32[1]{0}), u32[]) reduce-scatter-start(%p, "
		  "%p), channel_id=1, "
		  "replica_groups=[1,8]<=[8], dimensions={0}, use_global_device_ids=true, to_apply=%add\n"
		  "  ROOT %d = (f32[1]{0}, f32[1]{0}) reduce-scatter-done(%s)\n"));
	hlo_id wrapped = hlo_async_wrapped(m, named(m, "s"));
	ck_assert_uint_eq(m->instrs.p[wrapped].op, HLO_REDUCE_SCATTER);
	ck_assert_uint_eq(hlo_called(m, wrapped, HLO_ATTR_TO_APPLY), 0);
	ck_assert_uint_eq(m->instrs.p[wrapped].n_operands, 2);
	hlo_free(m);
}
END_TEST

START_TEST(violations_name_both_instructions)
{
	static const struct {
		const char *comps, *lines;
		uint32_t line, col;
		const char *first, *second;
	} rows[] = {
		/* one user, an update or a done */
		{"", P "  ROOT %s = ((f32[8]{0}), f32[4]{0}, s32[]) slice-start(%p), slice={[0:4]}\n", 4, 9,
			"'s' (slice-start)", "has no user"},
		{"",
			P "  %s = ((f32[8]{0}), f32[4]{0}, s32[]) slice-start(%p), slice={[0:4]}\n  %d = "
			  "f32[4]{0} slice-done(%s)\n  ROOT %e = f32[4]{0} slice-done(%s)\n",
			6, 9, "'e' (slice-done)", "'d' (slice-done)"},
		{"",
			P "  %s = ((f32[8]{0}), f32[4]{0}, s32[]) slice-start(%p), slice={[0:4]}\n  ROOT %g = "
			  "f32[4]{0} get-tuple-element(%s), index=1\n",
			5, 9, "'g' (get-tuple-element)", "'s' (slice-start)"},
		{"",
			P "  %s = ((f32[8]{0}), f32[4]{0}, s32[]) slice-start(%p), slice={[0:4]}\n  ROOT %u = "
			  "((f32[8]{0}), f32[4]{0}, s32[]) slice-update(%s)\n",
			5, 9, "'u' (slice-update)", "'s' (slice-start)"},
		/* what an update and a done follow */
		{"", P "  ROOT %d = f32[8]{0} slice-done(%p)\n", 4, 9, "'d' (slice-done)",
			"'p' (parameter)"},
		{"",
			P "  %s = ((f32[8]{0}), f32[4]{0}, s32[]) slice-start(%p), slice={[0:4]}\n  ROOT %d = "
			  "f32[5]{0} slice-done(%s)\n",
			5, 9, "'d' (slice-done)", "'s' (slice-start)"},
		{"",
			P "  %s = ((f32[8]{0}), f32[4]{0}, s32[]) slice-start(%p), slice={[0:4]}\n  %u = "
			  "((f32[8]{0}), f32[5]{0}, s32[]) slice-update(%s)\n"
			  "  ROOT %d = f32[4]{0} slice-done(%u)\n",
			5, 4, "'u' (slice-update)", "'s' (slice-start)"},
		{"",
			P "  %s = ((f32[8]{0}), f32[4]{0}, s32[]) slice-start(%p), slice={[0:4]}\n  ROOT %d = "
			  "f32[4]{0} reverse-done(%s)\n",
			5, 9, "'d' (reverse-done)", "'s' (slice-start)"},
		{SLICE_COMP "%e (a: f32[8]) -> f32[4] {\n  %a = f32[8]{0} parameter(0)\n  ROOT %s = "
					"f32[4]{0} slice(%a), slice={[0:4]}\n}\n",
			P "  %s = ((f32[8]{0}), f32[4]{0}, s32[]) async-start(%p), calls=%c\n  ROOT %d = "
			  "f32[4]{0} async-done(%s), calls=%e\n",
			13, 9, "'d' (async-done)", "'s' (async-start)"},
		/* operands that an update brings: as many as the computation takes, once, before the done
	     */
		{SLICE_COMP,
			P "  %s = ((), (), s32[]) async-start(), calls=%c\n  ROOT %d = f32[4]{0} "
			  "async-done(%s)\n",
			9, 9, "'d' (async-done)", "'s' (async-start)"},
		{SLICE_COMP,
			P "  %s = ((), (), s32[]) async-start(), calls=%c\n  %u = ((f32[8]{0}, f32[8]{0}), "
			  "f32[4]{0}, s32[]) async-update(%s, %p, %p)\n  ROOT %d = f32[4]{0} async-done(%u)\n",
			9, 4, "'u' (async-update) brings 2 operands", "'s' (slice) 1 parameters"},
		{SLICE_COMP,
			P "  %s = ((), (), s32[]) async-start(), calls=%c\n  %u = ((f32[8]{0}), f32[4]{0}, "
			  "s32[]) async-update(%s, %p)\n  %w = ((f32[8]{0}), f32[4]{0}, s32[]) "
			  "async-update(%u, %p)\n  ROOT %d = f32[4]{0} async-done(%w)\n",
			10, 4, "'w' (async-update)", "'u' (async-update) has brought them"},
		{SLICE_COMP,
			P "  %s = ((f32[8]{0}), f32[4]{0}, s32[]) async-start(%p), calls=%c\n  %u = "
			  "((f32[8]{0}), f32[4]{0}, s32[]) async-update(%s, %p)\n  ROOT %d = f32[4]{0} "
			  "async-done(%u)\n",
			9, 4, "'u' (async-update) brings 1 operands", "'s' (async-start) has 1"},
		{SLICE_COMP,
			P "  %s = ((), (), s32[]) async-start(), calls=%c\n  %u = ((f32[4]{0}), f32[4]{0}, "
			  "s32[]) async-update(%s, %p)\n  ROOT %d = f32[4]{0} async-done(%u)\n",
			9, 4, "'u' (async-update)", "'p' (parameter)"},
		/* the tuple of a start */
		{"",
			P "  %s = ((f32[7]{0}), f32[4]{0}, s32[]) slice-start(%p), slice={[0:4]}\n  ROOT %d = "
			  "f32[4]{0} slice-done(%s)\n",
			4, 4, "'s' (slice-start)", "'p' (parameter)"},
		{"",
			P "  %s = ((f32[8]{0}, f32[8]{0}), f32[4]{0}, s32[]) slice-start(%p), slice={[0:4]}\n  "
			  "ROOT %d = f32[4]{0} slice-done(%s)\n",
			4, 4, "'s' (slice-start)", "'s' (slice)"},
		{SLICE_COMP,
			P "  %s = ((f32[8]{0}), f32[3]{0}, s32[]) async-start(%p), calls=%c\n  ROOT %d = "
			  "f32[3]{0} async-done(%s)\n",
			8, 4, "'s' (async-start)", "'s' (slice)"},
		{SLICE_COMP,
			P "  %s = f32[4]{0} async-start(%p), calls=%c\n  ROOT %d = f32[4]{0} async-done(%s)\n",
			8, 4, "'s' (async-start)", "'s' (slice)"},
		{"",
			P "  %s = f32[4]{0} slice-start(%p), slice={[0:4]}\n  ROOT %d = f32[4]{0} "
			  "slice-done(%s)\n",
			4, 18, "'s' (slice-start)", "no tuple"},
		/* what is wrapped */
		{"",
			P "  %s = ((f32[8]{0}), f32[4]{0}, s32[]) async-start(%p)\n  ROOT %d = f32[4]{0} "
			  "async-done(%s)\n",
			4, 4, "'s' (async-start)", "calls="},
		{"%c (a: f32[8]) -> f32[4] {\n  %a = f32[8]{0} parameter(0)\n  %n = f32[8]{0} negate(%a)\n "
		 " ROOT %s = f32[4]{0} slice(%n), slice={[0:4]}\n}\n",
			P "  %s = ((f32[8]{0}), f32[4]{0}, s32[]) async-start(%p), calls=%c\n  ROOT %d = "
			  "f32[4]{0} async-done(%s)\n",
			4, 4, "'n' (negate)", "'s' (slice)"},
		{SLICE_COMP,
			P "  %s = ((f32[8]{0}, f32[8]{0}), f32[4]{0}, s32[]) async-start(%p, %p), calls=%c\n  "
			  "ROOT %d = f32[4]{0} async-done(%s)\n",
			8, 4, "'s' (async-start)", "'s' (slice)"},
		{"%c (a: f32[8]) -> f32[8] {\n  %a = f32[8]{0} parameter(0)\n  ROOT %k = f32[8]{0} "
		 "copy(%a)\n}\n",
			P "  %s = ((f32[8]{0}), f32[8]{0}, s32[]) async-start(%p), calls=%c\n  ROOT %d = "
			  "f32[8]{0} async-done(%s)\n",
			8, 4, "'s' (async-start)", "'k' (copy)"},
		{"%c (a: f32[8]) -> f32[16] {\n  %a = f32[8]{0} parameter(0)\n  ROOT %k = f32[16]{0} "
		 "all-gather(%a), dimensions={0}, replica_groups={}\n}\n",
			P "  %s = ((f32[8]{0}), f32[16]{0}, s32[]) async-start(%p), calls=%c\n  ROOT %d = "
			  "f32[16]{0} async-done(%s)\n",
			8, 4, "'s' (async-start)", "'k' (all-gather)"},
		{"%c (a: f32[8]) -> f32[8] {\n  ROOT %a = f32[8]{0} parameter(0)\n}\n",
			P "  %s = ((f32[8]{0}), f32[8]{0}, s32[]) async-start(%p), calls=%c\n  ROOT %d = "
			  "f32[8]{0} async-done(%s)\n",
			7, 4, "'s' (async-start)", "'a' (parameter)"},
		/* halves of their own */
		{"", P "  ROOT %d = f32[8]{0} copy-done(%p)\n", 4, 9, "'d' (copy-done)", "'p' (parameter)"},
		{"",
			P "  %s = (f32[8]{0}, f32[8]{0}, u32[]) copy-start(%p)\n  ROOT %g = f32[8]{0} "
			  "get-tuple-element(%s), index=0\n",
			5, 9, "'g' (get-tuple-element)", "'s' (copy-start)"},
		{"",
			P "  %s = (f32[8]{0}, f32[8]{0}, u32[]) copy-start(%p)\n  %d = f32[8]{0} "
			  "copy-done(%s)\n  ROOT %e = f32[8]{0} copy-done(%s)\n",
			6, 9, "'e' (copy-done)", "'d' (copy-done)"},
		{"",
			P "  %s = (f32[8]{0}, f32[8]{0}, u32[]) copy-start(%p)\n  ROOT %d = f32[8]{0} "
			  "all-gather-done(%s)\n",
			5, 9, "'d' (all-gather-done)", "'s' (copy-start)"},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char text[sizeof(char[4096])];
		snprintf(text, sizeof text, "%s", text_of(rows[i].comps, rows[i].lines));
		hlo_fails(text, ST_ERR_INVALID, rows[i].line, rows[i].col, rows[i].first);
		hlo_fails(text, ST_ERR_INVALID, rows[i].line, rows[i].col, rows[i].second);
	}
}
END_TEST

START_TEST(other_errors_have_places)
{
	static const struct {
		const char *comps, *lines;
		status code;
		uint32_t line, col;
		const char *part;
	} rows[] = {
		{"", "  ROOT %q = f32[8]{0} negate(%p)\n", ST_ERR_INVALID, 3, 30, "no instruction 'p'"},
		{"", P "  %p = f32[8]{0} negate(%p)\n", ST_ERR_INVALID, 4, 3, "defined twice"},
		{"", "  %p = f33[8]{0} parameter(0)\n", ST_ERR_PARSE, 3, 8, "unknown element type 'f33'"},
		{"", "  %p = f32[8]{1} parameter(0)\n", ST_ERR_INVALID, 3, 14, "does not order the 1 dims"},
		{"", "  %p = f32[8]{0:T(0)} parameter(0)\n", ST_ERR_INVALID, 3, 19, "tile dim"},
		{"", "  %p = f32[8 parameter(0)\n", ST_ERR_PARSE, 3, 14, "expected ']'"},
		{"", "  %p = f32[8]{0} parameter(1)\n", ST_ERR_INVALID, 3, 4, "number 1 of 1"},
		{"", P "  %q = f32[8]{0} parameter(0)\n  ROOT %r = f32[8]{0} add(%p, %q)\n", ST_ERR_INVALID,
			4, 4, "has the number of 'p'"},
		{"", P "  ROOT %q = f32[8]{0} negate(f32[9]{0} %p)\n", ST_ERR_INVALID, 4, 40,
			"another shape"},
		{"", P "  ROOT %q = f32[8]{0} call(%p), to_apply=%nothing\n", ST_ERR_INVALID, 4, 43,
			"no computation 'nothing'"},
		{"", P "  ROOT %q = f32[8]{0} fusion(%p), kind=kLoop\n", ST_ERR_INVALID, 4, 9,
			"names 0 computations"},
		{SLICE_COMP, P "  ROOT %q = f32[4]{0} fusion(%p, %p), kind=kLoop, calls=%c\n",
			ST_ERR_INVALID, 8, 9, "passes 2 operands to 'c'"},
		{SLICE_COMP, P "  ROOT %q = f32[5]{0} fusion(%p), kind=kLoop, calls=%c\n", ST_ERR_INVALID,
			8, 9, "root 's' (slice)"},
		{"", P "  ROOT %q = f32[8]{0} get-tuple-element(%p), index=0\n", ST_ERR_INVALID, 4, 9,
			"expects one tuple"},
		{"",
			P
			"  %t = (f32[8]{0}) tuple(%p)\n  ROOT %q = f32[8]{0} get-tuple-element(%t), index=1\n",
			ST_ERR_INVALID, 5, 9, "index= inside"},
		{"", P "  ROOT %t = (f32[8]{0}, f32[8]{0}) tuple(%p)\n", ST_ERR_INVALID, 4, 9,
			"1 operands"},
		{"", P "  ROOT %w = f32[8]{0} while(%p), condition=%c\n", ST_ERR_INVALID, 4, 45,
			"no computation"},
		{"", P "  ROOT %q = f32[8]{0} dot(%p), lhs_contracting_dims={0}\n", ST_ERR_INVALID, 4, 9,
			"expected 2 or more"},
		{"%c (a: f32[8]) -> f32[8] {\n  %a = f32[8]{0} parameter(0)\n  ROOT %b = f32[8]{0} "
		 "call(%a), to_apply=%c\n}\n",
			P, ST_ERR_INVALID, 4, 9, "part of"},
		{"",
			P "  ROOT %g = f32[8]{0} all-reduce(%p), replica_groups={{0,8}}, "
			  "use_global_device_ids=true\n",
			ST_ERR_INVALID, 4, 9, "groups id 8"},
		{"", P "  ROOT %g = f32[8]{0} all-reduce(%p), replica_groups={{0,1}}\n", ST_ERR_INVALID, 4,
			9, "has 1 replicas"},
		{"",
			P "  ROOT %g = f32[8]{0} collective-permute(%p), channel_id=1, "
			  "source_target_pairs={{0,8}}\n",
			ST_ERR_INVALID, 4, 9, "has 8 partitions"},
		{"", P "  ROOT %g = f32[8]{0} all-reduce(%p), replica_groups=[2,3]<=[8]\n", ST_ERR_INVALID,
			4, 54, "[groups,members]"},
		{"", P "  ROOT %g = f32[8]{0} all-reduce(%p), replica_groups=[2,4]<=[2,4]T(0,0)\n",
			ST_ERR_INVALID, 4, 66, "no permutation"},
		{"", P "  ROOT %g = f32[8]{0} all-reduce(%p), replica_groups=mesh['a'=8] {'b'}\n",
			ST_ERR_INVALID, 4, 67, "no axis 'b'"},
		{"", P "  ROOT %g = f32[8]{0} collective-permute(%p), source_target_pairs={{0,1,2}}\n",
			ST_ERR_INVALID, 4, 68, "expected a pair"},
		{"", P "  ROOT %g = f32[4]{0} slice(%p), slice={[4:0]}\n", ST_ERR_INVALID, 4, 41,
			"a slice from 4 to 0"},
		{"", P "  ROOT %g = f32[8]{0} copy(%p), dimensions={0,}\n", ST_ERR_PARSE, 4, 47,
			"whole number"},
		{"", P "  ROOT %g = f32[8]{0} copy(%p), index=1, index=2\n", ST_ERR_PARSE, 4, 42,
			"given twice"},
		{"", P "  ROOT %g = f32[8]{0} copy(%p), backend_config={\"a\":[1}\n", ST_ERR_PARSE, 4, 55,
			"expected ']'"},
		{"", P "  ROOT %g = f32[8]{0} copy(%p), kind=\"a\n", ST_ERR_PARSE, 4, 38,
			"no end on its line"},
		{"", "", ST_ERR_INVALID, 2, 7, "is empty"},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		hlo_fails(text_of(rows[i].comps, rows[i].lines), rows[i].code, rows[i].line, rows[i].col,
			rows[i].part);
	hlo_fails("module {}", ST_ERR_PARSE, 1, 1, "expected HloModule");
	hlo_fails("HloModule m\n", ST_ERR_PARSE, 2, 1, "ENTRY");
	hlo_fails("HloModule m, num_partitions=0\n", ST_ERR_LIMIT, 1, 29, "replicas or partitions");
	hlo_fails("HloModule m, input_output_alias={ {0}: (3, {}) }\nENTRY %e {\n  ROOT %p = (f32[]) "
			  "parameter(0)\n}\n",
		ST_ERR_INVALID, 1, 35, "parameter 3");
}
END_TEST

START_TEST(limits_are_errors)
{
	strbuf b = {0};
	strbuf_puts(&b, "HloModule m\nENTRY %e {\n  ROOT %p = ");
	for (int i = 0; i < 200; i++)
		strbuf_putc(&b, '(');
	hlo_module *m;
	diag d = {0};
	ck_assert_int_eq(hlo_read(b.p, b.n, "t", &m, &d), ST_ERR_LIMIT);
	strbuf_clear(&b);
	strbuf_puts(&b, "HloModule m\n");
	for (int i = 0; i < 80; i++) /* calls nested deeper than the limit */
		strbuf_printf(&b,
			i ? "%%c%d (a: f32[]) -> f32[] {\n  %%a = f32[] parameter(0)\n  ROOT %%b = f32[] "
				"call(%%a), to_apply=%%c%d\n}\n"
			  : "%%c%d (a: f32[]) -> f32[] {\n  ROOT %%a = f32[] parameter(0)\n}\n",
			i, i - 1);
	strbuf_puts(&b, "ENTRY %e {\n  ROOT %p = f32[] parameter(0)\n}\n");
	diag_clear(&d);
	ck_assert_int_eq(hlo_read(b.p, b.n, "t", &m, &d), ST_ERR_INVALID);
	ck_assert_ptr_nonnull(strstr(d.msg, "deeper than the limit"));
	strbuf_release(&b);
}
END_TEST

/* ---------------------------------------------------------------- loops */

static int64_t trips(const char *init, const char *condition, const char *step, const char *config)
{
	char text[4096];
	snprintf(text, sizeof text,
		"HloModule m\n"
		"%%cond (t: (s32[], f32[8])) -> pred[] {\n  %%t = (s32[], f32[8]) parameter(0)\n  %%i = "
		"s32[] get-tuple-element(%%t), index=0\n"
		"  %%n = s32[] constant(10)\n  ROOT %%c = pred[] compare(%%i, %%n), direction=%s\n}\n"
		"%%body (t: (s32[], f32[8])) -> (s32[], f32[8]) {\n  %%t = (s32[], f32[8]) parameter(0)\n  "
		"%%i = s32[] get-tuple-element(%%t), index=0\n"
		"  %%x = f32[8] get-tuple-element(%%t), index=1\n  %%k = s32[] constant(%s)\n  %%j = s32[] "
		"add(%%i, %%k)\n"
		"  ROOT %%r = (s32[], f32[8]) tuple(%%j, %%x)\n}\n"
		"ENTRY %%e {\n  %%p = f32[8] parameter(0)\n  %%z = s32[] constant(%s)\n  %%y = s32[] "
		"copy(%%z)\n  %%t = (s32[], f32[8]) tuple(%%y, %%p)\n"
		"  ROOT %%w = (s32[], f32[8]) while(%%t), condition=%%cond, body=%%body%s\n}\n",
		condition, step, init, config);
	hlo_module *m = hlo_ok(text);
	int64_t n = hlo_trip_count(m, named(m, "w"));
	hlo_free(m);
	return n;
}

START_TEST(trip_counts)
{
	ck_assert_int_eq(trips("0", "LT", "1", ""), 10);
	ck_assert_int_eq(trips("0", "LT", "3", ""), 4);
	ck_assert_int_eq(trips("0", "LE", "1", ""), 11);
	ck_assert_int_eq(trips("2", "NE", "2", ""), 4);
	ck_assert_int_eq(trips("3", "NE", "2", ""), -1);
	ck_assert_int_eq(trips("20", "GT", "-5", ""), 2);
	ck_assert_int_eq(trips("20", "LT", "1", ""), 0);
	ck_assert_int_eq(trips("0", "LT", "0", ""), -1);
	ck_assert_int_eq(trips("0", "EQ", "1", ""), -1);
	ck_assert_int_eq(
		trips("0", "LT", "1", ", backend_config={\"known_trip_count\":{\"n\":\"7\"},\"x\":1}"), 7);
	ck_assert_int_eq(trips("0", "EQ", "1",
						 ", backend_config=\"{\\\"known_trip_count\\\":{\\\"n\\\":\\\"12\\\"}}\""),
		12);
}
END_TEST

START_TEST(damaged_text_is_survived)
{
	static const char text[] =
		"HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }, num_partitions=8\n" SLICE_COMP
		"ENTRY %main (p: f32[8]) -> (f32[8]) {\n" P
		"  %s = ((f32[8]{0}), f32[4]{0:T(256)S(1)}, s32[]) async-start(%p), calls=%c, "
		"metadata={op_name=\"x\"}\n"
		"  %d = f32[4]{0} async-done(%s)\n"
		"  %g = f32[8]{0} all-reduce(%p), channel_id=1, replica_groups=mesh['a'=4,'b'=2], "
		"device_ids=([2,4]T(1,0)) {'a':(2)2}, use_global_device_ids=true\n"
		"  %q = f32[8]{0} collective-permute(%g), channel_id=2, source_target_pairs={{0,1},{1,2}}\n"
		"  ROOT %t = (f32[8]{0}) tuple(%q)\n}\n";
	hlo_free(hlo_ok(text));
	rng r;
	rng_seed(&r, 5, 0);
	for (int i = 0; i < 20000; i++) {
		char copy[sizeof text];
		memcpy(copy, text, sizeof text);
		for (uint32_t k = rng_below(&r, 3) + 1; k; k--)
			copy[rng_below(&r, sizeof text - 1)] =
				rng_below(&r, 2) ? text[rng_below(&r, sizeof text - 1)] : (char)rng_next(&r);
		hlo_module *m;
		diag d = {0};
		size_t n = rng_below(&r, 4) ? sizeof text - 1 : rng_below(&r, sizeof text);
		if (hlo_read(copy, n, "damaged", &m, &d) == ST_OK)
			hlo_free(m);
		else
			ck_assert(d.msg[0]);
	}
}
END_TEST

START_TEST(text_is_recognised)
{
	ck_assert(hlo_is_text("HloModule x", 11));
	ck_assert(hlo_is_text("\n /* a */ HloModule", 19));
	ck_assert(!hlo_is_text("module @jit {", 13));
	ck_assert(!hlo_is_text("Hlo", 3));
	ck_assert(!hlo_is_text("/*", 2));
	ck_assert(!hlo_is_text("", 0));
}
END_TEST

static void add_tests(TCase *t)
{
	tcase_add_test(t, header_and_tables);
	tcase_add_test(t, shapes_and_layouts);
	tcase_add_test(t, instructions_in_all_spellings);
	tcase_add_test(t, convolution_attributes);
	tcase_add_test(t, replica_groups_in_all_spellings);
	tcase_add_test(t, sugar_is_the_generic_form);
	tcase_add_test(t, violations_name_both_instructions);
	tcase_add_test(t, other_errors_have_places);
	tcase_add_test(t, limits_are_errors);
	tcase_add_test(t, trip_counts);
	tcase_add_test(t, damaged_text_is_survived);
	tcase_add_test(t, text_is_recognised);
}

int main(void) { return run_added(add_tests, "hlo"); }
