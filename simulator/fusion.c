/* Which ops share a kernel, and so which values reach memory. One backward pass: when an op is met,
 * all its uses have been seen and have left on its results which kernels could compute it in place.
 * The op then
 *   joins the one kernel that uses it,
 *   or is computed again inside each of several (no sums of sums: a chain of residual connections
 *   would be computed from its beginning in every layer; on CPU no exp or log, elsewhere reading
 *   its result costs more than making it),
 *   or joins the earliest and is written from there for the others (a kernel with several outputs),
 *   or becomes the root of a kernel of its own.
 * A kernel runs at its root, its last op; the third case therefore asks that every other use come
 * after that root. Matmuls take elementwise work before and after them on TPUs, only transposes
 * elsewhere. A TPU's kernel also goes from a matmul through the maximum of its rows to the
 * numerators of a softmax, as long as one side of the matmul stays on the chip; these are kept
 * then, since making them again would be another matmul. GPUs compute inside a gather what it reads
 * of. Operands and results of collectives, regions, sorts, custom calls and results of main are
 * always in memory. */
#include "simulator/state.h"

/* Can operand k of o be computed inside o's kernel by op `from`? */
static bool accepts(const simulator *s, const sim_op *o, uint32_t k, const sim_op *from)
{
	if (o->segment != from->segment ||
		(o->mode != MODE_ROOT && o->mode != MODE_FUSED && o->mode != MODE_COPIED))
		return false;
	bool tpu = s->dev.target == TARGET_TPU;
	if (from->hoisted)
		return false;
	if (o->window || from->window) /* a loop: what it reads and makes is in memory */
		return false;
	if (from->class == CLASS_MATMUL)
		return tpu && !from->apart && o->mode != MODE_COPIED &&
			s->ops[o->root].class != CLASS_OTHER &&
			(o->class == CLASS_ELEMENTWISE || (o->class == CLASS_REDUCE && o->mode == MODE_FUSED));
	if (from->class == CLASS_REDUCE)
		return from->tile == TILE_ROWS && o->class == CLASS_ELEMENTWISE && o->mode != MODE_COPIED &&
			s->ops[o->root].ends_tile;
	if (from->class != CLASS_ELEMENTWISE)
		return false;
	if (o->work != UINT32_MAX && work_at(s, o)->takes_no_work && from->work != UINT32_MAX &&
		!work_at(s, from)->spread &&
		(!work_at(s, from)->takes_no_work || work_at(s, from)->slice_bytes))
		return false;
	switch (o->class) {
	case CLASS_ELEMENTWISE:
	case CLASS_REDUCE: return true;
	case CLASS_UPDATE: return k > 0;
	case CLASS_MATMUL: return tpu || (from->work != UINT32_MAX && work_at(s, from)->transpose);
	case CLASS_OTHER:
		return k == 0 && o->work != UINT32_MAX &&
			((s->dev.target == TARGET_GPU && work_at(s, o)->slice_bytes > 0) ||
				work_at(s, o)->selects);
	default: return false;
	}
}

/* Position at which a use inside o by op at `at` ends, seen from where the value is defined: a
 * value of an outer region is needed until the loop ends. home: the region op the value belongs to.
 */
static lop_id use_end(const simulator *s, lop_id at, lop_id home)
{
	if (!s->regions)
		return at;
	lop_id region = s->ops[at].begin != ID_NONE ? s->ops[at].begin : s->ops[at].region;
	while (region != home && region != ID_NONE) {
		at = s->ops[region].end;
		region = s->ops[region].region;
	}
	return at;
}

/* Region a value lives in: the arguments of a region belong to it. */
static lop_id home_of(const simulator *s, lval_id v)
{
	lop_id def = s->vals[v].def;
	if (!s->regions)
		return ID_NONE;
	return s->ops[def].end != ID_NONE ? def : s->ops[def].region;
}

static void note_use(sim_val *v, lop_id at)
{
	if (v->last_use == ID_NONE || at > v->last_use)
		v->last_use = at;
}

/* first .. last: kernels that need the value in memory. */
static void note_external(sim_val *v, lop_id first, lop_id last)
{
	v->external_min = MIN(v->external_min, first);
	v->external_max = MAX(v->external_max, last);
	note_use(v, last);
}

/* A use that needs the value in memory. */
static void post_external(simulator *s, lval_id id, lop_id at)
{
	sim_val *v = &s->vals[id];
	v->off_chip = v->unrounded = true;
	note_external(v, at, use_end(s, at, home_of(s, id)));
}

/* A use that the kernel of `root` could compute the value for; ID_NONE: none. */
static void note_group(sim_val *v, lop_id root, uint8_t side)
{
	if (root < v->group_min)
		v->side = 0;
	v->group_min = MIN(v->group_min, root);
	v->side |= root == v->group_min ? side : 0;
}

/* Of a source as source_of() says it, which may be nested in an op. */
static bool is_argument(const simulator *s, uint32_t source)
{
	return !(source & NESTED_ID) && s->vals[source].argument;
}

