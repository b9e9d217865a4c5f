#include "lower/emit.h"
bool emit_moved(emitter *e, const node *n, const lop *o) { (void)e; (void)n; (void)o; return false; }
