/* The words of OneFlow's messages: SbpSignature, NdSbpSignature. */
#include "sbp/sbp.h"

#include <cjson/cJSON.h>

static cJSON *word_json(sbp s)
{
	static const char *const keys[] = {[SBP_BROADCAST] = "broadcast_parallel",
		[SBP_SPLIT] = "split_parallel",
		[SBP_PARTIAL] = "partial_sum_parallel"};
	cJSON *o = cJSON_CreateObject(), *inside = cJSON_AddObjectToObject(o, keys[s.kind]);
	char text[8];
	snprintf(text, sizeof text, "%u", s.dim);
	if (s.kind == SBP_SPLIT)
		cJSON_AddStringToObject(inside, "axis", text);
	return o;
}

static cJSON *nd_json(const nd_sbp *s, uint32_t n)
{
	cJSON *o = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(o, "sbp_parallel");
	for (uint32_t k = 0; k < n; k++)
		cJSON_AddItemToArray(list, word_json(s->at[k]));
	return o;
}

static void blob_name(const sbp_candidates *c, uint32_t k, char out[24])
{
	snprintf(
		out, 24, k < c->n_operands ? "in_%u" : "out_%u", k < c->n_operands ? k : k - c->n_operands);
}

static cJSON *signature_json(const sbp_candidates *c, uint32_t i)
{
	cJSON *o = cJSON_CreateObject(), *map = cJSON_AddObjectToObject(o, "bn_in_op2sbp_parallel");
	char name[24];
	for (uint32_t k = 0; k < c->n_operands + c->n_results; k++) {
		blob_name(c, k, name);
		cJSON_AddItemToObject(map, name, word_json(candidate_words(c, i)[k]));
	}
	return o;
}

static cJSON *chosen_json(const sbp_op_record *r, uint32_t n)
{
	cJSON *o = cJSON_CreateObject(), *map = cJSON_AddObjectToObject(o, "bn_in_op2nd_sbp");
	char name[24];
	for (uint32_t k = 0; k < r->candidates.n_operands + r->candidates.n_results; k++) {
		nd_sbp s = sbp_chosen(r, k, n);
		blob_name(&r->candidates, k, name);
		cJSON_AddItemToObject(map, name, nd_json(&s, n));
	}
	return o;
}

static void add_place(const module *m, op_id o, cJSON *to)
{
	strbuf place;
	strbuf_init(&place);
	loc_print(m, op_at(m, o)->loc, &place);
	cJSON_AddStringToObject(to, "location", place.p ? place.p : "");
	strbuf_release(&place);
}

static void add_name(const module *m, op_id o, cJSON *to)
{
	str name = strtab_get(&m->strs, op_at(m, o)->name);
	char text[128];
	snprintf(text, sizeof text, STR_FMT, STR_ARG(name));
	cJSON_AddStringToObject(to, "op", text);
}

static cJSON *boxing_json(const module *m, const sbp_inference *x, const sbp_boxing_record *r)
{
	uint32_t n = m->shardings->meshes.p[r->placement].n_axes;
	cJSON *o = cJSON_CreateObject();
	add_name(m, r->op, o);
	add_place(m, r->op, o);
	cJSON_AddNumberToObject(o, "operand", r->operand);
	cJSON_AddItemToObject(o, "from", nd_json(&r->from, n));
	cJSON_AddItemToObject(o, "to", nd_json(&r->to, n));
	cJSON_AddBoolToObject(o, "in_loop", r->in_loop);
	cJSON_AddBoolToObject(o, "shared", r->same != ID_NONE);
	cJSON *steps = cJSON_AddArrayToObject(o, "steps");
	for (uint32_t i = 0; i < r->n; i++) {
		const boxing_step *s = &x->steps.p[r->first + i];
		cJSON *step = cJSON_CreateObject(), *axes_json = NULL;
		cJSON_AddStringToObject(step, "kind", boxing_name(s->kind));
		axes_json = cJSON_AddArrayToObject(step, "axes");
		for (uint32_t k = s->first; k <= s->last; k++) {
			str name = strtab_get(
				&m->shardings->names, m->shardings->meshes.p[r->placement].axis_names[k]);
			char text[128];
			snprintf(text, sizeof text, STR_FMT, STR_ARG(name));
			cJSON_AddItemToArray(axes_json, cJSON_CreateString(text));
		}
		cJSON_AddNumberToObject(step, "bytes", (double)s->bytes);
		cJSON_AddItemToArray(steps, step);
	}
	return o;
}

cJSON *sbp_explain_json(const module *m, const sbp_inference *x)
{
	cJSON *root = cJSON_CreateObject(), *ops = NULL, *boxings = NULL;
	strbuf mesh;
	strbuf_init(&mesh);
	mesh_print(m->shardings, x->placement.mesh, &mesh);
	cJSON_AddStringToObject(root, "placement", mesh.p);
	strbuf_release(&mesh);
	ops = cJSON_AddArrayToObject(root, "ops");
	for (uint32_t i = 0; i < x->ops.n; i++) {
		const sbp_op_record *r = &x->ops.p[i];
		cJSON *o = cJSON_CreateObject();
		add_name(m, r->op, o);
		add_place(m, r->op, o);
		cJSON *list = cJSON_AddArrayToObject(o, "sbp_signature");
		for (uint32_t k = 0; k < r->candidates.n; k++)
			cJSON_AddItemToArray(list, signature_json(&r->candidates, k));
		cJSON_AddItemToObject(
			o, "nd_sbp_signature", chosen_json(r, m->shardings->meshes.p[r->placement].n_axes));
		cJSON_AddNumberToObject(o, "order_value", (double)r->choice.order);
		cJSON_AddNumberToObject(o, "copy_cost", (double)r->choice.cost);
		cJSON_AddBoolToObject(o, "cached", r->cached);
		cJSON_AddItemToArray(ops, o);
	}
	boxings = cJSON_AddArrayToObject(root, "boxings");
	for (uint32_t i = 0; i < x->boxings.n; i++)
		cJSON_AddItemToArray(boxings, boxing_json(m, x, &x->boxings.p[i]));
	return root;
}
