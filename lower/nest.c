/* Elementwise ops that are part of the one op that reads them: programs for costs alone. Most ops
 * of a training step are such: the moments and updates of an optimizer are trees of them.
 *
 * A tree is a fact of the program: elementwise ops, each read by one of the others, up to the last
 * one. Nothing but the tree's own ops and what is made of constants alone stands between its first
 * op that reads something and its last. In a lowered program it falls into parts: a part is one op
 * with others nested in it, between which nothing has to be moved, summed or fetched. So whoever
 * walks the nested ops of a part and then the op walks the program in its own order, and what
 * depends on the order of ops comes out the same. */
#include "lower/internal.h"

#include <string.h>

typedef struct part {
	uint32_t root;          /* the op that stays: its place in tree.nodes */
	const plan_entry *plan; /* its plan */
	const uint32_t
		*leaves; /* what is read from elsewhere, once for every read: places in tree.vals */
	nest nest;
} part;

/* Trees of one class at certain shardings. */
typedef struct tree_state {
	uint32_t class;
	const sharding_id *at;    /* by tree.vals */
	const part *const *parts; /* by tree.nodes: that it is in; NULL: it is an op as any other */
} tree_state;

typedef struct tree {
	const node_id *nodes;  /* ascending */
	const pval_id *vals;   /* that they read or make */
	const uint32_t *slots; /* of all nodes, one after the other: places in vals */
	uint32_t n_nodes, n_vals, n_slots;
	uint32_t class;
	const tree_state *state; /* that of c->now, or of an earlier program */
} tree;

/* Trees alike in all that states depend on, as those of repeated layers are. */
typedef struct tree_class {
	uint32_t first;         /* of its trees */
	const tree_state *last; /* found for one of them; NULL: none yet */
} tree_class;

struct nesting {
	arena mem;
	uint8_t *ways;     /* by node: nest_way */
	node_id *reader;   /* by node that may be nested; ID_NONE */
	uint32_t *tree_of; /* by node; ID_NONE */
	uint32_t *number;  /* by node of a tree: its place there */
	VEC(tree) trees;
	VEC(tree_class) classes;
	index_map by_shardings; /* of classes: states */
	VEC(const tree_state *) states;
	VEC(uint8_t) current;    /* by tree: its state is that of c->now */
	uint32_t *first_tree_of; /* by value, and the end: in trees_of */
	VEC(uint32_t) trees_of;
	bool misfit;
	/* of the state that is made now, by tree.nodes */
	VEC(const plan_entry *) still; /* plans; NULL: something moves there */
	VEC(uint32_t) root;            /* of the part that the node is in */
	VEC(uint32_t) place;           /* among the part's nested ops */
	VEC(nested_op) ops;
	VEC(uint8_t) reads;
	VEC(uint32_t) leaves;
};

/* ---------------------------------------------------------------- trees, once */

static pval_id result_of(const program *p, node_id id)
{
	return node_slots(p, &p->nodes.p[id])[p->nodes.p[id].n_operands];
}

static node_id reader_of(const program *p, node_id id)
{
	return p->slot_node.p[p->uses.p[p->vals.p[result_of(p, id)].uses]];
}

/* Read by one op that is not dead, as partial sums have to be that stay partial (optimize_sums.c).
 */
static bool is_read_once(const program *p, const pval *v)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < v->n_uses; i++)
		n += !p->nodes.p[p->slot_node.p[p->uses.p[v->uses + i]]].dead;
	return n <= 1;
}

/* Could the optimized level sum it later? sums: by node in front of the reader. */
static bool may_stay_partial(const program *p, const bool *sums, pval_id v)
{
	node_id def = p->vals.p[v].def;
	return def != ID_NONE && sums[def] && is_read_once(p, &p->vals.p[v]);
}

/* Is its first operand a sum of partial sums? */
static bool is_kept_sum(const program *p, const bool *sums, const bool *stays, node_id id)
{
	pval_id v = node_slots(p, &p->nodes.p[id])[0];
	return may_stay_partial(p, sums, v) && stays[p->vals.p[v].def] &&
		p->nodes.p[p->vals.p[v].def].op_kind == OP_ADD;
}

/* Nodes that partial sums pass through stand for themselves: sums of two of them, and in loops
 * whatever a sum that is carried could be made of. */
