/* Inside of the engine; private to propagate/. */
#ifndef SW_ENGINE_H
#define SW_ENGINE_H

#include "propagate/factors.h"

/* ---------------------------------------------------------------- transfer.c */

/* How one step is taken; the value is part of the memo's key. dir_pass: direction along
 * pass-through factors, dir_other: along the rest. */
typedef uint32_t step_mode;
enum {
	MODE_OTHER_SHIFT = 2,
	MODE_BASIC = 1 << 4,
	MODE_ELEMENTWISE = 1 << 5,
	MODE_CONSERVATIVE = 1 << 6,
	MODE_DIRECTIONS = 15
};
static inline step_mode mode_directions(direction pass, direction other)
{
	return (step_mode)pass | (step_mode)other << MODE_OTHER_SHIFT;
}

typedef struct transfer_update {
	uint32_t slot;
	sharding_id sharding;
} transfer_update;

/* One thread's memo of steps: a pure function of rule, mode and the shardings of all slots (which
 * name their meshes). Two slots of the same value are two slots here: the engine writes updates one
 * after the other, as Shardy does, so sharing a value changes nothing in the function. */
typedef struct transfer_place { /* in the table */
	uint32_t at;                /* offset + 1 into words, 0: empty */
	uint32_t hash;
} transfer_place;
typedef struct transfer {
	const rule_table *rules;
	sharding_table *shardings;
	bool no_memo;
	arena scratch;
	VEC(transfer_update) fresh;
	transfer_place *table; /* of a power of two */
	uint32_t n_entries, cap, max_entries, max_words;
	VEC(uint32_t) words; /* entries: rule, mode, number of updates, slots, updates */
	transfer_stats stats;
} transfer;
void transfer_init(transfer *x, const rule_table *rules, sharding_table *t);
void transfer_release(transfer *x);
/* The grid of one step before it is taken, in the arena; false when there is no mesh to work with.
 */
bool transfer_grid(const rule *r, const sharding_table *t, step_mode mode, const sharding_id *in,
	uint32_t n, arena *mem, factor_grid *g);
/* Updates of one step, in the order they are written; valid until the next call. */
const transfer_update *transfer_anew(transfer *x, uint32_t hash, rule_id r, step_mode mode,
	const sharding_id *in, uint32_t n_slots, uint32_t *n_updates);

/* The memo is asked for every step of every walk, so it is read inline, and two words at a time.
 * Behind an odd number of slots comes a zero. */
static inline uint64_t two_words(const uint32_t *w)
{
	uint64_t both;
	memcpy(&both, w, sizeof both);
	return both;
}
static inline uint64_t transfer_hash_begin(rule_id r, step_mode mode)
{
	return ((uint64_t)r << 8 | mode) * 0x9e3779b97f4a7c15ull;
}
static inline uint64_t transfer_hash_add(uint64_t h, uint64_t pair)
{
	return (h ^ h >> 29 ^ pair) * 0xbf58476d1ce4e5b9ull;
}
static inline uint32_t transfer_hash_end(uint64_t h)
{
	return (uint32_t)(h >> 32) ^ (uint32_t)h >> 7;
}
static inline uint64_t transfer_hash(rule_id r, step_mode mode, const sharding_id *in, uint32_t n)
{
	uint64_t h = transfer_hash_begin(r, mode);
	for (uint32_t i = 0; i < n; i += 2)
		h = transfer_hash_add(h, i + 1 < n ? two_words(in + i) : in[i]);
	return h;
}
enum { TRANSFER_HEADER = 3 };
static inline bool transfer_is(
	const uint32_t *w, rule_id r, step_mode mode, const sharding_id *in, uint32_t n)
{
	if (w[0] != r || w[1] != mode)
		return false;
	w += TRANSFER_HEADER;
	uint32_t i = 0;
	for (; i + 1 < n; i += 2)
		if (two_words(w + i) != two_words(in + i))
			return false;
	return i == n || w[i] == in[i];
}
/* hash: transfer_hash, ended. */
static inline const transfer_update *transfer_find(transfer *x, uint32_t hash, rule_id r,
	step_mode mode, const sharding_id *in, uint32_t n_slots, uint32_t *n_updates)
{
	x->stats.steps++;
	if (!x->no_memo) {
		for (uint32_t i = hash & (x->cap - 1); x->table[i].at; i = (i + 1) & (x->cap - 1)) {
			const uint32_t *w = x->words.p + x->table[i].at - 1;
			if (x->table[i].hash != hash || !transfer_is(w, r, mode, in, n_slots))
				continue;
			x->stats.memo_hits++;
			*n_updates = w[2];
			return (const transfer_update *)(w + TRANSFER_HEADER + n_slots);
		}
	}
	return transfer_anew(x, hash, r, mode, in, n_slots, n_updates);
}
static inline const transfer_update *transfer_updates(transfer *x, rule_id r, step_mode mode,
	const sharding_id *in, uint32_t n_slots, uint32_t *n_updates)
{
	return transfer_find(
		x, transfer_hash_end(transfer_hash(r, mode, in, n_slots)), r, mode, in, n_slots, n_updates);
}

