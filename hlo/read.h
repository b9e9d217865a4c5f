/* Private to the HLO reader: its state, and what its files call of each other. */
#ifndef SW_HLO_READ_H
#define SW_HLO_READ_H

#include "hlo/hlo.h"
#include "ir/lex.h"

enum { HLO_MAX_GROUP_IDS = 1 << 24 }; /* ids of all groups of a module together */

struct hlo_known { /* text met before, and the shape or groups that it became */
	str text;
	uint32_t shape;
};
struct hlo_slot {
	uint32_t id, stamp;
	uint64_t hash;
};
struct hlo_wanted {  /* a computation to be found at the end */
	uint32_t called; /* place in module.called */
	str name;
};
struct hlo_sugar { /* an asynchronous start whose computation is to be made */
	hlo_id start;
	hlo_comp_id comp;
	uint16_t op;
	uint32_t called, n_called, op_n;
};
struct hlo_file_row {
	uint32_t file, n;
	int64_t line;
};

typedef struct hlo_reader {
	lexer lex;
	hlo_module *m;
	index_map shapes; /* by hash of the text */
	VEC(struct hlo_known) shape_texts, group_texts;
	VEC(uint32_t) stack;    /* shape ids of open tuples */
	struct hlo_slot *slots; /* instruction names of the computation being read */
	uint32_t n_slots, stamp, used;
	index_map comp_names;
	bool counted; /* the header has num_partitions or replica_count */
	VEC(struct hlo_wanted) wanted;
	VEC(struct hlo_sugar) sugar;
	VEC(struct hlo_file_row) files, places; /* FileNames, FileLocations by id */
} hlo_reader;

/* Text positions; comments of the form slash-star are space. */
void hlo_comment(hlo_reader *r);
static inline void hlo_skip(hlo_reader *r)
{
	for (;;) {
		while (lex_is(*r->lex.p, LEX_SPACE))
			r->lex.p++;
		if (*r->lex.p != '/')
			return;
		const char *before = r->lex.p;
		hlo_comment(r);
		if (r->lex.p == before)
			return;
	}
}
static inline bool hlo_take(hlo_reader *r, char c)
{
	hlo_skip(r);
	if (*r->lex.p != c)
		return false;
	r->lex.p++;
	return true;
}
static inline uint32_t hlo_at(const hlo_reader *r, const char *p)
{
	return (uint32_t)(p - r->lex.text);
}
/* The opcode of a text; HLO_UNKNOWN. */
uint32_t hlo_find_op(str text);
status hlo_expect(hlo_reader *r, char c) MUST_USE;
status hlo_error(hlo_reader *r, const char *at, status code, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
status hlo_expected(hlo_reader *r, const char *what);
status hlo_number(hlo_reader *r, int64_t *out) MUST_USE;
/* Name with or without %; empty is an error. */
status hlo_read_name(hlo_reader *r, const char *what, str *out) MUST_USE;
/* From an opening brace, bracket or parenthesis behind its partner; strings inside are skipped. */
status hlo_balanced(hlo_reader *r, str *out) MUST_USE;
status hlo_string(hlo_reader *r, str *out) MUST_USE;
/* {1,2,3} or {}, appended to module.numbers. */
status hlo_int_list(hlo_reader *r, char open, char close, uint32_t *first, uint32_t *n) MUST_USE;

status hlo_read_shape(hlo_reader *r, hlo_shape_id *out) MUST_USE;
/* Is the text here a shape and not a name? */
bool hlo_at_shape(const hlo_reader *r);
/* `, key=value` of an instruction, after its operands. */
status hlo_read_attrs(hlo_reader *r, hlo_id i) MUST_USE;
status hlo_read_groups(hlo_reader *r, uint32_t *id) MUST_USE;
/* What the ids of a collective's groups count, by its mode: all devices, partitions, or replicas.
 */
typedef enum hlo_id_mode {
	HLO_IDS_REPLICA,
	HLO_IDS_PARTITION,
	HLO_IDS_REPLICA_ALL_PARTITIONS,
	HLO_IDS_GLOBAL
} hlo_id_mode;
hlo_id_mode hlo_ids_of(const hlo_module *m, hlo_id i);
/* counted: the header says how many devices there are. */
status hlo_verify(hlo_module *m, bool counted, diag *d) MUST_USE;
/* read_header.c; aliases are resolved when all computations are there. */
status hlo_read_header(hlo_reader *r) MUST_USE;
status hlo_read_tables(hlo_reader *r) MUST_USE;
status hlo_resolve_aliases(hlo_reader *r) MUST_USE;
/* read_instr.c: one instruction of the computation being read, and behind all of them the
 * computations that asynchronous starts stand for. */
status hlo_read_instr(hlo_reader *r, hlo_comp_id comp) MUST_USE;
status hlo_make_sugar(hlo_reader *r) MUST_USE;
/* A tuple of those parts. */
hlo_shape_id hlo_make_tuple(hlo_module *m, const uint32_t *children, uint32_t n);

#endif
