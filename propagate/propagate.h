/* propagate: sharding rules, the planning program, factor propagation and the passes of Shardy's
 * pipeline.
 *
 *   rule.c         interned sharding rules, text        rules_*.c  the rule of every op (dispatched from ir/ops.def)
 *   program.c      compiles a module into the flat planning program, once
 *   projection.c   tensor sharding <-> factor shardings
 *   basic.c aggressive.c   the two factor propagation strategies      transfer.c  one op's step, memoised
 *   engine.c       worklist, trail, undo                              priority.c  op and user priorities
 *   reads.c        what a settle depends on                           read_tree.c  what is known of states that agree in that
 *   waves.c        settles in parts, known ones written
 *   origins.c losses.c     where an axis came from, and why one did not come    explain*.c  the same in sentences
 *   layers.c       finds repeated layers of a program                  fold.c  the program with most of them left out
 *                                                                      fold_band.c  those of them that must come out alike
 *   passes_*.c     import and export passes on the module             pipeline.c  pass table, pipeline text, running
 *
 * Facts: Shardy as in jaxlib 0.10.2. The engine never touches the module: it reads the program and
 * writes shardings into its own state, which program_store copies back. */
#ifndef SW_PROPAGATE_H
#define SW_PROPAGATE_H

#include "ir/ir.h"

/* ---------------------------------------------------------------- rules */

typedef uint32_t rule_id;
enum { RULE_NONE = 0, MAX_FACTORS = 64 };
typedef enum factor_type {
	FACTOR_PASS_THROUGH,
	FACTOR_REDUCTION,
	FACTOR_NEED_REPLICATION,
	FACTOR_PERMUTATION
} factor_type;

/* How the dims of an op's operands and results correspond: dim d of tensor t is made of the factors
 * dim_factors[dims[tensor_first[t] + d].first ..], major to minor. Tensors: operands, then results.
 */
typedef struct rule {
	uint16_t n_factors, n_operands, n_results;
	bool custom;
	bool swapped; /* of two operands the second one comes first where sizes are equal */
	const int64_t *factor_sizes;
	const uint8_t *factor_types;  /* factor_type */
	uint64_t blocked;             /* factors whose propagation is blocked */
	const uint32_t *tensor_first; /* n_operands + n_results + 1 entries into dims */
	const struct rule_dim {
		uint16_t first, n;
	} * dims;
	const uint16_t *dim_factors;
} rule;

/* Interned: equal rules have equal ids. Shared by all copies of a program on one thread. */
typedef struct rule_table {
	arena mem, scratch; /* scratch: emptied after every rule that is built */
	VEC(rule) rules;
	index_map index;
	bool any_size; /* elementwise ops have one where a dim is known at run time only, too */
	bool swapped;  /* contractions get the rule that they have with their operands swapped */
} rule_table;
void rule_table_init(rule_table *t);
void rule_table_release(rule_table *t);
static inline const rule *rule_get(const rule_table *t, rule_id id) { return &t->rules.p[id]; }

typedef enum rule_status {
	RULE_FOUND,
	RULE_BY_DESIGN,   /* no rule, and none is needed */
	RULE_UNSUPPORTED, /* no rule: propagation stops here and the answer says so */
} rule_status;
/* The rule of an op: its sdy.sharding_rule attribute when it has one, else by ops.def's rule
 * column. Types must have passed module_verify_types. conservative: Shardy's
 * conservative-propagation option. */
rule_status rule_of_op(rule_table *t, const module *m, op_id o, bool conservative, rule_id *out);
/* The rule of what XLA makes of a chlo op before it propagates; jaxlib's passes have none for chlo,
 * and rule_of_op says so. */
rule_status rule_of_expansion(rule_table *t, const module *m, op_id o, rule_id *out);
/* Is all that reads a dot_general a transpose which brings the free dims of its second operand
 * before those of the first? That is the contraction with its operands swapped. */
