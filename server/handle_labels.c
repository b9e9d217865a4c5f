/* Modules by the names that people gave them. */
#include "server/server.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- the list */

/* "TIME-ID", as next_page has it. */
static bool read_position(const char *token, list_filter *f)
{
	const char *dash = strchr(token, '-');
	snprintf(f->before_id, sizeof f->before_id, "%s", dash ? dash + 1 : "");
	return dash && str_to_i64((str){token, (size_t)(dash - token)}, &f->before);
}

void handle_module_list(request *r)
{
	list_filter f = {.module = request_query(r, "module"),
		.label = request_query(r, "label"),
		.before = INT64_MAX};
	const char *token = request_query(r, "page_token");
	db *c = store_reader(r->srv->store);
	strbuf b = {0};
	if (!request_page_size(r, &f.page_size))
		return;
	if (token && !read_position(token, &f))
		reply_failure(r, PROBLEM_BAD_REQUEST, "page_token is not one that a list has answered");
	else if (c && list_modules(c, &f, &b))
		reply_json(r, 200, &b);
	else
		reply_read_failure(r);
	strbuf_release(&b);
}

/* ---------------------------------------------------------------- giving and taking away */

typedef struct labels_post { /* lives in request.state */
	labels_change change;    /* first: what the writer sees */
	request *r;
	cJSON *root;
	module_row module;
	const char *add[MOST_NAMES], *remove[MOST_NAMES];
} labels_post;

static void labels_post_free(void *cls)
{
	cJSON_Delete(((labels_post *)cls)->root);
	free(cls);
}

static void labels_changed(write_op *op)
{
	labels_post *t = (labels_post *)op;
	request *r = t->r;
	db *c = store_reader(r->srv->store);
	char peer[PEER_BYTES];
	strbuf b = {0};
	if (op->result == ST_OK)
		response_cache_outdate(r->srv->responses);
	if (t->change.forbidden) {
		reply_failure(r, PROBLEM_FORBIDDEN,
			"a label belongs to who gave it; its owner or an admin may take it away");
	} else if (op->result != ST_OK) {
		reply_store_failure(r, op->result);
	} else if (c && module_json(c, &t->module, &b)) {
		peer_text(r, peer);
		log_audit("event=label module=%s added=%u removed=%u owner=%s address=%s", t->module.id,
			t->change.add_count, t->change.remove_count, log_quoted(r->owner).text, peer);
		reply_json(r, 200, &b);
	} else {
		reply_read_failure(r);
	}
	strbuf_release(&b);
	request_resume(r);
}

static bool read_names(const cJSON *list, const char *pointer, const char *out[MOST_NAMES],
	uint32_t *out_n, problem *why)
{
	if (list && !cJSON_IsArray(list))
		return problem_at(why, pointer, "expected an array of names");
	for (const cJSON *item = list ? list->child : NULL; item; item = item->next) {
		char at[64];
		snprintf(at, sizeof at, "%s/%u", pointer, *out_n);
		if (*out_n == MOST_NAMES)
			return problem_at(why, pointer, "expected at most %d names", MOST_NAMES);
		if (!name_check(cJSON_IsString(item) ? item->valuestring : "", at, why))
			return false;
		out[(*out_n)++] = item->valuestring;
	}
	return true;
}

static bool read_change(labels_post *t, const strbuf *body, problem *why)
{
	diag d = {0};
	labels_change *a = &t->change;
	t->root = json_parse(body->p ? body->p : "", body->n, MAX_JSON_BYTES, &d);
	if (!t->root)
		return problem_from_diag(why, PROBLEM_BAD_JSON, &d);
	if (!cJSON_IsObject(t->root))
		return problem_at(why, "", "expected an object");
	for (const cJSON *item = t->root->child; item; item = item->next)
		if (strcmp(item->string, "add") && strcmp(item->string, "remove"))
			return problem_at(why, "", "unknown field, expected one of: add remove");
	a->add = t->add;
	a->remove = t->remove;
	return read_names(cJSON_GetObjectItemCaseSensitive(t->root, "add"), "/add", t->add,
			   &a->add_count, why) &&
		read_names(cJSON_GetObjectItemCaseSensitive(t->root, "remove"), "/remove", t->remove,
			&a->remove_count, why);
}

void handle_module_labels(request *r)
{
	problem why = {0};
	labels_post *t = xcalloc(1, sizeof *t);
	db *c = store_reader(r->srv->store);
	t->r = r;
	r->state = t;
	r->free_state = labels_post_free;
	if (!reply_unless_found(r, c ? module_find(c, r->id, &t->module) : FOUND_FAILED,
			"there is no module '%.100s'", r->id))
		return;
	if (!read_change(t, &r->body, &why)) {
		reply_problem(r, &why);
		return;
	}
	t->change.op.run = labels_change_run;
	t->change.op.done = labels_changed;
	t->change.any = !r->srv->tokens || r->admin;
	memcpy(t->change.module, t->module.id, ID_BYTES);
	snprintf(t->change.owner, sizeof t->change.owner, "%s", r->owner);
	request_park(r);
	store_submit(r->srv->store, &t->change.op);
}
