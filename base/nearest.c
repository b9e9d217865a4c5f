#include "base/base.h"

enum { LONGEST = 128 };

/* Optimal string alignment: insertions, deletions, replacements and exchanges of neighbours, case
 * aside. */
static uint32_t distance(const char *a, size_t n, const char *b, size_t k)
{
	uint32_t rows[3][LONGEST + 1];
	uint32_t *before = rows[0], *last = rows[1], *row = rows[2];
	for (size_t j = 0; j <= k; j++)
		last[j] = (uint32_t)j;
	for (size_t i = 1; i <= n; i++) {
		row[0] = (uint32_t)i;
		for (size_t j = 1; j <= k; j++) {
			uint32_t change = last[j - 1] + ((a[i - 1] | 32) != (b[j - 1] | 32));
			row[j] = MIN(change, MIN(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = MIN(row[j], before[j - 2] + 1);
		}
		uint32_t *oldest = before;
		before = last;
		last = row;
		row = oldest;
	}
	return last[k];
}

void nearest_consider(nearest *n, str candidate)
{
	if (!n->wanted.n || n->wanted.n > LONGEST || !candidate.n || candidate.n > LONGEST)
		return;
	uint32_t d = distance(n->wanted.p, n->wanted.n, candidate.p, candidate.n);
	/* A word that goes on, as tpu-v5 does to tpu-v5e, is near however much is missing. */
	if (candidate.n > n->wanted.n && !strncmp(candidate.p, n->wanted.p, n->wanted.n))
		d = 0;
	if (d > MAX(1, (uint32_t)n->wanted.n / 3) || (n->found && d >= n->distance))
		return;
	n->found = true;
	n->distance = d;
	snprintf(n->text, sizeof n->text, STR_FMT, STR_ARG(candidate));
}

const char *nearest_hint(const nearest *n, char out[160])
{
	out[0] = 0;
	if (n->found)
		snprintf(out, 160, "; did you mean '%s'?", n->text);
	return out;
}
