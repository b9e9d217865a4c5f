/* GET /v1/layout: which slice of a tensor each device holds, and every notation for it. Cheap, and
 * bounded by MOST_DEVICES, so it is answered at once. */
#include "server/server.h"

#include "layout/layout.h"

enum { MOST_DEVICES = 4096, MOST_TEXT = 4096 };

static status read_shape(const char *text, int64_t *shape, uint32_t *rank, diag *d)
{
	str s = str_of(text);
	*rank = 0;
	if (str_is(s, "scalar"))
		return ST_OK;
	for (size_t at = 0; at <= s.n;) {
		const char *x = memchr(s.p + at, 'x', s.n - at);
		size_t end = x ? (size_t)(x - s.p) : s.n;
		if (*rank == MAX_RANK)
			return diag_set(d, ST_ERR_PARSE, "shape: more than %d dimensions", MAX_RANK);
		if (!str_to_i64((str){s.p + at, end - at}, &shape[*rank]) || shape[*rank] < 0)
			return diag_set(
				d, ST_ERR_PARSE, "shape is '%.60s', expected sizes like 8x16, or scalar", text);
		++*rank;
		at = end + 1;
	}
	return ST_OK;
}

/* *l is the caller's to release. */
static status read_layout(sharding_table *t, const char *mesh_text, const char *shape_text,
	const char *sharding_text, tensor_spec *spec, layout *l, diag *d)
{
	mesh_id mesh;
	int64_t shape[MAX_RANK];
	uint32_t rank;
	TRY(mesh_parse_flag(t, mesh_text, &mesh, d));
	TRY(read_shape(shape_text, shape, &rank, d));
	TRY(notation_parse(t, NOTATION_JSON, mesh, rank, str_of(sharding_text), spec, d));
	return layout_init(l, t, &spec->e, shape, rank, d);
}

/* "notations":{"jax":"PartitionSpec('data')",..}; null: it has no words for it. */
static void print_notations(sharding_table *t, const tensor_spec *spec, strbuf *b)
{
	strbuf text;
	strbuf_init(&text);
	strbuf_puts(b, "\"notations\":{");
	for (int n = 0; n < NOTATION_COUNT; n++) {
		diag unused = {0};
		strbuf_clear(&text);
		bool can = notation_print(t, (notation)n, spec, &text, &unused) == ST_OK;
		json_text(b, notation_name((notation)n), can ? text.p : NULL);
	}
	strbuf_putc(b, '}');
	strbuf_release(&text);
}

static void print_layout(sharding_table *t, const tensor_spec *spec, const layout *l, strbuf *b)
{
	strbuf_printf(b, "{\"count\":%lld,\"parts\":[", (long long)l->n_devices);
	for (uint32_t k = 0; k < l->rank; k++)
		strbuf_printf(b, "%s%lld", k ? "," : "", (long long)l->parts[k]);
	strbuf_puts(b, "],");
	print_notations(t, spec, b);
	strbuf_puts(b, ",\"devices\":[");
	layout_json(l, 0, MOST_DEVICES, b);
	strbuf_puts(b, "]}");
}

void handle_layout(request *r)
{
	const char *mesh = request_query(r, "mesh"), *shape = request_query(r, "shape"),
			   *text = request_query(r, "sharding");
	if (!mesh || !shape || !text || strlen(mesh) > MOST_TEXT || strlen(text) > MOST_TEXT) {
		reply_failure(r, PROBLEM_BAD_REQUEST,
			"expected mesh=data=2,model=2, shape=8x16 and sharding=[[\"data\"],[]], each of at "
			"most %d bytes",
			MOST_TEXT);
		return;
	}
	diag d = {0};
	layout l;
	tensor_spec spec;
	problem why = {0};
	sharding_table *t = sharding_table_new();
	if (read_layout(t, mesh, shape, text, &spec, &l, &d) == ST_OK) {
		strbuf b;
		strbuf_init(&b);
		print_layout(t, &spec, &l, &b);
		reply_json(r, 200, &b);
		layout_release(&l);
	} else {
		problem_from_diag(&why, PROBLEM_BAD_REQUEST, &d);
		reply_problem(r, &why);
	}
	sharding_table_unref(t);
}