bool contraction_is_swapped(const module *m, op_id o);
/* n tensors of the same shape: dim d of all is factor d (edges, func results, barriers). */
rule_id rule_identity(rule_table *t, const ir_type *ty, uint32_t n_operands, uint32_t n_results);
/* `<([i, k], [k, j])->([i, j]) {i=8, j=4, k=2} reduction={k}>` */
void rule_print(const rule *r, strbuf *out);
/* i, j, .. z, z_1, .. */
void factor_print(uint32_t factor, strbuf *out);
/* The same text back; op's types give nothing here, the verifier of custom rules does. */
status rule_parse(rule_table *t, str text, bool custom, rule_id *out, diag *d) MUST_USE;

/* ---------------------------------------------------------------- the planning program */

typedef uint32_t node_id, pval_id;

typedef enum node_kind {
	NODE_OP,     /* an op with a rule */
	NODE_OPAQUE, /* an op without a rule (constant, iota, unsupported): a source or a barrier */
	NODE_EDGE,   /* sdy.data_flow_edge: operands = its sources, result = the edge; identity rule */
	NODE_REGION, /* while, case, manual_computation: its body follows as nodes with parent = this
	                one */
	NODE_TERMINATOR, /* return of a region or of main */
	NODE_RESULT, /* one result of main: operand = returned value, result = the pval of the result
	                attribute */
} node_kind;

typedef struct node {
	op_id op;
	uint16_t op_kind;
	uint8_t kind;
	uint8_t fixed_direction; /* propagation_barrier: dir_* allowed; else DIR_BOTH */
	rule_id rule;
	uint32_t slots; /* first slot in program.slots: operands, then results */
	uint16_t n_operands, n_results;
	node_id parent;          /* enclosing NODE_REGION or ID_NONE */
	node_id end;             /* first node after this one's subtree (own id + 1 without a body) */
	uint16_t region;         /* which region of the parent this node is in */
	uint16_t n_tensors_used; /* slots whose value has rank > 0 */
	int64_t trips; /* NODE_REGION of a while: known trip count; else module.trip_count, or where
	                  that is not given the bound, or 1; 1 when not a loop */
	bool trips_known;
	bool trips_bounded;       /* not known, but the most that the loop's counter allows */
	bool elementwise;         /* Shardy's test, for the aggressive strategy */
	bool pass_through_op;     /* op priority 0/1 heuristics */
	bool forward_only_op;     /* dynamic_slice, dynamic_update_slice in those rounds */
	bool operands_single_use; /* every non-scalar operand has this one use (dead ops apart) */
	bool pure;
	bool dead; /* nothing uses it: Shardy's driver erases it on the way */
} node;

/* An edge of a manual_computation: outside, manual axes stand in front of the axes that propagation
 * sees. */
typedef struct manual_edge {
	node_id node;
	bool is_argument;  /* of the body; else a result of the op */
	sharding_id outer; /* its in_shardings / out_shardings entry */
	uint32_t axes;     /* manual mesh axes, a bit each */
} manual_edge;

typedef struct pval { /* a value that can carry a sharding; edge targets (loop arguments, results)
	                     share their edge's pval */
	type_id type;
	node_id def; /* ID_NONE: argument of main */
	uint32_t notify,
		n_notify; /* range in program.notify: nodes to re-queue when it changes, in push order */
	uint32_t n_touch; /* >= n_notify: behind them, nodes that have it as a tensor but are not
	                     re-queued */
	uint32_t uses,
		n_uses;        /* range in program.uses: slots (indices into program.slots) that read it */
	int32_t arg_index; /* of main; -1 otherwise */
	int32_t result_index; /* pval of a result attribute of main; -1 otherwise */
	value_id value;   /* IR value whose sharding it is (the edge's result for edges); ID_NONE for
	                     main's results */
	uint32_t group;   /* sharding group or ID_NONE */
	bool group_takes; /* a loop's argument in the group: the edge takes the group's sharding, what
	                     it gets elsewhere stays its own */
} pval;

