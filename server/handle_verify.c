/* The daemon's side of `python -m shardwright.verifier`: a verifier takes a search by lease, tells
 * that it lives, and answers. */
#include "server/server.h"

#include <stdlib.h>

enum { LEASE_SECONDS = 60, MOST_LEASE_SECONDS = 3600, MOST_TEXT = 4096 };

static bool read_lease(const cJSON *root, int64_t *out_us, problem *why)
{
	double seconds = LEASE_SECONDS;
	if (!field_number(
			root, "", "lease_seconds", FIELD_OPTIONAL, 1, MOST_LEASE_SECONDS, &seconds, why))
		return false;
	*out_us = (int64_t)(seconds * 1e6);
	return true;
}

/* ---------------------------------------------------------------- claim */

typedef struct claim_post { /* lives in request.state */
	verification_claim claim;
	request *r;
	cJSON *root;
	char *devices;
} claim_post;

static void claim_free(void *cls)
{
	claim_post *t = cls;
	strbuf_release(&t->claim.json);
	cJSON_Delete(t->root);
	cJSON_free(t->devices);
	free(t);
}

static void claimed(write_op *op)
{
	claim_post *t = (claim_post *)op;
	request *r = t->r;
	response_cache_outdate(r->srv->responses); /* answers show the state of their verification */
	if (op->result != ST_OK) {
		reply_store_failure(r, op->result);
	} else if (!t->claim.found) {
		reply_nothing(r);
	} else {
		log_audit("event=verification_claimed search=%s attempt=%lld owner=\"%s\"", t->claim.search,
			(long long)t->claim.attempt, r->owner);
		watch_notify(r->srv->hub, t->claim.search);
		reply_json(r, 200, &t->claim.json);
	}
	request_resume(r);
}

static bool read_claim(claim_post *t, problem *why)
{
	const cJSON *devices = json_field(t->root, "devices");
	if (!check_fields(t->root, "", " verifier devices lease_seconds ", why) ||
		!read_lease(t->root, &t->claim.lease_us, why) ||
		!field_text(t->root, "", "verifier", FIELD_OPTIONAL, 200, &t->claim.verifier, why))
		return false;
	if (!devices)
		return true;
	if (!cJSON_IsArray(devices))
		return problem_at(why, "/devices", "expected an array of names of device profiles");
	t->devices = cJSON_PrintUnformatted(devices);
	t->claim.devices = t->devices;
	return true;
}

void handle_verification_claim(request *r)
{
	problem why = {0};
	claim_post *t = xcalloc(1, sizeof *t);
	r->state = t;
	r->free_state = claim_free;
	t->r = r;
	t->root = request_json(r, &r->body, MAX_JSON_BYTES, &why);
	if (why.kind || !read_claim(t, &why)) {
		reply_problem(r, &why);
		return;
	}
	t->claim.op.run = verification_claim_run;
	t->claim.op.done = claimed;
	request_park(r);
	store_submit(r->srv->store, &t->claim.op);
}

/* ---------------------------------------------------------------- heartbeat */

typedef struct beat_post {
	verification_beat beat;
	request *r;
} beat_post;

static void reply_lost(request *r, int64_t attempt)
{
	reply_failure(r, PROBLEM_CONFLICT, "attempt %lld does not hold the search '%.40s' any more",
		(long long)attempt, r->id);
}

static void beaten(write_op *op)
{
	beat_post *t = (beat_post *)op;
	request *r = t->r;
	strbuf b;
	strbuf_init(&b);
	if (op->result != ST_OK) {
		reply_store_failure(r, op->result);
	} else if (!t->beat.held) {
		reply_lost(r, t->beat.attempt);
	} else {
		strbuf_putc(&b, '{');
		json_int(&b, "lease_seconds", t->beat.lease_us / 1000000);
		strbuf_putc(&b, '}');
		reply_json(r, 200, &b);
	}
	request_resume(r);
}

