/* Any bytes as a file of jobs, with and without a sweep and seeds: accepted, or told with a
 * position inside of it. */
#include "batch/batch.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 1 << 16)
		return 0;
	char *text = xmalloc(size ? size : 1); /* exactly as long as it is, for the sanitizer */
	memcpy(text, data, size);
	for (int k = 0; k < 4; k++) {
		const batch_reading how = {.sweep = k & 1 ? 12 : 0, .seeds = k & 2 ? 3 : 0};
		batch b;
		diag d = {0};
		if (batch_read_text("jobs", text, size, &how, &b, &d) != ST_OK && !d.msg[0])
			abort();
		for (uint32_t i = 0; i < b.faults.n; i++)
			if (!b.faults.p[i].line || !b.faults.p[i].col || b.faults.p[i].line > size + 1)
				abort();
		for (uint32_t i = 0; i < b.jobs.n; i++)
			if (b.jobs.p[i].same_as > i || !b.jobs.p[i].request[0] || b.jobs.p[i].first > i ||
				(b.jobs.p[i].seeds &&
					i - b.jobs.p[i].first != b.jobs.p[i].seed - b.jobs.p[b.jobs.p[i].first].seed))
				abort();
		batch_release(&b);
	}
	free(text);
	return 0;
}

#ifdef REPLAY
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		if (!f) {
			fprintf(stderr, "cannot open %s\n", argv[i]);
			return 1;
		}
		static uint8_t bytes[1 << 16];
		size_t n = fread(bytes, 1, sizeof bytes, f);
		fclose(f);
		LLVMFuzzerTestOneInput(bytes, n);
	}
	printf("jobs corpus: %d passed, 0 failed\n", argc - 1);
	return argc > 1 ? 0 : 1;
}
#endif
