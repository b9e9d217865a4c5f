/* Explanations of propagation passes: which values are told about, in which order, and the page for
 * people.
 *
 * Without selectors all values that propagation changed are candidates. Values with the same story
 * (same place and type, same factors, ops and priorities: the layers of a model) are told once;
 * conflicts come first, then arguments and results, then the rest, large before small. */
#include "propagate/explain.h"

#include <stdlib.h>

enum { HOPS_TOLD = 8, HOPS_SELECTED = 40, HOPS_AT_THE_END = 3, LOSSES_TOLD = 8 };

/* ---------------------------------------------------------------- life */

static int by_source(const void *a, const void *b)
{
	uint32_t x = ((const source_func *)a)->src, y = ((const source_func *)b)->src;
	return x < y ? -1 : x > y;
}

static void note_module(explanation *e, const module *m)
{
	bool *annotated = arena_zalloc(&e->mem, m->values.n);
	for (value_id v = 0; v < m->values.n; v++)
		annotated[v] = value_at(m, v)->sharding != SHARDING_NONE;
	e->annotated = annotated;
	e->n_annotated = m->values.n;
	e->funcs = arena_array(&e->mem, source_func, m->funcs.n);
	e->n_funcs = m->funcs.n;
	for (uint32_t i = 0; i < m->funcs.n; i++) {
		str name = strtab_get(&m->strs, m->funcs.p[i].name);
		e->funcs[i] = (source_func){
			op_at(m, m->funcs.p[i].op)->src, {arena_strdup(&e->mem, name.p, name.n), name.n}};
	}
	if (e->n_funcs)
		qsort(e->funcs, e->n_funcs, sizeof *e->funcs, by_source);
	const func *main = module_main(m);
	e->main = ID_NONE;
	for (uint32_t i = 0; main && i < e->n_funcs; i++)
		if (e->funcs[i].src == op_at(m, main->op)->src)
			e->main = i;
}

status explanation_new(
	module *m, const char *const *selectors, uint32_t n, uint32_t limit, explanation **out, diag *d)
{
	explanation *e = xcalloc(1, sizeof *e);
	arena_init(&e->mem);
	e->selectors = selectors;
	e->n_selectors = n;
	e->limit = limit;
	note_module(e, m);
	*out = NULL;
	for (uint32_t i = 0; i < n; i++)
		if (!selector_possible(m, selectors[i])) {
			explanation_free(NULL, e);
			return diag_set(d, ST_ERR_NOT_FOUND,
				"no value matches '%s': expected %%name, file:line[:col], or a glob over argument, "
				"result and location names",
				selectors[i]);
		}
	m->explanation = e;
	*out = e;
	return ST_OK;
}

void explanation_free(module *m, explanation *e)
{
	if (!e)
		return;
	if (m)
		m->explanation = NULL;
	for (uint32_t i = 0; i < e->runs.n; i++)
		vec_release(&e->runs.p[i].values);
	vec_release(&e->runs);
	arena_release(&e->mem);
	free(e);
}

uint32_t explanation_runs(const explanation *e) { return e->runs.n; }
const explained_run *explanation_run(const explanation *e, uint32_t i) { return &e->runs.p[i]; }

/* ---------------------------------------------------------------- which values */

typedef struct candidate {
	pval_id v;
	bool conflict, outside; /* outside: argument or result of main */
	int64_t bytes;
	uint64_t story;
	uint32_t n_alike;
} candidate;
typedef VEC(candidate) candidate_list;

static bool came_by_propagation(const teller *t, const axis_origin *o)
{
	if (!o->alive || o->change == ID_NONE)
		return false;
	uint8_t cause = t->log->list.p[o->change].cause;
	return cause == CAUSE_STEP || cause == CAUSE_GROUP;
}

static bool has_changed(const teller *t, pval_id v)
{
	for (uint32_t i = t->origins.newest[v]; i != ID_NONE; i = t->origins.list.p[i].next)
		if (came_by_propagation(t, &t->origins.list.p[i]))
			return true;
	return false;
}

static bool is_conflict(const axis_loss *l)
{
	return l->reason == LOSS_TAKEN || l->reason == LOSS_ORDER || l->reason == LOSS_OTHER ||
		l->reason == LOSS_RESULT;
}

