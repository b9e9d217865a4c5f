/* What values and ops are called in explanations, and which of them a selector means. */
#include "propagate/explain.h"

#include "propagate/program_internal.h"

/* ---------------------------------------------------------------- names */

static bool name_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		strchr("_$.-", c);
}

/* The `%name`, or `%a, %b:2`, before the `=` in front of an op. */
static str result_names(const module *m, uint32_t src)
{
	const char *p = m->text.p;
	size_t at = src, end;
	while (at && strchr(" \t", p[at - 1]))
		at--;
	if (!at || p[at - 1] != '=')
		return (str){NULL, 0};
	for (at--; at && strchr(" \t", p[at - 1]);)
		at--;
	for (end = at; at && (name_char(p[at - 1]) || strchr("%:, ", p[at - 1]));)
		at--;
	while (at < end && p[at] != '%')
		at++;
	return (str){p + at, end - at};
}

/* Name of result i among such names: `%5:2` is the results %5#0 and %5#1. */
static void pick_name(str names, uint32_t i, strbuf *out)
{
	const char *p = names.p, *end = names.p + names.n;
	while (p < end) {
		const char *from = p;
		int64_t n = 1;
		while (++p < end && name_char(*p))
			;
		str name = {from, (size_t)(p - from)};
		bool pack = p < end && *p == ':';
		if (pack) {
			const char *digits = ++p;
			while (p < end && *p >= '0' && *p <= '9')
				p++;
			if (!str_to_i64((str){digits, (size_t)(p - digits)}, &n))
				return;
		}
		if (i < n) {
			strbuf_str(out, name);
			if (pack)
				strbuf_printf(out, "#%u", i);
			return;
		}
		i -= (uint32_t)n;
		while (p < end && *p != '%')
			p++;
	}
}

void source_name(const module *m, value_id v, strbuf *out)
{
	const ir_value *x = value_at(m, v);
	if (x->is_arg) {
		op_id parent = m->regions.p[x->def].parent;
		if (x->name)
			strbuf_printf(out, "%%" STR_FMT, STR_ARG(strtab_get(&m->strs, x->name)));
		else if (parent != ID_NONE && op_at(m, parent)->kind == OP_FUNC)
			strbuf_printf(out, "%%arg%u", x->index);
		return;
	}
	const ir_op *o = op_at(m, x->def);
	if (o->src != UINT32_MAX && m->text.p && o->src < m->text.n)
		pick_name(result_names(m, o->src), x->index, out);
}

static uint32_t func_of_source(const explanation *e, uint32_t src)
{
	uint32_t f = ID_NONE;
	for (uint32_t i = 0; i < e->n_funcs && e->funcs[i].src <= src; i++)
		f = i;
	return f;
}

op_id node_reader_op(const program *p, node_id n)
{
	const module *m = p->m;
	op_id o = p->nodes.p[n].op;
	if (p->nodes.p[n].kind != NODE_EDGE)
		return o;
	const ir_value *owner = value_at(m, op_operand(m, o, 0));
	return owner->is_arg ? m->regions.p[owner->def].parent : owner->def;
}

void op_place(const module *m, op_id o, strbuf *out)
{
	size_t n = out->n;
	uint32_t src = op_at(m, o)->src;
	loc_print(m, op_at(m, o)->loc, out);
	if (out->n > n || src == UINT32_MAX || !m->text.p || src >= m->text.n)
		return;
	uint32_t line = 1;
	for (const char *p = m->text.p; (p = memchr(p, '\n', (size_t)(m->text.p + src - p))); p++)
		line++;
	strbuf_printf(out, "line %u", line);
}

/* The IR value that a person knows a pval by: of an edge, what it is the edge of. */
static value_id known_value(const program *p, pval_id v)
{
	const pval *x = &p->vals.p[v];
	if (x->def != ID_NONE && p->nodes.p[x->def].kind == NODE_EDGE)
		return op_operand(p->m, p->nodes.p[x->def].op, 0);
	return x->value;
}

static void result_name(const module *m, uint32_t i, strbuf *out)
{
	const func *f = module_main(m);
	attr_id info = f && f->result_attrs[i] != ID_NONE
		? attr_child(m, f->result_attrs[i], "jax.result_info")
		: ID_NONE;
	if (info != ID_NONE)
		strbuf_str(out, attr_get(m, info)->text);
}

static void arg_name(const module *m, uint32_t i, strbuf *out)
{
	char plain[16];
	snprintf(plain, sizeof plain, "arg%u", i);
	size_t n = out->n;
	module_arg_name(m, i, out);
	if (str_is((str){out->p + n, out->n - n}, plain)) {
		out->n = n;
		out->p[n] = 0;
	}
}

static void in_brackets(strbuf *out, const strbuf *name)
{
	if (name->n)
		strbuf_printf(out, " (%s)", name->p);
}

