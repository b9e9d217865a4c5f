/* Private to ir/sharding.c and ir/sharding_text.c. */
#ifndef SW_IR_SHARDING_FAULT_H
#define SW_IR_SHARDING_FAULT_H

#include "ir/ir.h"

/* The opposite of sharding_check; *ref is the number of axis references, counted through dims,
 * replicated and unreduced axes in this order, that were fine before the one at fault (their total
 * when no reference is at fault). */
bool sharding_fault(const sharding_table *t, const sharding_edit *e, const ir_type *ty, char *msg,
	size_t msg_size, uint32_t *ref);

#endif
