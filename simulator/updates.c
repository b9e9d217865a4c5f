/* Arguments that are updated in parts and gathered, as ZeRO-2 does with weights.
 *
 * The update of a donated argument goes into its buffer. A gather cannot write there while
 * something may still read the argument, and XLA's copy insertion knows no order between the two:
 * it lets the program read a copy of the argument, made when the program starts, and copies what
 * was gathered into the buffer. Where the gather has to be brought into another order of dims on
 * its way, that copy is enough, and none is made of the argument: parts are gathered in order
 * along one dim, if it is cut in whole tiles. Read off 23 plans' programs by libtpu 0.0.51. */
#include "simulator/state.h"

/* The one dim along which a collective gathers; TILE_NO_DIM: several. */
static uint32_t gathered_dim(const lowered *l, const lop *o, uint32_t rank)
{
	uint32_t dim = TILE_NO_DIM;
	for (uint32_t d = 0; d < rank; d++)
		if (o->step->dim_axes[d].n) {
			if (dim != TILE_NO_DIM)
				return TILE_NO_DIM;
			dim = d;
		}
	(void)l;
	return dim;
}

/* Does what is gathered lie as the argument does? */
static bool gathers_in_order(const simulator *s, const lowered *l, const lop *o, lval_id result)
{
	const ir_type *ty = type_get(l->p->m, l->vals.p[result].type);
	uint32_t dim = gathered_dim(l, o, ty->rank);
	if (dim == TILE_NO_DIM)
		return false;
	tile_dims tile;
	device_stored_bytes(&s->dev, s->t, l->vals.p[result].sharding, ty, ALL_MINORS, &tile);
	const sharding *cut = sharding_get(s->t, o->step->in);
	int64_t part = ceil_div(ty->dims[dim], sharding_dim_parts(cut, dim));
	return part %
		(dim == tile.minor           ? s->dev.tile_minor
				: dim == tile.second ? s->dev.tile_second
									 : 1) ==
		0;
}

void copy_gathered(simulator *s, const lowered *l)
{
	int64_t sum = 0;
	for (uint32_t i = 0; i < l->results.n; i++) {
		lval_id v = l->results.p[i];
		lop_id at = l->vals.p[v].def;
		const lop *o = &l->ops.p[at];
		if (o->kind != LOP_COLLECTIVE || o->coll != COLL_ALL_GATHER || o->given ||
			!gathers_in_order(s, l, o, v))
			continue;
		int64_t bytes = end_bytes(s, l, v);
		sum = sat_add(sum, sat_mul(bytes, s->folder ? folder_weight(s, at) : 1));
		s->delta[at].before -= bytes, s->delta[at].main_before -= bytes;
	}
	s->delta[0].before += sum, s->delta[0].main_before += sum;
}