typedef struct program {
	const module *m;
	rule_table *rules;
	mesh_id mesh;    /* the one mesh of the program; ID_NONE when the module has none */
	VEC(node) nodes; /* main, pre-order */
	VEC(pval) vals;
	VEC(pval_id) slots;
	VEC(uint32_t) uses;
	VEC(node_id) notify;
	VEC(node_id) slot_node; /* owner of every slot */
	VEC(pval_id)
	args, results, returned; /* of main: argument pvals, result-attribute pvals, returned pvals */
	pval_id *pval_of;        /* by IR value id; ID_NONE when the value cannot carry a sharding */
	VEC(uint32_t)
	group_first,
		group_members; /* sharding groups: pvals of group g are members first[g] .. first[g + 1] */
	VEC(value_id) slot_value; /* IR value at every slot; ID_NONE for attributes of main's results */
	VEC(manual_edge) manual_edges; /* ascending by node */
	node_id main_first, main_end;  /* nodes of main */
	node_id *node_of; /* by op id; ID_NONE inside bodies that no sharding reaches (of reduce, sort,
	                     ..) */
	uint32_t *use_counts; /* by IR value id, in the module as it is */
	uint32_t n_dead;
} program;

/* What ops are taken for. */
typedef enum program_reading {
	READ_AS_WRITTEN,   /* as Shardy's passes take them */
	READ_CONSERVATIVE, /* the same with its conservative-propagation option */
	READ_AS_XLA,       /* as XLA does (behind passes_import): a broadcast that only adds dims of one
	                      element is a reshape, whose axes travel in the first rounds, both ways */
	READ_SIMPLIFIED,   /* as XLA for TPU and GPU, which simplifies a program before it propagates: a
	                      contraction that only a transpose reads, which swaps its operands' dims, is
	                      the contraction with its operands swapped */
} program_reading;

/* m must have passed module_verify_types and not change while the program lives. All functions'
 * bodies other than main are ignored by callers that inline first; for modules with calls left
 * every function is compiled. ERR_UNSUPPORTED names dynamic shapes and tuples at their position. */
status program_new(
	const module *m, rule_table *rules, program_reading how, program **out, diag *d) MUST_USE;
/* From READ_AS_XLA to READ_SIMPLIFIED; before anything is propagated. */
void program_simplify(program *p);
void program_free(program *p);
static inline const pval_id *node_slots(const program *p, const node *n)
{
	return p->slots.p + n->slots;
}
static inline const ir_type *pval_type(const program *p, pval_id v)
{
	return type_get(p->m, p->vals.p[v].type);
}

/* ---------------------------------------------------------------- folding */

/* The layers of a program: nodes and values of equal class in neighbouring layers correspond.
 * layer: LAYER_NONE for what belongs to none. next: the counterpart in the next layer, ID_NONE. */
enum { LAYER_NONE = INT32_MIN };
typedef struct layering {
	int32_t *node_layer, *val_layer;
	node_id *node_next;
	pval_id *val_next;
	int32_t first,
		last; /* layers between which all layers look the same to their neighbours, both included */
	uint32_t reach; /* how many layers apart an op and what it reads can be */
} layering;
/* False when there are no layers worth folding. */
bool layers_find(const program *p, layering *out);
void layers_release(layering *ly);

/* A stretch of consecutive nodes of one layer (or of none). */
typedef struct fold_block {
	node_id first, end; /* of the folded program */
	int32_t layer;      /* in it; LAYER_NONE */
	uint32_t chain;     /* blocks of equal chain are the same stretch of different layers */
} fold_block;
/* A program with fewer layers: the first ones up to `middle`, then the last ones. The layers around
 * `middle` look the same to their neighbours, so that whatever local a pass finds out about
 * `middle` and the `reach` layers on both sides, when it is the same for all of them, also holds
 * for `copies` more layers in between. */