/* ---------------------------------------------------------------- engine.c */

enum {
	ROUNDS = OP_PRIORITY_ROUNDS,
	ROUND_ANY = ROUNDS - 1,
	ROUND_NONE = ROUNDS
}; /* the last round has no restriction */

/* What the engine needs of a node, flat and small. */
typedef struct plan {
	uint32_t slots;
	rule_id rule;
	uint16_t n_slots;
	bool manual;          /* an edge of a manual_computation */
	bool counts_uses;     /* in round 0 only when its operands have no other use */
	uint8_t flags;        /* MODE_ELEMENTWISE, MODE_CONSERVATIVE */
	bool result;          /* NODE_RESULT */
	uint8_t mode[ROUNDS]; /* directions by round; 0: the node does nothing in it, or ever without a
	                         rule with factors */
} plan;

/* .. and of a value: pval.notify, n_notify, n_touch, and the sharding group whose members follow
 * it; ID_NONE. */
typedef struct audience {
	uint32_t first, n_notify, n_touch, group;
} audience;

/* Where a settle or a run ended: length of the trail; stable: propagation_is_stable. */
typedef struct settled_at {
	uint32_t at;
	bool stable;
} settled_at;

/* reads.c: room for one call after the other; stamps say which of them an entry is of. */
typedef struct value_read {
	uint32_t changed, listed, followed;
	sharding_id before; /* when changed */
} value_read;
typedef struct settle_reads {
	VEC(value_is) list;
	value_read *vals; /* NULL: no call so far */
	uint32_t *nodes, stamp;
} settle_reads;

/* waves.c: what is known of waves, and room for one settle after the other; stamps say which of
 * them an entry is of. */
typedef struct wave wave;
typedef struct wave_entry { /* waves by their first seed */
	value_is seed;
	read_node *root;
} wave_entry;
typedef struct wave_value {
	uint32_t seed, joined, written, followed, rooted; /* stamps */
	uint32_t read;                                    /* part_stamp */
	bool taken;                                       /* of a seed: by a known wave */
	uint32_t parent;    /* joined: towards the one that stands for all of its wave */
	uint32_t part;      /* of that one, rooted: which */
	sharding_id before; /* written: sharding when the settle began */
} wave_value;
typedef struct wave_node {
	uint32_t stamp,
		owner; /* a known wave, numbered behind all values; or a changed value that it sees */
	uint32_t listed;
} wave_node;
typedef struct wave_chain {
	uint32_t first, last;
} wave_chain;
typedef struct wave_part {
	wave_chain seeds, written;
} wave_part;
typedef struct waves {
	VEC(wave_entry) entries;
	index_map by_seed;
	read_tree tree;
	size_t limit;
	wave_value *vals; /* NULL: no settle so far */
	wave_node *nodes;
	uint32_t stamp, part_stamp;
	sharding_id set; /* a bit that marks the sharding of a seed as set now */
	VEC(const wave *) found;
	VEC(value_is) seeds, written, reads, of_part;
	VEC(wave_part) parts;
	VEC(uint32_t) next_seed, next_written, packed;
} waves;

