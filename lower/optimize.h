/* What the passes of the optimized level share (optimize.c says what they are). */
#ifndef SHARDWRIGHT_LOWER_OPTIMIZE_H
#define SHARDWRIGHT_LOWER_OPTIMIZE_H

#include "lower/internal.h"

typedef struct fact {               /* of a value of the placed program */
	const collective_step *partial; /* all_reduce that could come later */
	sharding_id at; /* of the partial sum: reshards in between could come later too */
	const collective_step *pending; /* all_reduce that the reshards behind it will do or fold */
	const collective_step
		*carried;       /* of a loop's result: all_reduce that was in its body; compiled level */
	type_id carried_as; /* what it is reduced as, if not as what it is; ID_NONE */
	lval_id alias;      /* the value that stands for it */
	lval_id base;       /* first value of the chain of reshards it is in */
	lval_id now;        /* in the new program */
	lop_id user;        /* one of the ops that read it */
	lop_id again;       /* of a reshard: the broadcast of a scalar that is made again instead; else
	                       ID_NONE */
	uint32_t uses;
	bool parameter; /* an argument of main that is no integer, possibly converted */
	bool sum, need; /* a sum of partial sums; stays partial */
	bool scattered; /* partial: what scatters wrote, compiled level alone */
} fact;

/* reduce_scatter instead of all_reduce and all_slice. */
typedef struct scatter_entry {
	axes reduced;
	sharding_id from, to;
	type_id type;
	bool possible;
	collective_step scatter, rest;
	axes left; /* of the reduced ones: summed up behind the scatter */
	bool has_rest;
	uint32_t n_dims; /* that are scattered */
	int64_t scatter_bytes, rest_bytes;
} scatter_entry;

/* How far from the end a value is read. */
typedef struct reading {
	uint32_t
		highest;     /* 1 + height of the user that is farthest from the end; 0: nothing reads it */
	uint32_t lowest; /* height of the user that is nearest to the end */
	lop_id farthest, nearest; /* these users */
} reading;

struct optimizer {
	VEC(fact) facts;
	VEC(lop_id) moved;     /* by placed op: its place in the new program */
	VEC(uint32_t) height;  /* by placed op: find_heights */
	VEC(reading) readings; /* by placed value: find_heights */
	VEC(uint32_t) loops;   /* heights of the loops around the current op */
	VEC(bool) live;        /* by placed op */
	VEC(lop_id) linear;    /* placed ops that partial sums come from or could pass through */
	index_map seen;
	index_map scatter_index;
	VEC(scatter_entry *) scatters;
};

typedef struct pass {
	lower_cache *c;
	struct optimizer *o;
	fact *f;
	const lowered *in;
	lowered *out;
	lop_id *moved;
	bool *live;
	lower_level level;
	lower_target target;
	bool heights; /* are known */
	/* what there is in the program, so that passes that look for it need not */
	bool regions, all_reduces, sums;
} pass;

static inline lval_id operand_of(const lowered *l, const lop *o, uint32_t i)
{
	return l->operands.p[o->operands + i];
}
static inline uint16_t kind_of(const pass *p, const lop *o)
{
	return o->node == ID_NONE ? OP_UNKNOWN : p->c->p->nodes.p[o->node].op_kind;
}
static inline bool is_reshard(const lop *o)
{
	return o->kind == LOP_COLLECTIVE && o->coll != COLL_ALL_REDUCE && !o->given;
}
static inline bool is_all_reduce(const lop *o)
{
	return o->kind == LOP_COLLECTIVE && o->coll == COLL_ALL_REDUCE && !o->given;
}

/* optimize_share.c */
void pass_share_reshards(pass *p);

/* optimize_sums.c */
void pass_count_uses(pass *p);
void pass_find_partial(pass *p);
void pass_choose_partial(pass *p);
void pass_find_carried(pass *p);

/* optimize_scatter.c: the reduce_scatter that an all_reduce over the axes and the slice behind it
 * come to. */
const scatter_entry *pass_find_scatter(
	pass *p, axes reduced, const collective_step *slice, type_id type);

#endif