static uint64_t hash_str(uint64_t h, str s) { return hash_bytes(s.p, s.n, h); }

/* Where and how, without names of values. */
static uint64_t story_of(teller *t, pval_id v)
{
	const pval *x = &t->p->vals.p[v];
	uint64_t h = hash_combine(x->type, t->after[v]);
	h = hash_combine(h, (uint64_t)(x->arg_index >= 0) << 1 | (x->result_index >= 0));
	h = hash_combine(h, t->log->start.p[v]);
	if (x->def != ID_NONE) {
		op_place(t->m, node_reader_op(t->p, x->def), &t->text);
		h = hash_combine(hash_str(h, (str){t->text.p ? t->text.p : "", t->text.n}),
			t->p->nodes.p[x->def].op_kind);
		strbuf_clear(&t->text);
	}
	for (uint32_t i = t->origins.newest[v]; i != ID_NONE; i = t->origins.list.p[i].next) {
		const axis_origin *o = &t->origins.list.p[i];
		if (!o->alive)
			continue;
		h = hash_combine(
			hash_combine(h, o->axis), (uint64_t)o->dim << 32 | o->factor << 16 | o->from_slot);
		if (o->change == ID_NONE)
			continue;
		const change_entry *c = &t->log->list.p[o->change];
		h = hash_combine(h,
			(uint64_t)c->cause << 40 | (uint64_t)c->mode << 32 | (uint32_t)c->user_priority << 16 |
				(uint16_t)c->op_priority);
		if (c->cause == CAUSE_STEP)
			h = hash_combine(h, (uint64_t)t->p->nodes.p[c->node].op_kind << 32 | c->slot);
	}
	for (uint32_t i = 0; i < t->losses.n; i++) {
		const axis_loss *l = &t->losses.p[i];
		h = hash_combine(hash_combine(h, l->axis), l->winner);
		h = hash_combine(h,
			(uint64_t)l->reason << 56 | (uint64_t)l->dim << 48 | (uint64_t)l->factor << 32 |
				t->p->nodes.p[l->node].op_kind);
	}
	return h;
}

static bool is_gone(const program *p, pval_id v)
{
	node_id def = p->vals.p[v].def;
	return def != ID_NONE && p->nodes.p[def].dead;
}

static void find_losses(teller *t, pval_id v)
{
	losses_find(t->p, t->t, t->options, t->after, v, &t->losses);
}

static candidate judge_value(teller *t, pval_id v)
{
	const pval *x = &t->p->vals.p[v];
	candidate c = {.v = v,
		.outside = x->arg_index >= 0 || x->result_index >= 0,
		.bytes = sharding_local_bytes(t->t, SHARDING_NONE, pval_type(t->p, v))};
	find_losses(t, v);
	for (uint32_t i = 0; i < t->losses.n; i++)
		c.conflict |= is_conflict(&t->losses.p[i]);
	c.story = story_of(t, v);
	return c;
}

static int by_story(const void *a, const void *b)
{
	const candidate *x = a, *y = b;
	if (x->story != y->story)
		return x->story < y->story ? -1 : 1;
	return x->v < y->v ? -1 : x->v > y->v;
}

static int by_interest(const void *a, const void *b)
{
	const candidate *x = a, *y = b;
	if (x->conflict != y->conflict)
		return x->conflict ? -1 : 1;
	if (x->outside != y->outside)
		return x->outside ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->v < y->v ? -1 : x->v > y->v;
}

static void sort(candidate_list *list, int (*order)(const void *, const void *))
{
	if (list->n)
		qsort(list->p, list->n, sizeof *list->p, order);
}

static void find_changed(teller *t, candidate_list *out, uint32_t *n_changed)
{
	for (pval_id v = 0; v < t->p->vals.n; v++)
		if (!is_gone(t->p, v) && has_changed(t, v))
			vec_push(out, judge_value(t, v));
	*n_changed = out->n;
	sort(out, by_story);
	uint32_t n = 0;
	for (uint32_t i = 0; i < out->n; i++) {
		if (n && out->p[n - 1].story == out->p[i].story)
			out->p[n - 1].n_alike++;
		else
			out->p[n++] = out->p[i];
	}
	out->n = n;
	sort(out, by_interest);
}

