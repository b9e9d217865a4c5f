/* Fingerprints: a module is written in one canonical form and hashed.
 *
 * Version fp1. What is in it: ops in order with operands as numbers given by order of definition,
 * types, attributes sorted by name, regions; functions from the entry on, each where it is first
 * called, named by that order; donation and other argument attributes. What is not: locations,
 * names of values, private functions and the module, the spelling of the text, jax.result_info,
 * shardings and meshes (those have a fingerprint of their own). */
#include "ir/ir.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdlib.h>

typedef struct canon {
	const module *m;
	strbuf out;
	uint32_t *number; /* by value: order of definition inside its function */
	uint32_t next;
	uint32_t *func_order; /* by func: 1-based order of first use, 0: not used yet */
	uint32_t n_ordered;
	VEC(uint32_t) queue;
	EVP_MD_CTX *sha;
	unwind u;
} canon;

enum { FLUSH_AT = 1 << 16 };

static EVP_MD_CTX *start(void)
{
	ERR_set_mark(); /* nothing of ours stays in the program's queue of errors */
	EVP_MD_CTX *sha = EVP_MD_CTX_new();
	bool ok = sha && EVP_DigestInit_ex(sha, EVP_sha256(), NULL) == 1;
	ERR_pop_to_mark();
	if (!ok) {
		EVP_MD_CTX_free(sha);
		memory_out();
	}
	return sha;
}

static void finish(EVP_MD_CTX *sha, char hex[65])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned int n = 0;
	EVP_DigestFinal_ex(sha, digest, &n);
	EVP_MD_CTX_free(sha);
	for (unsigned int i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

static void drop(void *sha) { EVP_MD_CTX_free(sha); }

static void flush(canon *c)
{
	EVP_DigestUpdate(c->sha, c->out.p, c->out.n);
	strbuf_clear(&c->out);
}

static void put_text(canon *c, str s)
{
	strbuf_i64(&c->out, (int64_t)s.n);
	strbuf_putc(&c->out, ':');
	strbuf_str(&c->out, s);
}

static void put_attr(canon *c, attr_id id);

/* ---------------------------------------------------------------- literals */

/* Spaces between elements do not count, nor how a float is spelled beyond MLIR's own printing. */
static void put_literal(canon *c, str text)
{
	if (text.n <= 256) {
		for (size_t i = 0; i < text.n; i++)
			if (text.p[i] > ' ')
				strbuf_putc(&c->out, text.p[i]);
		return;
	}
	EVP_MD_CTX *sha = start();
	for (size_t i = 0; i < text.n;) {
		size_t from = i;
		while (i < text.n && (unsigned char)text.p[i] > ' ')
			i++;
		EVP_DigestUpdate(sha, text.p + from, i - from);
		while (i < text.n && (unsigned char)text.p[i] <= ' ')
			i++;
	}
	char hex[65];
	finish(sha, hex);
	strbuf_puts(&c->out, hex);
}

/* 1.0, 1.000000e+00 and 1e0 are one number: compared by value, exactly as far as a double goes. */
static void put_float(canon *c, str text)
{
	char copy[64], *end;
	if (text.n < sizeof copy && !(text.n > 1 && text.p[1] == 'x')) {
		memcpy(copy, text.p, text.n);
		copy[text.n] = 0;
		double v = strtod(copy, &end);
		uint64_t bits;
		memcpy(&bits, &v, sizeof bits);
		if (*end == 0) {
			strbuf_printf(&c->out, "f%016llx", (unsigned long long)bits);
			return;
		}
	}
	put_literal(c, text);
}

static void put_dense(canon *c, const attr *a)
{
	const ir_type *t = a->type == ID_NONE ? NULL : type_get(c->m, a->type);
	if (a->ints) { /* pretty forms write out what the generic form may give as one value for all */
		for (int64_t i = 0; i < t->elements; i++)
			strbuf_printf(&c->out, "%lld,", (long long)a->ints[i]);
		return;
	}
	strbuf_putc(&c->out, a->splat ? 's' : 'd');
	if (t && a->splat && t->kind == TYPE_TENSOR && !elem_is_int((elem)t->elem) && a->text.n &&
		a->text.p[0] != '(')
		put_float(c, a->text);
	else
		put_literal(c, a->text);
}

/* ---------------------------------------------------------------- attributes */

/* What does not change the answer, and shardings, which have their own fingerprint. */
static bool left_out(const module *m, const named_attr *a)
{
	static const char *const names[] = {"jax.result_info", "mhlo.sharding", "sdy.sharding",
		"mhlo.num_partitions", "mhlo.num_replicas", "sym_visibility"};
	str name = strtab_get(&m->strs, a->name);
	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (str_is(name, names[i]))
			return true;
	const attr *v = attr_get(m, a->value);
	if (str_is(name, "mhlo.layout_mode") && v->kind == ATTR_STRING && str_is(v->text, "default"))
		return true;
	return v->kind == ATTR_SHARDING || v->kind == ATTR_SHARDINGS;
}

struct sorted {
	str name;
	attr_id value;
};

static int by_name(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;
	int order = memcmp(x->name.p, y->name.p, MIN(x->name.n, y->name.n));
	return order ? order : x->name.n < y->name.n ? -1 : x->name.n > y->name.n;
}

/* An empty list says the same as an absent one: pretty forms leave them out. */
static bool says_nothing(const module *m, attr_id id)
{
	const attr *a = attr_get(m, id);
	return a->kind == ATTR_INTS && a->type == ID_NONE && a->n == 0;
}

static void put_entries(canon *c, const named_attr *list, uint32_t n)
{
	struct sorted few[32], *order = n <= COUNT_OF(few) ? few : xmalloc(n * sizeof *order);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < n; i++)
		if (!left_out(c->m, &list[i]) && !says_nothing(c->m, list[i].value))
			order[kept++] = (struct sorted){strtab_get(&c->m->strs, list[i].name), list[i].value};
	qsort(order, kept, sizeof *order, by_name);
	strbuf_putc(&c->out, '{');
	for (uint32_t i = 0; i < kept; i++) {
		put_text(c, order[i].name);
		strbuf_putc(&c->out, '=');
		put_attr(c, order[i].value);
	}
	strbuf_putc(&c->out, '}');
	if (order != few)
		free(order);
}

