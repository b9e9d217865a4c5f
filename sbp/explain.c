#include "sbp/sbp.h"

static void pad(strbuf *out, size_t start, size_t width)
{
	while (out->n - start < width)
		strbuf_putc(out, ' ');
}

static void print_axes(const module *m, mesh_id mesh, const boxing_step *s, strbuf *out)
{
	const sharding_table *t = m->shardings;
	for (uint32_t k = s->first; k <= s->last; k++)
		strbuf_printf(out, "%s\"" STR_FMT "\"", k > s->first ? ", " : "",
			STR_ARG(strtab_get(&t->names, t->meshes.p[mesh].axis_names[k])));
}

static uint32_t hierarchy_of(const module *m, mesh_id mesh)
{
	return m->shardings->meshes.p[mesh].n_axes;
}

static void print_boxing(
	const module *m, const sbp_inference *x, const sbp_boxing_record *r, strbuf *out)
{
	uint32_t n = hierarchy_of(m, r->placement);
	strbuf_printf(out, "  boxing   in_%u ", r->operand);
	nd_sbp_print(&r->from, n, out);
	strbuf_puts(out, " -> ");
	nd_sbp_print(&r->to, n, out);
	strbuf_puts(out, r->same == ID_NONE ? ":" : ", as for an op before");
	for (uint32_t i = 0; i < r->n; i++) {
		const boxing_step *s = &x->steps.p[r->first + i];
		strbuf_printf(out, "%s %s over ", i ? "," : "", boxing_name(s->kind));
		print_axes(m, r->placement, s, out);
		if (boxing_moves(s->kind)) {
			strbuf_putc(out, ' ');
			strbuf_bytes(out, s->bytes);
		}
	}
	strbuf_puts(out, r->in_loop ? "; in a loop\n" : "\n");
}

static void print_words(const sbp_candidates *c, uint32_t i, strbuf *out)
{
	for (uint32_t k = 0; k < c->n_operands + c->n_results; k++) {
		size_t start = out->n;
		if (k == c->n_operands)
			strbuf_puts(out, "-> ");
		sbp_word_print(candidate_words(c, i)[k], out);
		pad(out, start, k == c->n_operands ? 9 : 6);
	}
}

/* The table of one dimension of the hierarchy. */
static void print_candidates(
	const module *m, const sbp_op_record *r, uint32_t slot, const sbp_placement *p, strbuf *out)
{
	const sbp_candidates *c = &r->candidates;
	const sharding_table *t = m->shardings;
	bool constrained = false;
	for (uint32_t i = 0; i < c->n_results; i++)
		constrained = constrained || r->constraint.given[i];
	if (p->n > 1)
		strbuf_printf(out, "  along \"" STR_FMT "\"\n",
			STR_ARG(strtab_get(&t->names, t->meshes.p[p->mesh].axis_names[slot])));
	size_t start = out->n, row = 0;
	strbuf_puts(out, "  #  ");
	for (uint32_t k = 0; k < c->n_operands + c->n_results; k++) {
		size_t at = out->n;
		if (k < c->n_operands)
			strbuf_printf(out, "in_%u", k);
		else
			strbuf_printf(out, "%sout_%u", k == c->n_operands ? "-> " : "", k - c->n_operands);
		pad(out, at, k == c->n_operands ? 9 : 6);
	}
	row = out->n - start;
	strbuf_puts(out, "  order            copy cost\n");
	for (uint32_t i = 0; i < c->n; i++) {
		start = out->n;
		strbuf_printf(out, "  %-3u", i + 1);
		print_words(c, i, out);
		pad(out, start, row);
		if (!sbp_fits_shape(c, r->choice.signature, slot, i, p))
			strbuf_puts(out, "  does not fit the shape");
		else if (!sbp_fits_constraint(c, i, slot, &r->constraint))
			strbuf_puts(out, "  not what the result is constrained to");
		else
			strbuf_printf(out, "  %5lld  %19lld",
				(long long)sbp_order_value(c, i, r->hints, slot, constrained),
				(long long)sbp_copy_cost(c, i, r->hints, slot, p));
		if (i == r->choice.signature[slot])
			strbuf_puts(out, "  chosen");
		else if (i == r->choice.first[slot])
			strbuf_puts(out, "  first, before refinement");
		strbuf_putc(out, '\n');
	}
}

