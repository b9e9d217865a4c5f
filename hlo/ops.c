/* Opcodes by text. */
#include "hlo/read.h"

static const struct {
	const char *text;
	uint8_t n, flags;
} ops[HLO_OP_COUNT] = {
#define HLO(id, text, cost, flags) [HLO_##id] = {text, sizeof(text) - 1, flags},
#include "hlo/ops.def"
#undef HLO
	[HLO_UNKNOWN] = {"unknown", 7, 0},
};
const char *hlo_op_text(hlo_op op) { return ops[op].text; }
uint32_t hlo_op_flags(hlo_op op) { return ops[op].flags; }

uint32_t hlo_find_op(str text)
{
	static _Thread_local uint16_t table[1024];
	static _Thread_local bool filled;
	if (!filled) {
		for (uint32_t i = 0; i < HLO_UNKNOWN; i++) {
			uint32_t k = (uint32_t)hash_bytes(ops[i].text, ops[i].n, 0) & 1023;
			while (table[k])
				k = (k + 1) & 1023;
			table[k] = (uint16_t)(i + 1);
		}
		filled = true;
	}
	for (uint32_t k = (uint32_t)hash_bytes(text.p, text.n, 0) & 1023; table[k]; k = (k + 1) & 1023)
		if (ops[table[k] - 1].n == text.n && !memcmp(ops[table[k] - 1].text, text.p, text.n))
			return table[k] - 1u;
	return HLO_UNKNOWN;
}