typedef struct folding {
	const program *full;
	program *p; /* shares the module, the rules and the types of `full`; dead nodes left out */
	int32_t middle;
	uint32_t copies, reach;
	bool tight;
	uint32_t n_layers; /* of the folded program, numbered from 0 */
	pval_id *val_of;   /* by pval of the full program: the one that stands for it; ID_NONE: dead */
	pval_id *val_origin; /* by pval of the folded program: one that it stands for, itself wherever
	                        it is kept */
	int32_t *val_layer, *node_layer; /* of the folded program */
	node_id *node_next; /* of the folded program: counterpart in the next layer, ID_NONE */
	/* By node of the folded program, and of the full one: the loop over all layers that it stands
	 * in (forward pass, backward pass, one or more of the update); 0: in no layer like `middle`.
	 * Between ops of equal numbers there is the same in every layer. */
	int32_t *node_pass, *full_pass;
	pval_id *val_next, *val_before;
	uint32_t *band_of; /* by pval of the folded program: its layer's place in the band, ID_NONE: not
	                      in it */
	pval_id *band_name;  /* the first of its counterparts there; ID_NONE */
	uint32_t *cut_apart; /* by pval of the folded program: dims of which slices of different layers
	                        take different parts, or that are such a part */
	uint32_t *arg_of, *result_of; /* by argument and result of main in the full program */
	VEC(fold_block) blocks;       /* of the folded program, in order */
	VEC(uint32_t) order; /* the full program as blocks of the folded one, in program order */
	VEC(int32_t)
	order_layer; /* and the layer of each, numbered in the full program from 0; LAYER_NONE */
} folding;
/* How many layers of the full program a layer of the folded one stands for. */
static inline uint32_t fold_weight(const folding *f, int32_t layer)
{
	return layer == f->middle ? 1 + f->copies : 1;
}
/* The layers that have to be alike. */
static inline bool fold_in_band(const folding *f, int32_t layer)
{
	return layer >= f->middle - (int32_t)f->reach &&
		layer <= f->middle + (int32_t)f->reach; /* LAYER_NONE is far below */
}
/* Is a value of the band, with its neighbours in it, what its counterpart is? And is no dim cut of
 * which layers take different parts, so that what moves depends on the layer? state: by pval of the
 * folded program. */
bool fold_is_even(const folding *f, const sharding_table *t, const sharding_id *state, pval_id v);
/* NULL when the program has nothing to fold. tight: with one layer less at the beginning, where
 * there is one already that is not quite like the others; then less may turn out the same. */
folding *folding_new(const program *full, bool tight) MUST_USE;
folding *folding_of(
	const program *full, const layering *ly, bool tight) MUST_USE; /* of layers that were found */
void folding_free(folding *f);

/* ---------------------------------------------------------------- engine */

typedef enum direction { DIR_NONE = 0, DIR_FORWARD = 1, DIR_BACKWARD = 2, DIR_BOTH = 3 } direction;
typedef enum strategy_kind {
	STRATEGY_BASIC,
	STRATEGY_AGGRESSIVE,
	STRATEGY_BASIC_THEN_AGGRESSIVE
} strategy_kind;
typedef struct propagate_options {
	strategy_kind strategy; /* default of Shardy's passes: aggressive */
	bool op_priority;       /* the five rounds */
	bool user_priority;     /* rounds by the priorities found in the shardings */
	bool conservative;
	bool no_memo; /* compute every transfer again (checking) */
} propagate_options;
enum { OP_PRIORITY_ROUNDS = 5 };

typedef struct transfer_stats {
	uint64_t steps, memo_hits, updates;
	uint64_t waves; /* parts of settles that were written because they were known */
} transfer_stats;

/* Shardings of all pvals of a program plus what the worklist needs. One thread each. */
typedef struct propagation propagation;
propagation *propagation_new(const program *p, sharding_table *t, const propagate_options *o);
void propagation_free(propagation *s);
/* Every pval's sharding back to what the module says (argument, op and result attributes); empties
 * the trail. */
void propagation_reset(propagation *s);
static inline sharding_id *propagation_shardings(propagation *s)
{
	return *(sharding_id **)s;
} /* first member; by pval */
/* Full propagation of the current shardings, as the pass with these options does it on the whole
 * module. */
void propagation_run(propagation *s);
/* The same, with every change written down in the log, which starts over. */
typedef struct change_log change_log;
void propagation_run_logged(propagation *s, change_log *l);
/* Incremental: set values, then settle propagates from what changed since the last settle, through
 * all op-priority rounds. Everything is recorded on the trail. */
void propagation_set(propagation *s, pval_id v, sharding_id sh);
void propagation_settle(propagation *s);
typedef struct value_is {
	pval_id v;
	sharding_id is;
} value_is;
/* Writes what setting and settling came to before, all of it; stable: propagation_is_stable was
 * true then. */