/* A product on TPU wants an operand in an order of dims that an argument of main, which lies as its
 * type says, does not have, though one elementwise op stands between: the op is done apart then,
 * and leaves its result in that order. (libtpu 0.0.51: weights of rank 3 that are rounded to
 * bfloat16.)
 */
static bool is_ordered_apart(const simulator *s, const sim_op *user, uint32_t k, lval_id id)
{
	const sim_op *def = &s->ops[s->vals[id].def];
	return s->dev.target == TARGET_TPU && user->class == CLASS_MATMUL &&
		work_at(s, user)->reorders >> k & 1 && def->class == CLASS_ELEMENTWISE &&
		def->work != UINT32_MAX && !work_at(s, def)->transpose && is_argument(s, source_of(s, id));
}

/* What makes the value, behind reshapes and the like. */
static const sim_op *made_by(const simulator *s, const lowered *l, lval_id id)
{
	const sim_op *def = &s->ops[s->vals[id].def];
	for (const lop *o = &l->ops.p[s->vals[id].def];
		 def->class == CLASS_ALIAS && o->kind == LOP_COMPUTE && o->n_operands == 1;
		 o = &l->ops.p[s->vals[operand_at(l, o, 0)].def]) {
		const sim_op *from = &s->ops[s->vals[operand_at(l, o, 0)].def];
		if (from->segment != def->segment)
			break;
		def = from;
	}
	return def;
}

/* Does an op want its operand as it is, not only rounded as contractions in default precision do?
 */
static bool wants_all_bits(const simulator *s, const lowered *l, lop_id user)
{
	const lop *o = &l->ops.p[user];
	const sim_op *so = &s->ops[user];
	if (o->kind != LOP_COMPUTE || o->nest || so->work == UINT32_MAX)
		return true;
	const work_entry *w = work_at(s, so);
	if (so->class == CLASS_ELEMENTWISE && w->moves)
		return s->vals[o->results].unrounded;
	return so->class != CLASS_MATMUL || !w->rounds;
}

/* Values may share a list: what is in it stays as it is, and only its last owner appends. */
static void own_readers(simulator *s, sim_val *v)
{
	uint32_t from = v->first_kernel;
	v->first_kernel = s->readers.n;
	for (uint32_t i = 0; i < v->n_kernels; i++)
		vec_push(&s->readers, s->readers.p[from + i]);
}

/* repeated: a folded program's kernel, which stands for one in every layer. */
static void add_reader(simulator *s, sim_val *v, lop_id root, bool repeated)
{
	for (uint32_t i = 0; i < v->n_kernels; i++) {
		lop_id known = s->readers.p[v->first_kernel + i];
		if ((known & ~REPEATED_READER) != root)
			continue;
		if (repeated && !(known & REPEATED_READER)) {
			own_readers(s, v);
			s->readers.p[v->first_kernel + i] |= REPEATED_READER;
		}
		return;
	}
	if (v->n_kernels > MAX_COPIES)
		return;
	if (v->first_kernel + v->n_kernels != s->readers.n)
		own_readers(s, v);
	vec_push(&s->readers, root | (repeated ? REPEATED_READER : 0));
	v->n_kernels++;
}

static void add_readers_of(simulator *s, sim_val *v, const sim_val *from, bool repeated)
{
	if (!repeated &&
		(!v->n_kernels ||
			(v->first_kernel == from->first_kernel && v->n_kernels <= from->n_kernels))) {
		v->first_kernel = from->first_kernel;
		v->n_kernels = from->n_kernels;
		return;
	}
	for (uint32_t i = 0; i < from->n_kernels; i++) {
		lop_id r = s->readers.p[from->first_kernel + i];
		add_reader(s, v, r & ~REPEATED_READER, repeated || r & REPEATED_READER);
	}
}

/* In how many kernels a value would be made, if it were in each that reads it. */
static uint32_t count_readers(const simulator *s, const sim_val *v)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < v->n_kernels; i++)
		n += s->readers.p[v->first_kernel + i] & REPEATED_READER ? 1 + s->copies : 1;
	return n;
}

bool could_make(const simulator *s, const lowered *l, lop_id user, uint32_t k, lval_id id)
{
	const sim_op *o = &s->ops[user];
	return accepts(s, o, k, made_by(s, l, id)) && !is_ordered_apart(s, o, k, id);
}

