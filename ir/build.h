/* Private to ir: the steps of op_new one by one, for the reader (operands and results of an op are
 * known only after its regions were read) and for copies. */
#ifndef SW_IR_BUILD_H
#define SW_IR_BUILD_H

#include "ir/ir.h"

op_id op_create(module *m, op_kind kind, str_id name, loc_id loc, uint32_t src);
void op_give_operands(module *m, op_id o, const value_id *operands, uint32_t n);
void op_give_results(module *m, op_id o, const type_id *types, uint32_t n);
void op_give_regions(module *m, op_id o, uint32_t n);

#endif
