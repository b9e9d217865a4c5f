/* One simulate call: classify, fuse, run, measure; and the cost object. */
#include "simulator/state.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

simulator *simulator_new(const program *p, sharding_table *t, const device *dev,
	const mesh_links *links, const donation *dn)
{
	simulator *s = xcalloc(1, sizeof *s);
	s->p = p;
	s->t = t;
	s->dev = *dev;
	s->links = *links;
	if (dn && dn->n_args) {
		s->dn.n_args = dn->n_args;
		s->dn.result_of_arg = xmalloc(sizeof *dn->result_of_arg * dn->n_args);
		memcpy(s->dn.result_of_arg, dn->result_of_arg, sizeof *dn->result_of_arg * dn->n_args);
	}
	memo_init(s);
	return s;
}

void simulator_free(simulator *s)
{
	if (!s)
		return;
	memo_release(s);
	folder_free(s->folder);
	donation_release(&s->dn);
	free(s->ops);
	free(s->vals);
	free(s->delta);
	free(s->sizes);
	vec_release(&s->runs);
	vec_release(&s->reads);
	vec_release(&s->moments);
	vec_release(&s->events);
	vec_release(&s->nested);
	vec_release(&s->apart);
	vec_release(&s->stack);
	vec_release(&s->aliases);
	vec_release(&s->readers);
	vec_release(&s->writers);
	vec_release(&s->windows);
	vec_release(&s->matrices);
	vec_release(&s->loops);
	vec_release(&s->candidates);
	vec_release(&s->arg_reads);
	vec_release(&s->kept);
	vec_release(&s->held);
	vec_release(&s->stores);
	vec_release(&s->args);
	vec_release(&s->peak);
	vec_release(&s->result_taken);
	free(s);
}

/* Room for the program; what is allocated here stays for the next call. */
static void make_room(simulator *s, const lowered *l)
{
	if (l->ops.n >= s->ops_cap) {
		uint32_t cap = MAX(l->ops.n + l->ops.n / 4, 1024);
		free(s->ops);
		s->ops = xmalloc_lines(cap * sizeof *s->ops);
		s->delta = xrealloc(s->delta, cap * sizeof *s->delta);
		s->ops_cap = cap;
	}
	if (l->vals.n >= s->vals_cap) {
		uint32_t cap = MAX(l->vals.n + l->vals.n / 4, 1024);
		free(s->vals);
		s->vals = xmalloc_lines(cap * sizeof *s->vals);
		s->vals_cap = cap;
	}
	s->n_ops = l->ops.n;
	s->n_vals = l->vals.n;
	vec_reserve(&s->stack, 256);
	vec_reserve(&s->args, s->p->args.n);
	s->args.n = s->p->args.n;
	for (uint32_t i = 0; i < s->args.n; i++)
		s->args.p[i] = ID_NONE;
	vec_reserve(&s->result_taken, l->results.n);
	s->result_taken.n = l->results.n;
	for (uint32_t i = 0; i < l->results.n; i++)
		s->result_taken.p[i] = false;
}

/* Is it an argument of main, seen from a body that stands there as if it were main's own? */
static bool enters_inline(const simulator *s, const lowered *l, const lop *o, lval_id v)
{
	if (o->kind != LOP_REGION || form_of(l, o) != FORM_INLINE || v - o->results >= o->n_operands)
		return false;
	return s->vals[operand_at(l, o, v - o->results)].argument;
}

/* Values before anything is known of their uses. */
static void begin_values(simulator *s, const lowered *l)
{
	const sim_val unused = {.stamp = ID_NONE,
		.summed_at = ID_NONE,
		.group_min = ID_NONE,
		.copied_min = ID_NONE,
		.external_min = ID_NONE,
		.last_use = ID_NONE};
	bool tiled = s->dev.tile_minor > 1 || s->dev.tile_second > 1, cpu = s->dev.target == TARGET_CPU;
	for (lval_id id = 0; id < l->vals.n; id++) {
		const lval *lv = &l->vals.p[id];
		const lop *o = &l->ops.p[lv->def];
		sim_val *v = &s->vals[id];
		*v = unused;
		v->base = id;
		v->def = lv->def;
		v->argument = o->kind == LOP_ARGUMENT || enters_inline(s, l, o, id);
		bool stored = !o->halo && (tiled || (cpu && !v->argument));
		v->bytes =
			stored ? stored_lookup(s, o->node, lv->type, lv->sharding) >> lv->narrow : lv->bytes;
	}
}