struct propagation {
	sharding_id *shardings; /* first member: propagation_shardings */
	const program *p;
	sharding_table *t;
	propagate_options options;
	transfer transfer;
	plan *plans;         /* by node */
	audience *audiences; /* by value */
	uint16_t *bits; /* [round][node]: its mode as a bit of `clean`; 0 for a node without a step and,
	                   as no walk visits it, a result */
	uint16_t *result_bits; /* by result of main: the same, in the last round */
	node_id *result_nodes; /* by result of main */
	VEC(trail_change) trail;
	VEC(settled_at) settles;
	/* worklist: `waiting` has the nodes of the first walk that are still to come, `stack` what was
	 * queued since */
	uint64_t *waiting,
		*changed; /* changed: who sees a value of the trail since the settle began, up to n_seen */
	uint32_t n_words, n_seen;
	uint64_t exchanged; /* trail length, and how, at which exchanging results last changed nothing;
	                       UINT64_MAX: not in these walks */
	node_id at;         /* the walk has come this far */
	VEC(node_id) stack;
	bool *in_stack;
	uint32_t *clean; /* by node: modes whose step changes nothing while the node's values stay as
	                    they are; none without a memo */
	bool stale;      /* values changed without regard to `clean` */
	sharding_id *in; /* slots of the node being processed */
	bool *erased;    /* by node: dead and gone */
	uint32_t *uses;  /* by IR value, less those of erased ops */
	bool all_dead_erased;
	change_log *log; /* NULL: nobody asks */
	settle_reads reads;
	waves waves;
};

/* ---------------------------------------------------------------- reads.c */

void reads_release(settle_reads *r);

/* ---------------------------------------------------------------- waves.c */

void waves_release(waves *w);
/* Settles what the trail has from `from` on, writing the waves that are known. False, and nothing
 * done, where it has no way to. */
bool waves_settle(propagation *s, uint32_t from);

/* ---------------------------------------------------------------- origins.c */

/* What the trail has from `from` on is due to the update of one slot by a node's step; round
 * ROUND_NONE: outside of op priorities. */
void log_update(propagation *s, uint32_t from, node_id n, uint32_t slot, step_mode mode,
	uint32_t round, bool first);
/* .. to a round of the user's priorities that begins. */
void log_round(propagation *s, uint32_t from, change_cause cause, int32_t user_priority);
/* The dim of a tensor that a factor is part of; ID_NONE when it has none. */
uint32_t tensor_dim_of_factor(const rule *r, uint32_t tensor, uint32_t factor);

/* ---------------------------------------------------------------- explain.c */

/* propagation_run, written down and told. pass: its name. */
void explain_run(
	explanation *e, const char *pass, const program *p, propagation *s, const propagate_options *o);

/* Before a walk over everything: no node is known to be clean unless it was seen to be since the
 * last change. */
void engine_forget_clean(propagation *s);
/* Walks that follow and are not over everything start from what sees the values that are named
 * after this. */
void engine_begin(propagation *s);
void engine_start(propagation *s, pval_id v);
/* One walk of Shardy's driver, in round `round`; func results are exchanged before and after. */
void engine_walk(propagation *s, bool basic, uint32_t round, bool everything);
/* Marks the dead ops that no walk has met yet. */
void engine_erase_dead(propagation *s);
/* Trail length at the end of the last settle or run, and saying that this is one. */
uint32_t engine_settled(const propagation *s);
void engine_mark_settled(propagation *s, bool stable);
/* After a walk: it ended with nothing to exchange. */
bool engine_has_exchanged(const propagation *s);

/* ---------------------------------------------------------------- priority.c */

/* Directions of a node in an op-priority round, along pass-through and other factors. */
step_mode round_directions(const rule_table *rules, const node *n, uint32_t round);
/* All rounds, with the strategy or strategies of the options. */
void run_op_priority(propagation *s, bool everything);

/* ---------------------------------------------------------------- manual.c */

/* The edge of a manual_computation that a node is; NULL when it is none. */
const manual_edge *manual_edge_of(const program *p, node_id n);
/* Its last slot as a step sees it, and back. */
sharding_id manual_enter(sharding_table *t, const manual_edge *e, sharding_id sh);
sharding_id manual_leave(sharding_table *t, const manual_edge *e, sharding_id sh);

#endif