/* gathers: does what reads it, perhaps something nested in the user? */
static void post_use(
	simulator *s, const lowered *l, lval_id id, uint32_t k, lop_id user, bool gathers)
{
	const sim_op *o = &s->ops[user];
	sim_val *v = &s->vals[id];
	lop_id def = v->def;
	v->unrounded |= wants_all_bits(s, l, user);
	if (!could_make(s, l, user, k, id)) {
		note_external(v, o->earliest, use_end(s, o->latest, home_of(s, id)));
		return;
	}
	note_use(v, o->latest);
	v->gathered |= gathers;
	bool repeated = times_read(s, user, def) > 1;
	if (o->mode == MODE_COPIED)
		add_readers_of(s, v, &s->vals[l->ops.p[user].results], repeated);
	else
		add_reader(s, v, o->root, repeated);
	bool into = o->class == CLASS_MATMUL || (o->mode == MODE_COPIED && o->in_products);
	v->into_products |= into;
	v->elsewhere |= !into;
	if (o->mode == MODE_COPIED) {
		v->many = true;
		v->copied_min = MIN(v->copied_min, o->earliest);
		return;
	}
	v->many |= v->group_min != ID_NONE && v->group_min != o->root;
	note_group(v, o->root, o->class == CLASS_MATMUL ? (uint8_t)(1u << (k > 0)) : o->side);
}

static const sim_op *maker(const simulator *s, lval_id v) { return &s->ops[s->vals[v].def]; }

/* Does the op read more than it writes? */
static bool reads_more(const simulator *s, const lowered *l, const lop *o)
{
	if (o->nest)
		return s->ops[s->vals[o->results].def].reads_more;
	const sim_op *so = &s->ops[s->vals[o->results].def];
	if (so->work != UINT32_MAX && work_at(s, so)->slice_bytes)
		return false; /* of what is sliced it reads a part */
	const lval_id *operands = l->operands.p + o->operands;
	int64_t bytes = 0, written = s->vals[o->results].bytes;
	for (uint32_t i = 0; i < o->n_operands; i++) {
		lval_id v = operands[i];
		if (maker(s, v)->spread)
			continue;
		bool again = false;
		for (uint32_t k = 0; k < i && !again; k++)
			again = operands[k] == v || source_of(s, operands[k]) == source_of(s, v);
		if (!again)
			bytes = sat_add(bytes, s->vals[v].bytes);
	}
	return bytes > written;
}

/* Does the op read more than it writes, and something that is made for it alone? That can be made
 * in its kernel, and only there: compilers for TPU write what it makes, where it stays on the chip,
 * rather than make all of it again in every reader. */
static bool ends_chain(const simulator *s, const lowered *l, const lop *o)
{
	if (!may_end_chain(s, s->vals[o->results].bytes) || !reads_more(s, l, o))
		return false;
	if (o->nest)
		return s->ops[s->vals[o->results].def].reads_own;
	for (uint32_t i = 0; i < o->n_operands; i++)
		if (made_for_one(s, l, operand_at(l, o, i)))
			return true;
	return false;
}

bool dims_in_order(const ir_type *a, const ir_type *b)
{
	uint32_t i = 0, k = 0;
	for (;;) {
		while (i < a->rank && a->dims[i] == 1)
			i++;
		while (k < b->rank && b->dims[k] == 1)
			k++;
		if (i == a->rank || k == b->rank)
			return i == a->rank && k == b->rank;
		if (a->dims[i++] != b->dims[k++])
			return false;
	}
}

/* Does the op give the dims of operand k to the result, each in its place? */
static bool keeps_order(
	const simulator *s, const lowered *l, const lop *o, uint32_t k, lval_id result)
{
	uint16_t kind = o->node == ID_NONE ? OP_UNKNOWN : l->p->nodes.p[o->node].op_kind;
	const ir_type *from = type_get(l->p->m, l->vals.p[operand_at(l, o, k)].type),
				  *to = type_get(l->p->m, l->vals.p[result].type);
	if (from->kind != TYPE_TENSOR || to->kind != TYPE_TENSOR)
		return false;
	switch (s->ops[l->vals.p[result].def].class) {
	case CLASS_COLLECTIVE: return true;
	case CLASS_UPDATE: return k == 0;
	case CLASS_ALIAS: return dims_in_order(from, to);
	case CLASS_ELEMENTWISE:
		if (o->kind == LOP_COLLECTIVE || kind == OP_SLICE || kind == OP_DYNAMIC_SLICE)
			return k == 0;
		return kind != OP_TRANSPOSE && kind != OP_BROADCAST_IN_DIM && dims_in_order(from, to);
	default: return false;
	}
}

/* GPU compilers gather along the outermost dim alone. */
static bool gathers_inside(const simulator *s, const lowered *l, const lop *o)
{
	if (s->dev.target != TARGET_GPU || o->kind != LOP_COLLECTIVE || o->given ||
		o->coll != COLL_ALL_GATHER)
		return false;
	const lval *from = &l->vals.p[operand_at(l, o, 0)];
	const ir_type *ty = type_get(l->p->m, from->type);
	const sharding *at =
		from->sharding == SHARDING_NONE ? NULL : sharding_get(s->t, from->sharding);
	bool before = false;
	for (uint32_t d = 0; d < ty->rank; d++) {
		if (before && o->step->dim_axes[d].n)
			return true;
		before |= ceil_div(ty->dims[d], at && d < at->rank ? sharding_dim_parts(at, d) : 1) > 1;
	}
	return false;
}

