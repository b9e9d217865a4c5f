/* sbp: SBP signature inference as OneFlow has it, the second engine beside propagate.
 *
 *   words.c       SBP words, SBP <-> sharding            candidates.c  the 1-D signatures of an op, from its sharding rule
 *   choose.c      filters, order values, copy costs, the choice, its cache
 *   boxing.c      from one N-D SBP to another as collectives
 *   infer.c       a whole module, op by op               regions.c     its loops and branches
 *   annotate.c    the answer in the module; the pass
 *   explain.c     what was chosen and why, text          explain_json.c  the same as OneFlow's JSON
 *
 * Facts: seeds.md 4 of the reference, after OneFlow's documentation of its inference. A placement
 * is a mesh: the axes of the mesh are the dimensions of the placement's hierarchy, so that rank
 * lists are those of the mesh. */
#ifndef SW_SBP_H
#define SW_SBP_H

#include "propagate/propagate.h"

/* ---------------------------------------------------------------- words.c */

typedef enum sbp_kind { SBP_BROADCAST, SBP_SPLIT, SBP_PARTIAL } sbp_kind;
typedef struct sbp {
	uint8_t kind;
	uint8_t dim; /* of SBP_SPLIT, else 0 */
} sbp;
static inline bool sbp_equal(sbp a, sbp b) { return a.kind == b.kind && a.dim == b.dim; }
static inline sbp sbp_split(uint32_t dim) { return (sbp){SBP_SPLIT, (uint8_t)dim}; }

enum { MAX_HIERARCHY = 8 };
typedef struct sbp_placement {
	mesh_id mesh;
	uint32_t n; /* dimensions of the hierarchy */
	int64_t sizes[MAX_HIERARCHY];
} sbp_placement;
/* One word per dimension of the hierarchy; those beyond it are SBP_BROADCAST. */
typedef struct nd_sbp {
	sbp at[MAX_HIERARCHY];
} nd_sbp;
bool nd_sbp_equal(const nd_sbp *a, const nd_sbp *b);

/* S(0), B, P. */
void sbp_word_print(sbp s, strbuf *out);
/* S(0) on one dimension, (S(0), B) on more. */
void nd_sbp_print(const nd_sbp *s, uint32_t n, strbuf *out);
/* ST_ERR_LIMIT beyond MAX_HIERARCHY axes; ST_ERR_UNSUPPORTED for a mesh of one device without axes.
 */
status sbp_placement_of(
	const sharding_table *t, mesh_id mesh, sbp_placement *out, diag *d) MUST_USE;
/* A sharding without axes in another order than the mesh's and without parts of axes; SHARDING_NONE
 * is broadcast. Open dims and priorities mean nothing here. ST_ERR_UNSUPPORTED otherwise. */
status nd_sbp_of_sharding(
	const sharding_table *t, sharding_id id, const sbp_placement *p, nd_sbp *out, diag *d) MUST_USE;
/* Closed. */
sharding_id sharding_of_nd_sbp(
	sharding_table *t, const nd_sbp *s, const sbp_placement *p, uint32_t rank);

/* ---------------------------------------------------------------- candidates.c */

/* The 1-D signatures of one op in list order: a split per factor of the sharding rule, partial sums
 * through linear ops, last all broadcast. A signature is one word per operand, then per result. */
typedef struct sbp_candidates {
	uint32_t n, n_operands, n_results;
	const sbp *words; /* signature i: words[i * (n_operands + n_results) ..] */
	const uint16_t
		*factor; /* by signature: the factor of the rule that it splits; UINT16_MAX: none */
	const int64_t *sizes; /* by signature: of that factor */
	const bool
		*even; /* by signature: the factor is a part of some dimension, which only divides evenly */
} sbp_candidates;
static inline const sbp *candidate_words(const sbp_candidates *c, uint32_t i)
{
	return c->words + i * (c->n_operands + c->n_results);
}
/* The op must not be one that infer.c takes apart itself (loops, branches, calls). Lists live in
 * mem. */
void sbp_candidates_of(
	rule_table *rules, const module *m, op_id o, arena *mem, sbp_candidates *out);

/* ---------------------------------------------------------------- choose.c */

/* What is known of an operand when an op is inferred. */
typedef struct sbp_hint {
	type_id type;
	int64_t bytes; /* logical */
	nd_sbp sbp;
	bool free; /* made of constants: broadcast, and split at no cost, as an attribute of the op
	              would be */
} sbp_hint;

/* Order value of a 1-D signature: -10 per input that has its SBP already; 0 for all under
 * constraints; without inputs -1 per output that is S(0). */
int64_t sbp_order_value(
	const sbp_candidates *c, uint32_t i, const sbp_hint *hints, uint32_t slot, bool constrained);
/* Bytes that the inputs move, along one dimension of the hierarchy. INT64_MAX when one has to
 * become partial, INT32_MAX when one is broadcast and has to become something else. */
int64_t sbp_copy_cost(const sbp_candidates *c, uint32_t i, const sbp_hint *hints, uint32_t slot,
	const sbp_placement *p);

typedef struct sbp_choice {
	uint16_t signature[MAX_HIERARCHY]; /* candidate by dimension of the hierarchy */
	uint16_t first[MAX_HIERARCHY]; /* what 1-D inference alone gives there; differs where refinement
	                                  found better */
	int64_t order,
		cost; /* of the N-D signature: inputs with equal N-D SBP, bytes over all dimensions */
	uint32_t refinements;
} sbp_choice;