static void classify_compute(simulator *s, const lop *o, sim_op *so)
{
	so->work = work_lookup(s, o->node, o->plan);
	so->class = work_at(s, so)->class;
	so->spread = work_at(s, so)->spread;
}

static sources sources_of(const simulator *s, const lowered *l, const lop *o)
{
	const lval_id *operands = l->operands.p + o->operands;
	sources from = {ID_NONE, false, TILE_NONE};
	int64_t written = o->n_results ? s->vals[o->results].bytes : 0;
	for (uint32_t i = 0; i < o->n_operands; i++) {
		const sim_op *def = &s->ops[s->vals[operands[i]].def];
		bool little = def->spread || is_little(s->vals[operands[i]].bytes, written);
		add_source(&from, source_of(s, operands[i]), little, def->tile);
	}
	return from;
}

/* Does what a product makes meet the gradient of the softmax that is taken of it? */
static bool meets_gradient(const simulator *s, const lop *o)
{
	return o->node != ID_NONE && s->differentiated[o->node];
}

/* libtpu 0.0.51 makes the numerators of a softmax where it makes their products for rows of up to
 * some 2,816 elements. Where the gradient of that softmax reads them, too, it does so for rows of
 * up to 4,096, if both operands of the product have no more than 3 << 18 elements together
 * (44 of 48 cases). Where a factor, a mask or a bias stands between products and their maximum it
 * does not, unless products in bfloat16 were converted in front of that: the kernel of the products
 * ends with the maximum, and one of its own sums the numerators up (`softmax` in
 * tests/judged/kernels.py). */
enum { SAFE_ROW_ELEMENTS = 2816, MOST_ROW_ELEMENTS = 4096, MOST_SIDES_ELEMENTS = 3 << 18 };

/* of: what a maximum or a sum is taken of, so many elements at a time. */
static bool rows_fit(const simulator *s, const lowered *l, lval_id of, int64_t elements)
{
	if (elements <= SAFE_ROW_ELEMENTS)
		return true;
	uint32_t source = source_of(s, of);
	if (elements > MOST_ROW_ELEMENTS || (source & NESTED_ID))
		return false;
	lop_id at = s->vals[source].def;
	if (s->ops[at].class != CLASS_MATMUL || !meets_gradient(s, &l->ops.p[at]))
		return false;
	const work_entry *w = work_at(s, &s->ops[at]);
	return sat_mul(sat_add(w->m, w->n), w->k) <= MOST_SIDES_ELEMENTS;
}

static uint8_t tile_of(
	const simulator *s, const lowered *l, const lop *o, const sim_op *so, const sources *from)
{
	if (from->tile != TILE_NONE && so->class == CLASS_REDUCE)
		return rows_fit(s, l, operand_at(l, o, 0), work_at(s, so)->sum_elements) ? TILE_ROWS
																				 : TILE_NONE;
	const work_entry *w = work_at(s, so);
	return tile_behind(from->tile, w->step, w->expensive);
}

/* Half of the memory on the chip may hold the side of a matmul that stays, the other half is for
 * what passes by. Grouped queries of one sequence libtpu 0.0.51 makes a convolution of, behind
 * which nothing goes on; with those of several it does so where a gradient meets the scores
 * (`grouped` in tests/judged/kernels.py). */
static bool stays_on_chip(const simulator *s, const lop *o, const sim_op *matmul)
{
	const work_entry *w = work_at(s, matmul);
	bool apart = w->one_batch || (w->split_rows && meets_gradient(s, o));
	return w->side_bytes <= s->dev.on_chip_bytes / 2 && !apart;
}

/* Scores of places that share lanes and do not fill the rows of tiles either have another order of
 * dims outside of products (kernel_arrange_for_batch in arrange.c): they are written, and a kernel
 * of its own makes the numerators of their softmax. libtpu 0.0.51 with 49 and 77 places, not with
 * 32, 64, 128, 196, 197, 256 and 577 (`places` in tests/judged/kernels.py). */
static bool is_written_first(
	const simulator *s, const lowered *l, const lop *o, const sim_op *matmul)
{
	const work_entry *w = work_at(s, matmul);
	return w->unfilled >> 2 & 1 && MAX(w->m, w->n) < s->dev.tile_minor &&
		w->m % s->dev.tile_second && w->n % s->dev.tile_second && fills_lanes(s, l, o->results);
}