static void keep_sums(struct nesting *x, const program *p)
{
	bool *sums = xcalloc(p->nodes.n + 1, sizeof *sums),
		 *stays = xcalloc(p->nodes.n + 1, sizeof *stays);
	for (node_id id = p->main_first; id < p->main_end; id++) {
		const node *n = &p->nodes.p[id];
		uint32_t partial = 0;
		for (uint32_t i = 0; i < n->n_operands; i++)
			partial += may_stay_partial(p, sums, node_slots(p, n)[i]);
		switch (n->op_kind) {
		case OP_CONSTANT:
		case OP_SDY_CONSTANT:
		case OP_IOTA:
		case OP_BROADCAST_IN_DIM: break;
		case OP_ADD:
		case OP_CONVERT:
			sums[id] = partial > 0;
			stays[id] = n->parent != ID_NONE ? partial > 0 : partial > 1;
			break;
		case OP_TRANSPOSE: /* stands in front of the sum over devices at the exact level */
			sums[id] = true;
			stays[id] = partial > 0;
			break;
		case OP_DIVIDE:
		case OP_MULTIPLY: /* of a sum, by a number: as that one */
			sums[id] = stays[id] = n->n_operands == 2 && is_kept_sum(p, sums, stays, id) &&
				is_splat_constant(p, node_slots(p, n)[1]);
			break;
		default: sums[id] = !n->elementwise;
		}
	}
	for (node_id id = p->main_first; id < p->main_end; id++)
		if (x->reader[id] != ID_NONE && (stays[id] || stays[x->reader[id]])) {
			x->ways[id] = NEST_NOT;
			x->reader[id] = ID_NONE;
		}
	free(sums);
	free(stays);
}

/* Whose tree every node is in: x->tree_of names last ops afterwards. */
static void find_roots(lower_cache *c)
{
	const program *p = c->p;
	struct nesting *x = c->nesting;
	node_id next = ID_NONE; /* the op that is in no tree, or the last of one, and is met next behind
	                           this place */
	uint32_t mark = c->n_marks, *count = xcalloc(p->nodes.n + 1, sizeof *count);
	memset(x->tree_of, 0xff, p->nodes.n * sizeof *x->tree_of);
	for (node_id id = p->main_end; id-- > p->main_first;) {
		for (; mark && c->marks[mark - 1] > id; mark--)
			next = ID_NONE; /* stretches are kept apart */
		uint8_t way = x->ways[id];
		node_id reader = x->reader[id];
		if (way == NEST_CONSTANT)
			continue;
		node_id root = reader == ID_NONE    ? ID_NONE
			: x->tree_of[reader] != ID_NONE ? x->tree_of[reader]
											: reader;
		bool free = way == NEST_DROPPED || way == NEST_ANYWHERE;
		if (way == NEST_DROPPED ||
			((way == NEST_ANYWHERE || (way == NEST_INSIDE && root == next)) &&
				count[root] < MAX_NESTED)) {
			x->tree_of[id] = x->tree_of[root] = root;
			count[root] += way != NEST_DROPPED;
		} else if (!free) {
			next = id;
		} else {
			x->ways[id] = NEST_NOT; /* too many */
			x->reader[id] = ID_NONE;
		}
	}
	free(count);
}

static const void *keep(arena *mem, const void *p, size_t n)
{
	return n ? memcpy(arena_alloc(mem, n), p, n) : NULL;
}

/* nodes: descending. seen: by value: the last tree with it, and its place there. */
static void add_tree(lower_cache *c, const node_id *nodes, uint32_t n, uint32_t (*seen)[2])
{
	const program *p = c->p;
	struct nesting *x = c->nesting;
	uint32_t id = x->trees.n;
	node_id *list = arena_array(&x->mem, node_id, n);
	VEC(uint32_t) slots = {0};
	x->leaves.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		node_id k = list[i] = nodes[n - 1 - i];
		x->tree_of[k] = id;
		x->number[k] = i;
		for (uint32_t j = 0; j < (uint32_t)p->nodes.p[k].n_operands + p->nodes.p[k].n_results;
			 j++) {
			pval_id v = node_slots(p, &p->nodes.p[k])[j];
			if (seen[v][0] != id) {
				seen[v][0] = id;
				seen[v][1] = x->leaves.n;
				vec_push(&x->leaves, v);
			}
			vec_push(&slots, seen[v][1]);
		}
	}
	tree t = {.nodes = list, .n_nodes = n, .n_vals = x->leaves.n, .n_slots = slots.n};
	t.vals = keep(&x->mem, x->leaves.p, x->leaves.n * sizeof *x->leaves.p);
	t.slots = keep(&x->mem, slots.p, slots.n * sizeof *slots.p);
	vec_push(&x->trees, t);
	vec_release(&slots);
}

