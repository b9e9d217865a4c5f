/* Private to the reader: its state, and what read.c, read_types.c, read_attrs.c, read_locs.c,
 * read_ops.c and read_forms.c call of each other. */
#ifndef SW_IR_READ_H
#define SW_IR_READ_H

#include "ir/build.h"
#include "ir/lex.h"

struct operand {
	value_id value;
	const char *at; /* its %name, for messages */
};

struct binding { /* %name = value, or a pack of n values */
	str name;
	uint64_t hash;
	value_id first;
	uint32_t n;
};

struct result_name { /* left of = */
	str name;
	const char *at;
	uint32_t n;
};

struct alias {
	str name;        /* with # or ! */
	const char *use; /* where it is used before it is known */
	uint32_t id;     /* attr_id, type_id or loc_id; ID_NONE while undefined */
	str body;        /* of a location: text between loc( and ) */
	bool resolved;   /* of a location: its name and file are known */
};

typedef struct reader {
	lexer lex;
	module *m;
	uint16_t kinds[1024]; /* op kinds by name hash, open addressing */

	/* Stacks: an op works above the marks it found, so that ops in regions nest. */
	VEC(struct operand) operands;
	VEC(named_attr) attrs;
	VEC(type_id) types;
	VEC(int64_t) numbers;
	VEC(struct result_name) names;
	VEC(struct operand) inits; /* of a reduce: they follow its inputs */

	/* Value names: a log in order of definition with a hash table over it; leaving a region pops
	 * the log. */
	VEC(struct binding) bindings;
	uint32_t *slots; /* index + 1 into bindings, 0: free */
	uint32_t n_slots;
	uint32_t visible; /* bindings below are outside the isolated region */

	VEC(struct alias) attr_aliases;
	VEC(struct alias) loc_aliases; /* by loc id: body is empty for plain locations */
	index_map alias_index;
	strbuf aliases; /* definitions of location aliases, as module.aliases */

	VEC(str) sharding_texts;
	VEC(sharding_id) sharding_ids;
	index_map sharding_index;
	VEC(attr_id) enum_attrs;
	index_map enum_index;
	index_map symbols;    /* names of functions, meshes and modules of the module that is read, by
	                         their ids */
	bool keep_dense_text; /* the value of a constant: its elements are not wanted as integers */
} reader;

/* One op while its text is read. Bases are marks in the reader's stacks. */
typedef struct draft {
	op_id op;
	op_kind kind;
	uint32_t operands, attrs, types; /* types: of results */
	const char *at;                  /* the op's name */
	uint32_t names;
} draft;

static inline uint32_t draft_operands(const reader *r, const draft *d)
{
	return r->operands.n - d->operands;
}
/* The value of these is a literal whose elements are not wanted as integers. */
static inline bool is_constant(op_kind k)
{
	return k == OP_CONSTANT || k == OP_SDY_CONSTANT || k == OP_CHLO_CONSTANT;
}
static inline uint32_t draft_results(const reader *r, const draft *d)
{
	return r->types.n - d->types;
}

/* read_types.c */
status read_type(reader *r, type_id *out) MUST_USE;
bool at_type(reader *r); /* a type starts here */

/* read_attrs.c */
status read_attr(reader *r, attr_id *out) MUST_USE;
/* Pushes the entries of {..} or <{..}> on r->attrs; the opening bracket is taken. close: "}" or
 * "}>". */
status read_attr_entries(reader *r, const char *close) MUST_USE;
status read_sharding(reader *r, sharding_id *out) MUST_USE;  /* <@mesh, [..]> */
status read_sharding_list(reader *r, attr_id *out) MUST_USE; /* [<..>, <..>] as ATTR_SHARDINGS */
status read_manual_axes(reader *r, attr_id *out) MUST_USE;   /* {"a", "b"} as an array of strings */
status read_conv_dims(reader *r, attr_id *out) MUST_USE;     /* [b, 0, f]x[0, i, o]->[b, 0, f] */
status read_struct(reader *r, const char *name, attr_id *out) MUST_USE; /* <a = 1, b = [2]> */
attr_id raw_attr(reader *r, const char *from, const char *to);
attr_id ints_attr(reader *r, elem e, const int64_t *v, uint32_t n);
attr_id dense_attr(reader *r, str text, type_id type, bool splat);
/* #ns<kind WORD>, shared between equal ones. */
attr_id enum_attr(reader *r, const char *ns, const char *kind, str word);
attr_id array_attr(reader *r, attr_kind kind, str text,
	uint32_t base); /* of r->attrs above base, which are popped */