static void find_selected(teller *t, candidate_list *out)
{
	bool *wanted = xcalloc(t->p->vals.n + 1, sizeof *wanted);
	select_pvals(t, wanted);
	for (pval_id v = 0; v < t->p->vals.n; v++)
		if (wanted[v] && !is_gone(t->p, v))
			vec_push(out, (candidate){.v = v});
	free(wanted);
}

/* ---------------------------------------------------------------- telling */

static void tell_axis(teller *t, uint32_t origin, explained_axis *out)
{
	uint32_t n = 0, most = t->e->n_selectors ? HOPS_SELECTED : HOPS_TOLD, skipped = 0;
	for (uint32_t o = origin; o != ID_NONE; o = t->origins.list.p[o].parent)
		n++;
	out->dim = t->origins.list.p[origin].dim;
	out->hops = arena_array(&t->e->mem, explained_hop, MIN(n, most));
	out->n_hops = 0;
	for (uint32_t o = origin, i = 0; o != ID_NONE; o = t->origins.list.p[o].parent, i++) {
		if (n > most && i >= most - HOPS_AT_THE_END && i < n - HOPS_AT_THE_END) {
			skipped++;
			continue;
		}
		tell_hop(t, o, i == 0, &out->hops[out->n_hops]);
		out->hops[out->n_hops++].skipped = skipped;
		skipped = 0;
	}
	out->axis = out->hops[0].axis;
}

/* Two parts that moved together all the way. */
static bool same_way(const teller *t, uint32_t a, uint32_t b)
{
	for (; a != ID_NONE && b != ID_NONE;
		 a = t->origins.list.p[a].parent, b = t->origins.list.p[b].parent) {
		const axis_origin *x = &t->origins.list.p[a], *y = &t->origins.list.p[b];
		if (x->v != y->v || x->dim != y->dim || x->change != y->change || x->factor != y->factor ||
			x->from_slot != y->from_slot)
			return false;
	}
	return a == b;
}

/* Axes by dim, then in the order of the sharding. */
static uint32_t axis_place(const teller *t, pval_id v, const axis_origin *o)
{
	axes l = sharding_dim(sharding_get(t->t, t->after[v]), o->dim);
	uint32_t i = 0;
	while (i < l.n && !axis_contains(l.a[i], o->axis))
		i++;
	return (uint32_t)o->dim << 16 | i;
}

static void tell_axes(teller *t, pval_id v, explained_value *out)
{
	uint32_t order[2 * MAX_TENSOR_AXES], n = 0;
	for (uint32_t i = t->origins.newest[v]; i != ID_NONE && n < COUNT_OF(order);
		 i = t->origins.list.p[i].next) {
		const axis_origin *o = &t->origins.list.p[i];
		if (!o->alive)
			continue;
		uint32_t at = n++;
		for (; at; at--) {
			const axis_origin *before = &t->origins.list.p[order[at - 1]];
			uint32_t a = axis_place(t, v, before), b = axis_place(t, v, o);
			if (a < b || (a == b && axis_pre(before->axis) < axis_pre(o->axis)))
				break;
			order[at] = order[at - 1];
		}
		order[at] = i;
	}
	out->axes = arena_array(&t->e->mem, explained_axis, n);
	out->n_axes = n;
	for (uint32_t i = 0; i < n; i++) {
		tell_axis(t, order[i], &out->axes[i]);
		out->axes[i].same_way = i && same_way(t, order[i - 1], order[i]);
	}
}

static void tell_losses(teller *t, pval_id v, explained_value *out)
{
	find_losses(t, v);
	uint32_t most = t->e->n_selectors ? t->losses.n : MIN(t->losses.n, LOSSES_TOLD);
	out->losses = arena_array(&t->e->mem, explained_loss, most);
	for (uint32_t pass = 0; pass < 2; pass++) /* conflicts first */
		for (uint32_t i = 0; i < t->losses.n && out->n_losses < most; i++)
			if (is_conflict(&t->losses.p[i]) == !pass)
				tell_loss(t, v, &t->losses.p[i], &out->losses[out->n_losses++]);
}