static void classify_sources(simulator *s, const lowered *l, const lop *o, sim_op *so)
{
	bool tiled = s->dev.on_chip_bytes && o->kind == LOP_COMPUTE;
	switch (so->class) {
	case CLASS_MATMUL:
		so->tile = tiled && stays_on_chip(s, o, so) ? TILE_INSIDE : TILE_NONE;
		so->apart = tiled && is_written_first(s, l, o, so);
		return;
	case CLASS_ELEMENTWISE:
	case CLASS_REDUCE:
	case CLASS_ALIAS: break;
	default: return;
	}
	sources from = o->nest ? nested_classify(s, l, so->earliest, tiled) : sources_of(s, l, o);
	if (tiled)
		so->tile = tile_of(s, l, o, so, &from);
	/* the one value that an elementwise op makes its result from, and behind it what that one is
	 * made from; none: it is made from little, as labels are that are compared with positions */
	if (so->class != CLASS_ELEMENTWISE)
		return;
	if (s->dev.target == TARGET_TPU)
		find_leaves(s, l, o, so);
	if (from.several)
		return;
	if (from.one != ID_NONE)
		so->origin = source_of(s, from.one);
	else if (o->node == ID_NONE || s->p->nodes.p[o->node].n_operands)
		so->spread = true;
	if (so->origin != ID_NONE && !(so->origin & NESTED_ID) && so->work != UINT32_MAX)
		s->vals[so->origin].quantised |= work_at(s, so)->quantises;
}

static void store_as_windows(simulator *s, const lowered *l, lval_id v, uint32_t stored)
{
	s->vals[v].bytes =
		MAX(s->vals[v].bytes, (int64_t)((__int128)l->vals.p[v].bytes * stored / 1024));
}

/* Does a value of other dims lie as windows do where this one does? */
static bool keeps_rows(const simulator *s, const lowered *l, lval_id from, lval_id to)
{
	const ir_type *a = type_get(l->p->m, l->vals.p[from].type),
				  *b = type_get(l->p->m, l->vals.p[to].type);
	const sim_op *def = &s->ops[s->vals[from].def];
	uint32_t n = def->windows_work == def->windows_stored ? 1 : 2;
	if (a->kind != TYPE_TENSOR || b->kind != TYPE_TENSOR || a->rank < n || b->rank < n)
		return false;
	for (uint32_t i = 1; i <= n; i++)
		if (a->dims[a->rank - i] != b->dims[b->rank - i])
			return false;
	return true;
}

/* libtpu 0.0.51 leaves what a gather of windows of several dims, or of single rows that do not fill
 * the lanes, makes as it is, with a window's
 * largest dims in tiles however little they fill them, and what is worked out of it element by
 * element; all else has it copied, and scatters of such windows copy what does not lie so
 * (`windows` in tests/judged/kernels.py). */
static void lie_as_windows(simulator *s, const lowered *l, const lop *o, sim_op *so)
{
	const lval_id *operands = l->operands.p + o->operands;
	const work_entry *w = so->work == UINT32_MAX ? NULL : work_at(s, so);
	if (so->class == CLASS_OTHER && w && w->windows_work) {
		const node *x = &s->p->nodes.p[o->node];
		if (!w->rows[1].rows && s->feeds[node_slots(s->p, x)[x->n_operands]])
			return; /* copied at once */
		so->windows_work = w->windows_work, so->windows_stored = w->windows_stored;
		store_as_windows(s, l, o->results, w->windows_stored);
		return;
	}
	for (uint32_t i = 0; i < o->n_operands && o->n_results; i++) {
		sim_op *def = &s->ops[s->vals[operands[i]].def];
		if (!def->windows_work || def->class == CLASS_REDUCE)
			continue;
		bool elementwise = so->class == CLASS_ELEMENTWISE && !(w && w->transpose) &&
			elements_of(l, operands[i]) == elements_of(l, o->results);
		bool alias = so->class == CLASS_ALIAS && keeps_rows(s, l, operands[i], o->results);
		if (elementwise || alias || so->class == CLASS_REDUCE)
			so->windows_work = def->windows_work, so->windows_stored = def->windows_stored;
		else
			def->windows_end = true;
		if (elementwise || alias)
			store_as_windows(s, l, o->results, def->windows_stored);
	}
}

/* Nor do results of main lie so, nor what regions hand on. */
static void hand_on_windows(simulator *s, const lowered *l, const lop *o)
{
	for (uint32_t i = 0; i < o->n_operands; i++) {
		sim_op *def = &s->ops[s->vals[operand_at(l, o, i)].def];
		def->windows_end |= def->windows_work && def->class != CLASS_REDUCE;
	}
}

