#ifndef SW_BATCH_REMOTE_H
#define SW_BATCH_REMOTE_H

#include "batch/batch.h"

/* An engine over a daemon. only_cached: changes nothing there; what would be searched ends as
 * BATCH_WAITING. NULL with d filled on failure. */
batch_engine *batch_remote_open(const char *server, bool only_cached, diag *d) MUST_USE;

#endif