void propagation_retrace(propagation *s, const value_is *values, uint32_t n, bool stable);
uint32_t propagation_mark(const propagation *s);      /* length of the trail */
void propagation_undo(propagation *s, uint32_t mark); /* back to that length, exactly */
typedef struct trail_change {
	pval_id v;
	sharding_id old; /* what it changed from */
} trail_change;
/* The whole trail; valid until the next change. */
const trail_change *propagation_trail(const propagation *s);
/* All that the changes since mark depend on, once they are settled: values with the shardings they
 * had at mark, those in `first` before all others. Where these have the same shardings again,
 * setting the same values and settling comes to the same. Which value comes next in the list
 * depends on those before it alone. The state at mark was stable. Returns their number; *out is
 * valid until the next call. */
uint32_t propagation_reads(
	propagation *s, uint32_t mark, const pval_id *first, uint32_t n_first, const value_is **out);
/* Behind a run or a settle, and back there: nothing is left to be exchanged between returned values
 * and results of main, so that what a settle comes to depends on nothing but what is set and who
 * sees it. */
bool propagation_is_stable(const propagation *s);
/* What is known of states by what was read in them: leaves, each with the reads that it depends on.
 * Leaves and all else live in the arena. Of a read, `v` may also be the number of something that is
 * no value, from n_values on. */
typedef struct read_tree {
	arena mem;
	size_t bytes; /* of the arena that are taken */
	uint32_t n_values;
	uint8_t bits; /* of a packed word say what is read, the others what it is */
	VEC(uint32_t) packed;
} read_tree;
typedef struct read_node read_node;
void read_tree_init(read_tree *t, uint32_t n_values, uint32_t n_more);
void read_tree_clear(read_tree *t); /* all roots are void then */
void read_tree_release(read_tree *t);
void *read_tree_keep(read_tree *t, const void *from, uint32_t n,
	size_t size); /* NULL when there is nothing to keep */
/* False when a number is too large for a word. */
bool read_tree_pack(const read_tree *t, const value_is *from, uint32_t n, uint32_t *to);
static inline value_is read_unpack(uint8_t bits, uint32_t packed)
{
	return (value_is){
		packed & (uint32_t)(((uint64_t)1 << bits) - 1), (sharding_id)((uint64_t)packed >> bits)};
}
/* A leaf of the tree under the root all of whose reads are as they were; NULL: none is known. more:
 * what is read from n_values on. */
const void *read_tree_find(
	const read_tree *t, const read_node *root, const sharding_id *values, const uint32_t *more);
/* reads: from the first one on, the fewer states share them the later. False: cannot be remembered,
 * or there is a leaf. */
bool read_tree_add(
	read_tree *t, read_node **root, const value_is *reads, uint32_t n, const void *leaf);
/* Did the values of all layers of the band go through the same shardings in what s has changed
 * since mark? s: on the folded program, its state even. Then it does not depend on how many such
 * layers there are. */
bool fold_is_sure(const folding *f, const propagation *s, uint32_t mark);
void propagation_set_no_memo(propagation *s, bool no_memo);
/* Of memoised steps, and of what is remembered of settles; a full memo starts over. */
void propagation_limit(propagation *s, size_t step_bytes, size_t settle_bytes);
transfer_stats propagation_stats(const propagation *s);
/* One op's step on given slot shardings, unmemoised: for tests, explain and lowering. Returns true
 * when out differs. */
bool transfer_step(const program *p, sharding_table *t, const node *n, strategy_kind strategy,
	direction dir, bool pass_through_only, bool conservative, const sharding_id *in,
	sharding_id *out);

/* Copies shardings (and erases the dead ops that the driver erased) into the module the program was
 * made from. */
void program_store(const program *p, propagation *s, module *m);

/* ---------------------------------------------------------------- explanations (origins.c,
 * losses.c, explain*.c) */