static void put_dict(canon *c, attr_id dict)
{
	if (dict != ID_NONE)
		put_entries(c, attr_get(c->m, dict)->children, attr_get(c->m, dict)->n);
	else
		put_entries(c, NULL, 0);
}

static void put_symbol(canon *c, str name)
{
	const func *f = module_func_named(c->m, name);
	if (!f) {
		put_text(c, name);
		return;
	}
	uint32_t i = (uint32_t)(f - c->m->funcs.p);
	if (!c->func_order[i]) {
		c->func_order[i] = ++c->n_ordered;
		vec_push(&c->queue, i);
	}
	strbuf_printf(&c->out, "@%u", c->func_order[i]);
}

static void put_attr(canon *c, attr_id id)
{
	const attr *a = attr_get(c->m, id);
	strbuf_printf(&c->out, "%u ", a->kind == ATTR_INTS ? (unsigned)ATTR_ARRAY : a->kind);
	switch ((attr_kind)a->kind) {
	case ATTR_UNIT: break;
	case ATTR_BOOL:
	case ATTR_INT: strbuf_i64(&c->out, a->i); break;
	case ATTR_FLOAT: put_float(c, a->text); break;
	case ATTR_SYMBOL: put_symbol(c, a->text); break;
	case ATTR_ARRAY:
		for (uint32_t i = 0; i < a->n; i++)
			put_attr(c, a->children[i].value);
		break;
	case ATTR_DICT:
	case ATTR_STRUCT:
		put_text(c, a->text);
		put_entries(c, a->children, a->n);
		return;
	case ATTR_INTS:
		for (uint32_t i = 0; i < a->n; i++)
			strbuf_printf(&c->out, "%lld,", (long long)a->ints[i]);
		return; /* types follow from the attribute's name */
	case ATTR_DENSE: put_dense(c, a); break;
	case ATTR_ENUM: put_text(c, a->word); return;
	case ATTR_RAW:
	case ATTR_STRING:
	case ATTR_RULE: put_text(c, a->text); break;
	case ATTR_TYPE:
	case ATTR_SHARDING:
	case ATTR_SHARDINGS: break;
	}
	/* i64 is what an integer without a type has */
	str type = a->type == ID_NONE ? (str){"", 0} : type_get(c->m, a->type)->text;
	if (!(a->kind == ATTR_INT && str_is(type, "i64")))
		put_text(c, type);
}