/* Is this elementwise work on what a product makes for it alone, or the same once more? Then the
 * product's kernel does it, and not one of a product behind (libtpu 0.0.51: `behind` in
 * tests/judged/kernels.py). Other things that read the product leave it to the kernels that do. */
static bool is_behind_product(simulator *s, const lowered *l, const lop *o, const sim_op *so)
{
	if (!s->dev.output_fusion || o->kind != LOP_COMPUTE || o->n_results != 1)
		return false;
	if (o->nest)
		return nested_behind_product(s, l, o);
	if (so->class != CLASS_ALIAS && (so->work == UINT32_MAX || !work_at(s, so)->maps))
		return false;
	for (uint32_t i = 0; i < o->n_operands; i++) {
		lval_id v = operand_at(l, o, i);
		if (leaves_product(s, l, so, v) && elements_of(l, v) == elements_of(l, o->results))
			return true;
	}
	return false;
}

static bool may_be_windowed(const lop *o, const sim_op *so)
{
	return so->class == CLASS_MATMUL ||
		(o->kind == LOP_COLLECTIVE && o->coll == COLL_REDUCE_SCATTER);
}

/* Is the op done once in front of the region that it is in? A loop of one turn is none. */
static bool leaves_loop(const simulator *s, const lowered *l, const lop *o, lop_id region)
{
	return s->dev.target == TARGET_TPU && o->kind == LOP_COMPUTE && region != ID_NONE &&
		s->hoisted[o->node] && l->ops.p[region].node == s->p->nodes.p[o->node].parent;
}

static void classify(simulator *s, const lowered *l)
{
	lop_id region = ID_NONE, open[MAX_NESTING + 2];
	uint32_t depth = 0, segments[MAX_NESTING + 2], segment = 0, next_segment = 1;
	s->regions = false;
	s->loops.n = 0;
	s->windows.n = 0;
	begin_values(s, l);
	for (lop_id i = 0; i < l->ops.n; i++) {
		const lop *o = &l->ops.p[i];
		sim_op *so = &s->ops[i];
		s->delta[i] = (memory_change){0};
		*so = (sim_op){.class = CLASS_NOTHING,
			.root = ID_NONE,
			.next = ID_NONE,
			.first_member = ID_NONE,
			.earliest = i,
			.latest = i,
			.region = region,
			.end = ID_NONE,
			.begin = ID_NONE,
			.work = UINT32_MAX,
			.stamp = ID_NONE,
			.origin = ID_NONE};
		if (o->erased)
			continue;
		so->segment = segment;
		bool border =
			o->kind == LOP_REGION || o->kind == LOP_REGION_ELSE || o->kind == LOP_REGION_END;
		if (o->kind != LOP_COMPUTE && o->kind != LOP_COLLECTIVE)
			hand_on_windows(s, l, o);
		if (border && form_of(l, o) == FORM_INLINE) {
			/* as if it were not there */
		} else if (o->kind == LOP_REGION) {
			assert(depth < COUNT_OF(open));
			s->regions = true;
			if (form_of(l, o) == FORM_LOOP)
				vec_push(&s->loops, i);
			segments[depth] = segment;
			open[depth++] = region = i;
			segment = next_segment++;
		} else if (o->kind == LOP_REGION_ELSE) {
			segment = next_segment++;
		} else if (o->kind == LOP_REGION_END) {
			assert(depth > 0);
			so->begin = region;
			s->ops[region].end = i;
			so->region = region = s->ops[region].region;
			segment = segments[--depth];
			so->segment = segment;
		} else {
			if (o->kind == LOP_COLLECTIVE)
				so->class = o->coll == COLL_ALL_SLICE ? CLASS_ELEMENTWISE : CLASS_COLLECTIVE;
			else if (o->kind == LOP_COMPUTE)
				classify_compute(s, o, so);
			so->hoisted = leaves_loop(s, l, o, region);
			so->elements_passed = o->kind == LOP_COMPUTE ? elements_passed(s, l, o) : 0;
			if (so->elements_passed)
				so->class = CLASS_OTHER;
			classify_sources(s, l, o, so);
			if (s->dev.target == TARGET_TPU)
				lie_as_windows(s, l, o, so);
			so->behind_product = is_behind_product(s, l, o, so);
			if (may_be_windowed(o, so))
				vec_push(&s->windows, i);
		}
		if (o->kind == LOP_ARGUMENT && o->n_results) {
			int32_t arg = s->p->vals.p[l->vals.p[o->results].origin].arg_index;
			if (arg >= 0 && (uint32_t)arg < s->args.n)
				s->args.p[arg] = o->results;
		}
	}
	assert(depth == 0);
}

