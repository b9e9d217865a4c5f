/* A strategy document in the words of another system: what a program of that system needs to place
 * its arguments. */
#include "layout/pieces.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

struct text {
	notation n;
	sharding_table *t;
	mesh_id mesh;
	strbuf *out;
	diag *d;
};

/* "name" as a Python or JSON string. */
static void add_quoted(str s, strbuf *out)
{
	strbuf_putc(out, '"');
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c == '"' || c == '\\')
			strbuf_putc(out, '\\');
		if (c < 0x20)
			strbuf_printf(out, "\\u%04x", c);
		else
			strbuf_putc(out, (char)c);
	}
	strbuf_putc(out, '"');
}

/* How a notation lists the arguments. Python has a dictionary, others a line for each. */
struct form {
	void (*head)(const struct text *x);
	const char *open, *results; /* of the arguments and of the results; NULL: a line each */
	const char *before, *after; /* around the text of one */
	const char *undecided; /* what stands for one that is left to the compiler; NULL: a comment */
	bool no_propagation;   /* the system decides nothing itself: what the document says propagation
	                          gave is written */
};
static const struct form forms[NOTATION_COUNT];

/* NULL: left to the compiler. */
static const cJSON *sharding_of(const struct text *x, const cJSON *item)
{
	const cJSON *sharding_json = cJSON_GetObjectItemCaseSensitive(item, "sharding");
	if ((!sharding_json || cJSON_IsNull(sharding_json)) && forms[x->n].no_propagation)
		sharding_json = cJSON_GetObjectItemCaseSensitive(item, "propagated");
	return sharding_json && !cJSON_IsNull(sharding_json) ? sharding_json : NULL;
}

/* The sharding of an argument or a result, without priorities, in the notation. */
static status sharding_text(struct text *x, const cJSON *item, const char *what, strbuf *out)
{
	tensor_spec *s = xcalloc(1, sizeof *s);
	diag inner = {0};
	status r = sharding_from_json(x->t, x->mesh, sharding_of(x, item), ID_NONE, &s->e, &inner);
	for (uint32_t i = 0; i < s->e.rank && r == ST_OK; i++)
		s->e.dims[i].priority = -1;
	if (r == ST_OK)
		r = x->n == NOTATION_SBP ? flow_print(x->t, s, out, &inner)
								 : notation_print(x->t, x->n, s, out, &inner);
	free(s);
	return r == ST_OK ? ST_OK : diag_set(x->d, r, "%s: %s", what, inner.msg);
}

/* ---------------------------------------------------------------- heads */

static void add_axis_names(const struct text *x, strbuf *out)
{
	const device_mesh *m = &x->t->meshes.p[x->mesh];
	strbuf_putc(out, '(');
	for (uint32_t i = 0; i < m->n_axes; i++) {
		add_quoted(strtab_get(&x->t->names, m->axis_names[i]), out);
		strbuf_puts(out, m->n_axes == 1 || i + 1 < m->n_axes ? "," : "");
		strbuf_puts(out, i + 1 < m->n_axes ? " " : "");
	}
	strbuf_putc(out, ')');
}

static void add_sizes(const struct text *x, strbuf *out)
{
	const device_mesh *m = &x->t->meshes.p[x->mesh];
	strbuf_putc(out, '(');
	for (uint32_t i = 0; i < m->n_axes; i++)
		strbuf_printf(out, "%lld%s", (long long)m->axis_sizes[i],
			m->n_axes == 1          ? ","
				: i + 1 < m->n_axes ? ", "
									: "");
	strbuf_putc(out, ')');
}

static void add_device_list(const struct text *x, strbuf *out)
{
	const device_mesh *m = &x->t->meshes.p[x->mesh];
	int64_t *ids = xmalloc((size_t)m->n_devices * sizeof *ids);
	for (int64_t i = 0; i < m->n_devices; i++)
		ids[i] = m->n_device_ids ? m->device_ids[i] : i;
	devices_print(m->axis_sizes, m->n_axes, ids, out);
	free(ids);
}

/* Axes are Auto: what is left to the compiler is propagated. Explicit ones, which make_mesh makes
 * by default, would ask for it. */
