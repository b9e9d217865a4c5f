/* Measurements of a strategy: steps that somebody timed with it on real devices. */
#include "server/server.h"

#include <stdlib.h>

typedef struct measure_post { /* lives in request.state */
	measurement_add add;      /* first: what the writer sees */
	request *r;
	cJSON *root;
} measure_post;

static void measure_post_free(void *cls)
{
	measure_post *t = cls;
	measurement_release(&t->add.what);
	strbuf_release(&t->add.json);
	cJSON_Delete(t->root);
	free(t);
}

static void added(write_op *op)
{
	measure_post *t = (measure_post *)op;
	request *r = t->r;
	measurement_add *a = &t->add;
	if (op->result != ST_OK) {
		reply_store_failure(r, op->result);
	} else if (a->reused) {
		reply_failure(
			r, PROBLEM_UNPROCESSABLE, "this Idempotency-Key was given with another request");
	} else if (!a->found) {
		reply_failure(r, PROBLEM_NOT_FOUND, "there is no strategy '%.100s'", r->id);
	} else if (a->full) {
		reply_failure(r, PROBLEM_UNPROCESSABLE,
			"the strategy has %d measurements, the most that one may have", MOST_MEASUREMENTS);
	} else {
		response_cache_outdate(
			r->srv->responses); /* another answer may be the best known from now on */
		log_audit("event=%s strategy=%s measurement=%s step_ns=%lld owner=%s",
			a->repeated ? "measured_again" : "measured", a->strategy, a->id,
			(long long)a->what.step_ns, log_quoted(r->owner).text);
		reply_json(r, a->repeated ? 200 : 201, &a->json);
	}
	request_resume(r);
}

void handle_measurement_post(request *r)
{
	problem why = {0};
	measure_post *t = xcalloc(1, sizeof *t);
	measurement_add *a = &t->add;
	r->state = t;
	r->free_state = measure_post_free;
	t->r = r;
	t->root = request_json(r, &r->body, MAX_JSON_BYTES, &why);
	if (why.kind || !measurement_parse(&a->what, t->root, &why) ||
		!request_repeat_key(r, &a->repeat, &why)) {
		reply_problem(r, &why);
		return;
	}
	snprintf(
		a->strategy, sizeof a->strategy, "%.71s", r->id); /* cut: then there is no such strategy */
	snprintf(a->owner, sizeof a->owner, "%s", r->owner);
	strbuf asked = {0};
	strbuf_printf(&asked, "%s\n", r->id);
	strbuf_add(&asked, r->body.p, r->body.n);
	sha256_name(asked.p, asked.n, a->repeat.digest);
	strbuf_release(&asked);
	a->op.run = measurement_add_run;
	a->op.done = added;
	request_park(r);
	store_submit(r->srv->store, &a->op);
}

void handle_measurement_list(request *r)
{
	document_ref d;
	strbuf b = {0};
	db *c = store_reader(r->srv->store);
	found f = c ? document_find(c, r->id, &d, &b) : FOUND_FAILED;
	strbuf_clear(&b);
	if (f == FOUND && !measurements_of_strategy(c, r->id, &b))
		f = FOUND_FAILED;
	if (reply_unless_found(r, f, "there is no strategy '%.100s'", r->id)) {
		reply_json(r, 200, &b);
		reply_header(r, "Cache-Control", "no-cache");
	}
	strbuf_release(&b);
}