/* The last op of a tree stands behind all others, which are chained up to it. */
static void make_trees(lower_cache *c)
{
	const program *p = c->p;
	struct nesting *x = c->nesting;
	node_id *last = xmalloc((p->nodes.n + 1) * sizeof *last),
			*before = xmalloc((p->nodes.n + 1) * sizeof *before);
	uint32_t(*seen)[2] = xmalloc((p->vals.n + 1) * sizeof *seen);
	VEC(node_id) nodes = {0};
	memset(last, 0xff, p->nodes.n * sizeof *last);
	memset(seen, 0xff, p->vals.n * sizeof *seen);
	for (node_id id = p->main_first; id < p->main_end; id++) {
		node_id root = x->tree_of[id];
		if (root == ID_NONE)
			continue;
		before[id] = last[root];
		last[root] = id;
		if (root != id)
			continue;
		nodes.n = 0;
		for (node_id i = id; i != ID_NONE; i = before[i])
			vec_push(&nodes, i);
		add_tree(c, nodes.p, nodes.n, seen);
	}
	free(last);
	free(before);
	free(seen);
	vec_release(&nodes);
}

static uint64_t tree_hash(const lower_cache *c, const tree *t)
{
	uint64_t h = hash_combine(t->n_nodes, t->n_vals);
	for (uint32_t i = 0; i < t->n_nodes; i++)
		h = hash_combine(h,
			(uint64_t)c->node_class[t->nodes[i]] << 32 | (t->nodes[t->n_nodes - 1] - t->nodes[i]));
	return hash_bytes(t->slots, t->n_slots * sizeof *t->slots, h);
}

/* Equal shardings make equal states, which name nodes by how far they are in front of the last one.
 * Who reads whom is in the slots, and what is made of constants alone in the ways. */
static bool are_alike(const lower_cache *c, const tree *a, const tree *b)
{
	if (a->n_nodes != b->n_nodes || a->n_vals != b->n_vals || a->n_slots != b->n_slots ||
		memcmp(a->slots, b->slots, a->n_slots * sizeof *a->slots))
		return false;
	for (uint32_t i = 0; i < a->n_nodes; i++) {
		node_id k = a->nodes[i], n = b->nodes[i];
		if (c->node_class[k] != c->node_class[n] || c->nesting->ways[k] != c->nesting->ways[n] ||
			a->nodes[0] - k != b->nodes[0] - n)
			return false;
	}
	return true;
}

static uint32_t class_of(lower_cache *c, uint32_t k, index_map *seen)
{
	struct nesting *x = c->nesting;
	uint64_t h = tree_hash(c, &x->trees.p[k]);
	uint32_t id;
	for (uint32_t it = index_first(seen, h); index_next(seen, h, &it, &id);)
		if (are_alike(c, &x->trees.p[x->classes.p[id].first], &x->trees.p[k]))
			return id;
	index_add(seen, h, x->classes.n);
	vec_push(&x->classes, (tree_class){.first = k});
	return x->classes.n - 1;
}

static void classify_trees(lower_cache *c)
{
	index_map seen;
	index_init(&seen);
	for (uint32_t k = 0; k < c->nesting->trees.n; k++)
		c->nesting->trees.p[k].class = class_of(c, k, &seen);
	index_release(&seen);
}

/* Which trees look at a value. */
static void index_trees(struct nesting *x, const program *p)
{
	uint32_t *first = x->first_tree_of, total = 0;
	memset(first, 0, (p->vals.n + 1) * sizeof *first);
	for (uint32_t i = 0; i < x->trees.n; i++)
		for (uint32_t k = 0; k < x->trees.p[i].n_vals; k++)
			first[x->trees.p[i].vals[k]]++;
	for (pval_id v = 0; v <= p->vals.n; v++)
		total += first[v], first[v] = total;
	vec_reserve(&x->trees_of, total);
	for (uint32_t i = x->trees.n; i-- > 0;)
		for (uint32_t k = 0; k < x->trees.p[i].n_vals; k++)
			x->trees_of.p[--first[x->trees.p[i].vals[k]]] = i;
	vec_reserve(&x->current, x->trees.n + 1);
	memset(x->current.p, false, x->trees.n);
}