/* Why a value changed. */
typedef enum change_cause {
	CAUSE_HOLD_BACK, /* axes that wait for the round of their user priority */
	CAUSE_RESTORE,   /* that round has come: the user's axes */
	CAUSE_STEP,      /* the step of an op */
	CAUSE_GROUP,     /* another member of its sharding group changed */
} change_cause;
typedef struct change_entry {
	pval_id v;
	sharding_id old, new;
	uint8_t cause;
	uint8_t mode;          /* of the step: engine.h's step_mode */
	int16_t user_priority; /* round; -1: the pass has none */
	int16_t op_priority;   /* round of the step; -1: the pass has none, or an exchange with main's
	                          results */
	uint16_t slot;         /* of the node, operands first */
	node_id node;
	pval_id member; /* of the group, whose change this follows */
	uint32_t step;  /* changes of one step share a number */
} change_entry;
struct change_log {
	VEC(change_entry) list;
	VEC(sharding_id) start; /* by pval */
	change_entry now;       /* what the next change is due to */
};
void change_log_release(change_log *l);

/* Where one axis, or a part of one, of one dim of a value came from. */
typedef struct axis_origin {
	pval_id v;
	uint8_t dim;
	bool alive;         /* still there at the end */
	bool manual;        /* from an axis that a manual_computation is manual over */
	uint16_t factor;    /* of a step: what it came along */
	uint16_t from_slot; /* of a step: the tensor that had it */
	axis_ref axis;
	uint32_t change; /* index in the log; ID_NONE: was there at the start */
	uint32_t parent; /* origin (a smaller index) of the same part where it came from; ID_NONE: the
	                    user's own */
	uint32_t next;   /* older origin of the same value, ID_NONE at the end */
} axis_origin;
typedef struct origin_table {
	VEC(axis_origin) list;
	uint32_t *newest; /* by pval */
} origin_table;
/* Works the log off. The origins of a value that are alive are the axes it has at the end, each
 * part once. */
void origins_find(const program *p, sharding_table *t, const change_log *log, origin_table *out);
void origins_release(origin_table *o);

/* Why a value did not take an axis that another tensor of an op has. */
typedef enum loss_reason {
	LOSS_TAKEN,  /* another dim of the value, or another factor, has it */
	LOSS_ORDER,  /* other axes stand where it would have to come */
	LOSS_BEHIND, /* the axis in front of it was not taken */
	LOSS_CLOSED,
	LOSS_REPLICATED,
	LOSS_UNREDUCED, /* what the value's sharding says */
	LOSS_SIZE,      /* the factor's size does not divide */
	LOSS_PARTIAL,   /* the factor in front of it is not cut in full */
	LOSS_BLOCKED,   /* the rule lets nothing through this factor */
	LOSS_DIRECTION, /* a barrier, or the pass, lets nothing through this way */
	LOSS_OTHER,     /* basic strategy: another tensor of the op cannot take it */
	LOSS_RESULT,    /* elementwise: the result did not take it */
	LOSS_SUB_AXIS,  /* conservative: sub-axes are not propagated */
	LOSS_NO_STEP,   /* no step followed after it came */
} loss_reason;
typedef struct axis_loss {
	uint8_t dim, reason;
	uint16_t slot, from_slot,
		factor; /* of the node: the value, who has the axis, along which factor */
	node_id node;
	axis_ref axis;
	axis_ref winner; /* LOSS_TAKEN, _ORDER, _OTHER: the axis that it lost to, 0 when there is none
	                    to name */
	uint16_t winner_slot, winner_factor;
} axis_loss;
typedef VEC(axis_loss) loss_list;
/* The axes that ops around a value could not bring it, by the shardings that are there now. */
void losses_find(const program *p, sharding_table *t, const propagate_options *o,
	const sharding_id *shardings, pval_id v, loss_list *out);

/* What is told about a run of propagation, ready to be printed: texts belong to the explanation. A
 * name is as in the source of the module (`%3`, `%5#1`), with the argument's or result's name
 * behind it. */
