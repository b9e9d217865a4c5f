/* Any bytes as HLO text: accepted or reported, and what is accepted can be simulated. Built with
 * libFuzzer by `make fuzz`; with -DREPLAY it is a plain program that replays files (the corpus, in
 * `make check`). */
#include "hlo/hlo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void simulate_on(const hlo_module *m, const char *name)
{
	device dev;
	diag d = {0};
	cost c;
	hlo_simulation *s;
	if (device_find(name, &dev, &d) != ST_OK)
		abort();
	if (hlo_simulate(m, &dev, &c, &s, &d) != ST_OK) {
		if (!d.msg[0])
			abort(); /* an error without a word */
		return;
	}
	if (c.runtime_ns < 0 || c.temporary_bytes < 0 || c.exposed_communication_ns > c.runtime_ns)
		abort();
	strbuf trace = {0};
	hlo_trace(s, &trace);
	strbuf_release(&trace);
	hlo_simulation_free(s);
}

/* Reads what was printed and prints it; out: the new text. */
static void print_again(const strbuf *text, hlo_form form, strbuf *out)
{
	hlo_module *back;
	diag d = {0};
	if (hlo_read(text->p, text->n, "printed", &back, &d) != ST_OK) {
		fprintf(stderr, "%s\n", text->p);
		diag_print(&d, stderr);
		abort();
	}
	hlo_print(back, form, out);
	hlo_free(back);
}

/* What is printed reads back, in every form; printed twice, spaces as they may have been are gone,
 * and it stays the same. */
static void print_all(const hlo_module *m)
{
	static const hlo_form forms[] = {HLO_AS_READ, HLO_SUGAR, HLO_GENERIC};
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		strbuf first = {0}, second = {0}, third = {0};
		hlo_print(m, forms[i], &first);
		print_again(&first, forms[i], &second);
		print_again(&second, forms[i], &third);
		if (second.n != third.n || memcmp(second.p, third.p, third.n)) {
			fprintf(stderr, "%s\n---\n%s\n", second.p, third.p);
			abort();
		}
		strbuf_release(&first);
		strbuf_release(&second);
		strbuf_release(&third);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	hlo_module *m;
	diag d = {0};
	if (size > 1 << 17)
		return 0;
	(void)hlo_is_text((const char *)data, size);
	if (hlo_read((const char *)data, size, "fuzz", &m, &d) != ST_OK) {
		if (!d.msg[0])
			abort();
		return 0;
	}
	for (hlo_id i = 0; i < m->instrs.n; i++)
		if (m->instrs.p[i].op == HLO_WHILE)
			(void)hlo_trip_count(m, i);
	print_all(m);
	simulate_on(m, "tpu-v5e");
	simulate_on(m, "h100");
	hlo_free(m);
	return 0;
}

#ifdef REPLAY
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		strbuf b = {0};
		diag d = {0};
		if (file_read(argv[i], 1 << 20, &b, &d) != ST_OK) {
			diag_print(&d, stderr);
			return 1;
		}
		LLVMFuzzerTestOneInput((const uint8_t *)b.p, b.n);
		strbuf_release(&b);
	}
	printf("fuzz corpus of HLO text: %d passed, 0 failed\n", argc - 1);
	return argc > 1 ? 0 : 1;
}
#endif
