/* Sentences: how an axis came to a value, and why one did not. */
#include "propagate/explain.h"

#include "propagate/program_internal.h"

/* ---------------------------------------------------------------- words */

str keep_text(teller *t)
{
	str kept = {arena_strdup(&t->e->mem, t->text.n ? t->text.p : "", t->text.n), t->text.n};
	strbuf_clear(&t->text);
	return kept;
}

static str keep_name(teller *t, pval_id v)
{
	pval_name(t, v, &t->text);
	return keep_text(t);
}

/* As JSON and flags write it: name, or name:(pre)size. */
static str keep_axis(teller *t, axis_ref a)
{
	const device_mesh *mesh = &t->t->meshes.p[t->p->mesh];
	strbuf_str(&t->text, strtab_get(&t->t->names, mesh->axis_names[axis_index(a)]));
	if (axis_size(a) != mesh->axis_sizes[axis_index(a)])
		strbuf_printf(&t->text, ":(%lld)%lld", (long long)axis_pre(a), (long long)axis_size(a));
	return keep_text(t);
}

static str keep_op(teller *t, op_id o)
{
	strbuf_str(&t->text, strtab_get(&t->m->strs, op_at(t->m, o)->name));
	return keep_text(t);
}

static str keep_place(teller *t, op_id o)
{
	op_place(t->m, o, &t->text);
	return keep_text(t);
}

static str keep_factor(teller *t, uint32_t factor)
{
	factor_print(factor, &t->text);
	return keep_text(t);
}

static bool defines(const teller *t, node_id n, pval_id v)
{
	return t->p->vals.p[v].def == n && t->p->nodes.p[n].kind != NODE_RESULT;
}

/* Which op it is; "this op" under the head line of the value that it defines. */
static void put_op(teller *t, node_id n, pval_id v, bool under_head)
{
	op_id o = node_reader_op(t->p, n);
	bool edge = t->p->nodes.p[n].kind == NODE_EDGE;
	if (under_head && !edge && defines(t, n, v)) {
		strbuf_puts(&t->text, "this op");
		return;
	}
	if (t->p->nodes.p[n].kind == NODE_RESULT) {
		strbuf_puts(&t->text, "the function's return");
		return;
	}
	size_t from = t->text.n;
	strbuf_printf(&t->text, "%s" STR_FMT " at ", edge ? "the data flow of " : "",
		STR_ARG(strtab_get(&t->m->strs, op_at(t->m, o)->name)));
	size_t before = t->text.n;
	op_place(t->m, o, &t->text);
	if (t->text.n == before) { /* no place known: without " at " */
		t->text.n = MAX(from, before - 4);
		t->text.p[t->text.n] = 0;
	}
}

/* The tensor of a node, seen from another one of it. */
static void put_tensor(teller *t, node_id i, uint32_t slot, uint32_t seen_from)
{
	const node *n = &t->p->nodes.p[i];
	bool result = slot >= n->n_operands;
	pval_id v = node_slots(t->p, n)[slot];
	if (n->kind != NODE_RESULT && n->kind != NODE_EDGE)
		strbuf_puts(&t->text,
			result                          ? "result "
				: seen_from < n->n_operands ? "the other operand "
											: "operand ");
	pval_name(t, v, &t->text);
}

/* A value that a loop only hands on is a source and the result of its edge: that counts as the
 * result. */
static const char *way(const teller *t, node_id i, pval_id v, uint32_t from, uint32_t to)
{
	const node *n = &t->p->nodes.p[i];
	bool from_result = from >= n->n_operands,
		 to_result = to >= n->n_operands || (n->kind == NODE_EDGE && defines(t, i, v));
	return from_result == to_result ? "sideways" : to_result ? "forward" : "backward";
}

static void put_axis(teller *t, axis_ref a) { axis_print(t->t, t->p->mesh, a, &t->text); }

/* ", user priority 0, op priority 2" as far as the pass has them. */
static void put_priorities(teller *t, int32_t user, int32_t op)
{
	if (user >= 0)
		strbuf_printf(&t->text, ", user priority %d", user);
	if (op >= 0)
		strbuf_printf(&t->text, ", op priority %d", op);
}