typedef struct explained_hop { /* how one value got one axis */
	str value, text;           /* text: the sentence */
	str how; /* "annotated", "propagated", "sharding_group", "manual_axes", "imported" */
	str axis, from, op, location, factor, direction, strategy; /* of a step; else empty */
	uint32_t dim, skipped;              /* hops left out between the one before and this one */
	int32_t user_priority, op_priority; /* -1: none */
} explained_hop;
typedef struct explained_axis { /* hops from the value back to who had the axis first */
	uint32_t dim, n_hops;
	bool same_way; /* hop by hop as the axis before it */
	str axis;
	explained_hop *hops;
} explained_axis;
typedef struct explained_loss {
	uint32_t dim;
	str axis, text, reason, from, op, location, factor, winner_axis, winner;
} explained_loss;
typedef struct explained_value {
	pval_id v;
	str value, op, location, type;
	sharding_id before, after;
	uint32_t n_axes, n_losses, n_alike; /* alike: other values with the same story, left out */
	explained_axis *axes;
	explained_loss *losses;
} explained_value;
typedef struct explained_run { /* one propagation pass */
	str pass;
	uint32_t n_changed, n_stories; /* values whose axes changed, and how many different ones of
	                                  them, shown or not */
	VEC(explained_value) values;
} explained_run;

typedef struct explanation explanation;
/* From now on the propagation passes that run on m explain themselves; m must be as it was read.
 * Selectors (views that outlive the explanation; none: everything that changed): `%3`, `%5#1`; a
 * source location `file.py:40` or `file.py:40:8`; else a glob over the names of arguments, results
 * (`result0`) and locations. limit: the most values told per run, 0: all. ST_ERR_NOT_FOUND names a
 * selector that matches no value of m. */
status explanation_new(module *m, const char *const *selectors, uint32_t n, uint32_t limit,
	explanation **out, diag *d) MUST_USE;
void explanation_free(module *m, explanation *e);
uint32_t explanation_runs(const explanation *e);
const explained_run *explanation_run(const explanation *e, uint32_t i);
/* For people. */
void explanation_print(const explanation *e, const module *m, strbuf *out);

/* trim.c: what sdy-update-non-divisible-input-output-shardings leaves of a sharding: per dim the
 * axes that divide it. */
sharding_id sharding_divisible_part(sharding_table *t, sharding_id id, const ir_type *ty);
/* The same for all arguments and results of main, in an array by pval. */
void program_trim_io(const program *p, sharding_table *t, sharding_id *shardings);

/* ---------------------------------------------------------------- projection (used by lowering
 * too) */

typedef struct factor_sharding {
	axes_buf axes, overflow;
	bool present, closed, minor_most;
} factor_sharding;
typedef struct tensor_factors {
	factor_sharding factor[MAX_FACTORS]; /* by factor index; present tells */
	axes_buf replicated, unreduced;
} tensor_factors;
/* Tensor t of the rule. missing_closed: what a missing sharding means (open in propagation, closed
 * in reshards). */
void project_to_factors(const rule *r, uint32_t tensor, const sharding_table *t, sharding_id sh,
	mesh_id mesh, bool missing_closed, tensor_factors *out);
sharding_id project_to_sharding(const rule *r, uint32_t tensor, sharding_table *t, mesh_id mesh,
	const tensor_factors *f, sharding_id old);

/* ---------------------------------------------------------------- passes */

/* Pass pipelines in sdy_opt's and MLIR's words: "a,b{opt=v opt2=v},func.func(c),builtin.module(d)".
 * Unknown passes and options are errors with the position in the text. Runs on the module in place;
 * verified before and after. Passes of other folders (explicit reshards, collectives) are
 * registered by lower. */
typedef struct pass_option {
	str name, value;
} pass_option;
typedef status (*pass_fn)(module *m, const pass_option *options, uint32_t n_options, diag *d);
typedef struct pass_info {
	const char *name;
	pass_fn run;
	const char *options; /* space-separated names it takes */
	const char *help;
} pass_info;
void pass_register(const pass_info *passes, uint32_t n); /* once at start, before threads */
const pass_info *pass_find(str name);
uint32_t pass_count(void);
const pass_info *pass_at(uint32_t i);
status passes_run(module *m, const char *pipeline, diag *d) MUST_USE;

/* What search, simulate and evaluate run before compiling a program: inline, symbol-dce and the
 * import passes of sdy-propagation-pipeline up to add-data-flow-edges, sharding-group-import
 * included. merge_equal: equal ops become one first, as XLA does for TPU alone; what they were
 * merged into has OPS_MERGED. */
status passes_import(module *m, bool merge_equal, diag *d) MUST_USE;

#endif