static void print_op(
	const module *m, const sbp_op_record *r, bool every, line_cursor *lines, strbuf *out)
{
	sbp_placement p;
	diag d = {0};
	const sbp_candidates *c = &r->candidates;
	if (sbp_placement_of(m->shardings, r->placement, &p, &d) != ST_OK)
		return;
	op_print_place(m, r->op, lines, out);
	strbuf_printf(out, ": " STR_FMT, STR_ARG(strtab_get(&m->strs, op_at(m, r->op)->name)));
	for (uint32_t k = 0; k < c->n_operands + c->n_results; k++) {
		nd_sbp s = sbp_chosen(r, k, p.n);
		strbuf_puts(out, k == c->n_operands ? " -> " : k ? ", " : " ");
		nd_sbp_print(&s, p.n, out);
	}
	strbuf_puts(out, every && r->cached ? "  (as an equal op before)\n" : "\n");
	if (!every)
		return;
	for (uint32_t k = 0; k < c->n_operands; k++) {
		strbuf_printf(out, "  in_%u     ", k);
		if (r->hints[k].free)
			strbuf_puts(out, "constant");
		else
			nd_sbp_print(&r->hints[k].sbp, p.n, out);
		strbuf_printf(out, "  " STR_FMT ", ", STR_ARG(type_get(m, r->hints[k].type)->text));
		strbuf_bytes(out, r->hints[k].bytes);
		strbuf_putc(out, '\n');
	}
	if (r->cached)
		return;
	for (uint32_t slot = 0; slot < p.n; slot++)
		print_candidates(m, r, slot, &p, out);
	if (p.n > 1)
		strbuf_printf(out, "  N-D      order %lld, copy cost %lld, %u refinement%s\n",
			(long long)r->choice.order, (long long)r->choice.cost, r->choice.refinements,
			r->choice.refinements == 1 ? "" : "s");
}

static void print_totals(const sbp_inference *x, strbuf *out)
{
	int64_t bytes[BOXING_KIND_COUNT] = {0};
	uint32_t n[BOXING_KIND_COUNT] = {0}, cached = 0;
	for (uint32_t i = 0; i < x->ops.n; i++)
		cached += x->ops.p[i].cached;
	for (uint32_t i = 0; i < x->steps.n; i++) {
		n[x->steps.p[i].kind]++;
		bytes[x->steps.p[i].kind] = sat_add(bytes[x->steps.p[i].kind], x->steps.p[i].bytes);
	}
	strbuf_printf(
		out, "%u ops, %u of them as equal ones before; %u boxings", x->ops.n, cached, x->boxings.n);
	for (uint32_t k = 0; k < BOXING_KIND_COUNT; k++)
		if (n[k]) {
			strbuf_printf(out, ", %u %s", n[k], boxing_name((boxing_kind)k));
			if (boxing_moves((boxing_kind)k)) {
				strbuf_putc(out, ' ');
				strbuf_bytes(out, bytes[k]);
			}
		}
	strbuf_putc(out, '\n');
}

void sbp_explain(const module *m, const sbp_inference *x, bool every, strbuf *out)
{
	line_cursor lines = {0, 1};
	uint32_t next = 0;
	strbuf_puts(out, "placement @");
	strbuf_str(
		out, strtab_get(&m->shardings->names, m->shardings->meshes.p[x->placement.mesh].name));
	strbuf_putc(out, ' ');
	mesh_print(m->shardings, x->placement.mesh, out);
	strbuf_putc(out, '\n');
	for (uint32_t i = 0; i <= x->ops.n; i++) {
		const sbp_op_record *r = i < x->ops.n ? &x->ops.p[i] : NULL;
		/* of loops, branches and returns, which have no signature */
		for (uint32_t end = r ? r->first_boxing : x->boxings.n; next < end; next++) {
			const sbp_boxing_record *b = &x->boxings.p[next];
			op_print_place(m, b->op, &lines, out);
			strbuf_printf(
				out, ": " STR_FMT "\n", STR_ARG(strtab_get(&m->strs, op_at(m, b->op)->name)));
			print_boxing(m, x, b, out);
		}
		if (!r)
			break;
		print_op(m, r, every, &lines, out);
		for (; next < r->first_boxing + r->n_boxings; next++)
			print_boxing(m, x, &x->boxings.p[next], out);
	}
	print_totals(x, out);
}
