#include "ir/ir.h"

#include <stdlib.h>

static const struct {
	str text;
	int bits;
} elems[ELEM_COUNT] = {
#define X(id, text, bits) [ELEM_##id] = {{text, sizeof(text) - 1}, bits},
	ELEM_TABLE(X)
#undef X
};

int elem_bits(elem e) { return elems[e].bits; }
const char *elem_text(elem e) { return elems[e].text.p; }

elem elem_find(str text)
{
	for (int e = 1; e < ELEM_QUANT; e++)
		if (str_equal(elems[e].text, text))
			return (elem)e;
	return ELEM_NONE;
}

bool elem_is_int(elem e) { return e >= ELEM_I1 && e <= ELEM_UI64; }

static void print_list(const module *m, const type_id *parts, uint32_t n, strbuf *out)
{
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			strbuf_puts(out, ", ");
		strbuf_str(out, m->types.p[parts[i]].text);
	}
}

/* Results of a function type: a single one that is not itself a function stands without
 * parentheses. */
static void print_results(const module *m, const type_id *parts, uint32_t n, strbuf *out)
{
	bool bare = n == 1 && m->types.p[parts[0]].kind != TYPE_FUNCTION;
	if (!bare)
		strbuf_putc(out, '(');
	print_list(m, parts, n, out);
	if (!bare)
		strbuf_putc(out, ')');
}

static void print_canonical(const module *m, const ir_type *t, strbuf *out)
{
	switch ((type_kind)t->kind) {
	case TYPE_TENSOR:
		if (!t->bare)
			strbuf_puts(out, "tensor<");
		for (uint32_t i = 0; i < t->rank; i++) {
			if (t->dims[i] == DIM_DYNAMIC)
				strbuf_putc(out, '?');
			else
				strbuf_i64(out, t->dims[i]);
			strbuf_putc(out, 'x');
		}
		strbuf_str(out, elems[t->elem].text);
		if (t->encoding.n) {
			strbuf_puts(out, ", ");
			strbuf_str(out, t->encoding);
		}
		if (!t->bare)
			strbuf_putc(out, '>');
		break;
	case TYPE_TOKEN: strbuf_puts(out, "!stablehlo.token"); break;
	case TYPE_TUPLE:
		strbuf_puts(out, "tuple<");
		print_list(m, t->parts, t->n_parts, out);
		strbuf_putc(out, '>');
		break;
	case TYPE_FUNCTION:
		strbuf_putc(out, '(');
		print_list(m, t->parts, t->n_inputs, out);
		strbuf_puts(out, ") -> ");
		print_results(m, t->parts + t->n_inputs, t->n_parts - t->n_inputs, out);
		break;
	case TYPE_OTHER: strbuf_str(out, t->text); break;
	}
}

type_id type_find(const module *m, str text)
{
	uint64_t h = hash_bytes(text.p, text.n, 0);
	uint32_t id;
	for (uint32_t it = index_first(&m->type_index, h); index_next(&m->type_index, h, &it, &id);)
		if (str_equal(m->types.p[id].text, text))
			return id;
	return ID_NONE;
}

static void *copy_array(arena *a, const void *p, size_t bytes)
{
	return bytes ? memcpy(arena_alloc(a, bytes), p, bytes) : NULL;
}

static void measure(ir_type *t)
{
	t->dynamic = false;
	t->elements = t->kind == TYPE_TENSOR;
	for (uint32_t i = 0; i < t->rank; i++) {
		if (t->dims[i] == DIM_DYNAMIC)
			t->dynamic = true;
		else
			t->elements = sat_mul(t->elements, t->dims[i]);
	}
	if (t->dynamic)
		t->elements = 0;
}

type_id type_intern(module *m, const ir_type *given)
{
	strbuf text;
	strbuf_init(&text);
	if (!given->text.n)
		print_canonical(m, given, &text);
	str key = given->text.n ? given->text : (str){text.p, text.n};
	type_id id = type_find(m, key);
	if (id == ID_NONE) {
		ir_type t = *given;
		t.dims = copy_array(&m->mem, t.dims, t.rank * sizeof *t.dims);
		t.parts = copy_array(&m->mem, t.parts, t.n_parts * sizeof *t.parts);
		t.encoding.p = t.encoding.n ? arena_strdup(&m->mem, t.encoding.p, t.encoding.n) : NULL;
		t.text = (str){arena_strdup(&m->mem, key.p, key.n), key.n};
		measure(&t);
		id = m->types.n;
		vec_push(&m->types, t);
		index_add(&m->type_index, hash_bytes(t.text.p, t.text.n, 0), id);
	}
	strbuf_release(&text);
	return id;
}

type_id type_tensor(module *m, elem e, uint32_t rank, const int64_t *dims)
{
	/* The text is made in place: this runs for every value of a lowered program. */
	char text[MAX_RANK * 20 + 32];
	size_t n = 7;
	memcpy(text, "tensor<", 7);
	assert(rank <= MAX_RANK);
	for (uint32_t i = 0; i < rank; i++) {
		char digits[24];
		size_t at = sizeof digits;
		uint64_t v = (uint64_t)dims[i];
		if (dims[i] == DIM_DYNAMIC) {
			text[n++] = '?';
		} else {
			do
				digits[--at] = (char)('0' + v % 10);
			while (v /= 10);
			memcpy(text + n, digits + at, sizeof digits - at);
			n += sizeof digits - at;
		}
		text[n++] = 'x';
	}
	memcpy(text + n, elems[e].text.p, elems[e].text.n);
	n += elems[e].text.n;
	text[n++] = '>';
	str key = {text, n};
	type_id id = type_find(m, key);
	if (id != ID_NONE)
		return id;
	return type_intern(m,
		&(ir_type){.kind = TYPE_TENSOR,
			.elem = (uint8_t)e,
			.rank = (uint8_t)rank,
			.dims = dims,
			.text = key});
}

type_id type_bare(module *m, elem e)
{
	type_id id = type_find(m, elems[e].text);
	return id != ID_NONE
		? id
		: type_intern(m,
			  &(ir_type){
				  .kind = TYPE_TENSOR, .elem = (uint8_t)e, .bare = true, .text = elems[e].text});
}

type_id type_function(
	module *m, const type_id *inputs, uint32_t n_inputs, const type_id *results, uint32_t n_results)
{
	type_id *parts = xmalloc((n_inputs + n_results) * sizeof *parts);
	if (n_inputs)
		memcpy(parts, inputs, n_inputs * sizeof *parts);
	if (n_results)
		memcpy(parts + n_inputs, results, n_results * sizeof *parts);
	type_id id = type_intern(m,
		&(ir_type){.kind = TYPE_FUNCTION,
			.n_parts = n_inputs + n_results,
			.n_inputs = n_inputs,
			.parts = parts});
	free(parts);
	return id;
}

void type_print(const module *m, type_id t, strbuf *out) { strbuf_str(out, m->types.p[t].text); }