static void jax_head(const struct text *x)
{
	const device_mesh *m = &x->t->meshes.p[x->mesh];
	if (m->n_device_ids) {
		strbuf_puts(x->out,
			"import jax\nimport numpy\nfrom jax.sharding import Mesh, NamedSharding, "
			"PartitionSpec\n\nmesh = Mesh(numpy.array(jax.devices())[numpy.array(");
		add_device_list(x, x->out);
		strbuf_puts(x->out, ")], ");
		add_axis_names(x, x->out);
		strbuf_puts(x->out, ")\n");
		return;
	}
	strbuf_puts(x->out,
		"import jax\nfrom jax.sharding import AxisType, NamedSharding, PartitionSpec\n\nmesh = "
		"jax.make_mesh(");
	add_sizes(x, x->out);
	strbuf_puts(x->out, ", ");
	add_axis_names(x, x->out);
	strbuf_printf(x->out, ", axis_types=(AxisType.Auto,) * %u)\n", m->n_axes);
}

static void torch_head(const struct text *x)
{
	const device_mesh *m = &x->t->meshes.p[x->mesh];
	bool ordered = m->n_device_ids > 0;
	strbuf_printf(x->out,
		"from torch.distributed.device_mesh import %s\nfrom torch.distributed.tensor import "
		"Partial, Replicate, Shard\n"
		"from torch.distributed.tensor.placement_types import _StridedShard\n\nmesh = "
		"%s(\"cuda\", ",
		ordered ? "DeviceMesh" : "init_device_mesh", ordered ? "DeviceMesh" : "init_device_mesh");
	if (ordered)
		add_device_list(x, x->out);
	else
		add_sizes(x, x->out);
	strbuf_puts(x->out, ", mesh_dim_names=");
	add_axis_names(x, x->out);
	strbuf_puts(x->out, ")\n");
}

static void flow_head(const struct text *x)
{
	strbuf_puts(
		x->out, "import oneflow as flow\n\nplacement = flow.placement(type=\"cuda\", ranks=");
	add_device_list(x, x->out);
	strbuf_puts(x->out, ")\n");
}

static void mindspore_head(const struct text *x)
{
	strbuf_puts(x->out, "from mindspore.parallel import Layout\n");
}

static void sdy_head(const struct text *x)
{
	strbuf_puts(x->out, "sdy.mesh @mesh = ");
	mesh_print(x->t, x->mesh, x->out);
	strbuf_putc(x->out, '\n');
}

static void gspmd_head(const struct text *x)
{
	strbuf_puts(x->out, "# mesh ");
	mesh_print(x->t, x->mesh, x->out);
	strbuf_putc(x->out, '\n');
}

static const struct form forms[NOTATION_COUNT] = {
	[NOTATION_JSON] = {NULL, "{", NULL, "", "", "null", false},
	[NOTATION_SDY] = {sdy_head, NULL, NULL, "", "", NULL, false},
	[NOTATION_GSPMD] = {gspmd_head, NULL, NULL, "", "", NULL, false},
	[NOTATION_JAX] = {jax_head, "specs = {", "results = [", "", "", "None", false},
	[NOTATION_MINDSPORE] = {mindspore_head, "layouts = {", "results = [", "", "", "None", true},
	[NOTATION_SBP] = {flow_head, "tensors = {", "results = [",
		"dict(placement=placement, sbp=", ")", "None", true},
	[NOTATION_DTENSOR] = {torch_head, "placements = {", "results = [", "", "", "None", true},
};

/* ---------------------------------------------------------------- JAX trees */

/* The keys behind the root of "params['layers']['w1']"; false when a step is no dictionary key. */
static bool dict_keys(str name, str *keys, uint32_t room, uint32_t *n)
{
	size_t at = 0;
	*n = 0;
	while (at < name.n && name.p[at] != '[' && name.p[at] != '.')
		at++;
	keys[(*n)++] = (str){name.p, at};
	while (at < name.n) {
		if (*n == room || name.n - at < 4 || name.p[at] != '[' || name.p[at + 1] != '\'')
			return false;
		const char *end = memchr(name.p + at + 2, '\'', name.n - at - 2);
		if (!end || end + 1 == name.p + name.n || end[1] != ']')
			return false;
		keys[(*n)++] = (str){name.p + at + 2, (size_t)(end - name.p) - at - 2};
		at = (size_t)(end - name.p) + 2;
	}
	return true;
}

enum { MAX_PATH = 32 };
struct leaf {
	str keys[MAX_PATH];
	uint32_t n;
	strbuf text;
};

static void add_indent(uint32_t depth, strbuf *out)
{
	for (uint32_t i = 0; i < depth; i++)
		strbuf_puts(out, "    ");
}

/* Leaves [lo, hi) share their first `depth` keys. Equal keys stand together, as JAX flattens trees.
 */
