/* Tells the decisions of a plan in terms that other programs of its structure have. */
#include "search/tree/warm_private.h"

#include <cjson/cJSON.h>

void warm_fold_name(const char *name, strbuf *out)
{
	for (; *name; name++) {
		bool digit = *name >= '0' && *name <= '9';
		if (digit && out->n && out->p[out->n - 1] == '#')
			continue;
		strbuf_putc(out, digit ? '#' : *name);
	}
	strbuf_add(out, "", 0);
}

void warm_arg_name(const problem *pb, uint32_t a, strbuf *out)
{
	strbuf name = {0};
	strbuf_clear(out);
	module_arg_name(pb->m, a, &name);
	warm_fold_name(name.p ? name.p : "", out);
	strbuf_release(&name);
}

uint32_t warm_arg_rank(const problem *pb, uint32_t a)
{
	return pval_type(pb->p, pb->p->args.p[a])->rank;
}

str warm_axis_name(const problem *pb, uint32_t axis)
{
	const sharding_table *t = pb->m->shardings;
	return strtab_get(&t->names, t->meshes.p[pb->mesh].axis_names[axis]);
}

int64_t warm_axis_length(const problem *pb, uint32_t axis)
{
	return axis_size(mesh_full_axis(pb->m->shardings, pb->mesh, axis));
}

str warm_site_op(const problem *pb, const activation_class *sc)
{
	const node *n = &pb->p->nodes.p[pb->p->vals.p[sc->targets[0].arg].def];
	return strtab_get(&pb->m->strs, op_at(pb->m, n->op)->name);
}

bool warm_same_site(const problem *pb, const activation_class *a, const activation_class *b)
{
	return str_equal(warm_site_op(pb, a), warm_site_op(pb, b)) &&
		a->targets[0].dim == b->targets[0].dim &&
		pval_type(pb->p, a->targets[0].arg)->rank == pval_type(pb->p, b->targets[0].arg)->rank;
}

/* ---------------------------------------------------------------- telling */

static void tell_site(const problem *pb, const action *a, cJSON *o)
{
	uint32_t nth = 0;
	for (uint32_t k = 0; k < pb->n_activation_classes; k++) {
		const activation_class *sc = &pb->activation_classes[k];
		if (sc->targets == a->targets) {
			str op = warm_site_op(pb, sc);
			char text[128];
			snprintf(text, sizeof text, STR_FMT, STR_ARG(op));
			cJSON_AddStringToObject(o, "inner", text);
			cJSON_AddNumberToObject(o, "rank", pval_type(pb->p, sc->targets[0].arg)->rank);
			for (uint32_t i = 0; i < k; i++)
				nth += warm_same_site(pb, sc, &pb->activation_classes[i]);
			cJSON_AddNumberToObject(o, "nth", nth);
			return;
		}
	}
}

const char *const warm_dim_words[2] = {"largest", "keep"};

/* Each name, role, rank and dim once, in the order of the targets: parameters that are kept whole
 * come before state that is cut. */
static void tell_arguments(const problem *pb, const action *a, cJSON *o)
{
	cJSON *list = cJSON_AddArrayToObject(o, "arguments");
	strbuf name = {0};
	for (uint32_t i = 0; i < a->n_targets; i++) {
		const action_target *t = &a->targets[i];
		cJSON *e = cJSON_CreateObject();
		bool known = false;
		warm_arg_name(pb, t->arg, &name);
		cJSON_AddStringToObject(e, "name", name.p);
		cJSON_AddStringToObject(e, "role", role_name(pb->roles[t->arg]));
		cJSON_AddNumberToObject(e, "rank", warm_arg_rank(pb, t->arg));
		if (t->dim >= DIM_LARGEST)
			cJSON_AddStringToObject(e, "dimension", warm_dim_words[t->dim == DIM_KEEP]);
		else
			cJSON_AddNumberToObject(e, "dimension", t->dim);
		for (const cJSON *k = list->child; k && !known; k = k->next)
			known = cJSON_Compare(k, e, true);
		if (known)
			cJSON_Delete(e);
		else
			cJSON_AddItemToArray(list, e);
	}
	strbuf_release(&name);
}

char *warm_tell(const problem *pb, const plan *pl)
{
	cJSON *list = cJSON_CreateArray();
	for (uint32_t i = 0; i < pl->n; i++) {
		const action *a = &pl->decisions[i];
		cJSON *o = cJSON_CreateObject();
		char axis[256];
		str name = warm_axis_name(pb, a->axis);
		snprintf(axis, sizeof axis, STR_FMT, STR_ARG(name));
		cJSON_AddStringToObject(o, "axis", axis);
		if (a->on_role) {
			cJSON_AddStringToObject(o, "tactic", role_action_names[a->role]);
		} else if (a->kind == ACTION_CONSTRAIN) {
			cJSON_AddNumberToObject(o, "dimension", a->dim);
			tell_site(pb, a, o);
		} else {
			if (a->kind == ACTION_REPLICATE)
				cJSON_AddTrueToObject(o, "replicate");
			tell_arguments(pb, a, o);
		}
		cJSON_AddItemToArray(list, o);
	}
	char *text = cJSON_PrintUnformatted(list);
	cJSON_Delete(list);
	return text;
}