void pval_name(const teller *t, pval_id v, strbuf *out)
{
	const module *m = t->m;
	const pval *x = &t->p->vals.p[v];
	strbuf name = {0};
	size_t n = out->n;
	if (x->result_index >= 0) {
		strbuf_printf(out, "result %d", x->result_index);
		result_name(m, (uint32_t)x->result_index, &name);
		in_brackets(out, &name);
		strbuf_release(&name);
		return;
	}
	value_id known = known_value(t->p, v);
	if (known == ID_NONE) {
		strbuf_puts(out, "an argument of a region");
		return;
	}
	source_name(m, known, out);
	op_id def = value_def(m, known);
	if (x->arg_index >= 0) {
		arg_name(m, (uint32_t)x->arg_index, &name);
		in_brackets(out, &name);
	} else if (out->n == n) {
		op_id of = def != ID_NONE ? def : m->regions.p[value_at(m, known)->def].parent;
		strbuf_printf(out, "%s " STR_FMT " at ", def != ID_NONE ? "the" : "an argument of",
			STR_ARG(strtab_get(&m->strs, op_at(m, of)->name)));
		op_place(m, of, out);
	} else if (def != ID_NONE) {
		uint32_t f = func_of_source(t->e, op_at(m, def)->src);
		if (f != ID_NONE && f != t->e->main)
			strbuf_printf(out, " of @" STR_FMT, STR_ARG(t->e->funcs[f].name));
	}
	strbuf_release(&name);
}

/* ---------------------------------------------------------------- selectors */

static bool is_location(const char *s)
{
	const char *colon = strchr(s, ':');
	return colon && colon[1] >= '0' && colon[1] <= '9';
}

/* `model.py:40` means `src/model.py:40:8` too: whole parts of the path in front, whole numbers
 * behind. */
static bool location_matches(str where, const char *selector)
{
	size_t n = strlen(selector);
	for (size_t at = 0; at + n <= where.n; at++)
		if ((!at || where.p[at - 1] == '/') && !memcmp(where.p + at, selector, n) &&
			(at + n == where.n || where.p[at + n] == ':'))
			return true;
	return false;
}

static bool loc_matches(const module *m, loc_id l, const char *selector)
{
	const location *at = &m->locs.p[l];
	if (!is_location(selector))
		return at->name.n && glob_match(selector, at->name);
	strbuf where = {0};
	loc_print(m, l, &where);
	bool same = where.n && location_matches((str){where.p, where.n}, selector);
	strbuf_release(&where);
	return same;
}

static bool in_main(const explanation *e, const module *m, value_id v)
{
	const ir_value *x = value_at(m, v);
	op_id o = x->is_arg ? m->regions.p[x->def].parent : x->def;
	return o == ID_NONE || op_at(m, o)->src == UINT32_MAX ||
		func_of_source(e, op_at(m, o)->src) == e->main;
}

static bool value_matches(const module *m, value_id v, const char *selector)
{
	if (*selector != '%')
		return !value_at(m, v)->is_arg &&
			loc_matches(m, op_at(m, value_at(m, v)->def)->loc, selector);
	strbuf name = {0};
	source_name(m, v, &name);
	bool same = name.n && glob_match(selector, (str){name.p, name.n});
	strbuf_release(&name);
	return same;
}

/* Is it the name of argument or result i of main? */
static bool named(const module *m, bool result, uint32_t i, const char *selector)
{
	strbuf name = {0};
	char plain[24];
	snprintf(plain, sizeof plain, result ? "result%u" : "arg%u", i);
	bool same = glob_match(selector, str_of(plain));
	if (result)
		result_name(m, i, &name);
	else
		module_arg_name(m, i, &name);
	same |= name.n && glob_match(selector, (str){name.p, name.n});
	str_id ssa = result ? 0 : value_at(m, op_region(m, module_main(m)->op, 0)->args + i)->name;
	same |= ssa && glob_match(selector, strtab_get(&m->strs, ssa));
	strbuf_release(&name);
	return same;
}

/* An SSA name means main's value when main has one: other functions count from %0 again. */
static void select_values(const teller *t, const char *selector, bool *wanted)
{
	const module *m = t->m;
	bool main_has = false;
	for (value_id v = 0; v < m->values.n && *selector == '%' && !main_has; v++)
		main_has =
			t->p->pval_of[v] != ID_NONE && in_main(t->e, m, v) && value_matches(m, v, selector);
	for (value_id v = 0; v < m->values.n; v++)
		if (t->p->pval_of[v] != ID_NONE && (!main_has || in_main(t->e, m, v)) &&
			value_matches(m, v, selector))
			wanted[t->p->pval_of[v]] = true;
}

void select_pvals(const teller *t, bool *wanted)
{
	for (uint32_t i = 0; i < t->e->n_selectors; i++) {
		const char *selector = t->e->selectors[i];
		select_values(t, selector, wanted);
		for (pval_id v = 0; v < t->p->vals.n && *selector != '%' && !is_location(selector); v++) {
			const pval *x = &t->p->vals.p[v];
			if (x->result_index >= 0)
				wanted[v] |= named(t->m, true, (uint32_t)x->result_index, selector);
			else if (x->arg_index >= 0)
				wanted[v] |= named(t->m, false, (uint32_t)x->arg_index, selector);
		}
	}
}

bool selector_possible(const module *m, const char *selector)
{
	const func *f = module_main(m);
	bool name = *selector != '%' && !is_location(selector);
	for (uint32_t i = 0; f && name && i < f->n_args; i++)
		if (named(m, false, i, selector))
			return true;
	for (uint32_t i = 0; f && name && i < f->n_results; i++)
		if (named(m, true, i, selector))
			return true;
	for (value_id v = 0; v < m->values.n; v++)
		if (value_matches(m, v, selector))
			return true;
	return false;
}