static bool takes_up(
	simulator *s, const lowered *l, lop_id dot, lop_id collective, window_kind window)
{
	sim_op *so = &s->ops[dot];
	uint32_t whole;
	if (so->class != CLASS_MATMUL || !l->vals.p[l->ops.p[dot].results].n_uses ||
		s->ops[collective].class != CLASS_COLLECTIVE ||
		!l->vals.p[l->ops.p[collective].results].n_uses ||
		!windowed_einsum(&s->dev, &s->links, l, dot, collective, &work_at(s, so)->dims, &whole))
		return false;
	so->pieces = s->ops[collective].pieces = (uint8_t)lop_group_size(&l->ops.p[collective]);
	so->window = (uint8_t)window;
	so->whole = (uint8_t)whole;
	return true;
}

/* What is gathered for operand k of a contraction; ID_NONE: nothing is. */
static lval_id gathered_for(const lowered *l, const lop *o, uint32_t k)
{
	const lop *g = &l->ops.p[l->vals.p[operand_at(l, o, k)].def];
	return g->kind == LOP_COLLECTIVE && g->coll == COLL_ALL_GATHER ? operand_at(l, g, 0) : ID_NONE;
}

/* Products that want the same whole value take it whole: weights that the backward pass reads too
 * do not travel piece by piece. Kernels of convolutions do. */
static bool is_shared(const simulator *s, const lowered *l, const lop *o, uint32_t k)
{
	lval_id v = gathered_for(l, o, k);
	return v != ID_NONE && s->vals[v].contractions > 1 &&
		work_at(s, &s->ops[o - l->ops.p])->products;
}

static void count_contractions(simulator *s, const lowered *l)
{
	for (uint32_t n = 0; n < s->windows.n; n++) {
		const lop *o = &l->ops.p[s->windows.p[n]];
		bool matmul = s->ops[s->windows.p[n]].class == CLASS_MATMUL;
		for (uint32_t k = 0; matmul && k < 2 && k < o->n_operands; k++)
			if (gathered_for(l, o, k) != ID_NONE)
				s->vals[gathered_for(l, o, k)].contractions++;
	}
}

/* A contraction takes up one collective: a gather before the scatter. */
static void find_windowed(simulator *s, const lowered *l)
{
	count_contractions(s, l);
	for (uint32_t n = 0; n < s->windows.n; n++) {
		lop_id i = s->windows.p[n];
		const lop *o = &l->ops.p[i];
		if (s->ops[i].class == CLASS_MATMUL) {
			for (uint32_t k = 0; k < 2 && k < o->n_operands; k++)
				if (!is_shared(s, l, o, k) &&
					takes_up(s, l, i, l->vals.p[operand_at(l, o, k)].def, WINDOW_GATHER))
					break;
		} else {
			lop_id dot = l->vals.p[operand_at(l, o, 0)].def;
			if (!s->ops[dot].window)
				takes_up(s, l, dot, i, WINDOW_SCATTER);
		}
	}
}

static uint32_t weight_of(const simulator *s, const lowered *l, lval_id v)
{
	return s->folder ? folder_val_weight(s, l->vals.p[v].origin) : 1;
}

static void fill_cost(simulator *s, const lowered *l, cost *out)
{
	*out = (cost){.runtime_ns = sat_add(s->now, s->copied_out_ns),
		.compute_ns = sat_add(s->sum.compute, s->copied_out_ns),
		.communication_ns = s->sum.communication,
		.exposed_communication_ns = s->sum.exposed,
		.temporary_bytes = s->temporary,
		.prefetched_bytes = s->prefetched.bytes,
		.flops_per_device = (double)s->sum.flops};
	for (uint32_t k = 0; k < COLL_COUNT; k++)
		out->collectives[k] =
			(collective_cost){s->sum.count[k], s->sum.dynamic_count[k], s->sum.bytes[k]};
	for (uint32_t i = 0; i < s->args.n; i++) {
		lval_id v = s->args.p[i];
		if (v != ID_NONE)
			out->argument_bytes =
				sat_add(out->argument_bytes, sat_mul(end_bytes(s, l, v), weight_of(s, l, v)));
	}
	for (uint32_t i = 0; i < l->results.n; i++)
		out->output_bytes = sat_add(out->output_bytes,
			sat_mul(end_bytes(s, l, l->results.p[i]),
				s->folder ? folder_val_weight(s, s->p->results.p[i]) : 1));
	out->reshards_after_forward = l->reshards_after_forward;
	out->alias_bytes = donated_bytes(s, l);
	out->peak_bytes = sat_add(
		sat_add(out->argument_bytes, out->output_bytes - out->alias_bytes), out->temporary_bytes);
}

