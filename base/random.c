#include "base/base.h"

/* Source of both algorithms: Blackman and Vigna, "Scrambled linear pseudorandom number generators"
 * (public domain). */
static uint64_t splitmix(uint64_t *x)
{
	uint64_t z = *x += 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

void rng_seed(rng *r, uint64_t seed, uint64_t stream)
{
	uint64_t x = hash_combine(hash_mix(seed + 1), stream);
	for (int i = 0; i < 4; i++)
		r->s[i] = splitmix(&x);
}

static uint64_t rotl(uint64_t x, int k) { return x << k | x >> (64 - k); }

uint64_t rng_next(rng *r)
{
	uint64_t *s = r->s, result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

uint32_t rng_below(rng *r, uint32_t n)
{
	return (uint32_t)((rng_next(r) >> 32) * (uint64_t)n >> 32);
}
