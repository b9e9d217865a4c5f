/* Composite plans: each axis cuts the batch, weights, or other dims of the data such as the
 * sequence, by instances of tactics, and optimizer state and parameters may be cut over more axes
 * on top (ZeRO). So what people write by hand (Megatron, expert and sequence parallelism, channels)
 * is among the first plans of the tree. */
#include "search/tree/tactics.h"

/* Every axis is in one of these sets. */
typedef struct combination {
	uint32_t joined; /* which set of several axes is in it */
	uint32_t n;
	const axis_set *sets[MAX_COMPOSED_AXES];
	tactic_id tactics[MAX_COMPOSED_AXES];
} combination;

typedef struct listing {
	const tactic_space *ts;
	completion_list *out;
	uint32_t most;
} listing;

static void add_over(const tactic_space *ts, plan *pl, role_action which, uint32_t mask)
{
	for (uint32_t i = 0; i < ts->n_axes; i++)
		if (mask >> i & 1)
			append_role(ts->of, pl, which, ts->axes[i]);
}

static uint32_t all_axes(const tactic_space *ts) { return (1u << ts->n_axes) - 1; }

/* What the sets do with something else than the batch alone and that comes in this place, in their
 * order. */
static bool append_instances(const tactic_space *ts, const combination *c, place where, plan *pl)
{
	for (uint32_t i = 0; i < c->n; i++) {
		const plan *instance = &ts->sets[c->sets[i]->like].instance[c->tactics[i]];
		if (c->tactics[i] == CUTS_BATCH || tactic_rows[c->tactics[i]].placed != where)
			continue;
		if (!instance->n)
			return false;
		for (uint32_t r = 0; r < instance->n; r++)
			insert_on_axes(ts, c->sets[i], pl, pl->n, &instance->decisions[r]);
	}
	return true;
}

static uint32_t batch_axes(const combination *c)
{
	uint32_t batch = 0;
	for (uint32_t i = 0; i < c->n; i++)
		batch |= cuts_batch(c->tactics[i]) ? c->sets[i]->mask : 0;
	return batch;
}

static void add(listing *l, const completion *c)
{
	if (l->out->n < l->most)
		vec_push(l->out, *c);
}

/* Parameters with their state over the axes of zero3 (ZeRO-3), and then state alone over those of
 * zero2 (ZeRO-2). */
static void list_plan(listing *l, const combination *c, uint32_t zero3, uint32_t zero2)
{
	completion to = {.path = {c->joined}, .depth = 1};
	const tactic_space *ts = l->ts;
	if (!append_instances(ts, c, BEFORE_BATCH, &to.pl))
		return;
	add_over(ts, &to.pl, ROLE_ACTION_DATA_PARALLEL, batch_axes(c));
	if (!append_instances(ts, c, BEHIND_BATCH, &to.pl))
		return;
	add_over(ts, &to.pl, ROLE_ACTION_ZERO3, zero3);
	add_over(ts, &to.pl, ROLE_ACTION_ZERO2, zero2);
	if (!append_instances(ts, c, BEHIND_ZERO, &to.pl))
		return;
	for (uint32_t i = 0; i < c->n; i++)
		to.path[to.depth++] = c->tactics[i];
	to.path[to.depth++] = zero3 << MAX_COMPOSED_AXES | zero2;
	add(l, &to);
}

/* Parameters over one of the batch axes, or over all but one, and state over all (hybrid sharded
 * data parallelism): what has to be gathered is near, or of few devices. */
static void list_hybrids(listing *l, const combination *c)
{
	uint32_t batch = batch_axes(c), all = all_axes(l->ts);
	for (uint32_t i = 0; i < l->ts->n_axes; i++) {
		uint32_t one = 1u << i, others = batch & ~one;
		if (!(batch & one) || !others)
			continue;
		list_plan(l, c, one, all & ~one);
		if (others & (others - 1)) /* of two axes, the others are one too */
			list_plan(l, c, others, all & ~others);
	}
}

static void list_zero(listing *l, const combination *c)
{
	uint32_t batch = batch_axes(c), all = all_axes(l->ts);
	list_plan(l, c, 0, 0);
	if (batch && batch != all)
		list_plan(l, c, 0, batch);
	list_plan(l, c, 0, all);
	if (batch && batch != all)
		list_plan(l, c, batch, 0);
	list_plan(l, c, all, 0);
	if (batch && batch != all)
		list_plan(l, c, all & ~batch, batch);
	list_hybrids(l, c);
}

