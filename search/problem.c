/* The search problem: an imported copy of the module, its planning program, and what dataflow says about main's
 * arguments: which result carries each one to the next step, and which role it plays. */
#include "search/internal.h"

#include <stdlib.h>

const char *role_name(role r)
{
	static const char *const names[ROLE_COUNT] = {
		[ROLE_PARAMETER] = "parameter", [ROLE_STATE] = "state", [ROLE_DATA] = "data", [ROLE_OTHER] = "other"};
	return names[r];
}

static bool has_axes(const sharding_table *t, sharding_id id)
{
	if (id == SHARDING_NONE)
		return false;
	const sharding *s = sharding_get(t, id);
	for (uint32_t d = 0; d < s->rank; d++)
		if (s->dims[d].n || s->dims[d].closed)
			return true;
	return s->n_replicated || s->n_unreduced;
}

status problem_init(problem *pb, const module *annotated, const search_options *o, diag *d)
{
	*pb = (problem){.o = o, .mesh = o->mesh};
	rule_table_init(&pb->rules);
	pb->m = module_clone(annotated);
	TRY(passes_import(pb->m, d));
	TRY(program_new(pb->m, &pb->rules, false, &pb->p, d));
	TRY(donation_read(pb->m, &pb->dn, d));
	pb->n_args = pb->p->args.n;
	pb->n_results = pb->p->results.n;
	pb->p->mesh = pb->mesh;
	const mesh *mh = &pb->m->shardings->meshes.p[pb->mesh];
	pb->n_axes = mh->n_axes;
	mesh_links links;
	TRY(mesh_links_assign(o->device, pb->m->shardings, pb->mesh, o->axis_links, &links, d));
	pb->memory_limit = o->memory_limit ? o->memory_limit : o->device->usable_bytes;
	pb->roles = arena_zarray(&pb->mem, role, pb->n_args + 1);
	pb->result_of_arg = arena_array(&pb->mem, int32_t, pb->n_args + 1);
	pb->pinned = arena_zarray(&pb->mem, bool, pb->n_args + 1);
	pb->arg_bytes = arena_array(&pb->mem, int64_t, pb->n_args + 1);
	for (uint32_t a = 0; a < pb->n_args; a++) {
		pval_id v = pb->p->args.p[a];
		pb->arg_bytes[a] = sharding_local_bytes(pb->m->shardings, SHARDING_NONE, pval_type(pb->p, v));
		pb->pinned[a] = has_axes(pb->m->shardings, pb->m->values.p[pb->p->vals.p[v].value].sharding);
	}
	problem_find_roles(pb);
	problem_find_groups(pb);
	/* Roles need the pairs; with open results nothing else does. */
	for (uint32_t a = 0; a < pb->n_args && o->open_results; a++)
		pb->result_of_arg[a] = -1;
	pb->objective = o->objective;
	actions_make_roles(pb);
	return ST_OK;
}

void problem_release(problem *pb)
{
	if (pb->p)
		program_free(pb->p);
	donation_release(&pb->dn);
	rule_table_release(&pb->rules);
	if (pb->m)
		module_free(pb->m);
	arena_release(&pb->mem);
}

/* ---------------------------------------------------------------- dataflow */

/* Ops through which a tensor stays "the same tensor, updated": elementwise, and shape-preserving moves. */
static bool carries(const program *p, const node *n)
{
	return n->kind == NODE_OP && (n->elementwise || n->op_kind == OP_RESHAPE || n->op_kind == OP_TRANSPOSE || n->op_kind == OP_DYNAMIC_UPDATE_SLICE) &&
	       n->n_results == 1 && p != NULL;
}

static bool same_shape(const type *a, const type *b)
{
	return a->rank == b->rank && a->elem == b->elem && (a->rank == 0 || !memcmp(a->dims, b->dims, a->rank * sizeof *a->dims));
}

