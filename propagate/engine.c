/* The worklist, as MLIR's greedy driver works it off for Shardy: one walk in program order under a
 * last-in-first-out list of what changed meanwhile; and the trail, so that a search can take
 * changes back. */
#include "propagate/engine.h"
#include "propagate/program_internal.h"

#include <stdlib.h>

enum { WAVES_BYTES = 1 << 26 }; /* unless said otherwise */

/* ---------------------------------------------------------------- life */

static plan plan_of(const program *p, node_id i, bool conservative)
{
	const node *n = &p->nodes.p[i];
	plan pl = {
		.slots = n->slots, .rule = n->rule, .n_slots = (uint16_t)(n->n_operands + n->n_results)};
	bool active = n->rule != RULE_NONE && rule_get(p->rules, n->rule)->n_factors;
	pl.result = n->kind == NODE_RESULT;
	pl.counts_uses = n->kind == NODE_OP && n->op_kind != OP_SDY_PROPAGATION_BARRIER;
	pl.flags = (n->elementwise ? MODE_ELEMENTWISE : 0) |
		(conservative && pl.counts_uses ? MODE_CONSERVATIVE : 0);
	for (uint32_t r = 0; r < ROUNDS; r++)
		pl.mode[r] = active ? (uint8_t)round_directions(p->rules, n, r) : 0;
	return pl;
}

/* What members of a group that take its sharding get elsewhere stays their own. */
static audience audience_of(const pval *v)
{
	return (audience){.first = v->notify,
		.n_notify = v->n_notify,
		.n_touch = v->n_touch,
		.group = v->group_takes ? ID_NONE : v->group};
}

static uint16_t mode_bit(uint8_t mode) { return mode ? (uint16_t)(1u << mode) : 0; }

propagation *propagation_new(const program *p, sharding_table *t, const propagate_options *o)
{
	propagation *s = xcalloc(1, sizeof *s);
	uint32_t n = p->nodes.n, most = 1;
	s->p = p;
	s->t = t;
	s->options = *o;
	transfer_init(&s->transfer, p->rules, t);
	s->transfer.no_memo = o->no_memo;
	s->waves.limit = WAVES_BYTES;
	s->shardings = xcalloc(p->vals.n + 1, sizeof *s->shardings);
	s->plans = xmalloc((n + 1) * sizeof *s->plans);
	s->bits = xcalloc((size_t)ROUNDS * n + 1, sizeof *s->bits);
	for (node_id i = 0; i < n; i++) {
		const plan *pl = &s->plans[i];
		s->plans[i] = plan_of(p, i, o->conservative);
		most = MAX(most, pl->n_slots);
		for (uint32_t r = 0; r < ROUNDS && !pl->result; r++)
			s->bits[(size_t)r * n + i] = mode_bit(pl->mode[r]);
	}
	s->audiences = xmalloc((p->vals.n + 1) * sizeof *s->audiences);
	for (pval_id v = 0; v < p->vals.n; v++)
		s->audiences[v] = audience_of(&p->vals.p[v]);
	for (uint32_t e = 0; e < p->manual_edges.n; e++)
		s->plans[p->manual_edges.p[e].node].manual = true;
	s->n_words = n / 64 + 1;
	s->waiting = xcalloc(s->n_words, sizeof *s->waiting);
	s->changed = xcalloc(s->n_words, sizeof *s->changed);
	s->in_stack = xcalloc(n + 1, sizeof *s->in_stack);
	s->clean = xcalloc(n + 1, sizeof *s->clean);
	s->in = xmalloc((most + 1) * sizeof *s->in); /* written two at a time */
	s->erased = xcalloc(n + 1, sizeof *s->erased);
	s->uses = p->n_dead ? xmalloc((p->m->values.n + 1) * sizeof *s->uses) : NULL;
	s->result_nodes = xmalloc((p->results.n + 1) * sizeof *s->result_nodes);
	s->result_bits = xmalloc((p->results.n + 1) * sizeof *s->result_bits);
	for (uint32_t i = 0; i < p->results.n; i++) {
		s->result_nodes[i] = p->vals.p[p->results.p[i]].def;
		s->result_bits[i] = mode_bit(s->plans[s->result_nodes[i]].mode[ROUND_ANY]);
	}
	propagation_reset(s);
	return s;
}