static void add_tree(
	const struct leaf *leaves, uint32_t lo, uint32_t hi, uint32_t depth, strbuf *out)
{
	if (hi - lo == 1 && leaves[lo].n == depth) {
		strbuf_puts(out, leaves[lo].text.p);
		return;
	}
	strbuf_puts(out, "{\n");
	for (uint32_t i = lo; i < hi;) {
		uint32_t end = i + 1;
		while (end < hi && str_equal(leaves[end].keys[depth], leaves[i].keys[depth]))
			end++;
		add_indent(depth + 1, out);
		add_quoted(leaves[i].keys[depth], out);
		strbuf_puts(out, ": ");
		add_tree(leaves, i, end, depth + 1, out);
		strbuf_puts(out, ",\n");
		i = end;
	}
	add_indent(depth, out);
	strbuf_putc(out, '}');
}

/* Whether the paths are those of nested dictionaries: none ends where another goes on, none comes
 * twice, equal keys stand together. */
static bool is_tree(const struct leaf *leaves, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		const struct leaf *a = &leaves[i - 1], *b = &leaves[i];
		uint32_t k = 0;
		while (k < a->n && k < b->n && str_equal(a->keys[k], b->keys[k]))
			k++;
		if (k == a->n || k == b->n)
			return false;
		for (uint32_t j = 0; j + 1 < i;
			 j++) { /* the key that b begins anew has not been seen under the same parent */
			uint32_t same = 0;
			while (
				same < leaves[j].n && same <= k && str_equal(leaves[j].keys[same], b->keys[same]))
				same++;
			if (same > k)
				return false;
		}
	}
	return true;
}

enum { MAX_TREE = 4000 }; /* is_tree compares all with all */

/* The PartitionSpecs as a tree of dictionaries, when the arguments are one. */
static status jax_tree(struct text *x, const cJSON *arguments, bool *done)
{
	uint32_t n = (uint32_t)cJSON_GetArraySize(arguments), i = 0;
	struct leaf *leaves = xcalloc(MAX(n, 1), sizeof *leaves);
	status r = ST_OK;
	const cJSON *item;
	*done = n > 0 && n <= MAX_TREE;
	cJSON_ArrayForEach(item, arguments)
	{
		const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "name"));
		if (!*done || r != ST_OK)
			break;
		strbuf_init(&leaves[i].text);
		*done = name && dict_keys(str_of(name), leaves[i].keys, MAX_PATH, &leaves[i].n);
		if (*done && !sharding_of(x, item))
			strbuf_puts(&leaves[i].text, "None");
		else if (*done)
			r = sharding_text(x, item, name, &leaves[i].text);
		i++; /* as long as the document at most: JAX lists no devices */
	}
	*done = *done && is_tree(leaves, n);
	if (*done && r == ST_OK) {
		strbuf_puts(x->out,
			"\n# one entry per argument of the function; None: left to the compiler\nspecs = ");
		add_tree(leaves, 0, n, 0, x->out);
		strbuf_puts(x->out,
			"\nin_shardings = jax.tree.map(lambda spec: None if spec is None else "
			"NamedSharding(mesh, spec), specs,\n"
			"                            is_leaf=lambda x: x is None or isinstance(x, "
			"PartitionSpec))\n");
	}
	for (uint32_t k = 0; k < i; k++)
		strbuf_release(&leaves[k].text);
	free(leaves);
	return r;
}

/* Trees with lists, tuples and named fields: the specs by name, and a function that makes the tree
 * from the arguments. */
static const char by_path[] =
	"\n\ndef in_shardings(**arguments):\n"
	"    \"\"\"The tree of shardings of each argument, by its name in the function: "
	"in_shardings(params=params, batch=batch).\"\"\"\n"
	"    def leaf(name):\n"
	"        def sharding(path, _):\n"
	"            spec = specs[name + jax.tree_util.keystr(path)]\n"
	"            return None if spec is None else NamedSharding(mesh, spec)\n"
	"        return sharding\n"
	"    return {name: jax.tree_util.tree_map_with_path(leaf(name), tree) for name, tree in "
	"arguments.items()}\n";

/* ---------------------------------------------------------------- lists */

/* The words of OneFlow behind a placement of their own. */
static void add_value(const struct form *f, strbuf *text, strbuf *out)
{
	const char *split = strstr(text->p, "), [");
	if (f->head == flow_head && text->p[0] != '[' && split) {
		strbuf_puts(out, "dict(placement=");
		strbuf_add(out, text->p, (size_t)(split - text->p) + 1);
		strbuf_printf(out, ", sbp=%s)", split + 3);
	} else if (f->head == torch_head && text->p[0] != '[') {
		strbuf_printf(out, "(%s)", text->p);
	} else {
		strbuf_printf(out, "%s%s%s", f->before, text->p, f->after);
	}
}

