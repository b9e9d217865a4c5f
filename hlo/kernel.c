/* Time of a kernel by the device's profile: what an instruction or a fusion reads, computes and
 * writes, told to the functions that price the kernels of a search. What the compiler has decided,
 * fusions, layouts and memory spaces, stands in the text. */
#include "hlo/state.h"

typedef struct pass {            /* what goes through a kernel */
	int64_t near;                /* bytes: read from memory on the chip */
	int64_t largest;             /* elements: of the largest tensor, with padding */
	int64_t full;                /* elements: of the largest result of 32 bits */
	int64_t results_ns, tail_ns; /* to hand on a product's results */
	uint32_t n_large;            /* results as large as the product's */
	bool on_chip;                /* they stay there */
} pass;

static int64_t elements_of(const hlo_shape *s, int64_t bytes)
{
	return sat_mul(MIN(bytes, s->bytes), 8) / MAX(elem_bits((enum elem)s->elem), 1);
}

/* Of a slice or a gather no more than its part is read. */
static void add_operands(hlo_simulation *s, hlo_id i, pass *p)
{
	const hlo_module *m = s->m;
	const hlo_instr *in = &m->instrs.p[i];
	for (uint32_t k = 0; k < in->n_operands; k++) {
		const hlo_shape *shape = hlo_shape_of(m, hlo_operand(m, i, k));
		int64_t read = hlo_read_bytes(s, i, k);
		if (shape->kind != HLO_ARRAY || !shape->rank)
			continue;
		if (!hlo_in_main_memory(&s->dev, shape->space))
			p->near = sat_add(p->near, read);
		p->largest = MAX(p->largest, elements_of(shape, read));
	}
}

/* Of an update in place no more than the update is written. */
static void add_results(hlo_simulation *s, hlo_id i, const hlo_work *w, pass *p)
{
	const hlo_module *m = s->m;
	const hlo_shape *shape = hlo_shape_of(m, i);
	for (uint32_t k = 0; k < shape->n_leaves; k++) {
		const hlo_shape *leaf = hlo_leaf(m, shape, k);
		int bits = elem_bits((enum elem)leaf->elem);
		int64_t elements = elements_of(leaf, hlo_write_bytes(s, i, k));
		bool near = !hlo_in_main_memory(&s->dev, leaf->space);
		p->largest = MAX(p->largest, elements);
		if (bits >= 32)
			p->full = MAX(p->full, elements);
		if (!w->products || leaf->elements < w->products)
			continue;
		p->n_large++;
		p->results_ns =
			MAX(p->results_ns, matmul_results_ns(&s->dev, w->stored_products, bits <= 16, near));
		p->tail_ns = MAX(p->tail_ns, matmul_tail_ns(&s->dev, w->stored_products, bits <= 16, near));
		p->on_chip = near;
	}
}

/* One op that is fused with nothing. */
static bool is_lone(const hlo_module *m, hlo_id i)
{
	uint32_t op = m->instrs.p[i].op;
	return op == HLO_REDUCE || (hlo_op_flags((hlo_op)op) & HLOF_SHARE && op != HLO_COPY);
}

/* A copy whose minor dim is another one. */
static bool is_transposed(const hlo_module *m, hlo_id i)
{
	return m->instrs.p[i].op == HLO_COPY && m->instrs.p[i].n_operands &&
		hlo_shape_of(m, i)->minor != hlo_shape_of(m, hlo_operand(m, i, 0))->minor;
}

static int sides_in_memory(const hlo_simulation *s, hlo_id i)
{
	return hlo_in_main_memory(&s->dev, hlo_shape_of(s->m, i)->space) +
		hlo_in_main_memory(&s->dev, hlo_shape_of(s->m, hlo_operand(s->m, i, 0))->space);
}

static int64_t stream_kernel_ns(hlo_simulation *s, hlo_id i, const hlo_work *w, const pass *p)
{
	const hlo_shape *all = hlo_shape_of(s->m, i),
					*shape = all->n_leaves ? hlo_leaf(s->m, all, 0) : all;
	int bits = elem_bits((enum elem)shape->elem);
	if (is_transposed(s->m, i))
		return transposed_time_ns(&s->dev, shape->bytes, bits, sides_in_memory(s, i));
	if (s->m->instrs.p[i].op == HLO_BROADCAST)
		return fill_time_ns(&s->dev, shape->bytes, bits);
	bool lone = s->dev.lone_elements_s && is_lone(s->m, i);
	bool copies = s->m->instrs.p[i].op == HLO_COPY; /* these read the chip for nothing */
	contraction_kernel k = {
		.streams = !lone, .bytes = w->bytes, .near_bytes = copies ? 0 : p->near};
	k.vector_ns = vector_time_ns(&s->dev, w->vector_flops);
	if (lone)
		k.vector_ns = MAX(k.vector_ns, elements_time_ns(&s->dev, p->largest, true));
	else
		k.elements_ns = stream_elements_ns(&s->dev, p->largest);
	k.narrowed = 2 * p->full < p->largest ? p->largest : 0;
	return contraction_kernel_ns(&s->dev, &k);
}

static int64_t product_kernel_ns(hlo_simulation *s, hlo_id i, const hlo_work *w, const pass *p)
{
	contraction_kernel k = {.bytes = w->bytes,
		.written = w->written,
		.results_ns = p->results_ns,
		.vector_ns = vector_time_ns(&s->dev, w->vector_flops),
		.fused = s->m->instrs.p[i].op == HLO_FUSION && w->vector_flops > 0,
		.several = p->n_large > 1};
	k.matmul_ns = w->matmul_ns;
	return sat_add(contraction_kernel_ns(&s->dev, &k), p->tail_ns);
}

int64_t hlo_kernel_ns(hlo_simulation *s, hlo_id i, const hlo_work *w)
{
	int64_t launch = s->dev.op_launch_ns;
	if (s->dev.target != TARGET_TPU || !s->dev.vector_bytes_s[0])
		return sat_add(launch,
			MAX(MAX(w->matmul_ns, vector_time_ns(&s->dev, w->vector_flops)),
				memory_time_ns(&s->dev, w->moved)));
	pass p = {0};
	add_operands(s, i, &p);
	add_results(s, i, w, &p);
	if (!w->matmul_ns)
		return sat_add(launch, stream_kernel_ns(s, i, w, &p));
	if (p.on_chip && s->dev.near_launch_ns)
		launch = s->dev.near_launch_ns;
	return sat_add(launch, product_kernel_ns(s, i, w, &p));
}
