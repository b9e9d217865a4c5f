/* Which arguments of main give their buffer to a result. tf.aliasing_output names the result;
 * jax.buffer_donor leaves the choice to the compiler, which pairs buffers of equal size (its
 * matching walks both lists sorted by size, so only how many there are of each size counts). */
#include <stdlib.h>

#include "simulator/state.h"

enum { NOT_DONATED = -1, ANY_RESULT = -2 };

/* XLA takes an alias of a result of the same size. One of another type has no dims to shard alike:
 * only its buffer is given away. */
static int32_t donated_to(const module *m, const func *f, uint32_t i, const char **bad)
{
	attr_id attrs = f->arg_attrs ? f->arg_attrs[i] : ID_NONE;
	if (attrs == ID_NONE)
		return NOT_DONATED;
	attr_id fixed = attr_child(m, attrs, "tf.aliasing_output");
	if (fixed != ID_NONE) {
		const attr *a = attr_get(m, fixed);
		if (a->kind != ATTR_INT || a->i < 0 || a->i >= f->n_results) {
			*bad = "no result, or one that is taken";
			return NOT_DONATED;
		}
		const ir_type *from = value_type(m, op_region(m, f->op, 0)->args + i),
					  *to = type_get(m, f->result_types[a->i]);
		if (from == to)
			return (int32_t)a->i;
		if (sharding_local_bytes(m->shardings, SHARDING_NONE, from) !=
			sharding_local_bytes(m->shardings, SHARDING_NONE, to))
			*bad = "a result of another size";
		return ANY_RESULT;
	}
	attr_id donor = attr_child(m, attrs, "jax.buffer_donor");
	if (donor == ID_NONE)
		return NOT_DONATED;
	const attr *a = attr_get(m, donor);
	return a->kind == ATTR_UNIT || (a->kind == ATTR_BOOL && a->i) ? ANY_RESULT : NOT_DONATED;
}

status donation_read(const module *m, donation *out, diag *d)
{
	*out = (donation){0};
	const func *f = module_main(m);
	if (!f)
		return diag_set(d, ST_ERR_INVALID, "the module has no main function");
	out->n_args = f->n_args;
	out->result_of_arg = xmalloc(sizeof *out->result_of_arg * MAX(f->n_args, 1));
	for (uint32_t i = 0; i < f->n_args; i++) {
		const char *bad = NULL;
		out->result_of_arg[i] = donated_to(m, f, i, &bad);
		for (uint32_t j = 0; j < i && !bad; j++)
			if (out->result_of_arg[i] >= 0 && out->result_of_arg[j] == out->result_of_arg[i])
				bad = "no result, or one that is taken";
		if (bad) {
			donation_release(out);
			return op_error(
				m, f->op, d, ST_ERR_INVALID, "argument %u: tf.aliasing_output names %s", i, bad);
		}
	}
	return ST_OK;
}

void donation_release(donation *dn)
{
	free(dn->result_of_arg);
	*dn = (donation){0};
}

struct size_slot {
	int64_t bytes; /* 0: empty */
	uint32_t donors, results;
};

int32_t argument_number(const simulator *s, const lowered *l, lval_id v)
{
	pval_id origin = l->vals.p[v].origin;
	return s->vals[v].argument && origin != ID_NONE ? s->p->vals.p[origin].arg_index : -1;
}

bool is_donated(const simulator *s, uint32_t i)
{
	return i < s->dn.n_args && s->dn.result_of_arg[i] != NOT_DONATED;
}

void find_donated_types(simulator *s)
{
	s->donated_types = xcalloc(MAX(s->p->m->types.n, 1), sizeof *s->donated_types);
	for (uint32_t i = 0; i < s->p->args.n; i++) {
		int32_t arg = s->p->vals.p[s->p->args.p[i]].arg_index;
		if (arg >= 0 && is_donated(s, (uint32_t)arg))
			s->donated_types[s->p->vals.p[s->p->args.p[i]].type] = true;
	}
}

static uint32_t weight_of_arg(const simulator *s, uint32_t i)
{
	return s->folder ? folder_val_weight(s, s->p->args.p[i]) : 1;
}
static uint32_t weight_of_result(const simulator *s, uint32_t i)
{
	return s->folder ? folder_val_weight(s, s->p->results.p[i]) : 1;
}

static struct size_slot *size_find(simulator *s, int64_t bytes)
{
	for (uint64_t h = hash_mix((uint64_t)bytes);; h++) {
		struct size_slot *e = &s->sizes[h & (s->sizes_cap - 1)];
		if (!e->bytes || e->bytes == bytes) {
			e->bytes = bytes;
			return e;
		}
	}
}

int64_t donated_bytes(simulator *s, const lowered *l)
{
	uint32_t n = s->dn.n_args + l->results.n, cap = 16;
	while (cap < 2 * n + 2)
		cap *= 2;
	if (cap > s->sizes_cap) {
		s->sizes = xrealloc(s->sizes, cap * sizeof *s->sizes);
		s->sizes_cap = cap;
	}
	memset(s->sizes, 0, s->sizes_cap * sizeof *s->sizes);
	int64_t total = 0;
	bool any = false;
	for (uint32_t i = 0; i < s->dn.n_args && i < s->args.n; i++) {
		int32_t to = s->dn.result_of_arg[i];
		if (to == NOT_DONATED || s->args.p[i] == ID_NONE)
			continue;
		const lval *arg = &l->vals.p[s->args.p[i]];
		if (to == ANY_RESULT) {
			any = true;
			if (end_bytes(s, l, s->args.p[i]) > 0)
				size_find(s, end_bytes(s, l, s->args.p[i]))->donors += weight_of_arg(s, i);
		} else if ((uint32_t)to < l->results.n) {
			const lval *result = &l->vals.p[l->results.p[to]];
			if (result->bytes == arg->bytes && result->type == arg->type &&
				result->sharding == arg->sharding) {
				total = sat_add(total, sat_mul(end_bytes(s, l, s->args.p[i]), weight_of_arg(s, i)));
				s->result_taken.p[to] = true;
			}
		}
	}
	if (!any)
		return total;
	for (uint32_t i = 0; i < l->results.n; i++)
		if (!s->result_taken.p[i] && end_bytes(s, l, l->results.p[i]) > 0)
			size_find(s, end_bytes(s, l, l->results.p[i]))->results += weight_of_result(s, i);
	for (uint32_t i = 0; i < s->sizes_cap; i++)
		total = sat_add(
			total, sat_mul(s->sizes[i].bytes, MIN(s->sizes[i].donors, s->sizes[i].results)));
	return total;
}