/* ---------------------------------------------------------------- hops */

/* A pass before propagation put it there: which one can be told from who asks for it. */
static void put_import(teller *t, pval_id v)
{
	const pval *x = &t->p->vals.p[v];
	const module *m = t->m;
	sharding_id given = t->log->start.p[v];
	for (slot_id u = x->value == ID_NONE ? ID_NONE : value_at(m, x->value)->first_use; u != ID_NONE;
		 u = m->slots.p[u].next) {
		op_id user = m->slots.p[u].owner;
		if (op_at(m, user)->kind != OP_SDY_SHARDING_CONSTRAINT ||
			value_at(m, op_result(m, user, 0))->sharding != given)
			continue;
		strbuf_puts(&t->text, " before propagation, from the sharding_constraint on it at ");
		op_place(m, user, &t->text);
		return;
	}
	if (x->def != ID_NONE && t->p->nodes.p[x->def].kind == NODE_EDGE)
		strbuf_puts(&t->text, " from its own annotation in the module");
	else
		strbuf_puts(&t->text,
			x->group != ID_NONE ? " before propagation, from its sharding group"
								: " before propagation, from a pass that ran earlier");
}

static bool was_annotated(const teller *t, pval_id v)
{
	const pval *x = &t->p->vals.p[v];
	if (x->result_index >= 0)
		return true;
	op_id def = x->value == ID_NONE ? ID_NONE : value_def(t->m, x->value);
	/* copies that passes made of the user's values and ops carry their annotations along */
	return x->value != ID_NONE &&
		(x->value < t->e->n_annotated ? t->e->annotated[x->value]
									  : def != ID_NONE && op_at(t->m, def)->src != UINT32_MAX);
}

static void tell_annotation(
	teller *t, const axis_origin *o, int32_t user_priority, explained_hop *out)
{
	bool edge = t->p->vals.p[o->v].def != ID_NONE &&
		t->p->nodes.p[t->p->vals.p[o->v].def].kind == NODE_EDGE;
	bool own = was_annotated(t, o->v) || edge;
	out->how = own ? STR("annotated") : STR("imported");
	out->user_priority = user_priority;
	strbuf_printf(&t->text, STR_FMT " dim %u has ", STR_ARG(out->value), o->dim);
	put_axis(t, o->axis);
	if (own)
		strbuf_puts(&t->text, " from its own annotation in the module");
	else
		put_import(t, o->v);
	if (user_priority > 0)
		strbuf_printf(&t->text, ", with user priority %d", user_priority);
}

static void tell_step(
	teller *t, const axis_origin *o, const change_entry *c, bool under_head, explained_hop *out)
{
	const node *n = &t->p->nodes.p[c->node];
	op_id at = node_reader_op(t->p, c->node);
	pval_id from = node_slots(t->p, n)[o->from_slot];
	out->how = o->manual ? STR("manual_axes") : STR("propagated");
	out->from = keep_name(t, from);
	out->op = keep_op(t, at);
	out->location = keep_place(t, at);
	out->factor = keep_factor(t, o->factor);
	out->direction = str_of(way(t, c->node, o->v, o->from_slot, c->slot));
	out->strategy = c->mode & MODE_BASIC ? STR("basic") : STR("aggressive");
	out->user_priority = c->user_priority;
	out->op_priority = c->op_priority;
	strbuf_printf(&t->text, STR_FMT " dim %u got ", STR_ARG(out->value), o->dim);
	put_axis(t, o->axis);
	strbuf_puts(&t->text, " from ");
	put_tensor(t, c->node, o->from_slot, c->slot);
	strbuf_puts(&t->text, n->kind == NODE_EDGE || n->kind == NODE_RESULT ? " through " : " of ");
	put_op(t, c->node, o->v, under_head);
	strbuf_printf(&t->text, ", factor " STR_FMT ", %s", STR_ARG(out->factor),
		way(t, c->node, o->v, o->from_slot, c->slot));
	put_priorities(t, c->user_priority, c->op_priority);
	if (c->mode & MODE_BASIC)
		strbuf_puts(&t->text, ", basic strategy");
	if (o->manual)
		strbuf_puts(&t->text, "; it is one of the axes that the op is manual over");
}