/* A compiler that wants an operand in another order of dims has it made so by whatever makes it. */
static void post_orders(simulator *s, const lowered *l, lop_id id)
{
	const lop *o = &l->ops.p[id];
	const sim_op *so = &s->ops[id];
	if (o->nest) {
		if (s->vals[o->results].reordered)
			nested_orders(s, l, o);
		return;
	}
	bool contracts = so->class == CLASS_MATMUL ||
		(s->dev.target == TARGET_TPU && so->class == CLASS_REDUCE && so->work != UINT32_MAX &&
			work_at(s, so)->products);
	for (uint32_t k = 0; k < o->n_operands; k++) {
		bool wanted = contracts ? work_at(s, so)->reorders >> k & 1 : gathers_inside(s, l, o);
		lval_id result = o->results + (o->n_results == o->n_operands ? k : 0);
		if (!wanted && o->n_results && s->vals[result].reordered &&
			(o->n_results == 1 || o->n_results == o->n_operands))
			wanted = keeps_order(s, l, o, k, result);
		s->vals[operand_at(l, o, k)].reordered |= wanted;
	}
}

/* Nested ops read in their op's place. */
static void post_nested(simulator *s, const lowered *l, lop_id id)
{
	const lop *o = &l->ops.p[id];
	const lval_id *operand = l->operands.p + o->operands;
	const sim_nested *nested = nested_of(s, o);
	for (uint32_t j = 0; j < o->nest->n_ops; j++) {
		const nested_op *n = &o->nest->ops[j];
		for (uint32_t i = 0; i < n->n_reads; i++)
			if (o->nest->reads[n->first_read + i] == NEST_OPERAND)
				post_use(s, l, *operand++, 0, id, nested[j].gathers);
	}
	for (const lval_id *end = l->operands.p + o->operands + o->n_operands; operand < end; operand++)
		post_use(s, l, *operand, 0, id, s->ops[id].gathers);
}

static void post_operands(simulator *s, const lowered *l, lop_id id)
{
	const lop *o = &l->ops.p[id];
	const lval_id *operands = l->operands.p + o->operands;
	if (o->nest) {
		post_nested(s, l, id);
		return;
	}
	if (s->ops[id].class == CLASS_ELEMENTWISE && o->n_operands > 1)
		s->ops[id].gathers = reads_more(s, l, o);
	for (uint32_t k = 0; k < o->n_operands; k++)
		post_use(s, l, operands[k], k, id, s->ops[id].gathers);
}

static void set_base(simulator *s, lval_id v, lval_id base)
{
	s->vals[v].base = base;
	vec_push(&s->aliases, v);
}

/* Uses of an alias are uses of what it stands for. */
static void pass_on(simulator *s, lval_id from, lval_id to, lop_id at)
{
	sim_val *a = &s->vals[from], *b = &s->vals[to];
	set_base(s, from, to);
	if (a->last_use == ID_NONE)
		return;
	lop_id def = b->def;
	note_use(b, use_end(s, a->last_use, home_of(s, to)));
	b->output |= a->output;
	b->gathered |= a->gathered;
	b->into_products |= a->into_products;
	b->elsewhere |= a->elsewhere;
	b->unrounded |= a->unrounded;
	b->off_chip |= a->off_chip;
	if (s->ops[def].segment != s->ops[at].segment) {
		note_external(b, MIN(a->external_min, MIN(a->group_min, a->copied_min)),
			use_end(s, a->last_use, home_of(s, to)));
		return;
	}
	b->many |= a->many ||
		(a->group_min != ID_NONE && b->group_min != ID_NONE && a->group_min != b->group_min);
	if (a->external_min != ID_NONE)
		note_external(b, a->external_min, use_end(s, a->external_max, home_of(s, to)));
	b->copied_min = MIN(b->copied_min, a->copied_min);
	note_group(b, a->group_min, a->side);
	add_readers_of(s, b, a, times_read(s, at, def) > 1);
}

/* What is only read by contractions that round it to bfloat16, moved about perhaps, is written so
 * (XLA's bfloat16-propagation; `rounded` in tests/judged/kernels.py). A sum over devices travels
 * as it is. */
static void round_result(simulator *s, const lowered *l, lop_id id)
{
	const lop *o = &l->ops.p[id];
	uint8_t class = s->ops[id].class;
	sim_val *v = &s->vals[o->results];
	bool makes = class == CLASS_ELEMENTWISE || class == CLASS_MATMUL || class == CLASS_REDUCE ||
		(o->kind == LOP_COLLECTIVE && o->coll == COLL_ALL_REDUCE);
	if (s->dev.target != TARGET_TPU || !makes || o->n_results != 1 || v->unrounded ||
		v->last_use == ID_NONE || l->vals.p[o->results].narrow)
		return;
	const ir_type *ty = type_get(l->p->m, l->vals.p[o->results].type);
	if (ty->kind != TYPE_TENSOR || ty->elem != ELEM_F32)
		return;
	v->rounded = true;
	v->bytes /= 2;
}