/* Distance from a returned value back to every argument of its type through carrying ops; breadth first, bounded. */
static void nearest_arguments(const program *p, pval_id from, const type *want, uint32_t *seen, uint32_t stamp, pval_id *queue, uint32_t *dist,
                              void (*found)(void *, uint32_t arg, uint32_t distance), void *user)
{
	enum { MAX_VISITS = 4096 };
	uint32_t head = 0, tail = 0;
	queue[tail] = from;
	dist[tail++] = 0;
	seen[from] = stamp;
	while (head < tail) {
		pval_id v = queue[head];
		uint32_t d = dist[head++];
		const pval *pv = &p->vals.p[v];
		if (pv->arg_index >= 0) {
			if (same_shape(pval_type(p, v), want))
				found(user, (uint32_t)pv->arg_index, d);
			continue;
		}
		if (pv->def == ID_NONE)
			continue;
		const node *n = &p->nodes.p[pv->def];
		/* A loop's or barrier's result comes from its edge's first source, the initial value. */
		if (!carries(p, n) && n->kind != NODE_EDGE)
			continue;
		for (uint32_t i = 0; i < n->n_operands; i++) {
			pval_id u = node_slots(p, n)[i];
			if (seen[u] == stamp || tail == MAX_VISITS || pval_type(p, u)->elements != want->elements)
				continue;
			seen[u] = stamp;
			queue[tail] = u;
			dist[tail++] = d + 1;
		}
	}
}

typedef struct pair_candidate {
	uint32_t distance, result, arg;
} pair_candidate;
typedef struct pair_search {
	VEC(pair_candidate) list;
	uint32_t result;
} pair_search;

static void add_candidate(void *user, uint32_t arg, uint32_t distance)
{
	pair_search *ps = user;
	vec_push(&ps->list, (pair_candidate){distance, ps->result, arg});
}

static int by_distance(const void *a, const void *b)
{
	const pair_candidate *x = a, *y = b;
	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	if (x->result != y->result)
		return x->result < y->result ? -1 : 1;
	return x->arg < y->arg ? -1 : x->arg > y->arg;
}

/* Without donation the state result of an argument is the one it reaches with the fewest updates in between: nearest
 * pairs first, each argument and result once. */
static void pair_by_dataflow(problem *pb)
{
	const program *p = pb->p;
	uint32_t n = p->vals.n;
	uint32_t *seen = xcalloc(n, sizeof *seen), *dist = xmalloc(n * sizeof *dist);
	pval_id *queue = xmalloc(n * sizeof *queue);
	pair_search ps = {0};
	for (uint32_t r = 0; r < pb->n_results; r++) {
		const type *want = pval_type(p, p->results.p[r]);
		ps.result = r;
		if (want->rank > 0)
			nearest_arguments(p, p->returned.p[r], want, seen, r + 1, queue, dist, add_candidate, &ps);
	}
	if (ps.list.n)
		qsort(ps.list.p, ps.list.n, sizeof *ps.list.p, by_distance);
	bool *taken = xcalloc(pb->n_results + 1, sizeof *taken);
	for (uint32_t i = 0; i < ps.list.n; i++) {
		pair_candidate c = ps.list.p[i];
		/* Distance 0 returns the argument itself: nothing was updated, nothing is carried. */
		if (c.distance && !taken[c.result] && pb->result_of_arg[c.arg] < 0) {
			taken[c.result] = true;
			pb->result_of_arg[c.arg] = (int32_t)c.result;
			pb->pairing = "dataflow";
		}
	}
	free(taken);
	free(seen);
	free(dist);
	free(queue);
	vec_release(&ps.list);
}

/* State is carried to the next step and only ever updated elementwise; a parameter is carried and also feeds the
 * computation (contractions, lookups, broadcasts, convolutions, loops). */
