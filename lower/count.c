/* Counts and lists of a lowered program's collectives, for people and for JSON. */
#include "lower/internal.h"

const char *collective_name(collective_kind k)
{
	static const char *const names[COLL_COUNT] = {
#define X(id, name) [COLL_##id] = name,
		COLLECTIVE_TABLE(X)
#undef X
	};
	return names[k];
}

void lowered_counts(const lowered *l, int64_t counts[COLL_COUNT])
{
	memset(counts, 0, COLL_COUNT * sizeof *counts);
	for (lop_id i = 0; i < l->ops.n; i++) {
		const lop *o = &l->ops.p[i];
		if (o->kind == LOP_COLLECTIVE && !o->erased && o->combined)
			counts[o->coll]++;
	}
}

int64_t lop_executions(const lowered *l, lop_id o)
{
	int64_t n = 1;
	for (lop_id r = l->ops.p[o].region; r != ID_NONE; r = l->ops.p[r].region)
		n = sat_mul(n, l->ops.p[r].trips);
	return n;
}

void lowered_collectives(const lowered *l, collective_visit visit, void *user)
{
	for (lop_id i = 0; i < l->ops.n; i++) {
		const lop *o = &l->ops.p[i];
		if (o->kind != LOP_COLLECTIVE || o->erased || o->coll == COLL_ALL_SLICE)
			continue;
		op_id op = o->node == ID_NONE ? ID_NONE : l->p->nodes.p[o->node].op;
		visit(user,
			&(collective_record){.kind = (collective_kind)o->coll,
				.axes = o->step->axes,
				.bytes = o->bytes,
				.trip_count = lop_executions(l, i),
				.combined = o->combined,
				.op = op,
				.lop = i});
	}
}