/* The state cut over all axes, parameters too, or neither. */
static const struct {
	bool zero3, zero2;
} zero_cuts[] = {{.zero2 = true}, {.zero3 = true}, {0}};
static void list_splits(listing *l)
{
	const tactic_space *ts = l->ts;
	for (uint32_t i = 0; i < ts->n_splits; i++) {
		const split *sp = &ts->splits[i];
		for (uint32_t z = 0; z < COUNT_OF(zero_cuts) && sp->instance.n; z++) {
			completion to = {.path = {MAX_AXIS_SETS, i, z}, .depth = 3};
			uint32_t at = begin_split(ts, sp, &to.pl), behind = to.pl.n - at;
			for (uint32_t r = 0; r < sp->instance.n; r++)
				insert_on_axes(
					ts, sp->second, &to.pl, to.pl.n - behind, &sp->instance.decisions[r]);
			add_over(ts, &to.pl, ROLE_ACTION_ZERO3, zero_cuts[z].zero3 ? all_axes(ts) : 0);
			add_over(ts, &to.pl, ROLE_ACTION_ZERO2, zero_cuts[z].zero2 ? all_axes(ts) : 0);
			add(l, &to);
		}
	}
}

/* Which combinations come in which order: what is usual; what is alike, or two axes together; what
 * is unusual on one set. */
enum { USUAL, ALIKE_OR_PAIRED, UNUSUAL, RANKS };
static uint32_t rank_of(const tactic_space *ts, const combination *c)
{
	uint32_t unusual = 0;
	bool alike = true, paired = false, mixed = false;
	for (uint32_t i = 0; i < c->n; i++) {
		bool pair = c->sets[i]->size == TWO_AXES;
		unusual += !tactic_rows[c->tactics[i]].usual && !pair;
		alike &= c->tactics[i] == c->tactics[0] && c->sets[i]->size == c->sets[0]->size;
		mixed |= !pair && c->tactics[i] != c->tactics[0];
		paired |= pair;
	}
	if (paired)
		return unusual || mixed ? RANKS : ALIKE_OR_PAIRED;
	if (!unusual)
		return USUAL;
	return alike                                                               ? ALIKE_OR_PAIRED
		: unusual <= MOST_UNUSUAL && unusual + ts->n_axes <= MAX_COMPOSED_AXES ? UNUSUAL
																			   : RANKS;
}

/* All tactics of the combination's sets, when they are of the rank. */
static void list_combinations(listing *l, combination *c, uint32_t rank)
{
	uint32_t total = 1;
	for (uint32_t i = 0; i < c->n; i++)
		total *= TACTICS;
	for (uint32_t code = 0; code < total; code++) {
		bool possible = true;
		uint32_t rest = code;
		for (uint32_t i = 0; i < c->n; i++, rest /= TACTICS) {
			c->tactics[i] = rest % TACTICS;
			possible &= (tactic_rows[c->tactics[i]].sets & c->sets[i]->size) != 0;
		}
		if (possible && rank_of(l->ts, c) == rank)
			list_zero(l, c);
	}
}

/* One set of several axes, or none (NULL), and every other axis on its own. */
static combination combine(const tactic_space *ts, const axis_set *several)
{
	combination c = {0};
	for (uint32_t i = 0; i < ts->n_axes; i++)
		if (!several || !(several->mask >> i & 1))
			c.sets[c.n++] = &ts->sets[i];
	if (several) {
		c.joined = (uint32_t)(several - ts->sets);
		c.sets[c.n++] = several;
	}
	return c;
}

void completions_list(const tactic_space *ts, uint32_t most, completion_list *out)
{
	listing l = {.ts = ts, .out = out, .most = most};
	list_splits(&l);
	for (uint32_t rank = 0; rank < RANKS; rank++)
		for (uint32_t i = ts->n_axes - 1; i < ts->n_sets;
			 i++) { /* the last of one axis stands for them all */
			combination c = combine(ts, ts->sets[i].size == ONE_AXIS ? NULL : &ts->sets[i]);
			list_combinations(&l, &c, rank);
		}
}

/* ---------------------------------------------------------------- what paths say */

static void say(path_cuts *out, uint32_t mask, uint32_t said, uint32_t cuts)
{
	for (uint32_t i = 0; i < out->n; i++)
		if (mask >> i & 1) {
			out->axes[i].said |= said;
			out->axes[i].cuts |= cuts;
		}
}

static void say_zero(path_cuts *out, uint32_t zero3, uint32_t zero2)
{
	say(out, UINT32_MAX, AXIS_ZERO3 | AXIS_ZERO2, 0);
	say(out, zero3, 0, AXIS_ZERO3);
	say(out, zero2, 0, AXIS_ZERO2);
}

