/* What the value of an argument gets into: by the next call, which arguments have other values for
 * it. A parameter is in the loss and so in the gradient of all others; what an optimizer keeps for
 * it is in its own update alone. */
#include "search/problem/roles.h"

#include <stdlib.h>

uint32_t parameter_made_of(const problem *pb, pval_id v, const uint32_t *arg_of_result,
	uint32_t *seen, uint32_t stamp, pval_id *queue)
{
	enum { MAX_VISITS = 4096 };
	const program *p = pb->p;
	uint32_t head = 0, tail = 0, found = ID_NONE;
	queue[tail++] = v;
	seen[v] = stamp;
	while (head < tail) {
		const pval *pv = &p->vals.p[queue[head++]];
		for (uint32_t u = 0; u < pv->n_uses; u++) {
			const node *user = &p->nodes.p[p->slot_node.p[p->uses.p[pv->uses + u]]];
			if (user->kind == NODE_REGION ||
				user->kind == NODE_TERMINATOR) /* values go through edges */
				continue;
			for (uint32_t k = user->n_operands; k < (uint32_t)user->n_operands + user->n_results;
				 k++) {
				pval_id r = node_slots(p, user)[k];
				if (seen[r] == stamp || pval_type(p, r)->elements <= 1)
					continue;
				uint32_t arg = p->vals.p[r].result_index < 0
					? ID_NONE
					: arg_of_result[p->vals.p[r].result_index];
				if (arg != ID_NONE && pb->roles[arg] == ROLE_PARAMETER) {
					if (found != ID_NONE && found != arg)
						return ID_NONE;
					found = arg;
				}
				if (tail == MAX_VISITS)
					return ID_NONE;
				seen[r] = stamp;
				queue[tail++] = r;
			}
		}
	}
	return found;
}

/* ---------------------------------------------------------------- owned tensors */

enum {
	MAX_REACH = 1024, /* values of an update; a parameter has more behind it, or the loss */
	MAX_REACHED = 16, /* arguments that one parameter's optimizer keeps */
	ROUNDS = 4        /* what is kept for what is kept .. */
};

typedef struct reach {
	bool far; /* in a result that replaces nothing, such as a loss, or in more than is followed */
	uint32_t n, args[MAX_REACHED];
} reach;

typedef struct follower {
	const problem *pb;
	const uint32_t *arg_of_result;
	uint32_t *seen, stamp;
	pval_id *queue;
	uint32_t head, tail;
} follower;

/* r is made of a value that is followed; number: that is a single one. A tensor made of numbers is
 * not followed: the norm of all gradients is in every update. */
static void follow(follower *f, pval_id r, bool number, reach *out)
{
	const program *p = f->pb->p;
	bool is_number = pval_type(p, r)->elements <= 1;
	if (f->seen[r] == f->stamp || (number && !is_number))
		return;
	if (p->vals.p[r].result_index >= 0) {
		uint32_t arg = f->arg_of_result[p->vals.p[r].result_index];
		out->far |= arg == ID_NONE || (!is_number && out->n == MAX_REACHED);
		if (arg != ID_NONE && !is_number && !out->far)
			out->args[out->n++] = arg;
	}
	out->far |= f->tail == MAX_REACH;
	if (out->far)
		return;
	f->seen[r] = f->stamp;
	f->queue[f->tail++] = r;
}

static void reach_of(follower *f, pval_id from, reach *out)
{
	const program *p = f->pb->p;
	*out = (reach){0};
	f->stamp++;
	f->head = f->tail = 0;
	f->queue[f->tail++] = from;
	f->seen[from] = f->stamp;
	while (f->head < f->tail && !out->far) {
		pval_id v = f->queue[f->head++];
		const pval *pv = &p->vals.p[v];
		bool number = pval_type(p, v)->elements <= 1;
		for (uint32_t u = 0; u < pv->n_uses && !out->far; u++) {
			const node *user = &p->nodes.p[p->slot_node.p[p->uses.p[pv->uses + u]]];
			if (user->kind == NODE_REGION ||
				user->kind == NODE_TERMINATOR) /* values go through edges */
				continue;
			for (uint32_t k = user->n_operands;
				 k < (uint32_t)user->n_operands + user->n_results && !out->far; k++)
				follow(f, node_slots(p, user)[k], number, out);
		}
	}
}

/* The one parameter among those that the reach has, or that own what it has; ID_NONE: none, or
 * several. */
static uint32_t owner_in(const reach *x, uint32_t arg, const reach *all, const uint32_t *owner)
{
	uint32_t found = ID_NONE;
	for (uint32_t i = 0; i < x->n; i++) {
		uint32_t other = x->args[i], w = all[other].far ? other : owner[other];
		if (other == arg || w == ID_NONE)
			continue;
		if (found != ID_NONE && found != w)
			return ID_NONE;
		found = w;
	}
	return found;
}

void find_owned(problem *pb, const uint32_t *arg_of_result)
{
	const program *p = pb->p;
	reach *all = xcalloc(pb->n_args + 1, sizeof *all);
	uint32_t *owner = xmalloc((pb->n_args + 1) * sizeof *owner);
	bool *asked = xcalloc(pb->n_args + 1, sizeof *asked);
	follower f = {.pb = pb,
		.arg_of_result = arg_of_result,
		.seen = xcalloc(p->vals.n + 1, sizeof *f.seen),
		.queue = xmalloc(MAX_REACH * sizeof *f.queue)};
	for (uint32_t a = 0; a < pb->n_args; a++) {
		owner[a] = ID_NONE;
		asked[a] = pb->roles[a] == ROLE_PARAMETER && pb->result_of_arg[a] >= 0;
		if (asked[a])
			reach_of(&f, p->args.p[a], &all[a]);
	}
	/* who owns is far away itself: in a program without a loss nobody is */
	for (uint32_t a = 0; a < pb->n_args; a++)
		if (pb->roles[a] == ROLE_STATE && pb->param_of[a] != ID_NONE && all[pb->param_of[a]].far)
			owner[a] = pb->param_of[a];
	for (int round = 0; round < ROUNDS; round++)
		for (uint32_t a = 0; a < pb->n_args; a++)
			if (asked[a] && !all[a].far && owner[a] == ID_NONE)
				owner[a] = owner_in(&all[a], a, all, owner);
	for (uint32_t a = 0; a < pb->n_args; a++)
		if (asked[a] && owner[a] != ID_NONE) {
			pb->roles[a] = ROLE_STATE;
			pb->param_of[a] = owner[a];
		}
	free(all);
	free(owner);
	free(asked);
	free(f.seen);
	free(f.queue);
}