void handle_verification_heartbeat(request *r)
{
	problem why = {0};
	beat_post *t = xcalloc(1, sizeof *t);
	r->state = t;
	r->free_state = free;
	t->r = r;
	if (!request_search_id(r, t->beat.search))
		return;
	cJSON *root = request_json(r, &r->body, MAX_JSON_BYTES, &why);
	if (!why.kind && check_fields(root, "", " attempt lease_seconds ", &why) &&
		read_lease(root, &t->beat.lease_us, &why))
		field_count(root, "", "attempt", FIELD_REQUIRED, &t->beat.attempt, &why);
	cJSON_Delete(root);
	if (why.kind) {
		reply_problem(r, &why);
		return;
	}
	t->beat.op.run = verification_beat_run;
	t->beat.op.done = beaten;
	request_park(r);
	store_submit(r->srv->store, &t->beat.op);
}

/* ---------------------------------------------------------------- result */

typedef struct result_post {
	verification_result result;
	request *r;
	cJSON *root;
	verification_row *rows;
} result_post;

static void result_free(void *cls)
{
	result_post *t = cls;
	for (uint32_t i = 0; i < t->result.row_count; i++)
		cJSON_free((char *)t->rows[i].options);
	free(t->rows);
	cJSON_Delete(t->root);
	free(t);
}

static bool one_of(const char *base, const char *name, const char *value, const char *a,
	const char *b, problem *why)
{
	char at[256];
	snprintf(at, sizeof at, "%s/%s", base, name);
	return !strcmp(value, a) || !strcmp(value, b) ||
		problem_at(why, at, "expected \"%s\" or \"%s\"", a, b);
}

static bool read_row(const cJSON *o, const char *base, verification_row *row, problem *why)
{
	static const char known[] = " plan apply source compiler version options runtime_ns peak_bytes "
								"fits predicted_runtime_ns"
								" predicted_peak_bytes seconds reason chosen collectives ";
	const cJSON *options_json = json_field(o, "options");
	row->runtime_ns = row->peak_bytes = -1;
	if (options_json && !cJSON_IsObject(options_json))
		return problem_at(why, base, "expected options as an object");
	row->options = options_json ? cJSON_PrintUnformatted(options_json)
								: cJSON_PrintUnformatted(&(cJSON){.type = cJSON_Object});
	return check_fields(o, base, known, why) &&
		field_text(o, base, "plan", FIELD_REQUIRED, 200, &row->plan, why) &&
		field_text(o, base, "apply", FIELD_REQUIRED, 16, &row->apply, why) &&
		one_of(base, "apply", row->apply, "annotate", "exact", why) &&
		field_text(o, base, "source", FIELD_REQUIRED, 16, &row->source, why) &&
		one_of(base, "source", row->source, "compiled", "measured", why) &&
		field_text(o, base, "compiler", FIELD_OPTIONAL, 200, &row->compiler, why) &&
		field_text(o, base, "version", FIELD_OPTIONAL, 200, &row->version, why) &&
		field_text(o, base, "reason", FIELD_OPTIONAL, MOST_TEXT, &row->reason, why) &&
		field_count(o, base, "runtime_ns", FIELD_OPTIONAL, &row->runtime_ns, why) &&
		field_count(o, base, "peak_bytes", FIELD_OPTIONAL, &row->peak_bytes, why) &&
		field_count(
			o, base, "predicted_runtime_ns", FIELD_REQUIRED, &row->predicted_runtime_ns, why) &&
		field_count(
			o, base, "predicted_peak_bytes", FIELD_REQUIRED, &row->predicted_peak_bytes, why) &&
		field_number(o, base, "seconds", FIELD_REQUIRED, 0, MOST_NUMBER, &row->seconds, why) &&
		field_bool(o, base, "fits", &row->fits, why) &&
		field_bool(o, base, "chosen", &row->chosen, why);
}