static void make_root(simulator *s, const lowered *l, lop_id id)
{
	sim_op *o = &s->ops[id];
	vec_push(&s->writers, id);
	o->mode = MODE_ROOT;
	o->root = o->earliest = o->latest = id;
	o->first_member = id;
	o->next = ID_NONE;
	o->has_matmul = o->class == CLASS_MATMUL;
	o->ends_tile = o->tile == TILE_ENDS;
	for (uint32_t i = 0; i < l->ops.p[id].n_results; i++)
		s->vals[l->ops.p[id].results + i].materialised = true;
	round_result(s, l, id);
	post_operands(s, l, id);
}

/* The last op that makes something for the kernel of `root`, but for what it makes itself,
 * arguments and little values; at the least the product itself. */
static lop_id last_needed(const simulator *s, const lowered *l, lop_id product, lop_id root)
{
	int64_t made = s->vals[l->ops.p[product].results].bytes;
	lop_id last = product;
	for (lop_id m = s->ops[root].first_member; m != ID_NONE; m = s->ops[m].next)
		for (uint32_t k = 0; k < l->ops.p[m].n_operands; k++) {
			const sim_val *v = &s->vals[operand_at(l, &l->ops.p[m], k)];
			if (v->def > last && s->ops[v->def].root != root && !v->argument && !v->constant &&
				!is_little(v->bytes, made))
				last = v->def;
		}
	return last;
}

/* A gradient's product and the update of its argument are one kernel, which XLA's scheduler runs as
 * soon as it can, not where the program updates its arguments. Ops that write something stand for
 * positions. */
static lop_id runs_at(const simulator *s, const lowered *l, lop_id product, lop_id root)
{
	lop_id needed = last_needed(s, l, product, root);
	lval_id a = operand_at(l, &l->ops.p[product], 0), b = operand_at(l, &l->ops.p[product], 1);
	const sim_val *g = &s->vals[s->vals[a].def > s->vals[b].def ? a : b];
	if (g->last_use != ID_NONE)
		needed = MAX(needed, g->last_use);
	uint32_t n = s->writers.n;
	while (n && s->writers.p[n - 1] < needed)
		n--;
	return n ? MIN(s->writers.p[n - 1], root) : root;
}

static void join(simulator *s, const lowered *l, lop_id id, lop_id root, bool write)
{
	sim_op *o = &s->ops[id], *r = &s->ops[root];
	o->mode = MODE_FUSED;
	o->side = s->vals[l->ops.p[id].results].side;
	o->root = o->earliest = root;
	if (makes_gradient(s, l, id))
		r->latest = runs_at(s, l, id, root);
	o->latest = r->latest;
	o->next = r->first_member;
	r->first_member = id;
	r->has_matmul |= o->class == CLASS_MATMUL;
	r->ends_tile |= o->tile == TILE_ENDS;
	s->vals[l->ops.p[id].results].materialised = write;
	if (write) {
		vec_push(&s->writers, id);
		round_result(s, l, id);
	}
	post_operands(s, l, id);
}

static bool is_mask(const lowered *l, const lop *o)
{
	const ir_type *ty = type_get(l->p->m, l->vals.p[o->results].type);
	return ty->kind == TYPE_TENSOR && ty->elem == ELEM_I1;
}

enum { LONGEST_CHAIN = 32 };
/* Is the one value that an op is made from, or what stands between the two, read behind it by
 * others? */
static bool is_read_anyway(const simulator *s, const lowered *l, const lop *o)
{
	lval_id origin = s->ops[o - l->ops.p].origin;
	for (uint32_t n = 0; origin != ID_NONE && o && n < LONGEST_CHAIN; n++) {
		const lop *next = NULL;
		for (uint32_t k = 0; k < o->n_operands; k++) {
			lval_id v = operand_at(l, o, k);
			if (v != origin && source_of(s, v) != origin)
				continue;
			if (s->vals[v].last_use != ID_NONE)
				return true;
			next = v == origin ? NULL : &l->ops.p[s->vals[v].def];
		}
		o = next;
	}
	return false;
}

static void copy_into_uses(simulator *s, const lowered *l, lop_id id, const sim_val *v)
{
	sim_op *o = &s->ops[id];
	o->mode = MODE_COPIED;
	o->in_products = s->dev.target == TARGET_TPU && !v->elsewhere;
	o->earliest = MIN(v->group_min, v->copied_min);
	o->latest = v->last_use;
	if (l->ops.p[id].nest)
		nested_copied(s, &l->ops.p[id]);
	post_operands(s, l, id);
}

/* Is what some kernels need in memory made again in those that could make it themselves? XLA for
 * TPU has them read what it is made from, where that is less: logits in bfloat16, which are widened
 * for a loss that gathers from them (libtpu 0.0.51). */
