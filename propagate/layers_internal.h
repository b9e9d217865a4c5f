/* Shared by the files that find layers (layers.c, layers_looks.c, layers_grow.c, layers_text.c). */
#ifndef SW_LAYERS_INTERNAL_H
#define SW_LAYERS_INTERNAL_H

#include "propagate/program_internal.h"

enum { MIN_LAYERS = 6 };

typedef struct finder {
	const program *p;
	uint64_t *looks; /* by node: all that decides how it is propagated, lowered and costed, operands
	                    apart */
	node_id *unit, *unit_end; /* by node: the first of the unit it is in; by first of a unit: behind
	                             its last */
	layering *ly;
	node_id *node_before;
	pval_id *val_before;
	bool *node_held, *val_held; /* in layers of a stack that was found before */
	VEC(node_id)
	todo; /* nodes whose pair has not been followed yet; then chains whose neighbours have no layer
	         yet */
	VEC(node_id)
	later; /* nodes that read results of scalar ops, which are followed when nothing else is left */
	uint32_t grown;
} finder;

/* layers_looks.c: looks of all nodes; units of loops and branches with their edges. */
void layers_look(finder *f);
void layers_find_units(finder *f);
/* What a scalar op made from scalars alone. Layers that each add something to a sum (the norm of
 * all gradients) do so in the order of their names: "10" comes before "2". So such a value says
 * little about which layers are neighbours. */
bool layers_is_summed(const program *p, pval_id v);

/* layers_grow.c: forgets all but the stacks that are held. */
void layers_clear(finder *f);
/* Grows counterparts from a pair of nodes, and numbers their layers. */
void layers_grow(finder *f, node_id a, node_id b);
/* Values whose ops have no counterparts any more have none. */
void layers_drop_orphans(finder *f);

/* layers_text.c: counterparts were numbered along reads, which may put an op into the layer before
 * or behind the one it stands in. Where ops of several chains alternate, those of one layer are
 * made to stand together: the first chain met says where its layers begin. */
void layers_follow_text(finder *f);

#endif
