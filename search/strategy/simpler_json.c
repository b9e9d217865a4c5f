/* What a document says of an answer that is not the cheapest plan. For people, so nothing in it is
 * an error. */
#include "search/strategy/read_json.h"
#include "search/strategy/strategy.h"

static plan_size read_size(const cJSON *o)
{
	return (plan_size){.decisions = (uint32_t)number_of(o, "decisions"),
		.kinds = (uint32_t)number_of(o, "collective_kinds"),
		.collectives = number_of(o, "collectives"),
		.constraints = (uint32_t)number_of(o, "constraints"),
		.unlike = (uint32_t)number_of(o, "unlike_layers")};
}

void simpler_from_json(const cJSON *root, simpler_than *out)
{
	const cJSON *o = cJSON_GetObjectItemCaseSensitive(root, "simpler"),
				*cheapest = cJSON_GetObjectItemCaseSensitive(o, "cheapest");
	*out = (simpler_than){.any = number_of(cheapest, "runtime_ns") > 0,
		.uncertainty_ppm = number_of(o, "uncertainty_ppm"),
		.runtime_ns = number_of(cheapest, "runtime_ns"),
		.peak_bytes = number_of(cheapest, "peak_bytes"),
		.own = read_size(cJSON_GetObjectItemCaseSensitive(o, "answer")),
		.cheapest = read_size(cheapest)};
}

static cJSON *size_json(const plan_size *size)
{
	cJSON *o = cJSON_CreateObject();
	cJSON_AddNumberToObject(o, "decisions", size->decisions);
	cJSON_AddNumberToObject(o, "collective_kinds", size->kinds);
	cJSON_AddNumberToObject(o, "collectives", (double)size->collectives);
	cJSON_AddNumberToObject(o, "constraints", size->constraints);
	cJSON_AddNumberToObject(o, "unlike_layers", size->unlike);
	return o;
}

cJSON *simpler_to_json(const simpler_than *s)
{
	cJSON *o = cJSON_CreateObject(), *cheapest = size_json(&s->cheapest);
	cJSON_AddNumberToObject(o, "uncertainty_ppm", (double)s->uncertainty_ppm);
	cJSON_AddItemToObject(o, "answer", size_json(&s->own));
	cJSON_AddNumberToObject(cheapest, "runtime_ns", (double)s->runtime_ns);
	cJSON_AddNumberToObject(cheapest, "peak_bytes", (double)s->peak_bytes);
	cJSON_AddItemToObject(o, "cheapest", cheapest);
	return o;
}

/* "decisions 2 instead of 5" */
static void change_text(
	const cJSON *from, const cJSON *to, const char *key, const char **between, strbuf *out)
{
	int64_t a = number_of(from, key), b = number_of(to, key);
	if (a == b)
		return;
	strbuf_puts(out, *between);
	for (const char *c = key; *c; c++)
		strbuf_putc(out, *c == '_' ? ' ' : *c);
	strbuf_printf(out, " %lld instead of %lld", (long long)b, (long long)a);
	*between = ", ";
}

void report_simpler(const cJSON *document, strbuf *out)
{
	const cJSON *simpler = cJSON_GetObjectItemCaseSensitive(document, "simpler"),
				*from = cJSON_GetObjectItemCaseSensitive(simpler, "cheapest"),
				*to = cJSON_GetObjectItemCaseSensitive(simpler, "answer");
	const char *between = "";
	if (!simpler)
		return;
	strbuf_puts(out, "not the cheapest plan (");
	strbuf_duration(out, number_of(from, "runtime_ns"));
	strbuf_printf(out, ") but one as good within %g%% that is simpler: ",
		(double)number_of(simpler, "uncertainty_ppm") / 1e4);
	for (const cJSON *c = to ? to->child : NULL; c; c = c->next)
		change_text(from, to, c->string, &between, out);
	strbuf_puts(out, "\n");
}
