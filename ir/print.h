/* Private to the printer: print.c (names, regions, generic form, module) and print_forms.c (pretty
 * forms). */
#ifndef SW_IR_PRINT_H
#define SW_IR_PRINT_H

#include "ir/ir.h"

struct taken {
	uint32_t id, before;
};

typedef struct printer {
	const module *m;
	strbuf *out;
	bool locations;
	uint32_t *labels; /* by value: LABEL_NAMED | id in names, or a number */
	strtab names;
	VEC(uint32_t) used; /* by id in names: 1 when taken in an open scope; of counters their state */
	VEC(struct taken) log; /* changes of used, innermost scope last */
	uint32_t next_number;
} printer;

void put_value(printer *p, value_id v);
void put_operands(printer *p, op_id o, uint32_t from, uint32_t n); /* comma separated */
void put_operand_types(printer *p, op_id o);
void put_arrow(printer *p, op_id o);         /* ` -> T` */
void put_function_type(printer *p, op_id o); /* ` : (T, T) -> T` */
void put_type(printer *p, type_id t);
/* ` {..}`: attributes but those in skip (ends in NULL, may be NULL), and sdy.sharding of the
 * results. */
void put_attrs(printer *p, op_id o, const char *const *skip);
void put_ints(printer *p, const int64_t *v, uint32_t n);                /* [1, 2] */
void put_region(printer *p, region_id r, uint32_t indent, bool header); /* { .. } */
void put_block_arg(printer *p, value_id v);                             /* %a: T loc(..) */
void put_symbol(strbuf *out, str name);
void put_loc(printer *p, loc_id l);
void put_entries(printer *p, const named_attr *list, uint32_t n, bool *any); /* comma separated */
void put_generic(printer *p, op_id o, uint32_t indent);

/* The pretty form of an op, without results and location; false: the op has none, or is not as the
 * form needs it. */
bool put_pretty(printer *p, op_id o, uint32_t indent);

#endif