static bool only_updated(const program *p, pval_id arg, uint32_t *seen, uint32_t stamp, pval_id *stack)
{
	uint32_t n = 0;
	stack[n++] = arg;
	seen[arg] = stamp;
	const type *ty = pval_type(p, arg);
	while (n) {
		pval_id v = stack[--n];
		const pval *pv = &p->vals.p[v];
		for (uint32_t u = 0; u < pv->n_uses; u++) {
			const node *user = &p->nodes.p[p->slot_node.p[p->uses.p[pv->uses + u]]];
			if (user->kind == NODE_TERMINATOR || user->kind == NODE_RESULT)
				continue;
			if (!carries(p, user))
				return false;
			pval_id r = node_slots(p, user)[user->n_operands];
			if (pval_type(p, r)->elements != ty->elements)
				return false;
			if (seen[r] != stamp) {
				seen[r] = stamp;
				stack[n++] = r;
			}
		}
	}
	return true;
}

void problem_find_roles(problem *pb)
{
	const program *p = pb->p;
	pb->pairing = "none";
	for (uint32_t a = 0; a < pb->n_args; a++) {
		pb->result_of_arg[a] = pb->dn.result_of_arg[a] >= 0 ? pb->dn.result_of_arg[a] : -1;
		if (pb->result_of_arg[a] >= 0)
			pb->pairing = "donation";
	}
	if (!strcmp(pb->pairing, "none"))
		pair_by_dataflow(pb);

	bool any_carried = false;
	for (uint32_t a = 0; a < pb->n_args; a++)
		any_carried |= pb->result_of_arg[a] >= 0;
	uint32_t *seen = xcalloc(p->vals.n, sizeof *seen);
	pval_id *stack = xmalloc(p->vals.n * sizeof *stack);
	for (uint32_t a = 0; a < pb->n_args; a++) {
		const type *ty = pval_type(p, p->args.p[a]);
		bool is_float = ty->elem >= ELEM_F4E2M1FN && ty->elem <= ELEM_F64;
		if (ty->rank == 0 || ty->elements == 0)
			pb->roles[a] = ROLE_OTHER;
		else if (pb->result_of_arg[a] >= 0)
			pb->roles[a] = only_updated(p, p->args.p[a], seen, a + 1, stack) ? ROLE_STATE : ROLE_PARAMETER;
		else if (any_carried || !is_float)
			pb->roles[a] = ROLE_DATA;
		else
			pb->roles[a] = ROLE_PARAMETER; /* forward only: settled below */
	}
	free(seen);
	free(stack);
	if (any_carried)
		return;
	/* A forward pass carries nothing. Integer inputs are data; without any, the arguments whose leading size is the
	 * leading size of a result are (weights seldom share the batch size; the role only steers baselines and priors). */
	bool any_data = false;
	for (uint32_t a = 0; a < pb->n_args; a++)
		any_data |= pb->roles[a] == ROLE_DATA;
	for (uint32_t a = 0; a < pb->n_args && !any_data; a++) {
		const type *ty = pval_type(p, p->args.p[a]);
		for (uint32_t r = 0; r < pb->n_results && pb->roles[a] == ROLE_PARAMETER; r++) {
			const type *rt = pval_type(p, p->results.p[r]);
			if (ty->rank && rt->rank && rt->dims[0] > 1 && ty->dims[0] == rt->dims[0])
				pb->roles[a] = ROLE_DATA;
		}
	}
}

status search_roles(const module *m, role *out, diag *d)
{
	problem pb = {0};
	rule_table_init(&pb.rules);
	pb.m = module_clone(m);
	status s = passes_import(pb.m, d);
	if (s == ST_OK)
		s = program_new(pb.m, &pb.rules, false, &pb.p, d);
	if (s == ST_OK)
		s = donation_read(pb.m, &pb.dn, d);
	if (s == ST_OK) {
		pb.n_args = pb.p->args.n;
		pb.n_results = pb.p->results.n;
		pb.roles = arena_zarray(&pb.mem, role, pb.n_args + 1);
		pb.result_of_arg = arena_array(&pb.mem, int32_t, pb.n_args + 1);
		problem_find_roles(&pb);
		memcpy(out, pb.roles, pb.n_args * sizeof *out);
	}
	problem_release(&pb);
	return s;
}