void propagation_free(propagation *s)
{
	if (!s)
		return;
	transfer_release(&s->transfer);
	vec_release(&s->trail);
	vec_release(&s->settles);
	vec_release(&s->stack);
	free(s->shardings);
	free(s->plans);
	free(s->audiences);
	free(s->waiting);
	free(s->changed);
	free(s->in_stack);
	free(s->clean);
	free(s->in);
	free(s->erased);
	free(s->uses);
	free(s->result_nodes);
	free(s->result_bits);
	free(s->bits);
	reads_release(&s->reads);
	waves_release(&s->waves);
	free(s);
}

void propagation_reset(propagation *s)
{
	const program *p = s->p;
	const func *main = module_main(p->m);
	for (pval_id v = 0; v < p->vals.n; v++) {
		const pval *x = &p->vals.p[v];
		s->shardings[v] = x->value != ID_NONE ? value_at(p->m, x->value)->sharding
			: x->result_index >= 0            ? main->result_shardings[x->result_index]
											  : SHARDING_NONE;
	}
	s->stale = true;
	s->exchanged = UINT64_MAX;
	memset(s->erased, 0, p->nodes.n * sizeof *s->erased);
	if (s->uses)
		memcpy(s->uses, p->use_counts, p->m->values.n * sizeof *s->uses);
	s->all_dead_erased = !p->n_dead;
	s->trail.n = s->settles.n = 0;
}

void propagation_set_no_memo(propagation *s, bool no_memo)
{
	s->transfer.no_memo = no_memo;
	s->stale = true;
}

/* An entry takes about ten words, and twice its place in the table. */
void propagation_limit(propagation *s, size_t step_bytes, size_t settle_bytes)
{
	enum { ENTRY_BYTES = 10 * sizeof(uint32_t) + 4 * 2 * sizeof(uint32_t), LEAST = 1 << 10 };
	s->transfer.max_entries = (uint32_t)MIN(
		MAX(step_bytes / ENTRY_BYTES, (size_t)LEAST), (size_t)s->transfer.max_entries);
	s->waves.limit = settle_bytes;
	s->transfer.max_words =
		(uint32_t)MIN(MAX(step_bytes / (2 * sizeof(uint32_t)), (size_t)LEAST * 64),
			(size_t)s->transfer.max_words);
}
transfer_stats propagation_stats(const propagation *s) { return s->transfer.stats; }

/* ---------------------------------------------------------------- values and the trail */

/* The nodes with this value among their tensors have a new input. */
static inline void touch(propagation *s, pval_id v)
{
	const audience *by = &s->audiences[v];
	const node_id *list = s->p->notify.p + by->first;
	uint32_t *clean = s->clean;
	for (uint32_t i = 0; i < by->n_touch; i++)
		clean[list[i]] = 0;
}

static inline void write_value(propagation *s, pval_id v, sharding_id sh)
{
	if (s->shardings[v] == sh)
		return;
	vec_push(&s->trail, (trail_change){v, s->shardings[v]});
	s->shardings[v] = sh;
	touch(s, v);
}

void propagation_set(propagation *s, pval_id v, sharding_id sh) { write_value(s, v, sh); }
uint32_t propagation_mark(const propagation *s) { return s->trail.n; }
const trail_change *propagation_trail(const propagation *s) { return s->trail.p; }

void propagation_undo(propagation *s, uint32_t mark)
{
	s->stale |= s->trail.n > mark;
	while (s->trail.n > mark) {
		trail_change c = vec_pop(&s->trail);
		s->shardings[c.v] = c.old;
	}
	while (s->settles.n && s->settles.p[s->settles.n - 1].at > mark)
		s->settles.n--;
}

uint32_t engine_settled(const propagation *s)
{
	return s->settles.n ? s->settles.p[s->settles.n - 1].at : 0;
}

bool propagation_is_stable(const propagation *s)
{
	const settled_at *last = s->settles.n ? &s->settles.p[s->settles.n - 1] : NULL;
	return last && last->stable && last->at == s->trail.n;
}

