/* Where an internal sharding constraint pays: classes of internal dims (activations: sequence,
 * context, hidden dims) that no argument's dim belongs to, so that no decision about arguments
 * reaches them directly. Between contractions a class is one stream of tensors; one constraint on
 * the first of them is carried through the stream by propagation. The streams of repeated layers
 * are constrained together. */
#include "search/problem/problem.h"

#include <stdlib.h>

enum { MAX_SITES = 24 };

typedef struct stream {
	uint32_t root; /* of the dim class */
	pval_id first; /* the first value of the stream that the input module's main names */
	uint32_t dim, members;
	int64_t bytes;
	bool of_argument;
	uint64_t kind;
} stream;

/* Streams of the same kind stand for each other: what defines the first value, its type, and how
 * many tensors follow. */
static uint64_t kind_of(const program *p, const stream *s)
{
	const pval *v = &p->vals.p[s->first];
	const node *n = &p->nodes.p[v->def];
	return hash_combine(
		hash_combine(hash_combine(n->op_kind, n->rule), hash_combine(v->type, s->dim)), s->members);
}

/* Pre-order index of the defining op in main of the input module; ID_NONE when it is no op of it.
 */
static uint32_t *site_indices(const module *original)
{
	uint32_t *index = xmalloc((original->ops.n + 1) * sizeof *index), n = 0;
	for (op_id o = 0; o < original->ops.n; o++)
		index[o] = ID_NONE;
	op_id main = module_main((module *)(uintptr_t)original)->op;
	for (op_id o = op_walk_next(original, main, main); o != ID_NONE;
		 o = op_walk_next(original, main, o))
		index[o] = n++;
	return index;
}

static int by_kind(const void *a, const void *b)
{
	const stream *x = a, *y = b;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

typedef struct span { /* streams of one kind */
	uint32_t from, n;
	int64_t bytes;
} span;
static int by_bytes(const void *a, const void *b)
{
	const span *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

bool problem_is_site(const problem *pb, pval_id v)
{
	const pval *pv = &pb->p->vals.p[v];
	const node *n = pv->def == ID_NONE ? NULL : &pb->p->nodes.p[pv->def];
	return n && n->kind == NODE_OP && n->op < pb->n_site_ops && pb->site_op[n->op] != ID_NONE &&
		pv->result_index < 0 && pv->value != ID_NONE && pv->group == ID_NONE &&
		!(op_at(pb->m, n->op)->flags &
			OPS_MERGED); /* its other ops would need the constraint too */
}

static uint32_t list_streams(const problem *pb, stream **out)
{
	const program *p = pb->p;
	dim_classes c;
	dim_classes_init(&c, p, false);
	uint32_t n_dims = c.first[p->vals.n], n = 0;
	stream *all = xcalloc(n_dims + 1, sizeof *all);
	for (uint32_t i = 0; i < n_dims; i++)
		all[i].first = ID_NONE;
	for (pval_id v = 0; v < p->vals.n; v++) {
		const pval *pv = &p->vals.p[v];
		const ir_type *ty = pval_type(p, v);
		int64_t bytes = sharding_local_bytes(pb->m->shardings, SHARDING_NONE, ty);
		bool site = problem_is_site(pb, v);
		for (uint32_t d = 0; d < ty->rank; d++) {
			stream *s = &all[c.of[c.first[v] + d]];
			s->root = c.of[c.first[v] + d];
			s->members++;
			s->bytes = sat_add(s->bytes, bytes);
			s->of_argument |= pv->arg_index >= 0 || pv->result_index >= 0;
			if (site && (s->first == ID_NONE || p->vals.p[v].def < p->vals.p[s->first].def)) {
				s->first = v;
				s->dim = d;
			}
		}
	}
	for (uint32_t i = 0; i < n_dims; i++)
		if (all[i].members > 1 && all[i].first != ID_NONE && !all[i].of_argument &&
			pval_type(p, all[i].first)->dims[all[i].dim] > 1) {
			all[n] = all[i];
			all[n].kind = kind_of(p, &all[n]);
			n++;
		}
	dim_classes_release(&c);
	*out = all;
	return n;
}

void problem_find_sites(problem *pb, const module *original)
{
	uint32_t *op_index = site_indices(original);
	pb->n_site_ops = original->ops.n;
	pb->site_op = arena_array(&pb->mem, uint32_t, original->ops.n + 1);
	memcpy(pb->site_op, op_index, original->ops.n * sizeof *op_index);
	free(op_index);
	stream *list;
	uint32_t n = list_streams(pb, &list), n_spans = 0;
	qsort(list, n, sizeof *list, by_kind);
	span *spans = xmalloc((n + 1) * sizeof *spans);
	for (uint32_t i = 0; i < n; i++) {
		if (i == 0 || list[i].kind != list[i - 1].kind)
			spans[n_spans++] = (span){.from = i};
		spans[n_spans - 1].n++;
		spans[n_spans - 1].bytes = sat_add(spans[n_spans - 1].bytes, list[i].bytes);
	}
	qsort(spans, n_spans, sizeof *spans, by_bytes);
	pb->n_activation_classes = MIN(n_spans, (uint32_t)MAX_SITES);
	pb->activation_classes = arena_zarray(&pb->mem, activation_class, pb->n_activation_classes + 1);
	for (uint32_t k = 0; k < pb->n_activation_classes; k++) {
		activation_class *sc = &pb->activation_classes[k];
		sc->bytes = spans[k].bytes;
		sc->n = spans[k].n;
		sc->targets = arena_array(&pb->mem, action_target, sc->n);
		for (uint32_t i = 0; i < sc->n; i++)
			sc->targets[i] =
				(action_target){list[spans[k].from + i].first, list[spans[k].from + i].dim};
	}
	free(spans);
	free(list);
}

pval_id problem_site(const problem *pb, uint32_t op_index, uint32_t result)
{
	for (pval_id v = 0; v < pb->p->vals.n; v++) {
		if (!problem_is_site(pb, v))
			continue;
		op_id o = value_def(pb->m, pb->p->vals.p[v].value);
		if (pb->site_op[o] == op_index && op_result(pb->m, o, result) == pb->p->vals.p[v].value)
			return v;
	}
	return ID_NONE;
}

void problem_give_sites(problem *pb, const action_target *targets, uint32_t n)
{
	pval_id *all = arena_array(&pb->mem, pval_id, pb->n_given_sites + n + 1);
	if (pb->n_given_sites)
		memcpy(all, pb->given_sites, pb->n_given_sites * sizeof *all);
	for (uint32_t i = 0; i < n; i++)
		all[pb->n_given_sites + i] = targets[i].arg;
	pb->given_sites = all;
	pb->n_given_sites += n;
}

bool problem_first_of_class(const problem *pb, uint32_t arg, uint32_t dim, action_target *out)
{
	dim_classes c;
	dim_classes_init(&c, pb->p, false);
	uint32_t class = c.of[c.first[pb->p->args.p[arg]] + dim];
	*out = (action_target){ID_NONE, 0};
	for (pval_id v = 0; v < pb->p->vals.n; v++) {
		if (!problem_is_site(pb, v) ||
			(out->arg != ID_NONE && pb->p->vals.p[v].def >= pb->p->vals.p[out->arg].def))
			continue;
		for (uint32_t d = 0; d < pval_type(pb->p, v)->rank; d++)
			if (c.of[c.first[v] + d] == class)
				*out = (action_target){v, d};
	}
	dim_classes_release(&c);
	return out->arg != ID_NONE;
}