/* read_scalars.c */
/* What was expected instead of text as an element of type e; NULL when it is one, or the type is
 * not known. */
const char *scalar_fault(str text, elem e);
bool hex_value(str text, int64_t *out); /* 0x.. of at most 64 bits, as the integer of these bits */

/* read_literals.c */
status optional_type(reader *r, type_id *out) MUST_USE; /* `: type`, ID_NONE when there is none */
status read_number(reader *r, attr_id *out) MUST_USE;
status read_dense(reader *r, attr_id *out) MUST_USE; /* after the word dense */
status read_dense_resource(reader *r, const char *start, attr_id *out) MUST_USE;
status read_array_literal(reader *r, const char *start, attr_id *out) MUST_USE;
status read_int_list(
	reader *r, elem e, attr_id *out) MUST_USE; /* [1, 2]; ELEM_NONE: ATTR_INTS without type */

/* read_locs.c */
status read_loc(reader *r, loc_id *out) MUST_USE; /* optional loc(..); 0 when there is none */
status read_loc_alias(reader *r, str name, const char *line) MUST_USE; /* after #name = */
status resolve_locs(reader *r) MUST_USE;
struct alias *find_alias(reader *r, str name);
bool is_loc_alias(reader *r, str name); /* defined so far */
void add_alias(reader *r, const struct alias *a);

/* read.c */
status bind_values(reader *r, const char *at, str name, value_id first, uint32_t n) MUST_USE;
uint32_t scope_open(const reader *r);
void scope_close(reader *r, uint32_t mark);
op_kind find_kind(const reader *r, str name);
status define_symbol(reader *r, const char *at, str name) MUST_USE;
str_id value_name_id(reader *r, str name); /* 0 for numbers, which the printer gives anew */

/* read_ops.c */
status read_op(reader *r, region_id into) MUST_USE;
/* Ops up to the closing } (taken), which a ^bb0(..) header may precede when header is set. */
status read_region_ops(reader *r, region_id region, bool header) MUST_USE;
status read_region(
	reader *r, region_id region, bool header) MUST_USE;      /* { .. } in a scope of its own */
status read_block_arg(reader *r, region_id region) MUST_USE; /* %a: T loc(..) */
status read_value_name(reader *r, str *out, const char **at) MUST_USE; /* %name without #k */
status push_operand(reader *r) MUST_USE;
status push_operands(reader *r) MUST_USE;      /* comma separated, none when no % stands here */
status push_call_operands(reader *r) MUST_USE; /* in parentheses */
status check_operand(reader *r, const draft *d, uint32_t i, type_id given) MUST_USE;
status read_function_type(
	reader *r, draft *d) MUST_USE; /* `: (T, T) -> T`: checks operands, pushes results */
status read_same_types(reader *r,
	draft *d) MUST_USE; /* `: T` for all, or a functional type with or without parentheses */
status read_result_types(reader *r) MUST_USE; /* after ->: T or (T, T) */
status read_optional_attrs(reader *r) MUST_USE;
void draft_attr(reader *r, const char *name, attr_id value);
status set_sharding(reader *r, value_id v, attr_id sharding, const char *at) MUST_USE;
/* Takes an attribute off the draft; ID_NONE when it is absent. */
attr_id take_attr(reader *r, const draft *d, const char *name);

/* read_func.c */
status form_func(reader *r, draft *d) MUST_USE;
status finish_generic_func(reader *r, draft *d) MUST_USE;
status form_module(reader *r, draft *d) MUST_USE;
status finish_generic_module(reader *r, draft *d) MUST_USE;
/* Values and symbols outside are not visible in a module; these stand around reading its body. */
struct outside {
	uint32_t visible;
	index_map symbols;
};
struct outside module_enter(reader *r);
void module_leave(reader *r, struct outside *saved);
status form_mesh(reader *r, draft *d) MUST_USE;
status finish_generic_mesh(reader *r, draft *d) MUST_USE;
void find_meshes(
	reader *r); /* all sdy.mesh lines of the text, so that shardings may come before them */

/* read_forms.c, read_forms_region.c */
typedef status (*form_fn)(reader *r, draft *d);
extern const form_fn op_forms[OP_COUNT]; /* NULL: only the generic form exists */
status form_reduce(reader *r, draft *d) MUST_USE;
status form_while(reader *r, draft *d) MUST_USE;
status form_scan(reader *r, draft *d) MUST_USE;
status form_manual_computation(reader *r, draft *d) MUST_USE;
status form_named_computation(reader *r, draft *d) MUST_USE;

#endif