static void forget_states(struct nesting *x)
{
	index_clear(&x->by_shardings);
	x->states.n = 0;
	for (uint32_t i = 0; i < x->classes.n; i++)
		x->classes.p[i].last = NULL;
	if (x->current.p)
		memset(x->current.p, false, x->trees.n);
}

static void find_trees(lower_cache *c)
{
	const program *p = c->p;
	struct nesting *x = c->nesting;
	arena_release(&x->mem);
	arena_init(&x->mem);
	x->trees.n = x->classes.n = 0;
	forget_states(x);
	for (node_id id = 0; id < p->nodes.n; id++) {
		bool nests = x->ways[id] != NEST_NOT && x->ways[id] != NEST_CONSTANT;
		x->reader[id] = nests ? reader_of(p, id) : ID_NONE;
		if (nests && (c->onto[id] != ID_NONE || c->onto[x->reader[id]] != ID_NONE)) {
			x->ways[id] = NEST_NOT;
			x->reader[id] = ID_NONE;
		}
	}
	keep_sums(x, p);
	find_roots(c);
	make_trees(c);
	classify_trees(c);
	index_trees(x, p);
}

void lower_cache_nest(lower_cache *c, const uint8_t *ways)
{
	struct nesting *x = c->nesting;
	if (!x) {
		x = c->nesting = xcalloc(1, sizeof *x);
		arena_init(&x->mem);
		index_init(&x->by_shardings);
		x->ways = xmalloc(c->p->nodes.n + 1);
		x->reader = xmalloc((c->p->nodes.n + 1) * sizeof *x->reader);
		x->number = xcalloc(c->p->nodes.n + 1, sizeof *x->number);
		x->first_tree_of = xmalloc((c->p->vals.n + 2) * sizeof *x->first_tree_of);
		x->tree_of = xmalloc((c->p->nodes.n + 1) * sizeof *x->tree_of);
	}
	memcpy(x->ways, ways, c->p->nodes.n);
	find_trees(c);
}

void lower_cache_unnest(lower_cache *c, const node_id *nodes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		c->nesting->ways[nodes[i]] = NEST_NOT;
	find_trees(c);
}

void nesting_free(struct nesting *x)
{
	if (!x)
		return;
	arena_release(&x->mem);
	vec_release(&x->trees);
	vec_release(&x->classes);
	free(x->ways);
	free(x->reader);
	free(x->tree_of);
	free(x->number);
	free(x->first_tree_of);
	index_release(&x->by_shardings);
	vec_release(&x->states);
	vec_release(&x->current);
	vec_release(&x->trees_of);
	vec_release(&x->still);
	vec_release(&x->root);
	vec_release(&x->place);
	vec_release(&x->ops);
	vec_release(&x->reads);
	vec_release(&x->leaves);
	free(x);
}

/* ---------------------------------------------------------------- in every program */

void nest_begin(lower_cache *c) { c->nesting->misfit = false; }

void nest_value_changed(lower_cache *c, pval_id v)
{
	struct nesting *x = c->nesting;
	for (uint32_t i = x->first_tree_of[v]; i < x->first_tree_of[v + 1]; i++)
		x->current.p[x->trees_of.p[i]] = false;
}

bool nest_misfits(const lower_cache *c) { return c->nesting->misfit; }

/* The states' plans are in c->mem, and so are they. */
void nest_forget(lower_cache *c)
{
	if (c->nesting)
		forget_states(c->nesting);
}

size_t nest_index_bytes(const lower_cache *c)
{
	return c->nesting ? c->nesting->by_shardings.cap * (sizeof(uint64_t) + sizeof(uint32_t)) : 0;
}

/* The node's plan when nothing moves around it, else NULL. */
static const plan_entry *still_plan(lower_cache *c, node_id id)
{
	const node *n = &c->p->nodes.p[id];
	uint32_t n_slots = (uint32_t)n->n_operands + n->n_results;
	vec_reserve(&c->work->slots, n_slots);
	for (uint32_t i = 0; i < n_slots; i++)
		c->work->slots.p[i] = c->now[node_slots(c->p, n)[i]];
	const plan_entry *e = cache_node(c, id, c->work->slots.p);
	return e->still ? e : NULL;
}