static bool read_rows(result_post *t, problem *why)
{
	const cJSON *list = json_field(t->root, "verifications");
	int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0, chosen = 0;
	if (n < 1 || n > MOST_VERIFICATIONS)
		return problem_at(why, "/verifications",
			"expected an array of 1 to %d objects, or an error", MOST_VERIFICATIONS);
	t->rows = xcalloc((size_t)n, sizeof *t->rows);
	t->result.rows = t->rows;
	for (const cJSON *o = list->child; o; o = o->next) {
		char base[64];
		snprintf(base, sizeof base, "/verifications/%u", t->result.row_count);
		verification_row *row = &t->rows[t->result.row_count++];
		if (!read_row(o, base, row, why))
			return false;
		if (row->chosen && (row->reason || !row->fits || chosen++))
			return problem_at(why, base, "expected one chosen row at most, of a program that fits");
	}
	return !t->result.document || chosen ||
		problem_at(why, "/document", "expected none where nothing is chosen");
}

static bool read_result(result_post *t, problem *why)
{
	verification_result *a = &t->result;
	return check_fields(t->root, "", " attempt verifications document error ", why) &&
		field_count(t->root, "", "attempt", FIELD_REQUIRED, &a->attempt, why) &&
		field_text(t->root, "", "error", FIELD_OPTIONAL, MOST_TEXT, &a->error, why) &&
		field_text(t->root, "", "document", FIELD_OPTIONAL, MAX_TOOL_BYTES, &a->document, why) &&
		(a->error || read_rows(t, why));
}

static void resulted(write_op *op)
{
	result_post *t = (result_post *)op;
	request *r = t->r;
	verification_result *a = &t->result;
	strbuf b;
	response_cache_outdate(r->srv->responses);
	strbuf_init(&b);
	if (op->result != ST_OK) {
		reply_store_failure(r, op->result);
	} else if (!a->found) {
		reply_failure(r, PROBLEM_NOT_FOUND, "nobody has asked to verify the search '%.40s'", r->id);
	} else if (a->refused) {
		reply_failure(r, PROBLEM_BAD_FIELD,
			"the document is not a strategy for the program and the mesh of the search");
	} else if (!a->held && !a->repeated) {
		reply_lost(r, a->attempt);
	} else {
		if (a->held) {
			log_audit("event=verification_ended search=%s attempt=%lld owner=\"%s\"", a->search,
				(long long)a->attempt, r->owner);
			watch_notify(r->srv->hub, a->search);
		}
		strbuf_putc(&b, '{');
		json_text(&b, "strategy", a->strategy[0] ? a->strategy : NULL);
		json_bool(&b, "repeated", a->repeated);
		strbuf_putc(&b, '}');
		reply_json(r, 200, &b);
	}
	request_resume(r);
}

void handle_verification_result(request *r)
{
	problem why = {0};
	result_post *t = xcalloc(1, sizeof *t);
	r->state = t;
	r->free_state = result_free;
	t->r = r;
	if (!request_search_id(r, t->result.search))
		return;
	t->root = request_json(r, upload_text(r->up), MAX_TOOL_BYTES, &why);
	if (why.kind || !read_result(t, &why)) {
		reply_problem(r, &why);
		return;
	}
	t->result.op.run = verification_result_run;
	t->result.op.done = resulted;
	request_park(r);
	store_submit(r->srv->store, &t->result.op);
}

/* ---------------------------------------------------------------- reading */

void handle_search_verifications(request *r)
{
	char id[SEARCH_ID_BYTES];
	strbuf b;
	strbuf_init(&b);
	if (!request_search_id(r, id))
		return;
	db *c = store_reader(r->srv->store);
	if (reply_unless_found(r, c ? verification_json(c, id, true, &b) : FOUND_FAILED,
			"nobody has asked to verify a search '%.40s'", id))
		reply_json(r, 200, &b);
	strbuf_release(&b);
}

void handle_strategy_verifications(request *r)
{
	document_ref d;
	strbuf b;
	strbuf_init(&b);
	db *c = store_reader(r->srv->store);
	found f = c ? document_find(c, r->id, &d, &b) : FOUND_FAILED;
	strbuf_clear(&b);
	if (f == FOUND && !verifications_of_strategy(c, r->id, &b))
		f = FOUND_FAILED;
	if (reply_unless_found(r, f, "there is no strategy '%.100s'", r->id)) {
		reply_json(r, 200, &b);
		reply_header(r, "Cache-Control", "no-cache");
	}
	strbuf_release(&b);
}