static explained_value tell_value(teller *t, const candidate *c)
{
	const pval *x = &t->p->vals.p[c->v];
	explained_value out = {
		.v = c->v, .before = t->log->start.p[c->v], .after = t->after[c->v], .n_alike = c->n_alike};
	pval_name(t, c->v, &t->text);
	out.value = keep_text(t);
	type_print(t->m, x->type, &t->text);
	out.type = keep_text(t);
	if (x->def != ID_NONE) {
		op_id o = node_reader_op(t->p, x->def);
		strbuf_str(&t->text, strtab_get(&t->m->strs, op_at(t->m, o)->name));
		out.op = keep_text(t);
		op_place(t->m, o, &t->text);
		out.location = keep_text(t);
	}
	tell_axes(t, c->v, &out);
	tell_losses(t, c->v, &out);
	return out;
}

void explain_run(
	explanation *e, const char *pass, const program *p, propagation *s, const propagate_options *o)
{
	change_log log = {0};
	candidate_list list = {0};
	explained_run run = {.pass = str_of(pass)};
	teller t = {.e = e,
		.p = p,
		.m = p->m,
		.t = p->m->shardings,
		.options = o,
		.log = &log,
		.after = propagation_shardings(s)};
	propagation_run_logged(s, &log);
	origins_find(p, t.t, &log, &t.origins);
	strbuf_init(&t.text);
	if (e->n_selectors)
		find_selected(&t, &list);
	else
		find_changed(&t, &list, &run.n_changed);
	run.n_stories = list.n;
	for (uint32_t i = 0; i < list.n && (!e->limit || i < e->limit); i++)
		vec_push(&run.values, tell_value(&t, &list.p[i]));
	vec_push(&e->runs, run);
	strbuf_release(&t.text);
	origins_release(&t.origins);
	change_log_release(&log);
	vec_release(&t.losses);
	vec_release(&list);
}

/* ---------------------------------------------------------------- the page */

static void print_sharding(const module *m, sharding_id sh, strbuf *out)
{
	if (sh == SHARDING_NONE)
		strbuf_puts(out, "none");
	else
		sharding_print(m->shardings, sh, out);
}

static void print_axis(const explained_axis *a, strbuf *out)
{
	if (a->same_way)
		strbuf_printf(out, "  " STR_FMT " dim %u has \"" STR_FMT "\" in the same way\n",
			STR_ARG(a->hops[0].value), a->dim, STR_ARG(a->axis));
	for (uint32_t i = 0; i < a->n_hops && !a->same_way; i++) {
		if (a->hops[i].skipped)
			strbuf_printf(out, "    .. %u more ..\n", a->hops[i].skipped);
		strbuf_printf(out, i ? "    " STR_FMT "\n" : "  " STR_FMT "\n", STR_ARG(a->hops[i].text));
	}
}

static void print_value(const explained_value *v, const module *m, strbuf *out)
{
	strbuf_str(out, v->value);
	if (v->op.n)
		strbuf_printf(out, ", " STR_FMT, STR_ARG(v->op));
	if (v->location.n)
		strbuf_printf(out, " at " STR_FMT, STR_ARG(v->location));
	strbuf_printf(out, ", " STR_FMT ": ", STR_ARG(v->type));
	print_sharding(m, v->before, out);
	strbuf_puts(out, " -> ");
	print_sharding(m, v->after, out);
	strbuf_putc(out, '\n');
	for (uint32_t i = 0; i < v->n_axes; i++)
		print_axis(&v->axes[i], out);
	for (uint32_t i = 0; i < v->n_losses; i++)
		strbuf_printf(out, "  " STR_FMT "\n", STR_ARG(v->losses[i].text));
	if (v->n_alike)
		strbuf_printf(out, "  (%u more like this)\n", v->n_alike);
	strbuf_putc(out, '\n');
}

void explanation_print(const explanation *e, const module *m, strbuf *out)
{
	for (uint32_t i = 0; i < e->runs.n; i++) {
		const explained_run *r = &e->runs.p[i];
		if (e->runs.n > 1)
			strbuf_printf(out, "== " STR_FMT "\n\n", STR_ARG(r->pass));
		for (uint32_t k = 0; k < r->values.n; k++)
			print_value(&r->values.p[k], m, out);
		if (e->n_selectors)
			strbuf_printf(out, "%u of %u values that were asked for\n", r->values.n, r->n_stories);
		else
			strbuf_printf(out, "%u values changed, %u of %u stories told, conflicts first\n",
				r->n_changed, r->values.n, r->n_stories);
	}
}