/* What the user fixed of an op: by result, its N-D SBP. */
typedef struct sbp_constraint {
	const nd_sbp *of; /* by result */
	const bool *given;
} sbp_constraint;

/* Is a signature possible along a dimension of the hierarchy, after what the earlier ones took
 * (chosen[0 .. slot))? Dims must divide over more than one dimension of the hierarchy, and be no
 * smaller than the number of devices over one. */
bool sbp_fits_shape(const sbp_candidates *c, const uint16_t *chosen, uint32_t slot, uint32_t i,
	const sbp_placement *p);
bool sbp_fits_constraint(
	const sbp_candidates *c, uint32_t i, uint32_t slot, const sbp_constraint *k);

/* Per dimension of the hierarchy the first of the candidates that fit, ordered by order value, then
 * by copy cost, ties by list order. Then greedy: one dimension after another takes the signature
 * that makes the copy cost over all dimensions, then the N-D order value, smallest, as long as that
 * gets better. False: no signature fits. */
bool sbp_choose(const sbp_candidates *c, const sbp_hint *hints, const sbp_placement *p,
	const sbp_constraint *k, sbp_choice *out);

/* ---------------------------------------------------------------- boxing.c */

typedef enum boxing_kind {
	BOXING_ALL_REDUCE,
	BOXING_REDUCE_SCATTER,
	BOXING_ALL_GATHER,
	BOXING_ALL_TO_ALL,
	BOXING_SLICE, /* every device keeps its part: nothing moves */
	BOXING_PAD,   /* a part becomes a summand: zeros around it: nothing moves */
	BOXING_ZERO, /* the whole becomes a summand: zeros on all but the first device: nothing moves */
	BOXING_KIND_COUNT
} boxing_kind;
const char *boxing_name(boxing_kind k);
static inline bool boxing_moves(boxing_kind k) { return k < BOXING_SLICE; }

typedef struct boxing_step {
	boxing_kind kind;
	uint32_t first, last; /* dimensions of the hierarchy, both included, that do it together */
	uint8_t from, to;     /* tensor dims: gathered or exchanged, scattered or sliced */
	int64_t bytes;        /* of the larger side on one device; 0 where nothing moves */
} boxing_step;
enum { MAX_BOXING = 3 * MAX_HIERARCHY };
/* The steps, in order; their number. bytes: of the logical tensor. */
uint32_t sbp_boxing(const nd_sbp *from, const nd_sbp *to, const sbp_placement *p, int64_t bytes,
	boxing_step out[MAX_BOXING]);

/* ---------------------------------------------------------------- infer.c */

/* One op as it was inferred. */
typedef struct sbp_op_record {
	op_id op;
	bool cached; /* the choice is one that an equal op had before */
	mesh_id placement;
	sbp_candidates candidates;
	const sbp_hint *hints; /* by operand */
	sbp_constraint constraint;
	sbp_choice choice;
	uint32_t first_boxing, n_boxings;
} sbp_op_record;
/* The N-D SBP that a choice gives operand or result k (results behind the operands). */
nd_sbp sbp_chosen(const sbp_op_record *r, uint32_t k, uint32_t hierarchy);

/* A value brought to another SBP, for an op or at the end of a function or a region. */
typedef struct sbp_boxing_record {
	op_id op; /* the reader */
	uint32_t operand;
	value_id value;
	uint32_t same;  /* an earlier record that has brought it there in this block already, ID_NONE:
	                   none; then there are no steps */
	uint32_t older; /* of the same value; ID_NONE */
	mesh_id placement;
	nd_sbp from, to;
	bool in_loop;
	uint32_t first, n; /* in steps */
} sbp_boxing_record;
/* What a value came out as. */
typedef struct sbp_value_record {
	value_id value;
	mesh_id placement;
	nd_sbp sbp;
} sbp_value_record;

typedef struct sbp_inference {
	arena mem;
	rule_table rules;
	sbp_placement placement; /* of the arguments */
	VEC(sbp_op_record) ops;
	VEC(sbp_boxing_record) boxings;
	VEC(boxing_step) steps;
	VEC(sbp_value_record) values;  /* results of ops */
	VEC(sbp_value_record) results; /* of main: value is the index */
} sbp_inference;

/* Infers main. Arguments have the SBP of their sharding, those without one are broadcast; an op
 * whose result has a sharding, sdy's sharding_constraint too, is constrained to it. placement: the
 * mesh; ID_NONE: the one that the arguments are on, else the module's only one. m must have no
 * calls left (inline) and have been verified.
 *
 * ST_ERR_INVALID with the op's position: no valid signature, or inputs on different placements.
 * ST_ERR_UNSUPPORTED: calls, manual computations, a sharding that is no SBP. Release also after an
 * error. */
status sbp_infer(const module *m, mesh_id placement, sbp_inference *out, diag *d) MUST_USE;
void sbp_inference_release(sbp_inference *x);
/* ---------------------------------------------------------------- annotate.c */

/* Writes what was inferred into the module: shardings of results, an sdy.reshard for every boxing.
 */
void sbp_annotate(module *m, const sbp_inference *x);
/* Registers sbp-infer{placement=NAME}. */
void sbp_register_passes(void);

/* ---------------------------------------------------------------- explain.c, explain_json.c */

/* every: all candidates with order values and costs; else a line per op. */
void sbp_explain(const module *m, const sbp_inference *x, bool every, strbuf *out);
/* {"placement":..,"ops":[{"op","location","signatures":[{"bn_in_op2sbp_parallel":..}],..}],"boxings":[..]};
 * owned by caller. */
struct cJSON *sbp_explain_json(const module *m, const sbp_inference *x);

#endif
