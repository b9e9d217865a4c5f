/* Plans that differ from one in a decision, or in what axes do, and what all such lists need. */
#include "search/tree/moves.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- the list */

typedef struct sized_group {
	int64_t bytes;
	uint32_t group;
} sized_group;
static int by_bytes(const void *a, const void *b)
{
	const sized_group *x = a, *y = b;
	return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1)
		: x->group < y->group   ? -1
								: x->group > y->group;
}

static void sort_groups(neighbourhood *nb)
{
	const problem *pb = nb->pb;
	sized_group *list = xcalloc(pb->n_groups + 1, sizeof *list);
	nb->groups = xmalloc((pb->n_groups + 1) * sizeof *nb->groups);
	for (uint32_t g = 0; g < pb->n_groups; g++) {
		list[g].group = g;
		for (uint32_t i = pb->group_first[g]; i < pb->group_first[g + 1]; i++)
			list[g].bytes = sat_add(list[g].bytes, pb->arg_bytes[pb->group_members[i]]);
	}
	qsort(list, pb->n_groups, sizeof *list, by_bytes);
	for (uint32_t g = 0; g < pb->n_groups; g++)
		nb->groups[g] = list[g].group;
	free(list);
}

typedef struct use {
	node_id first;
	uint32_t arg;
} use;
static int by_use(const void *a, const void *b)
{
	const use *x = a, *y = b;
	return x->first != y->first ? (x->first < y->first ? -1 : 1)
		: x->arg < y->arg       ? -1
								: x->arg > y->arg;
}

static void find_odd(neighbourhood *nb)
{
	const problem *pb = nb->pb;
	const program *p = pb->p;
	node_id *first = xmalloc((pb->n_args + 1) * sizeof *first);
	use *members = xmalloc((pb->n_args + 1) * sizeof *members);
	memset(first, 0xff, pb->n_args * sizeof *first); /* ID_NONE: never */
	for (node_id n = p->nodes.n; n-- > 0;) {
		const node *nd = &p->nodes.p[n];
		const pval_id *slots = node_slots(p, nd);
		for (uint32_t i = 0; i < nd->n_operands; i++)
			if (p->vals.p[slots[i]].arg_index >= 0)
				first[p->vals.p[slots[i]].arg_index] = n;
	}
	nb->odd = xcalloc(pb->n_args + 1, sizeof *nb->odd);
	for (uint32_t g = 0; g < pb->n_groups; g++) {
		const uint32_t *args = &pb->group_members[pb->group_first[g]];
		uint32_t n = pb->group_first[g + 1] - pb->group_first[g];
		for (uint32_t i = 0; i < n; i++)
			members[i] = (use){first[args[i]], args[i]};
		qsort(members, n, sizeof *members, by_use);
		for (uint32_t i = 0; i < n; i++)
			nb->odd[members[i].arg] = i % 2;
	}
	for (uint32_t a = 0; a < pb->n_args; a++) /* state goes with its parameter */
		if (pb->param_of[a] != ID_NONE)
			nb->odd[a] = nb->odd[pb->param_of[a]];
	free(members);
	free(first);
}

void neighbourhood_init(neighbourhood *nb, const problem *pb, const scope *of, arena *mem)
{
	*nb = (neighbourhood){.pb = pb, .of = of, .mem = mem};
	nb->variants = xmalloc(MOST_VARIANTS * sizeof *nb->variants);
	nb->thinned = xmalloc(MOST_VARIANTS * sizeof *nb->thinned);
	for (uint32_t axis = 0; axis < pb->n_axes; axis++)
		if (problem_axis_cuts(pb, axis) && of->axis_mask >> axis & 1)
			nb->axes[nb->n_axes++] = axis;
	nb->targets = xmalloc((pb->n_args + 1) * sizeof *nb->targets);
	sort_groups(nb);
	find_odd(nb);
}

void neighbourhood_release(neighbourhood *nb)
{
	free(nb->targets);
	free(nb->groups);
	free(nb->odd);
	free(nb->variants);
	free(nb->thinned);
}

void neighbourhood_clear(neighbourhood *nb)
{
	nb->n = 0;
	nb->cut = false;
}

plan *neighbourhood_add(neighbourhood *nb, const plan *from)
{
	if (nb->n == MOST_VARIANTS) {
		nb->cut = true;
		return NULL;
	}
	nb->variants[nb->n] = *from;
	nb->thinned[nb->n].at = ID_NONE;
	return &nb->variants[nb->n++];
}

/* ---------------------------------------------------------------- decisions and axes */

/* The first twin of a decision, or itself. */
static uint32_t first_twin(const plan *pl, uint32_t at)
{
	uint32_t i = 0;
	while (i < at && !action_is_twin(&pl->decisions[at], &pl->decisions[i]))
		i++;
	return i;
}
static bool has_twin(const plan *pl, uint32_t at)
{
	for (uint32_t i = 0; i < pl->n; i++)
		if (action_is_twin(&pl->decisions[at], &pl->decisions[i]))
			return true;
	return false;
}