/* With two strategies in turn the first one may still find something to exchange. */
bool engine_has_exchanged(const propagation *s)
{
	return s->exchanged >> 1 == s->trail.n && s->options.strategy != STRATEGY_BASIC_THEN_AGGRESSIVE;
}

void engine_mark_settled(propagation *s, bool stable)
{
	if (!s->settles.n || s->settles.p[s->settles.n - 1].at != s->trail.n)
		vec_push(&s->settles, (settled_at){s->trail.n, stable});
}

void propagation_retrace(propagation *s, const value_is *values, uint32_t n, bool stable)
{
	vec_reserve(&s->trail, s->trail.n + n);
	s->stale |= n > 0;
	for (uint32_t i = 0; i < n; i++) {
		pval_id v = values[i].v;
		s->trail.p[s->trail.n++] = (trail_change){v, s->shardings[v]};
		s->shardings[v] = values[i].is;
	}
	engine_mark_settled(s, stable);
}

/* ---------------------------------------------------------------- the worklist */

static bool is_waiting(const propagation *s, node_id n) { return s->waiting[n / 64] >> n % 64 & 1; }

/* What is queued already keeps its place. */
static inline void queue(propagation *s, node_id n)
{
	if (s->in_stack[n] || is_waiting(s, n) || s->erased[n])
		return;
	s->in_stack[n] = true;
	vec_push(&s->stack, n);
}

static inline void queue_watchers(propagation *s, pval_id v, node_id self)
{
	const audience *by = &s->audiences[v];
	const node_id *list = s->p->notify.p + by->first;
	for (uint32_t i = 0; i < by->n_notify; i++)
		if (list[i] != self)
			queue(s, list[i]);
}

static inline bool next_node(propagation *s, node_id *out)
{
	if (s->stack.n) {
		*out = vec_pop(&s->stack);
		s->in_stack[*out] = false;
		return true;
	}
	for (uint32_t w = s->at / 64; w < s->n_words; w++) {
		uint64_t left = s->waiting[w];
		if (!left)
			continue;
		*out = s->at = w * 64 + (uint32_t)__builtin_ctzll(left);
		s->waiting[w] = left & (left - 1);
		return true;
	}
	return false;
}

/* ---------------------------------------------------------------- dead ops */

static bool op_is_erased(const propagation *s, op_id o)
{
	for (; o != ID_NONE; o = op_parent(s->p->m, o))
		if (s->p->node_of[o] != ID_NONE)
			return s->erased[s->p->node_of[o]];
	return false;
}

/* At most one op besides `but` uses the value: with `but` gone its definition may be of interest.
 */
static bool has_few_users(const propagation *s, value_id v, op_id but)
{
	const module *m = s->p->m;
	op_id other = ID_NONE;
	for (slot_id slot = value_at(m, v)->first_use; slot != ID_NONE; slot = m->slots.p[slot].next) {
		op_id user = m->slots.p[slot].owner;
		if (user == but || user == other || op_is_erased(s, user))
			continue;
		if (other != ID_NONE)
			return false;
		other = user;
	}
	return true;
}

static void erase_one(propagation *s, node_id n)
{
	const module *m = s->p->m;
	op_id o = s->p->nodes.p[n].op;
	s->erased[n] = true;
	for (uint32_t i = 0; i < op_at(m, o)->n_operands; i++) {
		op_id def = value_def(m, op_operand(m, o, i));
		if (def != ID_NONE && s->p->node_of[def] != ID_NONE &&
			has_few_users(s, op_operand(m, o, i), o))
			queue(s, s->p->node_of[def]);
	}
	node_drop_uses(s->p, &s->p->nodes.p[n], s->uses);
}

/* With what is inside. */
static void erase(propagation *s, node_id n)
{
	for (node_id i = s->p->nodes.p[n].end; i-- > n;)
		if (!s->erased[i])
			erase_one(s, i);
}

/* A terminator goes with the op around it. */
static bool can_erase(const propagation *s, node_id n)
{
	const ir_op *o = op_at(s->p->m, s->p->nodes.p[n].op);
	if (!s->p->nodes.p[n].dead || op_infos[o->kind].flags & OPF_TERMINATOR)
		return false;
	for (uint32_t i = 0; i < o->n_results; i++)
		if (s->uses[o->results + i])
			return false;
	return true;
}