/* ---------------------------------------------------------------- ops */

static void put_value_list(canon *c, const ir_op *op)
{
	for (uint32_t i = 0; i < op->n_operands; i++)
		strbuf_printf(&c->out, "%%%u", c->number[c->m->slots.p[op->operands + i].value]);
}

static void define(canon *c, value_id first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		c->number[first + i] = c->next++;
		put_text(c, value_type(c->m, first + i)->text);
	}
}

/* Everything of an op but what its regions hold. */
static void put_op(canon *c, op_id o)
{
	const ir_op *op = op_at(c->m, o);
	strbuf_putc(&c->out, '\n');
	put_text(c, strtab_get(&c->m->strs, op->name));
	put_value_list(c, op);
	put_entries(c, c->m->op_attrs.p + op->first_attr, op->n_attrs);
	strbuf_putc(&c->out, '>');
	define(c, op->results, op->n_results);
	for (uint32_t i = 0; i < op->n_regions; i++) {
		strbuf_putc(&c->out, '(');
		define(c, op_region(c->m, o, i)->args, op_region(c->m, o, i)->n_args);
	}
}

static uint32_t depth_below(const module *m, op_id top, op_id o)
{
	uint32_t n = 0;
	for (; o != top; o = op_parent(m, o))
		n++;
	return n;
}

static void put_func(canon *c, const func *f)
{
	const module *m = c->m;
	const ir_region *body = op_region(m, f->op, 0);
	c->next = 0;
	strbuf_puts(&c->out, "\nfunc ");
	define(c, body->args, body->n_args);
	for (uint32_t i = 0; i < f->n_args; i++)
		put_dict(c, f->arg_attrs[i]);
	strbuf_puts(&c->out, "->");
	for (uint32_t i = 0; i < f->n_results; i++) {
		put_text(c, type_get(m, f->result_types[i])->text);
		put_dict(c, f->result_attrs[i]);
	}
	put_entries(c, m->op_attrs.p + op_at(m, f->op)->first_attr, op_at(m, f->op)->n_attrs);
	for (op_id o = op_walk_next(m, f->op, f->op); o != ID_NONE; o = op_walk_next(m, f->op, o)) {
		/* depth and region tell where regions end */
		const ir_op *parent = op_at(m, op_parent(m, o));
		strbuf_printf(
			&c->out, "\n%u.%u", depth_below(m, f->op, o), op_at(m, o)->parent - parent->regions);
		put_op(c, o);
		if (c->out.n > FLUSH_AT)
			flush(c);
	}
}

static void canon_init(canon *c, const module *m)
{
	*c = (canon){.m = m};
	c->sha = start();
	unwind_push(&c->u, drop, c->sha);
	c->number = xcalloc(m->values.n, sizeof *c->number);
	c->func_order = xcalloc(m->funcs.n, sizeof *c->func_order);
}

static void canon_finish(canon *c, char out[72])
{
	flush(c);
	unwind_pop(&c->u);
	memcpy(out, "sha256:", 7);
	finish(c->sha, out + 7);
	strbuf_release(&c->out);
	free(c->number);
	free(c->func_order);
	vec_release(&c->queue);
}

/* Functions in order of first use; those never used come last, in order of the text. */
static void each_func(canon *c, void (*visit)(canon *, const func *))
{
	const module *m = c->m;
	const func *entry = module_main(m);
	if (entry) {
		uint32_t i = (uint32_t)(entry - m->funcs.p);
		c->func_order[i] = ++c->n_ordered;
		vec_push(&c->queue, i);
	}
	for (uint32_t next = 0, at = 0;; at++) {
		while (at == c->queue.n && next < m->funcs.n) {
			if (!c->func_order[next] && !(op_at(m, m->funcs.p[next].op)->flags & OPS_ERASED)) {
				c->func_order[next] = ++c->n_ordered;
				vec_push(&c->queue, next);
			}
			next++;
		}
		if (at == c->queue.n)
			return;
		visit(c, &m->funcs.p[c->queue.p[at]]);
	}
}