static void tell_group(teller *t, const axis_origin *o, const change_entry *c, explained_hop *out)
{
	out->how = STR("sharding_group");
	out->from = keep_name(t, c->member);
	out->user_priority = c->user_priority;
	out->op_priority = c->op_priority;
	strbuf_printf(&t->text, STR_FMT " dim %u got ", STR_ARG(out->value), o->dim);
	put_axis(t, o->axis);
	strbuf_printf(
		&t->text, " from " STR_FMT ": both are in one sharding group", STR_ARG(out->from));
}

void tell_hop(teller *t, uint32_t origin, bool under_head, explained_hop *out)
{
	const axis_origin *o = &t->origins.list.p[origin];
	const change_entry *c = o->change == ID_NONE ? NULL : &t->log->list.p[o->change];
	*out = (explained_hop){.dim = o->dim, .user_priority = -1, .op_priority = -1};
	out->value = keep_name(t, o->v);
	out->axis = keep_axis(t, o->axis);
	if (!c || c->cause == CAUSE_RESTORE)
		tell_annotation(t, o,
			c && c->cause == CAUSE_RESTORE  ? c->user_priority
				: t->options->user_priority ? 0
											: -1,
			out);
	else if (c->cause == CAUSE_GROUP)
		tell_group(t, o, c, out);
	else
		tell_step(t, o, c, under_head, out);
	out->text = keep_text(t);
}

/* ---------------------------------------------------------------- losses */

static const char *const reason_words[] = {
	[LOSS_TAKEN] = "taken",
	[LOSS_ORDER] = "order",
	[LOSS_BEHIND] = "behind",
	[LOSS_CLOSED] = "closed",
	[LOSS_REPLICATED] = "replicated",
	[LOSS_UNREDUCED] = "unreduced",
	[LOSS_SIZE] = "size",
	[LOSS_PARTIAL] = "partial",
	[LOSS_BLOCKED] = "blocked",
	[LOSS_DIRECTION] = "direction",
	[LOSS_OTHER] = "other_tensor",
	[LOSS_RESULT] = "result",
	[LOSS_SUB_AXIS] = "sub_axis",
	[LOSS_NO_STEP] = "no_step",
};

/* Since when the winner has what the other one lost to: the round in which it came. */
static void put_since(teller *t, const axis_loss *l)
{
	const node *n = &t->p->nodes.p[l->node];
	pval_id v = node_slots(t->p, n)[l->winner_slot];
	uint32_t dim =
		tensor_dim_of_factor(rule_get(t->p->rules, n->rule), l->winner_slot, l->winner_factor);
	for (uint32_t i = t->origins.newest[v]; i != ID_NONE; i = t->origins.list.p[i].next) {
		const axis_origin *o = &t->origins.list.p[i];
		if (!o->alive || o->dim != dim || !axis_overlaps(o->axis, l->winner))
			continue;
		const change_entry *c = o->change == ID_NONE ? NULL : &t->log->list.p[o->change];
		if (c && c->cause == CAUSE_STEP) {
			strbuf_puts(&t->text, " from ");
			put_tensor(t, c->node, o->from_slot, c->slot);
			put_priorities(t, c->user_priority, c->op_priority);
		} else {
			strbuf_puts(&t->text,
				c && c->cause == CAUSE_GROUP ? " from its sharding group" : " from an annotation");
		}
		return;
	}
}

/* The dim that has what the axis lost to. */
static void put_winner(teller *t, const axis_loss *l)
{
	const node *n = &t->p->nodes.p[l->node];
	if (l->winner_slot != l->slot) {
		put_tensor(t, l->node, l->winner_slot, l->slot);
		strbuf_putc(&t->text, ' ');
	}
	strbuf_printf(&t->text, "dim %u, factor ",
		tensor_dim_of_factor(rule_get(t->p->rules, n->rule), l->winner_slot, l->winner_factor));
	factor_print(l->winner_factor, &t->text);
}