static bool is_made_again(const simulator *s, const lowered *l, const lop *o)
{
	const sim_val *v = &s->vals[o->results];
	if (s->dev.target != TARGET_TPU || o->kind != LOP_COMPUTE || o->nest || o->n_operands != 1 ||
		v->external_min == ID_NONE || MIN(v->group_min, v->copied_min) == ID_NONE)
		return false;
	lval_id from = operand_at(l, o, 0);
	return made_by(s, l, from)->class != CLASS_ELEMENTWISE && s->vals[from].bytes < v->bytes &&
		count_readers(s, v) <= MAX_COPIES;
}

/* Its operand is read by those kernels, too, and it itself by the others alone. */
static void make_again(simulator *s, const lowered *l, lop_id id)
{
	sim_val *v = &s->vals[l->ops.p[id].results];
	copy_into_uses(s, l, id, v);
	v->made_again = true;
	v->last_use = v->external_max;
}

/* The kernel of what was the root of one: see share_kernel(). */
static lop_id kernel_of(const simulator *s, lop_id root)
{
	while (root != ID_NONE && s->ops[root].root != root)
		root = s->ops[root].root;
	return root;
}

/* Could the kernel of `root` run where that of `last` does, both writing as many elements as
 * `value` has? Nothing reads what it makes before. */
static bool could_run_at(
	const simulator *s, const lowered *l, lop_id root, lop_id last, lval_id value)
{
	const sim_op *r = &s->ops[root];
	const sim_val *made = &s->vals[l->ops.p[root].results];
	if (r->mode != MODE_ROOT || r->class != CLASS_ELEMENTWISE || r->has_matmul || r->tile ||
		r->segment != s->ops[last].segment || l->ops.p[root].n_results != 1 ||
		elements_of(l, l->ops.p[root].results) != elements_of(l, value))
		return false;
	for (lop_id m = r->first_member; m != root && m != ID_NONE; m = s->ops[m].next)
		if (s->vals[l->ops.p[m].results].materialised)
			return false;
	return root == last || MIN(MIN(made->group_min, made->copied_min), made->external_min) > last;
}

/* All that the kernel of `root` computes is computed in that of `last`, which writes what both
 * make. Until then what it reads is there. */
static void run_at(simulator *s, const lowered *l, lop_id root, lop_id last)
{
	lop_id a = s->ops[root].first_member, b = s->ops[last].first_member;
	for (lop_id m = a; m != ID_NONE; m = s->ops[m].next) {
		const lop *o = &l->ops.p[m];
		s->ops[m].root = s->ops[m].earliest = s->ops[m].latest = last;
		for (uint32_t k = 0; k < o->n_operands; k++) {
			note_use(&s->vals[operand_at(l, o, k)], last);
			note_use(&s->vals[base_of(s, operand_at(l, o, k))], last);
		}
	}
	s->ops[root].mode = MODE_FUSED;
	lop_id *at = &s->ops[last].first_member;
	while (a != ID_NONE && b != ID_NONE) {
		lop_id *next = a < b ? &a : &b, m = *next;
		*at = m, at = &s->ops[m].next, *next = s->ops[m].next;
	}
	*at = a != ID_NONE ? a : b;
}

/* A value that several elementwise kernels of its size read, and that is not made in each, is made
 * in one kernel with the results of all of them, and does not reach memory: two words of random
 * bits (libtpu 0.0.51). */
static bool share_kernel(simulator *s, const lowered *l, lop_id id)
{
	sim_val *v = &s->vals[l->ops.p[id].results];
	if (!s->dev.vector_bytes_s[0] || v->copied_min != ID_NONE || v->n_kernels > MAX_COPIES)
		return false;
	lop_id last = 0;
	for (uint32_t i = 0; i < v->n_kernels; i++)
		last = MAX(last, kernel_of(s, s->readers.p[v->first_kernel + i] & ~REPEATED_READER));
	for (uint32_t i = 0; i < v->n_kernels; i++) {
		lop_id reader = s->readers.p[v->first_kernel + i];
		if (reader & REPEATED_READER ||
			!could_run_at(s, l, kernel_of(s, reader), last, l->ops.p[id].results))
			return false;
	}
	for (uint32_t i = 0; i < v->n_kernels; i++) {
		lop_id reader = kernel_of(s, s->readers.p[v->first_kernel + i]);
		if (reader != last)
			run_at(s, l, reader, last);
	}
	join(s, l, id, last, false);
	return true;
}

