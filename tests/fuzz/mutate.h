/* Mutations of module text by tokens, for libFuzzer: half of the inputs change byte by byte, half
 * by whole words, so that shardings, attributes and types stay well-formed often enough to get past
 * the reader. */
#ifndef SW_FUZZ_MUTATE_H
#define SW_FUZZ_MUTATE_H

#ifndef REPLAY
#include <stdint.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static const char *const fuzz_words[] = {
	"\"x\"",
	"\"y\"",
	"\"y\":(1)2",
	"\"y\":(2)2",
	"{\"x\"}",
	"{\"y\", ?}",
	"{?}",
	"{}",
	"p0",
	"p1",
	"p9",
	", replicated={\"y\"}",
	", unreduced={\"x\"}",
	"<@mesh, [{\"x\"}, {}]>",
	"<@mesh, [{?}, {\"y\"}]>",
	"<@mesh, []>",
	"<mesh<[\"x\"=2]>, [{\"x\"}]>",
	"sdy.mesh @mesh = <[\"x\"=2, \"y\"=4]>\n",
	"{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{\"x\"}, {}]>]>}",
	"sdy.sharding_constraint",
	"sdy.reshard",
	"sdy.sharding_group",
	"{mhlo.sharding = \"{devices=[2,4]<=[8]}\"}",
	"mhlo.sharding = \"{replicated}\"",
	"\"{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}\"",
	"stablehlo.custom_call @Sharding",
	"backend_config = \"unspecified_dims=[0,1]\"",
	"@SPMDFullToShardShape",
	"sdy.propagation_barrier",
	"sdy.data_flow_edge",
	"sdy.manual_computation",
	"sdy.named_computation",
	"manual_axes={\"x\"}",
	"sdy.return",
	"#sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=16}>",
	"stablehlo.add",
	"stablehlo.negate",
	"stablehlo.reshape",
	"stablehlo.transpose",
	"stablehlo.reduce",
	"stablehlo.while",
	"stablehlo.case",
	"stablehlo.return",
	"return",
	"call @f",
	"func.func @f",
	"module",
	"func.func private",
	"tensor<8x16xf32>",
	"tensor<16x8xf32>",
	"tensor<f32>",
	"tensor<0x4xf32>",
	"tensor<?x4xf32>",
	"tensor<i1>",
	"tuple<tensor<4xf32>>",
	"!stablehlo.token",
	"dense<0.0>",
	"dense<[1, 2]>",
	"dense<\"0x00\">",
	"array<i64: 0, 1>",
	"loc(\"a\")",
	"loc(#loc)",
	"#loc = loc(\"b\")\n",
	"0",
	"1",
	"2",
	"7",
	"-1",
	"9223372036854775807",
	"99999999999",
	"%0",
	"%arg0",
	"%1#1",
	"{",
	"}",
	"(",
	")",
	"[",
	"]",
	"<",
	">",
	",",
	"->",
	" : ",
};
enum { FUZZ_WORDS = sizeof fuzz_words / sizeof *fuzz_words };

static uint32_t fuzz_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static int fuzz_is_word(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		strchr("_.$%@#!^", c ? c : ' ') != NULL;
}

/* The token around a random byte: a word, a string on one line, or one byte. */
static void fuzz_token(const uint8_t *data, size_t size, uint32_t *state, size_t *from, size_t *to)
{
	size_t at = fuzz_random(state) % size;
	*from = at;
	*to = at + 1;
	if (!fuzz_is_word(data[at]))
		return;
	while (*from && fuzz_is_word(data[*from - 1]))
		--*from;
	while (*to < size && fuzz_is_word(data[*to]))
		++*to;
}

/* data[from, to) becomes the n bytes of text; returns the new size, or the old one when there is no
 * room. */
static size_t fuzz_splice(
	uint8_t *data, size_t size, size_t max_size, size_t from, size_t to, const void *text, size_t n)
{
	if (size - (to - from) + n > max_size)
		return size;
	memmove(data + from + n, data + to, size - to);
	memcpy(data + from, text, n);
	return size - (to - from) + n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	uint32_t state = seed;
	if (!size || fuzz_random(&state) % 2)
		return LLVMFuzzerMutate(data, size, max_size);
	for (uint32_t n = 1 + fuzz_random(&state) % 3; n && size; n--) {
		size_t from, to, from2, to2;
		uint8_t copy[256];
		fuzz_token(data, size, &state, &from, &to);
		fuzz_token(data, size, &state, &from2, &to2);
		size_t length = to2 - from2 < sizeof copy ? to2 - from2 : sizeof copy;
		memcpy(copy, data + from2, length);
		const char *word = fuzz_words[fuzz_random(&state) % FUZZ_WORDS];
		switch (fuzz_random(&state) % 5) {
		case 0: /* a token goes */ size = fuzz_splice(data, size, max_size, from, to, "", 0); break;
		case 1: /* a token becomes another of the text */
			size = fuzz_splice(data, size, max_size, from, to, copy, length);
			break;
		case 2: /* a token of the text comes in */
			size = fuzz_splice(data, size, max_size, from, from, copy, length);
			break;
		case 3: /* a token becomes a word of the list */
			size = fuzz_splice(data, size, max_size, from, to, word, strlen(word));
			break;
		default: /* a word of the list comes in */
			size = fuzz_splice(data, size, max_size, from, from, word, strlen(word));
		}
	}
	return size;
}
#endif

#endif