static void find_out(simulator *s, const lowered *l)
{
	uint32_t before = s->work.entries.n;
	s->apart.n = 0;
	make_room(s, l);
	work_begin(s, l->facts);
	if (s->folder)
		folder_place(s, l);
	classify(s, l);
	if (s->work.entries.n < before) { /* the memo table was emptied on the way */
		s->apart.n = 0;
		classify(s, l);
	}
	if (s->dev.windowed_bytes_s && l->level != LEVEL_EXACT) /* the partitioner's work */
		find_windowed(s, l);
	fuse(s, l);
	keep_for_gradients(s, l);
	measure_kernels(s, l);
	s->copied_out_ns = 0;
	measure_liveness(s, l);
}

void simulate(simulator *s, const lowered *l, cost *out)
{
	find_out(s, l);
	run_timeline(s, l);
	find_peak(s, l);
	fill_cost(s, l, out);
}

bool simulate_folded(simulator *s, const lowered *l, cost *out)
{
	find_out(s, l);
	if (!run_folded(s, l))
		return false;
	fill_cost(s, l, out);
	return true;
}

/* Members of a kernel run when its root does. */
const op_event *simulator_events(simulator *s, uint32_t *n)
{
	s->events.n = 0;
	vec_reserve(&s->events, s->n_ops);
	for (lop_id i = 0; i < s->n_ops; i++)
		vec_push(&s->events, (op_event){.op = i});
	for (uint32_t i = 0; i < s->runs.n; i++) {
		const run *r = &s->runs.p[i];
		if (r->kind == RUN_ELSE || r->kind == RUN_END)
			continue;
		bool collective = r->kind == RUN_COLLECTIVE, kernel = r->kind == RUN_KERNEL;
		s->events.p[r->op] = (op_event){.op = r->op,
			.start_ns = r->start_ns,
			.end_ns = r->end_ns,
			.hbm_bytes = kernel ? r->bytes : 0,
			.stream = (uint8_t)(collective ? 1 + r->link : 0),
			.exposed_ns = r->exposed_ns,
			.windowed = r->pieces > 0};
		for (lop_id m = kernel ? s->ops[r->op].first_member : ID_NONE; m != ID_NONE;
			 m = s->ops[m].next)
			if (m != r->op)
				s->events.p[m] = (op_event){
					.op = m, .start_ns = r->start_ns, .end_ns = r->end_ns, .fused = true};
	}
	*n = s->n_ops;
	return s->events.p;
}

static void add_number(cJSON *o, const char *key, int64_t v)
{
	cJSON_AddNumberToObject(o, key, (double)MIN(v, (int64_t)1 << 53));
}

cJSON *cost_to_json(const cost *c)
{
	static const struct {
		const char *key;
		size_t offset;
	} fields[] = {
#define FIELD(name) {#name, offsetof(cost, name)}
		FIELD(runtime_ns),
		FIELD(compute_ns),
		FIELD(communication_ns),
		FIELD(exposed_communication_ns),
		FIELD(peak_bytes),
		FIELD(argument_bytes),
		FIELD(output_bytes),
		FIELD(alias_bytes),
		FIELD(temporary_bytes),
#undef FIELD
	};
	cJSON *o = cJSON_CreateObject();
	for (size_t i = 0; i < COUNT_OF(fields); i++)
		add_number(o, fields[i].key, *(const int64_t *)((const char *)c + fields[i].offset));
	cJSON_AddNumberToObject(o, "flops_per_device", c->flops_per_device);
	cJSON *all = cJSON_AddObjectToObject(o, "collectives");
	for (int k = 0; k < COLL_COUNT; k++) {
		if (k == COLL_ALL_SLICE)
			continue;
		cJSON *one = cJSON_AddObjectToObject(all, collective_name((collective_kind)k));
		add_number(one, "count", c->collectives[k].count);
		add_number(one, "dynamic_count", c->collectives[k].dynamic_count);
		add_number(one, "bytes", c->collectives[k].bytes);
	}
	return o;
}