/* Do all those that are made of constants and read by this one stand still too? Behind x->still of
 * all of them. */
static bool is_free(const lower_cache *c, uint32_t root, node_id id)
{
	const struct nesting *x = c->nesting;
	const node *n = &c->p->nodes.p[id];
	bool free = x->still.p[x->number[id]];
	for (uint32_t i = 0; i < n->n_operands && free; i++) {
		node_id def = c->p->vals.p[node_slots(c->p, n)[i]].def;
		if (def != ID_NONE && x->ways[def] != NEST_CONSTANT)
			free = x->tree_of[def] == root && x->reader[def] == id && is_free(c, root, def);
	}
	return free;
}

/* Which part every node of the tree is in: x->root. */
static void find_parts(lower_cache *c, const tree *t)
{
	struct nesting *x = c->nesting;
	for (uint32_t i = 0; i < t->n_nodes; i++)
		x->still.p[i] = still_plan(c, t->nodes[i]);
	uint32_t next = t->n_nodes - 1; /* the op that stays and is met next behind this place */
	for (uint32_t i = t->n_nodes; i-- > 0;) {
		node_id id = t->nodes[i];
		uint32_t reader = i + 1 < t->n_nodes ? x->number[x->reader[id]] : i;
		bool free = x->ways[id] == NEST_DROPPED ||
			(x->ways[id] == NEST_ANYWHERE && is_free(c, x->tree_of[id], id));
		x->root.p[i] = i;
		if (i + 1 < t->n_nodes && x->still.p[i] && x->still.p[reader] &&
			(free || (x->ways[id] == NEST_INSIDE && x->root.p[reader] == next)))
			x->root.p[i] = x->root.p[reader];
		else if (!free)
			next = i;
	}
}

/* What a node of a part reads: operands of the op, and nested ops. slots: the node's, in
 * tree.slots. */
static uint8_t add_reads(
	lower_cache *c, const tree *t, uint32_t root, uint32_t at, const uint32_t *slots, uint8_t self)
{
	struct nesting *x = c->nesting;
	node_id id = t->nodes[at];
	uint8_t reads = 0;
	for (uint32_t i = 0; i < c->p->nodes.p[id].n_operands; i++) {
		node_id def = c->p->vals.p[t->vals[slots[i]]].def;
		bool inside = def != ID_NONE && x->tree_of[def] == x->tree_of[id] && x->reader[def] == id &&
			x->root.p[x->number[def]] == root;
		if (inside && x->ways[def] == NEST_DROPPED)
			continue;
		reads++;
		if (inside) {
			uint32_t k = x->place.p[x->number[def]];
			x->ops.p[k].reader = self;
			vec_push(&x->reads, (uint8_t)k);
		} else {
			vec_push(&x->reads, NEST_OPERAND);
			vec_push(&x->leaves, slots[i]);
		}
	}
	return reads;
}

static const part *make_part(lower_cache *c, const tree *t, uint32_t root)
{
	struct nesting *x = c->nesting;
	const uint32_t *slots = t->slots;
	x->ops.n = x->reads.n = x->leaves.n = 0;
	for (uint32_t i = 0; i < root; i++) {
		const node *n = &c->p->nodes.p[t->nodes[i]];
		if (x->root.p[i] == root && x->ways[t->nodes[i]] != NEST_DROPPED) {
			uint32_t first = x->reads.n;
			x->place.p[i] = x->ops.n;
			uint8_t n_reads = add_reads(c, t, root, i, slots, (uint8_t)x->ops.n);
			const plan_entry *e = x->still.p[i];
			vec_push(&x->ops,
				(nested_op){.before = t->nodes[root] - t->nodes[i],
					.plan = &e->plan,
					.bytes = e->bytes[n->n_operands],
					.first_read = (uint16_t)first,
					.n_reads = n_reads});
		}
		slots += n->n_operands + n->n_results;
	}
	part *y = arena_array(&c->mem, part, 1);
	*y = (part){.root = root, .plan = x->still.p[root]};
	y->nest.n_nested_operands = (uint16_t)x->leaves.n;
	y->nest.first_read = (uint16_t)x->reads.n;
	y->nest.n_reads = add_reads(c, t, root, root, slots, NEST_ROOT);
	y->nest.n_operands = (uint16_t)x->leaves.n;
	y->nest.n_ops = (uint8_t)x->ops.n;
	y->leaves = keep(&c->mem, x->leaves.p, x->leaves.n * sizeof *x->leaves.p);
	y->nest.ops = keep(&c->mem, x->ops.p, x->ops.n * sizeof *x->ops.p);
	y->nest.reads = keep(&c->mem, x->reads.p, x->reads.n);
	return y;
}