void module_fingerprint(const module *m, char out[72])
{
	canon c;
	canon_init(&c, m);
	strbuf_add(&c.out, "fp1", 4); /* with its zero byte */
	put_dict(&c, m->module_attrs);
	each_func(&c, put_func);
	if (m->resources.n)
		put_literal(&c, m->resources);
	canon_finish(&c, out);
}

/* ---------------------------------------------------------------- shardings */

static void put_mesh(canon *c, mesh_id mesh)
{
	strbuf_puts(&c->out, " mesh");
	mesh_print(c->m->shardings, mesh, &c->out);
}

static void put_sharding(canon *c, sharding_id s)
{
	if (s == SHARDING_NONE) {
		strbuf_putc(&c->out, '-');
		return;
	}
	put_mesh(c, sharding_get(c->m->shardings, s)->mesh);
	sharding_print(c->m->shardings, s, &c->out);
}

static void put_sharding_attrs(canon *c, const named_attr *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const attr *a = attr_get(c->m, list[i].value);
		str name = strtab_get(&c->m->strs, list[i].name);
		if (a->kind == ATTR_SHARDING || a->kind == ATTR_SHARDINGS) {
			put_text(c, name);
			for (uint32_t k = 0; k < a->n; k++)
				put_sharding(c, a->shardings[k]);
		} else if (str_is(name, "mhlo.sharding") || str_is(name, "mhlo.num_partitions") ||
			str_is(name, "mhlo.num_replicas")) {
			put_text(c, name);
			put_attr(c, list[i].value);
		}
	}
}

static void put_dict_shardings(canon *c, attr_id dict)
{
	if (dict != ID_NONE)
		put_sharding_attrs(c, attr_get(c->m, dict)->children, attr_get(c->m, dict)->n);
}

/* Positions of values without a sharding are left out, so that they cost nothing: each line tells
 * its position. */
static void put_func_shardings(canon *c, const func *f)
{
	const module *m = c->m;
	const ir_region *body = op_region(m, f->op, 0);
	uint32_t place = 0;
	strbuf_puts(&c->out, "\nfunc");
	for (uint32_t i = 0; i < f->n_args; i++) {
		strbuf_putc(&c->out, '\n');
		put_sharding(c, value_at(m, body->args + i)->sharding);
		put_dict_shardings(c, f->arg_attrs[i]);
	}
	for (uint32_t i = 0; i < f->n_results; i++) {
		strbuf_putc(&c->out, '\n');
		put_sharding(c, f->result_shardings[i]);
		put_dict_shardings(c, f->result_attrs[i]);
	}
	for (op_id o = op_walk_next(m, f->op, f->op); o != ID_NONE;
		 o = op_walk_next(m, f->op, o), place++) {
		const ir_op *op = op_at(m, o);
		size_t before = c->out.n;
		strbuf_printf(&c->out, "\n%u", place);
		size_t empty = c->out.n;
		if (op->kind == OP_CALL)
			put_symbol(c, op_text(m, o, "callee"));
		bool any = false;
		for (uint32_t i = 0; i < op->n_results && !any; i++)
			any = value_at(m, op->results + i)->sharding != SHARDING_NONE;
		for (uint32_t i = 0; i < op->n_results && any; i++)
			put_sharding(c, value_at(m, op->results + i)->sharding);
		put_sharding_attrs(c, m->op_attrs.p + op->first_attr, op->n_attrs);
		if (c->out.n == empty)
			c->out.n = before;
		if (c->out.n > FLUSH_AT)
			flush(c);
	}
}

void module_sharding_fingerprint(const module *m, char out[72])
{
	canon c;
	canon_init(&c, m);
	strbuf_add(&c.out, "fp1s", 5);
	put_dict_shardings(&c, m->module_attrs);
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_at(m, o)->next)
		if (op_at(m, o)->kind == OP_SDY_MESH) {
			strbuf_putc(&c.out, '\n');
			put_text(&c, op_text(m, o, "sym_name"));
			attr_id mesh = op_attr(m, o, "mesh");
			put_literal(&c, mesh == ID_NONE ? (str){"", 0} : attr_get(m, mesh)->text);
		}
	each_func(&c, put_func_shardings);
	canon_finish(&c, out);
}
