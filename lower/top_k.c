/* How XLA's compilers take a top_k (jax 0.10.2, libtpu 0.0.51; single ops of 64 rows for v5e and
 * H100, docs/lowering-and-cost.md). */
#include "lower/internal.h"

/* A sort, unless k is small beside a row. Keys of 16 bits share a word with their positions as long
 * as these have 16 bits, too. */
static top_k_way way_on_tpu(int64_t n, int64_t k, int bits)
{
	enum {
		LONG_ROW = 1 << 16,
		MOST_OF_LONG = 1 << 9,
		MOST = (1 << 8) - 1,
		ROW_OF_EACH = 80,
		MOST_PACKED = 48,
		ROW_OF_EACH_PACKED = 64,
	};
	bool some;
	if (n >= LONG_ROW)
		return k <= MOST_OF_LONG ? TOP_K_OF_PARTS : TOP_K_WHOLE;
	if (bits <= 16)
		some = k <= MOST_PACKED && k < n / ROW_OF_EACH_PACKED;
	else
		some = k <= MOST && k <= (n + ROW_OF_EACH / 2) / ROW_OF_EACH;
	if (!some)
		return TOP_K_SORT;
	return bits <= 16 ? TOP_K_PACKED : TOP_K_OF_PARTS;
}

static top_k_way way_of(lower_target target, int64_t n, int64_t k, int bits)
{
	switch (target) {
	case TARGET_CPU: return TOP_K_WHOLE;
	case TARGET_GPU: return TOP_K_OF_PARTS;
	case TARGET_TPU: break;
	}
	return way_on_tpu(n, k, bits);
}

top_k_way top_k_way_of_op(const program *p, node_id id, lower_target target)
{
	const node *n = &p->nodes.p[id];
	const ir_type *keys = type_get(p->m, p->vals.p[node_slots(p, n)[0]].type),
				  *found = type_get(p->m, p->vals.p[node_slots(p, n)[n->n_operands]].type);
	uint32_t last = keys->rank - 1;
	return keys->rank ? way_of(target, keys->dims[last], found->dims[last], elem_bits(keys->elem))
					  : TOP_K_SORT;
}

bool top_k_moves_less(const ir_type *keys, int64_t k, int64_t parts)
{
	enum { POSITION_BITS = 32 };
	int64_t n = keys->dims[keys->rank - 1], bits = elem_bits(keys->elem);
	return n % parts == 0 && sat_mul(sat_mul(k, parts), bits + POSITION_BITS) < sat_mul(n, bits);
}