static const part *const *make_parts(lower_cache *c, const tree *t)
{
	struct nesting *x = c->nesting;
	const part **parts = arena_zarray(&c->mem, const part *, t->n_nodes);
	vec_reserve(&x->still, t->n_nodes);
	vec_reserve(&x->root, t->n_nodes);
	vec_reserve(&x->place, t->n_nodes);
	find_parts(c, t);
	for (uint32_t i = 0; i < t->n_nodes; i++) {
		uint32_t root = x->root.p[i];
		if (root != i && !parts[root])
			parts[root] = make_part(c, t, root);
		if (root != i)
			parts[i] = parts[root];
	}
	return parts;
}

static bool is_at(const lower_cache *c, const tree *t, const sharding_id *at)
{
	uint32_t i = 0;
	while (i < t->n_vals && at[i] == c->now[t->vals[i]])
		i++;
	return i == t->n_vals;
}

static const tree_state *make_state(lower_cache *c, const tree *t)
{
	sharding_id *at = arena_array(&c->mem, sharding_id, t->n_vals);
	for (uint32_t i = 0; i < t->n_vals; i++)
		at[i] = c->now[t->vals[i]];
	tree_state *s = arena_array(&c->mem, tree_state, 1);
	*s = (tree_state){.class = t->class, .at = at, .parts = make_parts(c, t)};
	return s;
}

/* The state that the tree is in now: most often that of the tree alike before it. */
static const tree_state *find_state(lower_cache *c, const tree *t)
{
	struct nesting *x = c->nesting;
	const tree_state **last = &x->classes.p[t->class].last;
	if (*last && is_at(c, t, (*last)->at))
		return *last;
	uint64_t h = t->class;
	uint32_t id;
	for (uint32_t i = 0; i < t->n_vals; i++)
		h = (h ^ c->now[t->vals[i]]) * 0x9e3779b97f4a7c15ull ^ h >> 29;
	h = hash_mix(h);
	for (uint32_t it = index_first(&x->by_shardings, h); index_next(&x->by_shardings, h, &it, &id);)
		if (x->states.p[id]->class == t->class && is_at(c, t, x->states.p[id]->at))
			return *last = x->states.p[id];
	const tree_state *s = make_state(c, t);
	index_add(&x->by_shardings, h, x->states.n);
	vec_push(&x->states, s);
	return *last = s;
}

static void build_part(lower_cache *c, lowered *l, const tree *t, const part *x, lop_id region)
{
	node_id id = t->nodes[x->root];
	const node *n = &c->p->nodes.p[id];
	lop_id o = lowered_add_op(l, LOP_COMPUTE, id, region);
	lop *op = &l->ops.p[o];
	op->plan = &x->plan->plan;
	op->nest = &x->nest;
	op->n_operands = x->nest.n_operands;
	vec_reserve(&l->operands, l->operands.n + op->n_operands);
	lval_id *to = l->operands.p + l->operands.n;
	for (uint32_t i = 0; i < op->n_operands; i++) {
		pval_id leaf = t->vals[x->leaves[i]];
		to[i] = c->work->current[leaf];
		lval *v = &l->vals.p[to[i]];
		v->n_uses++;
		c->nesting->misfit |= v->sharding != c->now[leaf];
	}
	l->operands.n += op->n_operands;
	pval_id v = node_slots(c->p, n)[n->n_operands];
	c->work->current[v] = lowered_add_result(l, o, v, x->plan->plan.at[n->n_operands],
		c->p->vals.p[v].type, x->plan->bytes[n->n_operands]);
}

bool nest_build(lower_cache *c, lowered *l, node_id id, lop_id region)
{
	struct nesting *x = c->nesting;
	uint32_t k = x->tree_of[id];
	if (k == ID_NONE)
		return false;
	tree *t = &x->trees.p[k];
	if (!x->current.p[k]) {
		t->state = find_state(c, t);
		x->current.p[k] = true;
	}
	const part *y = t->state->parts[x->number[id]];
	if (y && y->root == x->number[id])
		build_part(c, l, t, y, region);
	return y;
}