void engine_erase_dead(propagation *s)
{
	for (node_id n = 0; n < s->p->nodes.n && !s->all_dead_erased; n++)
		s->erased[n] |= s->p->nodes.p[n].dead;
	s->all_dead_erased = true;
}

/* ---------------------------------------------------------------- one step */

/* Round 0 takes an op only when no other use could disagree. Before the dead ops are gone they
 * count. */
static bool operands_single_use(const propagation *s, node_id i)
{
	if (s->all_dead_erased)
		return s->p->nodes.p[i].operands_single_use;
	const node *n = &s->p->nodes.p[i];
	for (uint32_t k = n->slots; k < n->slots + n->n_operands; k++)
		if (pval_type(s->p, s->p->slots.p[k])->rank && s->uses[s->p->slot_value.p[k]] != 1)
			return false;
	return true;
}

/* Writes one update and queues who sees it. Members of a sharding group follow. */
static inline void apply(propagation *s, node_id self, bool queueing, pval_id v, sharding_id sh)
{
	const program *p = s->p;
	s->transfer.stats.updates++;
	write_value(s, v, sh);
	if (queueing)
		queue_watchers(s, v, self);
	uint32_t g = s->audiences[v].group;
	if (g == ID_NONE)
		return;
	for (uint32_t i = p->group_first.p[g]; i < p->group_first.p[g + 1]; i++) {
		pval_id member = p->group_members.p[i];
		if (member == v)
			continue;
		write_value(s, member, sh);
		if (queueing)
			queue_watchers(s, member, self);
	}
}

/* Writes what a step gives, where that is more than writing: at the edges of a manual_computation,
 * or for a log. */
static __attribute__((noinline)) void take_updates(
	propagation *s, node_id i, step_mode mode, uint32_t round, const transfer_update *u, uint32_t n)
{
	const plan *pl = &s->plans[i];
	const manual_edge *manual = pl->manual ? manual_edge_of(s->p, i) : NULL;
	bool result = pl->result;
	for (uint32_t k = 0; k < n; k++) {
		pval_id v = s->p->slots.p[pl->slots + u[k].slot];
		uint32_t from = s->trail.n;
		bool leaves = manual && u[k].slot == pl->n_slots - 1u;
		apply(s, i, !result, v, leaves ? manual_leave(s->t, manual, u[k].sharding) : u[k].sharding);
		if (s->log)
			log_update(s, from, i, u[k].slot, mode, result ? ROUND_NONE : round, k == 0);
	}
}

static void note_clean(propagation *s, node_id i, uint32_t bit)
{
	if (!s->transfer.no_memo)
		s->clean[i] |= bit;
}

/* Shardings of two slots, the first in the lower half; of the only one left. */
static inline uint64_t slots_pair(const propagation *s, const pval_id *slots, uint32_t left)
{
	return s->shardings[slots[0]] | (left > 1 ? (uint64_t)s->shardings[slots[1]] << 32 : 0);
}

static __attribute__((noinline)) void take_step(
	propagation *s, node_id i, bool basic, uint32_t round, uint32_t bit)
{
	const plan *pl = &s->plans[i];
	step_mode mode = pl->mode[round];
	if (round == 0 && pl->counts_uses && !operands_single_use(s, i))
		return;
	const pval_id *slots = s->p->slots.p + pl->slots;
	sharding_id *in = s->in;
	uint32_t n_slots = pl->n_slots, n;
	mode |= (basic ? MODE_BASIC : 0) | pl->flags;
	uint64_t hash = transfer_hash_begin(pl->rule, mode), any = 0, pair;
	for (uint32_t k = 0; k < n_slots; k += 2) {
		any |= pair = slots_pair(s, slots + k, n_slots - k);
		memcpy(in + k, &pair,
			sizeof pair); /* and not one by one: reading what was written in parts takes long */
		hash = transfer_hash_add(hash, pair);
	}
	if (!any) {
		note_clean(s, i, bit);
		return;
	}
	if (pl->manual) {
		in[n_slots - 1] = manual_enter(s->t, manual_edge_of(s->p, i), in[n_slots - 1]);
		hash = transfer_hash(pl->rule, mode, in, n_slots);
	}
	const transfer_update *u =
		transfer_find(&s->transfer, transfer_hash_end(hash), pl->rule, mode, in, n_slots, &n);
	if (!n) {
		note_clean(s, i, bit);
		return;
	}
	if (pl->manual || s->log) {
		take_updates(s, i, mode, round, u, n);
		return;
	}
	for (uint32_t k = 0; k < n; k++)
		apply(s, i, !pl->result, slots[u[k].slot], u[k].sharding);
}

