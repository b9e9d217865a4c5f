/* What bodies and answers may take. */
#ifndef SW_SERVER_MEMORY_H
#define SW_SERVER_MEMORY_H

#include "server/common.h"

/* ---------------------------------------------------------------- memory.c */

struct problem;
enum { MEMORY_SMALL = 64 << 10 };
typedef struct memory { /* thread-safe */
	int64_t limit;
	_Atomic int64_t used, refused;
} memory;
/* Before the first thread. limit 0: from what the process may use. Also sets the sizes of stacks
 * and heaps. */
void memory_init(memory *m, int64_t limit);
/* False: spent, nothing was taken. What was taken is given back by whoever took it. */
bool memory_take(memory *m, int64_t bytes);
/* For what is there already, and for refusals themselves. */
void memory_take_anyway(memory *m, int64_t bytes);
void memory_give(memory *m, int64_t bytes);
/* Tries to build the reserve up again after it was used. */
void memory_recover(void);
/* Fills why with the refusal; false. */
bool memory_refused(struct problem *why);
/* Address space of one worker when nothing else is said: a share of the memory, and no less than
 * its threads and tables need. */
int64_t worker_memory_share(const struct server *srv);
/* Bytes that one worker may answer. */
int64_t answer_limit(const struct server *srv);
/* Bytes that this machine, or the control group of this process, has; and that this process may
 * map. */
int64_t memory_of_machine(void), memory_of_process(void);

#endif