static void decide(simulator *s, const lowered *l, lop_id id)
{
	const lop *o = &l->ops.p[id];
	sim_op *so = &s->ops[id];
	const sim_val *v = &s->vals[o->results];
	bool matmul = so->class == CLASS_MATMUL,
		 rows = so->class == CLASS_REDUCE && so->tile == TILE_ROWS;
	if (so->hoisted) /* kept until the loop ends */
		s->vals[o->results].last_use = s->ops[so->region].end;
	if (o->n_results != 1 || (so->class != CLASS_ELEMENTWISE && !matmul && !rows)) {
		make_root(s, l, id);
		return;
	}
	bool external = v->external_min != ID_NONE;
	lop_id group = kernel_of(s, v->group_min);
	bool taken = group != ID_NONE && s->ops[group].has_matmul;
	if (!external && !v->many && group != ID_NONE && !((matmul || so->behind_product) && taken)) {
		join(s, l, id, group, false);
		return;
	}
	if (matmul && !external && group != ID_NONE && s->ops[group].widens &&
		!s->ops[group].has_matmul) {
		join(s, l, id, group, true);
		return;
	}
	if (matmul || rows) {
		make_root(s, l, id);
		return;
	}
	bool keeps = so->work != UINT32_MAX &&
		((work_at(s, so)->expensive && (s->dev.target == TARGET_CPU || so->tile == TILE_ENDS)) ||
			(work_at(s, so)->kept && s->dev.target == TARGET_GPU));
	/* libtpu 0.0.51 works a concatenation into one product, and writes it for several */
	keeps |= s->dev.target == TARGET_TPU && v->into_products && so->work != UINT32_MAX &&
		work_at(s, so)->concatenates;
	/* made from one value, on TPU: it is made from that again, though it is smaller; a mask where
	 * that is read in any case, so that one of random bits is kept in their place */
	bool one = s->dev.target == TARGET_TPU && so->origin != ID_NONE &&
		(!is_mask(l, o) || is_read_anyway(s, l, o));
	bool in_products = s->dev.target == TARGET_TPU && v->into_products && !v->elsewhere;
	bool ends = !in_products && (ends_chain(s, l, o) || (v->gathered && reads_more(s, l, o)));
	uint32_t readers = count_readers(s, v);
	if (!external && v->many && !keeps && readers <= MAX_COPIES && (one || !ends) &&
		!(v->into_products && is_cheaper_apart(s, so, v->bytes, readers))) {
		copy_into_uses(s, l, id, v);
		return;
	}
	if (!external && v->many && share_kernel(s, l, id))
		return;
	bool first = group != ID_NONE && group == v->group_min && group < v->external_min &&
		group <= v->copied_min;
	lop_id root = first && !s->ops[group].has_matmul ? group : id;
	bool again = is_made_again(s, l, o);
	if (again)
		make_again(s, l, id);
	if (root == id)
		make_root(s, l, id);
	else
		join(s, l, id, root, true);
	s->ops[root].widens |= again;
}

static bool is_dead(const simulator *s, const lowered *l, const lop *o)
{
	for (const sim_val *v = &s->vals[o->results], *end = v + o->n_results; v < end; v++)
		if (v->last_use != ID_NONE)
			return false;
	return o->kind == LOP_COLLECTIVE || (o->node != ID_NONE && l->p->nodes.p[o->node].pure);
}

/* What v stands for, aliases followed. */
static lval_id underlying(const simulator *s, lval_id v)
{
	while (s->vals[v].base != v)
		v = s->vals[v].base;
	return v;
}

/* A yielded value is written straight into the buffer that carries it (home), when an op of the
 * region makes it, nothing reads the old contents afterwards and it is not in another one already.
 */
static void store_in_place(
	simulator *s, const lowered *l, lval_id yielded, int64_t bytes, lop_id last_read)
{
	lval_id v = underlying(s, yielded);
	const lop *def = &l->ops.p[s->vals[v].def];
	lop_id at = s->ops[s->vals[v].def].root;
	bool made = (def->kind == LOP_COMPUTE || def->kind == LOP_COLLECTIVE) && at != ID_NONE;
	if (made && (last_read == ID_NONE || at >= last_read) && s->vals[v].bytes == bytes)
		s->vals[v].carried = true;
}

/* Argument i of a region, value i it yields and result i share one buffer; results without an
 * argument (case) have one of their own. */
static void end_region(simulator *s, const lowered *l, lop_id id)
{
	const lop *end = &l->ops.p[id];
	const lop *open = &l->ops.p[s->ops[id].begin];
	for (uint32_t i = 0; i < end->n_operands; i++)
		post_external(s, operand_at(l, end, i), id);
	for (uint32_t i = 0; i < end->n_results; i++) {
		sim_val *result = &s->vals[end->results + i];
		result->off_chip = true;
		if (form_of(l, end) != FORM_LOOP || i >= open->n_results) {
			result->materialised = true;
			continue;
		}
		sim_val *arg = &s->vals[open->results + i];
		set_base(s, end->results + i, open->results + i);
		arg->output |= result->output;
		arg->free = result->last_use == ID_NONE ? id : MAX(id, result->last_use);
	}
}

/* Branches write what they yield into the results of a case. */
static void end_branch(simulator *s, const lowered *l, lop_id id)
{
	const lop *o = &l->ops.p[id], *end = &l->ops.p[s->ops[s->ops[id].region].end];
	for (uint32_t i = 0; i < o->n_operands; i++) {
		post_external(s, operand_at(l, o, i), id);
		if (i < end->n_results && o->n_operands == end->n_results)
			store_in_place(s, l, operand_at(l, o, i), s->vals[end->results + i].bytes, ID_NONE);
	}
}