/* Takes the decision out of the plan, with twins all of them, in their order. */
static void take_out(plan *pl, const action *a, bool twins, plan *taken)
{
	taken->n = 0;
	for (uint32_t i = 0; i < pl->n;) {
		const action *b = &pl->decisions[i];
		if (b->fixed ||
			!((twins && action_is_twin(a, b)) ||
				(b->axis == a->axis && b->targets == a->targets && b->kind == a->kind))) {
			i++;
			continue;
		}
		plan_insert(taken, taken->n, b, pl->tactics[i]);
		plan_drop(pl, i);
	}
}

static void list_moved(neighbourhood *nb, const plan *pl, const action *a, bool twins)
{
	plan *taken = xmalloc(sizeof *taken), *rest = xmalloc(sizeof *rest), *v;
	*rest = *pl;
	take_out(rest, a, twins, taken);
	neighbourhood_add(nb, rest);
	if ((v = neighbourhood_add(nb, rest)))
		for (uint32_t i = 0; i < taken->n; i++)
			plan_insert(v, plan_first_free(rest) + i, &taken->decisions[i], taken->tactics[i]);
	if ((v = neighbourhood_add(nb, rest)))
		for (uint32_t i = 0; i < taken->n; i++)
			plan_insert(v, v->n, &taken->decisions[i], taken->tactics[i]);
	uint32_t zero = plan_zero_at(rest);
	if (zero > plan_first_free(rest) && zero < rest->n && (v = neighbourhood_add(nb, rest)))
		for (uint32_t i = 0; i < taken->n; i++)
			plan_insert(v, zero + i, &taken->decisions[i], taken->tactics[i]);
	free(taken);
	free(rest);
}

typedef bool group_change(const problem *, arena *, plan *, uint32_t at, uint32_t group);

static bool change(const neighbourhood *nb, plan *pl, const action *a, uint32_t at, uint32_t group,
	bool twins, group_change *how)
{
	if (!how(nb->pb, nb->mem, pl, at, group))
		return false;
	for (uint32_t k = 0; k < pl->n && twins; k++)
		if (k != at && action_is_twin(a, &pl->decisions[k]))
			how(nb->pb, nb->mem, pl, k, group);
	return true;
}

bool leave_out_group(const neighbourhood *nb, plan *pl, uint32_t at, uint32_t group, bool twins)
{
	const action a = pl->decisions[at];
	return change(nb, pl, &a, at, group, twins, plan_leave_out);
}

static void list_thinned(neighbourhood *nb, const plan *pl, uint32_t at, bool twins)
{
	const action a = pl->decisions[at];
	uint32_t last = ID_NONE;
	if (a.group != ID_NONE || a.kind == ACTION_CONSTRAIN)
		return;
	for (uint32_t i = 0; i < a.n_targets; i++) {
		uint32_t group = nb->pb->group_of[a.targets[i].arg];
		bool known = group == last;
		for (uint32_t k = 0; k < i && !known; k++)
			known = nb->pb->group_of[a.targets[k].arg] == group;
		last = group;
		plan *v = known ? NULL : neighbourhood_add(nb, pl);
		if (!v)
			continue;
		if (leave_out_group(nb, v, at, group, twins))
			nb->thinned[nb->n - 1] = (struct thinned){at, group};
		else
			nb->n--;
		if ((v = neighbourhood_add(nb, pl)) &&
			!change(nb, v, &a, at, group, twins, plan_exchange_zero))
			nb->n--;
	}
}

/* Each decision is left out, decided first, last or before ZeRO, keeps off one group of what it
 * cuts, or of a ZeRO decision the parameters of one group are kept whole rather than cut, or cut
 * rather than kept whole. twins: decisions with their twins, once; otherwise those that have any,
 * alone. */
static void list_changed(neighbourhood *nb, const plan *pl, bool twins)
{
	for (uint32_t at = 0; at < pl->n; at++) {
		if (pl->decisions[at].fixed || (twins ? first_twin(pl, at) < at : !has_twin(pl, at)))
			continue;
		list_moved(nb, pl, &pl->decisions[at], twins);
		list_thinned(nb, pl, at, twins);
	}
}

void list_changed_alike(neighbourhood *nb, const plan *pl) { list_changed(nb, pl, true); }
void list_changed_apart(neighbourhood *nb, const plan *pl) { list_changed(nb, pl, false); }

void list_memory_savers(neighbourhood *nb, const plan *pl)
{
	for (uint32_t i = 0; i < nb->of->actions.n && !nb->fits; i++) {
		plan *v = neighbourhood_add(nb, pl);
		if (v)
			plan_insert(v, plan_zero_at(v), &nb->of->actions.p[i], "search");
	}
}

void list_added(neighbourhood *nb, const plan *pl)
{
	for (uint32_t i = 0; i < nb->of->actions.n; i++)
		for (uint32_t at = plan_first_free(pl); nb->of->actions.p[i].on_role && at <= pl->n; at++) {
			plan *v = neighbourhood_add(nb, pl);
			if (v)
				plan_insert(v, at, &nb->of->actions.p[i], "search");
		}
}

