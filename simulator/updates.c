/* What main returns of gathered values, on TPU: arguments that are updated in parts, as ZeRO-2 does
 * with weights, and caches.
 *
 * A gather does not write into a result's buffer. What it gives is a temporary, and XLA's scheduler
 * makes all gathers before it copies the first of them, so that at the end all are there.
 *
 * The update of a donated argument goes into the argument's own buffer, and XLA's copy insertion
 * knows no order between that copy and what still reads the argument: the program reads a copy of
 * it, made when it starts. Where what was gathered has to be brought into another order of dims it
 * needs none. In order are parts along one dim that is cut in whole tiles; parts along several dims
 * are gathered one behind the other, each in the order of its dims. (Read off 21 plans' programs by
 * libtpu 0.0.51; docs/judged.md, "Where XLA puts temporaries".) */
#include "simulator/state.h"

/* The one dim along which a collective gathers; TILE_NO_DIM: several. */
static uint32_t gathered_dim(const lop *o, uint32_t rank)
{
	uint32_t dim = TILE_NO_DIM;
	for (uint32_t d = 0; d < rank; d++) {
		if (o->step->dim_axes[d].n && dim != TILE_NO_DIM)
			return TILE_NO_DIM;
		if (o->step->dim_axes[d].n)
			dim = d;
	}
	return dim;
}

/* Does what is gathered along a dim lie as the result does? */
static bool lies_as_result(
	const simulator *s, const lowered *l, const lop *o, lval_id result, uint32_t dim)
{
	const ir_type *ty = type_get(l->p->m, l->vals.p[result].type);
	tile_dims tile;
	device_stored_bytes(&s->dev, s->t, l->vals.p[result].sharding, ty, ALL_MINORS, &tile);
	int64_t part =
		ceil_div(ty->dims[dim], sharding_dim_parts(sharding_get(s->t, o->step->in), dim));
	int64_t whole = dim == tile.minor ? s->dev.tile_minor
		: dim == tile.second          ? s->dev.tile_second
									  : 1;
	return part % whole == 0;
}

/* Bytes of all parts in the order of their dims, each in tiles of its own. */
static int64_t bytes_in_parts(const simulator *s, const lop *o, const ir_type *ty)
{
	const sharding *cut = sharding_get(s->t, o->step->in);
	int64_t elements = lop_group_size(o);
	for (uint32_t d = 0; d < ty->rank; d++) {
		int64_t part = ceil_div(ty->dims[d], sharding_dim_parts(cut, d)),
				tile = d + 1 == ty->rank ? s->dev.tile_minor
			: d + 2 == ty->rank          ? MIN(s->dev.tile_second, part)
										 : 1;
		elements = sat_mul(elements, sat_mul(ceil_div(part, tile), tile));
	}
	return sat_mul(elements, elem_bits((enum elem)ty->elem)) / 8;
}

/* Gathers that nothing runs beside leave what fits on the chip there, one behind the other, and DMA
 * brings it out (v6e). */
static bool leaves_by_dma(const simulator *s, int64_t bytes)
{
	return !s->dev.products_off_chip && !(s->dev.asynchronous >> COLL_ALL_GATHER & 1) &&
		bytes <= s->dev.on_chip_bytes / 2;
}

/* Time of copies of a value that lies as the result does: of the argument when the program starts,
 * and of what was gathered; of another into the order of the result's dims. */
static int64_t copied_out_ns(const simulator *s, const lowered *l, lval_id v, const ir_type *ty,
	uint32_t dim, bool lies, bool argument)
{
	int64_t bytes = end_bytes(s, l, v);
	int bits = MAX(elem_bits((enum elem)ty->elem), 8);
	if (leaves_by_dma(s, bytes))
		return 0;
	if (dim == TILE_NO_DIM)
		return parts_time_ns(&s->dev, sat_mul(bytes, 8) / bits);
	return lies ? sat_mul(1 + argument, memory_time_ns(&s->dev, sat_mul(2, bytes)))
				: transposed_time_ns(&s->dev, bytes, bits, 2);
}

void hold_gathered(simulator *s, const lowered *l)
{
	int64_t copied = 0, gathered = 0, ns = 0;
	for (uint32_t i = 0; i < l->results.n; i++) {
		lval_id v = l->results.p[i];
		lop_id at = l->vals.p[v].def;
		const lop *o = &l->ops.p[at];
		const ir_type *ty = type_get(l->p->m, l->vals.p[v].type);
		if (o->kind != LOP_COLLECTIVE || o->coll != COLL_ALL_GATHER || o->given ||
			ty->kind != TYPE_TENSOR)
			continue;
		uint32_t dim = gathered_dim(o, ty->rank);
		int64_t n = s->folder ? folder_weight(s, at) : 1, bytes = end_bytes(s, l, v),
				held = dim == TILE_NO_DIM ? MAX(bytes, bytes_in_parts(s, o, ty)) : bytes;
		bool lies = dim != TILE_NO_DIM && lies_as_result(s, l, o, v, dim),
			 copies = lies && s->donated_types[l->vals.p[v].type];
		s->delta[at].before += held - (copies ? bytes : 0);
		vec_push(&s->held, (held_value){ID_NONE, v, at, l->ops.n - 1, held});
		if (copies)
			vec_push(&s->held, (held_value){ID_NONE, v, 0, at - 1, bytes});
		gathered = sat_add(gathered, sat_mul(held, n));
		copied = sat_add(copied, copies ? sat_mul(bytes, n) : 0);
		ns = sat_add(ns, sat_mul(n, copied_out_ns(s, l, v, ty, dim, lies, copies)));
	}
	s->copied_out_ns = ns;
	if (gathered) {
		s->delta[0].before += copied;
		s->delta[l->ops.n - 1].after -= gathered;
	}
}