/* bit: of the node's mode in the round. Most visits end here: nothing that the node sees has
 * changed since its step changed nothing. */
static inline void visit(propagation *s, node_id i, bool basic, uint32_t round, uint32_t bit)
{
	bit <<= basic ? 16 : 0;
	if (bit & ~s->clean[i])
		take_step(s, i, basic, round, bit);
}

/* Between the returned values of main and the attributes of its results; nothing is queued. */
static void exchange_results(propagation *s, bool basic)
{
	uint64_t now = (uint64_t)s->trail.n << 1 | basic;
	if (s->exchanged == now)
		return;
	for (uint32_t i = 0; i < s->p->results.n; i++)
		visit(s, s->result_nodes[i], basic, ROUND_ANY, s->result_bits[i]);
	if (s->trail.n == now >> 1)
		s->exchanged = now;
}

void engine_forget_clean(propagation *s)
{
	if (s->stale)
		memset(s->clean, 0, s->p->nodes.n * sizeof *s->clean);
	s->stale = false;
}

/* Undoing and retracing, which searches do most, leave `clean` as it was. Of nodes that a settle
 * queues it says nothing when it begins; results of main are asked anyway, and clean where nothing
 * was left to be exchanged and nothing changed since. */
static void find_clean(propagation *s)
{
	engine_forget_clean(s);
	if (!s->settles.n || !s->settles.p[s->settles.n - 1].stable || s->transfer.no_memo)
		return;
	bool basic = s->options.strategy == STRATEGY_BASIC;
	for (uint32_t i = 0; i < s->p->results.n; i++)
		s->clean[s->result_nodes[i]] = (uint32_t)s->result_bits[i] << (basic ? 16 : 0);
}

void engine_begin(propagation *s)
{
	if (s->stale)
		find_clean(s);
	memset(s->changed, 0, s->n_words * sizeof *s->changed);
	s->n_seen = s->trail.n;
}

/* Who sees the value has to be asked. */
static void mark_watchers(propagation *s, pval_id v)
{
	const audience *by = &s->audiences[v];
	const node_id *list = s->p->notify.p + by->first;
	for (uint32_t k = 0; k < by->n_notify; k++)
		s->changed[list[k] / 64] |= 1ull << list[k] % 64;
}

void engine_start(propagation *s, pval_id v)
{
	touch(s, v);
	mark_watchers(s, v);
}

static void fill_waiting(propagation *s, bool everything)
{
	s->at = 0;
	if (everything) {
		memset(s->waiting, 0xff, s->p->nodes.n / 64 * sizeof *s->waiting);
		s->waiting[s->p->nodes.n / 64] = (1ull << s->p->nodes.n % 64) - 1;
		return;
	}
	for (; s->n_seen < s->trail.n; s->n_seen++)
		mark_watchers(s, s->trail.p[s->n_seen].v);
	memcpy(s->waiting, s->changed, s->n_words * sizeof *s->waiting);
}

void engine_walk(propagation *s, bool basic, uint32_t round, bool everything)
{
	exchange_results(s, basic);
	fill_waiting(s, everything);
	const uint16_t *bits = s->bits + (size_t)round * s->p->nodes.n;
	for (node_id i; next_node(s, &i);) {
		if (s->erased[i])
			continue;
		if (!s->all_dead_erased && can_erase(s, i))
			erase(s, i);
		else
			visit(s, i, basic, round, bits[i]);
	}
	engine_erase_dead(s);
	exchange_results(s, basic);
}