/* The same over one axis more, in front of the decision or behind it. */
void list_spread(neighbourhood *nb, const plan *pl)
{
	for (uint32_t at = plan_first_free(pl); at < pl->n; at++)
		for (uint32_t i = 0; i < nb->n_axes; i++) {
			const action *a = &pl->decisions[at];
			bool there = a->on_role || a->axis == nb->axes[i];
			for (uint32_t k = 0; k < pl->n && !there; k++)
				there =
					pl->decisions[k].axis == nb->axes[i] && action_is_twin(&pl->decisions[k], a);
			for (uint32_t behind = 0; behind < 2 && !there; behind++) {
				action own = action_on_axis(nb->of, a, nb->axes[i]);
				plan *v = neighbourhood_add(nb, pl);
				if (v)
					plan_insert(v, at + behind, &own, "search");
			}
		}
}

/* State cut over the axis behind all else: what the plan as it was had no room for. */
static void list_with_state(neighbourhood *nb, const plan *from, uint32_t axis)
{
	plan *v = neighbourhood_add(nb, from);
	if (v)
		plan_insert(v, v->n, scope_role(nb->of, ROLE_ACTION_ZERO2, axis),
			role_action_names[ROLE_ACTION_ZERO2]);
}

/* Each decision on another axis instead, which leaves its own to the state. */
void list_elsewhere(neighbourhood *nb, const plan *pl)
{
	plan *moved = xmalloc(sizeof *moved);
	for (uint32_t at = plan_first_free(pl); at < pl->n; at++)
		for (uint32_t i = 0; i < nb->n_axes; i++) {
			const action *a = &pl->decisions[at];
			bool there = a->fixed || a->axis == nb->axes[i];
			for (uint32_t k = 0; k < pl->n && !there; k++)
				there =
					pl->decisions[k].axis == nb->axes[i] && action_is_twin(&pl->decisions[k], a);
			if (there)
				continue;
			*moved = *pl;
			moved->decisions[at] = action_on_axis(nb->of, a, nb->axes[i]);
			neighbourhood_add(nb, moved);
			list_with_state(nb, moved, a->axis);
		}
	free(moved);
}

static void add_exchanged(
	neighbourhood *nb, const plan *pl, uint32_t axis, uint32_t other, uint32_t group)
{
	plan *v = neighbourhood_add(nb, pl);
	if (v)
		plan_exchange_axes(nb->of, v, axis, other, group);
}

/* Axes of one size may be worth different things. */
void list_exchanged(neighbourhood *nb, const plan *pl)
{
	for (uint32_t i = 0; i < nb->n_axes; i++)
		for (uint32_t k = i + 1; k < nb->n_axes; k++)
			add_exchanged(nb, pl, nb->axes[i], nb->axes[k], ID_NONE);
}

/* Where there is little to do, what an axis saves is less than its collectives take. One by one,
 * each decision on it is still worth more than nothing. */
void list_idle(neighbourhood *nb, const plan *pl)
{
	for (uint32_t i = 0; i < nb->n_axes; i++) {
		plan *v = neighbourhood_add(nb, pl);
		if (v)
			plan_clear_axis(v, nb->axes[i]);
	}
}

/* A group may be cut better by an axis that does something else besides. */
void list_exchanged_for_groups(neighbourhood *nb, const plan *pl)
{
	for (uint32_t i = 0; i < nb->n_axes; i++)
		for (uint32_t k = i + 1; k < nb->n_axes; k++) {
			uint32_t axis = nb->axes[i], other = nb->axes[k];
			for (uint32_t at = 0; at < pl->n; at++) {
				const action *a = &pl->decisions[at];
				bool new =
					!a->fixed && a->group != ID_NONE && (a->axis == axis || a->axis == other);
				for (uint32_t m = 0; m < at && new; m++)
					new = pl->decisions[m].group != a->group ||
						(pl->decisions[m].axis != axis && pl->decisions[m].axis != other);
				if (new)
					add_exchanged(nb, pl, axis, other, a->group);
			}
		}
}

/* What one axis does can be best for two, by way of which no smaller step leads. */
void list_imitated(neighbourhood *nb, const plan *pl)
{
	for (uint32_t i = 0; i < nb->n_axes; i++)
		for (uint32_t k = 0; k < nb->n_axes; k++) {
			plan *v = i != k ? neighbourhood_add(nb, pl) : NULL;
			if (v)
				plan_imitate_axis(nb->of, v, nb->axes[i], nb->axes[k]);
		}
}

/* ---------------------------------------------------------------- all of them */

static const struct {
	level two, others; /* where descents list it */
	move_list *lists;
} rows[MOVES] = {
#define MOVE(name, two, others, share, lists, samples) [MOVE_##name] = {two, others, lists},
#include "search/tree/moves.def"
#undef MOVE
};

void neighbourhood_list(neighbourhood *nb, const plan *pl, level at)
{
	neighbourhood_clear(nb);
	for (move_id i = 0; i < MOVES; i++)
		if ((nb->n_axes == 2 ? rows[i].two : rows[i].others) == at && rows[i].lists)
			rows[i].lists(nb, pl);
}