static status add_argument(struct text *x, const cJSON *item, bool first)
{
	const struct form *f = &forms[x->n];
	const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "name"));
	if (!name)
		return diag_set(x->d, ST_ERR_INVALID, "an argument of the strategy has no \"name\"");
	strbuf text;
	strbuf_init(&text);
	status r = ST_OK;
	if (!sharding_of(x, item))
		strbuf_puts(&text, f->undecided ? f->undecided : "left to the compiler");
	else
		r = sharding_text(x, item, name, &text);
	if (r == ST_OK && f->open) {
		strbuf_puts(x->out, x->n != NOTATION_JSON ? "    " : first ? "\n  " : ",\n  ");
		add_quoted(str_of(name), x->out);
		strbuf_puts(x->out, ": ");
		if (!sharding_of(x, item))
			strbuf_puts(x->out, text.p);
		else
			add_value(f, &text, x->out);
		strbuf_puts(x->out, x->n == NOTATION_JSON ? "" : ",\n");
	} else if (r == ST_OK) {
		strbuf_printf(x->out, "%s%s  %s\n", !sharding_of(x, item) ? "# " : "", name, text.p);
	}
	strbuf_release(&text);
	return r;
}

/* An argument can list all devices of a large mesh. */
static status check_size(const struct text *x)
{
	if (x->out->n <= MAX_NOTATION_BYTES)
		return ST_OK;
	return diag_set(x->d, ST_ERR_LIMIT, "the strategy takes more than %d bytes in %s",
		MAX_NOTATION_BYTES, notation_name(x->n));
}

static status add_arguments(struct text *x, const cJSON *arguments)
{
	const struct form *f = &forms[x->n];
	bool first = true;
	const cJSON *item;
	if (f->open)
		strbuf_printf(
			x->out, "%s%s%s", f->head ? "\n" : "", f->open, x->n == NOTATION_JSON ? "" : "\n");
	cJSON_ArrayForEach(item, arguments)
	{
		TRY(add_argument(x, item, first));
		TRY(check_size(x));
		first = false;
	}
	if (f->open)
		strbuf_puts(x->out, x->n == NOTATION_JSON ? "\n}\n" : "}\n");
	if (x->n == NOTATION_JAX)
		strbuf_puts(x->out, by_path);
	return ST_OK;
}

static status add_results(struct text *x, const cJSON *results)
{
	const struct form *f = &forms[x->n];
	const cJSON *item;
	char what[40];
	uint32_t i = 0;
	if (!f->results || !cJSON_GetArraySize(results))
		return ST_OK;
	strbuf_printf(x->out, "\n# in the order of the flattened results\n%s\n", f->results);
	cJSON_ArrayForEach(item, results)
	{
		strbuf text;
		strbuf_init(&text);
		snprintf(what, sizeof what, "result %u", i++);
		status r = !sharding_of(x, item) ? ST_OK : sharding_text(x, item, what, &text);
		strbuf_puts(x->out, "    ");
		if (!sharding_of(x, item))
			strbuf_puts(x->out, f->undecided);
		else if (r == ST_OK)
			add_value(f, &text, x->out);
		strbuf_puts(x->out, ",\n");
		strbuf_release(&text);
		TRY(r);
		TRY(check_size(x));
	}
	strbuf_puts(x->out, "]\n");
	return ST_OK;
}

static status write_all(struct text *x, const cJSON *document)
{
	const cJSON *arguments = cJSON_GetObjectItemCaseSensitive(document, "arguments"),
				*mesh = cJSON_GetObjectItemCaseSensitive(document, "mesh");
	mesh_spec spec;
	bool done = false;
	if (!cJSON_IsArray(arguments) || !mesh)
		return diag_set(x->d, ST_ERR_INVALID, "a strategy has \"mesh\" and \"arguments\"");
	TRY(mesh_from_json(x->t, mesh, &spec, x->d));
	x->mesh = spec.mesh;
	if (forms[x->n].head)
		forms[x->n].head(x);
	if (x->n == NOTATION_JAX)
		TRY(jax_tree(x, arguments, &done));
	if (!done)
		TRY(add_arguments(x, arguments));
	return add_results(x, cJSON_GetObjectItemCaseSensitive(document, "results"));
}

status strategy_text(notation n, const cJSON *document, strbuf *out, diag *d)
{
	struct text x = {.n = n, .t = sharding_table_new(), .out = out, .d = d};
	status r = write_all(&x, document);
	sharding_table_unref(x.t);
	return r;
}

status strategy_text_of(notation n, const char *json, size_t size, strbuf *out, diag *d)
{
	cJSON *document;
	TRY(json_text_parse((str){json, size}, &document, d));
	status r = strategy_text(n, document, out, d);
	cJSON_Delete(document);
	return r;
}