/* An argument of main lies in the order of its type. A loop that wants it in another one runs on a
 * copy, and what comes out of it is copied back where it is a result of main. */
static void keep_reordered(simulator *s, const lop *open, const lop *end, uint32_t i)
{
	sim_val *arg = &s->vals[open->results + i], *result = &s->vals[end->results + i];
	arg->materialised = arg->off_chip = true;
	if (!result->output)
		return;
	arg->output = false;
	arg->free = s->vals[end->results + i].def;
	result->base = end->results + i;
	result->materialised = true;
}

/* Once the body has been seen, its arguments go to what they were started with: a value that is
 * yielded as it came in stays where it was before the loop. */
static void begin_region(simulator *s, const lowered *l, lop_id id)
{
	const lop *open = &l->ops.p[id], *end = &l->ops.p[s->ops[id].end];
	for (uint32_t i = 0; i < open->n_operands; i++)
		post_external(s, operand_at(l, open, i), id);
	for (uint32_t i = 0; i < end->n_operands && i < end->n_results; i++) {
		if (form_of(l, open) != FORM_LOOP || i >= open->n_results || i >= open->n_operands) {
			store_in_place(s, l, operand_at(l, end, i), s->vals[end->results + i].bytes, ID_NONE);
			continue;
		}
		lval_id start = operand_at(l, open, i), yielded = operand_at(l, end, i);
		sim_val *arg = &s->vals[open->results + i];
		if (loop_copies(s, l, open, i)) {
			keep_reordered(s, open, end, i);
			store_in_place(s, l, yielded, arg->bytes, arg->last_use);
			continue;
		}
		s->vals[start].reordered |= arg->reordered;
		if (underlying(s, yielded) == open->results + i && s->vals[start].bytes == arg->bytes) {
			set_base(s, open->results + i, start);
			s->vals[start].output |= arg->output;
			note_use(&s->vals[start], use_end(s, arg->free, home_of(s, start)));
			continue;
		}
		arg->materialised = arg->off_chip = true;
		store_in_place(s, l, yielded, arg->bytes, arg->last_use);
	}
}

static void visit(simulator *s, const lowered *l, lop_id id)
{
	const lop *o = &l->ops.p[id];
	sim_op *so = &s->ops[id];
	if (o->erased || o->kind == LOP_ARGUMENT)
		return;
	if (s->open_regions && (o->kind == LOP_COMPUTE || o->kind == LOP_COLLECTIVE))
		post_orders(s, l, id);
	bool border = o->kind == LOP_REGION || o->kind == LOP_REGION_END;
	if (border && form_of(l, o) == FORM_INLINE) {
		for (uint32_t i = 0; i < o->n_results && i < o->n_operands; i++)
			pass_on(s, o->results + i, operand_at(l, o, i), id);
	} else if (o->kind == LOP_REGION_END) {
		s->open_regions++;
		vec_push(&s->writers, id);
		end_region(s, l, id);
	} else if (o->kind == LOP_REGION) {
		s->open_regions--;
		vec_push(&s->writers, id);
		begin_region(s, l, id);
	} else if (o->kind == LOP_REGION_ELSE) {
		vec_push(&s->writers, id);
		end_branch(s, l, id);
	} else if (o->kind == LOP_RETURN) {
		for (uint32_t i = 0; i < o->n_operands; i++) {
			post_external(s, operand_at(l, o, i), id);
			s->vals[operand_at(l, o, i)].output = true;
		}
	} else if (is_dead(s, l, o)) {
		so->mode = MODE_NONE;
	} else if (so->class == CLASS_NOTHING) {
		for (uint32_t i = 0; i < o->n_results; i++)
			s->vals[o->results + i].constant = true;
	} else if (so->class == CLASS_ALIAS) {
		for (uint32_t i = 0; i < o->n_results; i++) {
			pass_on(s, o->results + i, operand_at(l, o, i), id);
			if (o->node != ID_NONE && l->p->nodes.p[o->node].op_kind == OP_OPTIMIZATION_BARRIER)
				post_external(s, operand_at(l, o, i), id);
		}
	} else if (so->class == CLASS_COLLECTIVE) {
		make_root(s, l, id);
		for (uint32_t i = 0; i < o->n_operands; i++)
			s->vals[operand_at(l, o, i)].off_chip |= !o->halo;
		s->vals[o->results].off_chip |= !o->halo;
	} else {
		decide(s, l, id);
	}
}

void fuse(simulator *s, const lowered *l)
{
	s->open_regions = s->aliases.n = s->writers.n = s->readers.n = 0;
	for (lop_id i = l->ops.n; i-- > 0;)
		visit(s, l, i);
	/* aliases point to what they stand for directly: bases are defined earlier, so their own are
	 * known first */
	while (s->aliases.n) {
		sim_val *v = &s->vals[vec_pop(&s->aliases)];
		v->base = s->vals[v->base].base;
	}
}
