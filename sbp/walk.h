/* Private to infer.c and regions.c: a module on its way through inference. */
#ifndef SW_SBP_WALK_H
#define SW_SBP_WALK_H

#include "sbp/sbp.h"

struct state {
	nd_sbp sbp;
	mesh_id placement;
	bool free; /* made of constants */
};

struct cached {
	size_t n;
	const uint8_t *key;
	sbp_choice choice;
};

struct walk {
	const module *m;
	sbp_inference *x;
	struct state *of; /* by value */
	uint32_t *boxed;  /* by value: its newest boxing, ID_NONE; may be forgotten again (try_body) */
	VEC(struct cached) cache;
	index_map index;
	strbuf key;
	uint32_t loops, dry_runs; /* around the op at hand */
	diag *d;
};

/* infer.c: brings operand i of an op to an SBP. */
status walk_box(struct walk *w, op_id o, uint32_t i, const nd_sbp *to) MUST_USE;
/* What a value came out as. */
void walk_set(struct walk *w, value_id v, const struct state *s);
/* What leaves a region or a function is no partial sum. */
nd_sbp walk_whole(const nd_sbp *s);
/* One op with signatures. */
status walk_op(struct walk *w, op_id o) MUST_USE;

/* regions.c: the ops of a region, in order. */
status walk_region(struct walk *w, region_id r) MUST_USE;

#endif