static void put_reason(teller *t, const axis_loss *l)
{
	switch ((loss_reason)l->reason) {
	case LOSS_TAKEN:
		strbuf_puts(&t->text, "lost it to ");
		put_winner(t, l);
		strbuf_puts(&t->text, ", which has ");
		put_axis(t, l->winner);
		put_since(t, l);
		return;
	case LOSS_ORDER:
		strbuf_puts(&t->text, "lost to ");
		put_axis(t, l->winner);
		strbuf_puts(&t->text, ", which ");
		put_winner(t, l);
		strbuf_puts(&t->text, ", has in its place");
		put_since(t, l);
		return;
	case LOSS_BEHIND:
		strbuf_puts(&t->text, "the axis in front of it");
		if (l->winner) {
			strbuf_puts(&t->text, ", ");
			put_axis(t, l->winner);
			strbuf_putc(&t->text, ',');
		}
		strbuf_puts(&t->text, " was not taken");
		return;
	case LOSS_OTHER:
		strbuf_puts(&t->text,
			"the basic strategy lets nothing through that another tensor of the op cannot take: ");
		if (!l->winner) {
			put_tensor(t, l->node, l->winner_slot, l->slot);
			return;
		}
		put_winner(t, l);
		strbuf_puts(&t->text, ", has ");
		put_axis(t, l->winner);
		put_since(t, l);
		return;
	case LOSS_RESULT:
		strbuf_puts(&t->text, "operands of elementwise ops take no more than the result, and ");
		put_tensor(t, l->node, l->winner_slot, l->slot);
		strbuf_puts(&t->text, " did not take it");
		return;
	case LOSS_CLOSED: strbuf_puts(&t->text, "the dim is closed"); return;
	case LOSS_REPLICATED:
		strbuf_puts(&t->text, "it is explicitly replicated over the axis");
		return;
	case LOSS_UNREDUCED: strbuf_puts(&t->text, "it is unreduced over the axis"); return;
	case LOSS_SIZE: strbuf_puts(&t->text, "the size of the factor does not divide by it"); return;
	case LOSS_PARTIAL:
		strbuf_puts(&t->text, "the factor in front of it in this dim is not sharded in full");
		return;
	case LOSS_BLOCKED: strbuf_puts(&t->text, "the op's rule blocks the factor"); return;
	case LOSS_DIRECTION:
		strbuf_puts(&t->text, "the op lets nothing through in this direction");
		return;
	case LOSS_SUB_AXIS: strbuf_puts(&t->text, "conservative propagation takes no sub-axes"); return;
	case LOSS_NO_STEP: strbuf_puts(&t->text, "the op was not visited again after it came"); return;
	}
}

void tell_loss(teller *t, pval_id v, const axis_loss *l, explained_loss *out)
{
	const node *n = &t->p->nodes.p[l->node];
	op_id at = node_reader_op(t->p, l->node);
	*out = (explained_loss){.dim = l->dim, .reason = str_of(reason_words[l->reason])};
	out->axis = keep_axis(t, l->axis);
	out->op = keep_op(t, at);
	out->location = keep_place(t, at);
	out->factor = keep_factor(t, l->factor);
	out->from = keep_name(t, node_slots(t->p, n)[l->from_slot]);
	if (l->winner) {
		out->winner_axis = keep_axis(t, l->winner);
		out->winner = keep_name(t, node_slots(t->p, n)[l->winner_slot]);
	}
	strbuf_printf(&t->text, "dim %u did not take ", l->dim);
	put_axis(t, l->axis);
	strbuf_puts(&t->text, " from ");
	put_tensor(t, l->node, l->from_slot, l->slot);
	strbuf_puts(&t->text, n->kind == NODE_EDGE || n->kind == NODE_RESULT ? " through " : " of ");
	put_op(t, l->node, v, true);
	strbuf_printf(&t->text, ", factor " STR_FMT ": ", STR_ARG(out->factor));
	put_reason(t, l);
	out->text = keep_text(t);
}