bool completion_cuts(const tactic_space *ts, const uint32_t *path, uint32_t depth, path_cuts *out)
{
	*out = (path_cuts){.n = ts->n_axes};
	if (!depth || path[0] > MAX_AXIS_SETS)
		return false;
	if (path[0] == MAX_AXIS_SETS) {
		uint32_t all = all_axes(ts);
		say(out, all, AXIS_WEIGHTS | AXIS_BATCH, AXIS_WEIGHTS | AXIS_BATCH);
		if (depth > 2)
			say_zero(out, zero_cuts[path[2]].zero3 ? all : 0, zero_cuts[path[2]].zero2 ? all : 0);
		return true;
	}
	combination c = combine(ts, path[0] ? &ts->sets[path[0]] : NULL);
	out->alike = path[0] ? ts->sets[path[0]].mask : 0;
	for (uint32_t i = 0; i < MIN(c.n, depth - 1); i++)
		say(out, c.sets[i]->mask, AXIS_BATCH | AXIS_WEIGHTS | AXIS_DATA, tactic_cuts(path[i + 1]));
	if (depth > c.n + 1)
		say_zero(out, path[c.n + 1] >> MAX_COMPOSED_AXES,
			path[c.n + 1] & ((1u << MAX_COMPOSED_AXES) - 1));
	return true;
}

/* ---------------------------------------------------------------- in words */

static void axes_words(const tactic_space *ts, uint32_t mask, strbuf *out)
{
	const sharding_table *t = ts->pb->m->shardings;
	const char *between = "";
	for (uint32_t i = 0; i < ts->n_axes; i++)
		if (mask >> i & 1) {
			str name = strtab_get(&t->names, t->meshes.p[ts->pb->mesh].axis_names[ts->axes[i]]);
			strbuf_printf(out, "%s" STR_FMT, between, STR_ARG(name));
			between = "+";
		}
}

static void zero_words(const tactic_space *ts, uint32_t zero3, uint32_t zero2, strbuf *out)
{
	if (zero3) {
		strbuf_puts(out, "ZeRO-3 over ");
		axes_words(ts, zero3, out);
	}
	if (zero2) {
		strbuf_puts(out, zero3 ? ", ZeRO-2 over " : "ZeRO-2 over ");
		axes_words(ts, zero2, out);
	}
	if (!zero3 && !zero2)
		strbuf_puts(out, "no ZeRO");
}

static void split_words(const tactic_space *ts, const uint32_t *path, uint32_t depth, strbuf *out)
{
	static const char *const places[SPLIT_PLACES] = {[SPLIT_BEFORE] = "before the batch",
		[SPLIT_BETWEEN] = "between the batches",
		[SPLIT_BEHIND] = "behind the batch"};
	if (depth == 1) {
		strbuf_puts(out, "axis sets that each cut weights and the batch");
	} else if (depth == 2) {
		const split *sp = &ts->splits[path[1]];
		axes_words(ts, sp->first->mask, out);
		strbuf_puts(out, " first, ");
		axes_words(ts, sp->second->mask, out);
		bool own = sp->given == &ts->sets[sp->first->like].instance[CUTS_WEIGHTS_BEFORE_BATCH];
		strbuf_printf(out, " %s%s", places[sp->place], own ? "" : ", turned round");
	} else {
		zero_words(ts, zero_cuts[path[2]].zero3 ? all_axes(ts) : 0,
			zero_cuts[path[2]].zero2 ? all_axes(ts) : 0, out);
	}
}

void completion_words(
	const tactic_space *ts, const uint32_t *path, uint32_t depth, char *out, size_t size)
{
	strbuf b;
	strbuf_init(&b);
	if (!depth) {
		strbuf_puts(&b, "all plans");
	} else if (path[0] > MAX_AXIS_SETS) {
		strbuf_puts(&b,
			depth == 1    ? "what there was before"
				: path[1] ? "the plan of earlier tactics"
						  : "what stays, and nothing else");
	} else if (path[0] == MAX_AXIS_SETS) {
		split_words(ts, path, depth, &b);
	} else {
		combination c = combine(ts, path[0] ? &ts->sets[path[0]] : NULL);
		if (depth == 1 && !path[0]) {
			strbuf_puts(&b, "each axis on its own");
		} else if (depth == 1) {
			axes_words(ts, ts->sets[path[0]].mask, &b);
			strbuf_puts(&b, " as one axis");
		} else if (depth - 2 < c.n) {
			axes_words(ts, c.sets[depth - 2]->mask, &b);
			strbuf_printf(&b, ": %s", tactic_rows[path[depth - 1]].words);
		} else {
			zero_words(ts, path[depth - 1] >> MAX_COMPOSED_AXES,
				path[depth - 1] & ((1u << MAX_COMPOSED_AXES) - 1), &b);
		}
	}
	snprintf(out, size, "%s", b.p);
	strbuf_release(&b);
}
