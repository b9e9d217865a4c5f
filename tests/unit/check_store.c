/* The store: the life of a search in rows, fencing, leases, the cache, what a second opening finds.
 */
#include "server/server.h"
#include "tests/unit/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <unistd.h>

static const char document[] =
	"{\"format\":\"shardwright.strategy/1\",\"tool\":{\"cost_model\":\"1\"},\"device\":\"tpu-v5e\","
	"\"memory_limit_bytes\":100,\"fits\":true,\"arguments\":[{\"index\":0,\"name\":\"w\","
	"\"sharding\":[[\"data\"]]}],"
	"\"cost\":{\"runtime_ns\":7,\"peak_bytes\":9,\"communication_ns\":2,"
	"\"collectives\":{\"all_reduce\":{\"count\":1,\"dynamic_count\":2,\"bytes\":3}}},\"search\":{"
	"\"evaluations\":50}}";

static const char module_id[] =
	"sha256:0000000000000000000000000000000000000000000000000000000000000001";

static char folder[64];
static metrics counters;
static store *s;

static void open_store(void)
{
	diag d = {0};
	s = store_open(folder, &counters, &d);
	ck_assert_msg(s != NULL, "%s", d.msg);
}

static status insert_run(db *c, write_op *op)
{
	module_row m = {.name = "step", .ops = 3, .arguments = 1, .text_bytes = 10};
	(void)op;
	strcpy(m.id, module_id);
	strcpy(m.fingerprint, "sha256:f");
	strcpy(m.shardings, "sha256:s");
	return module_insert(c, &m, 5);
}

static void setup(void)
{
	strcpy(folder, "/tmp/check_store.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	open_store();
	write_op op = {.run = insert_run};
	ck_assert_int_eq(store_write(s, &op), ST_OK);
}

static void teardown(void)
{
	char command[128];
	store_close(s);
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

/* A request on the module; more: further fields, each with a comma before it. */
static void make_spec(search_spec *spec, const char *more)
{
	char text[512];
	problem why = {0};
	snprintf(text, sizeof text, "{\"module\":\"%s\",\"mesh\":\"data=2\"%s}", module_id, more);
	ck_assert_msg(spec_parse(spec, text, strlen(text), NULL, 0, &why), "%s", why.detail);
}

/* Asks; the id of the search, and whether it is new. */
static bool ask(const char *more, char id[SEARCH_ID_BYTES], bool *cached)
{
	search_spec spec;
	make_spec(&spec, more);
	search_create a = {
		.op = {.run = search_create_run}, .spec = &spec, .queue_limit = 3, .max_failures = 2};
	spec_key(&spec, "sha256:f", "sha256:s", "1", a.key);
	strcpy(a.fingerprint, "sha256:f");
	ck_assert_int_eq(store_write(s, &a.op), ST_OK);
	if (a.queue_full)
		id[0] = 0;
	else
		memcpy(id, a.id, SEARCH_ID_BYTES);
	if (cached)
		*cached = a.cached;
	bool fresh = !a.existing && !a.queue_full;
	strbuf_release(&a.json);
	spec_release(&spec);
	return fresh;
}

static int64_t claim(char id[SEARCH_ID_BYTES])
{
	search_claim c = {.op = {.run = search_claim_run}, .lease_us = 60000000};
	ck_assert_int_eq(store_write(s, &c.op), ST_OK);
	memcpy(id, c.id, SEARCH_ID_BYTES);
	strbuf_release(&c.request);
	return c.found ? c.attempt : 0;
}

static search_finish finish(
	const char *id, int64_t attempt, search_outcome outcome, const char *text)
{
	search_finish f = {.op = {.run = search_finish_run},
		.attempt = attempt,
		.outcome = outcome,
		.document = text,
		.document_bytes = text ? strlen(text) : 0};
	memcpy(f.id, id, SEARCH_ID_BYTES);
	ck_assert_int_eq(store_write(s, &f.op), ST_OK);
	return f;
}

static void expect(const char *id, const char *part)
{
	strbuf b;
	strbuf_init(&b);
	ck_assert_int_eq(search_json(store_reader(s), id, &b, NULL, NULL), FOUND);
	ck_assert_msg(strstr(b.p, part) != NULL, "no %s in %s", part, b.p);
	strbuf_release(&b);
}

START_TEST(test_life)
{
	char id[SEARCH_ID_BYTES], other[SEARCH_ID_BYTES];
	bool cached;
	ck_assert(ask("", id, &cached));
	ck_assert(!ask("", other, &cached)); /* joined */
	ck_assert_str_eq(id, other);
	ck_assert(!cached);
	ck_assert_int_eq(claim(other), 1);
	ck_assert_str_eq(id, other);
	ck_assert_int_eq(claim(other), 0); /* nothing else waits */
	search_finish f = finish(id, 1, OUTCOME_SUCCEEDED, document);
	ck_assert(f.accepted);
	expect(id, "\"state\":\"succeeded\"");
	expect(id, "\"best\":{\"runtime_ns\":7,\"peak_bytes\":9,\"fits\":true}");
	expect(id, f.strategy);
	ck_assert(!ask("", other, &cached));
	ck_assert(cached);
	strbuf b;
	strbuf_init(&b);
	document_ref d;
	ck_assert_int_eq(document_find(store_reader(s), f.strategy, &d, &b), FOUND);
	ck_assert_str_eq(b.p, document);
	strbuf_release(&b);
}
END_TEST

START_TEST(test_fencing)
{
	char id[SEARCH_ID_BYTES];
	ask("", id, NULL);
	ck_assert_int_eq(claim(id), 1);
	ck_assert(!finish(id, 2, OUTCOME_SUCCEEDED, document).accepted);
	ck_assert(finish(id, 1, OUTCOME_RELEASED, NULL).requeued);
	ck_assert(!finish(id, 1, OUTCOME_SUCCEEDED, document).accepted); /* late: it waits again */
	ck_assert_int_eq(claim(id), 2);
	ck_assert(finish(id, 2, OUTCOME_SUCCEEDED, document).accepted);
	ck_assert(!finish(id, 2, OUTCOME_SUCCEEDED, document).accepted); /* once */
	expect(id, "\"failures\":0");
}
END_TEST

START_TEST(test_crashes_count)
{
	char id[SEARCH_ID_BYTES], other[SEARCH_ID_BYTES];
	ask("", id, NULL);
	claim(id);
	ck_assert(finish(id, 1, OUTCOME_CRASHED, NULL).requeued);
	ck_assert_int_eq(claim(other), 0); /* it pauses */
	usleep(1100000);
	ck_assert_int_eq(claim(other), 2);
	ck_assert(!finish(id, 2, OUTCOME_CRASHED, NULL).requeued);
	expect(id, "\"state\":\"failed\"");
	expect(id, "\"failures\":2");
}
END_TEST

START_TEST(test_bad_documents)
{
	static const char *const bad[] = {"", "{", "[]", "{}",
		"{\"format\":\"shardwright.strategy/1\"}",
		"{\"format\":\"x\",\"cost\":{\"runtime_ns\":1,\"peak_bytes\":1}}",
		"{\"format\":\"shardwright.strategy/1\",\"cost\":{\"runtime_ns\":1.5,\"peak_bytes\":1}}"};
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		char id[SEARCH_ID_BYTES], more[64];
		snprintf(more, sizeof more, ",\"memory\":%zu", i + 1);
		ask(more, id, NULL);
		int64_t attempt = claim(id);
		search_finish f = finish(id, attempt, OUTCOME_SUCCEEDED, bad[i]);
		ck_assert_msg(f.requeued && !f.strategy[0], "%s", bad[i]);
		search_cancel c = {.op = {.run = search_cancel_run}};
		memcpy(c.id, id, sizeof id);
		ck_assert_int_eq(store_write(s, &c.op), ST_OK);
		strbuf_release(&c.json);
	}
}
END_TEST

START_TEST(test_budgets)
{
	char id[SEARCH_ID_BYTES];
	bool cached;
	ask(",\"evaluations\":100", id, NULL);
	finish(id, claim(id), OUTCOME_SUCCEEDED, document);
	ask(",\"evaluations\":60", id, &cached);
	ck_assert(cached);
	ck_assert(ask(",\"evaluations\":101", id, &cached));
	ck_assert(ask(",\"seconds\":1", id, &cached));
	ck_assert(!ask(",\"evaluations\":80,\"seed\":5", id, &cached));
	ck_assert(cached);
}
END_TEST

START_TEST(test_partial_is_no_answer)
{
	char id[SEARCH_ID_BYTES];
	bool cached;
	ask("", id, NULL);
	search_finish f = {.op = {.run = search_finish_run},
		.attempt = claim(id),
		.outcome = OUTCOME_SUCCEEDED,
		.partial = true,
		.document = document,
		.document_bytes = strlen(document)};
	memcpy(f.id, id, SEARCH_ID_BYTES);
	ck_assert_int_eq(store_write(s, &f.op), ST_OK);
	ck_assert(ask("", id, &cached));
	ck_assert(!cached);
}
END_TEST

START_TEST(test_queue_limit)
{
	char id[SEARCH_ID_BYTES];
	ck_assert(ask(",\"memory\":1", id, NULL));
	ck_assert(ask(",\"memory\":2", id, NULL));
	ck_assert(ask(",\"memory\":3", id, NULL));
	ck_assert(!ask(",\"memory\":4", id, NULL));
	ck_assert_str_eq(id, "");
	ck_assert(!ask(",\"memory\":3", id, NULL)); /* joining needs no place */
	ck_assert_str_ne(id, "");
}
END_TEST

START_TEST(test_leases)
{
	char id[SEARCH_ID_BYTES], other[SEARCH_ID_BYTES];
	ask("", id, NULL);
	search_claim c = {.op = {.run = search_claim_run}, .lease_us = 1000};
	ck_assert_int_eq(store_write(s, &c.op), ST_OK);
	strbuf_release(&c.request);
	search_beat b = {.op = {.run = search_beat_run}, .lease_us = 20000, .count = 1, .ids = &id};
	ck_assert_int_eq(store_write(s, &b.op), ST_OK);
	expect(id, "\"state\":\"running\"");
	usleep(30000);
	b.count = 0;
	ck_assert_int_eq(store_write(s, &b.op), ST_OK);
	expect(id, "\"state\":\"queued\"");
	ck_assert_int_eq(claim(other), 2);
}
END_TEST

START_TEST(test_reopening)
{
	char run[SEARCH_ID_BYTES], canceled[SEARCH_ID_BYTES], other[SEARCH_ID_BYTES];
	diag d = {0};
	ask(",\"memory\":1", run, NULL);
	claim(run);
	ask(",\"memory\":2", canceled, NULL);
	claim(canceled);
	search_cancel c = {.op = {.run = search_cancel_run}};
	memcpy(c.id, canceled, sizeof canceled);
	ck_assert_int_eq(store_write(s, &c.op), ST_OK);
	ck_assert(c.found && c.was_running);
	strbuf_release(&c.json);
	ck_assert_ptr_null(store_open(folder, &counters, &d)); /* one at a time */
	ck_assert_msg(strstr(d.msg, "another daemon") != NULL, "%s", d.msg);
	store_close(s);
	open_store();
	expect(canceled, "\"state\":\"canceled\"");
	expect(run, "\"state\":\"queued\"");
	ck_assert_int_eq(claim(other), 2);
	ck_assert_str_eq(other, run);
	expect(run, "\"failures\":0");
}
END_TEST

START_TEST(test_events)
{
	char id[SEARCH_ID_BYTES];
	ask("", id, NULL);
	claim(id);
	for (int i = 1; i <= 3; i++) {
		search_event e = {.op = {.run = search_event_run},
			.attempt = 1,
			.kind = i == 2 ? "incumbent" : "progress",
			.evaluation = i * 10,
			.milliseconds = i * 1500,
			.runtime_ns = 70,
			.peak_bytes = 90,
			.fits = true};
		memcpy(e.id, id, sizeof id);
		ck_assert_int_eq(store_write(s, &e.op), ST_OK);
		e.attempt = 7; /* of another start: dropped */
		ck_assert_int_eq(store_write(s, &e.op), ST_OK);
	}
	strbuf b;
	int64_t last = 0;
	bool final = false;
	strbuf_init(&b);
	ck_assert(events_stream(store_reader(s), id, 2, &b, &last, &final));
	ck_assert_int_eq(last, 5);
	ck_assert(!final);
	ck_assert_str_eq(b.p,
		"id: 3\nevent: progress\ndata: {\"evaluation\":10,\"seconds\":1.500}\n\n"
		"id: 4\nevent: incumbent\ndata: "
		"{\"evaluation\":20,\"seconds\":3.000,\"runtime_ns\":70,\"peak_bytes\":90,\"fits\":true}"
		"\n\n"
		"id: 5\nevent: progress\ndata: {\"evaluation\":30,\"seconds\":4.500}\n\n");
	expect(id, "\"evaluations\":30");
	finish(id, 1, OUTCOME_SUCCEEDED, document);
	/* A stream that has seen the last progress event, which thinning takes away, still gets the
	 * end. */
	strbuf_clear(&b);
	ck_assert(events_stream(store_reader(s), id, 5, &b, &last, &final));
	ck_assert(final);
	ck_assert_int_gt(last, 5);
	strbuf_clear(&b);
	ck_assert(events_stream(store_reader(s), id, 0, &b, &last, &final));
	ck_assert(final);
	ck_assert_ptr_null(strstr(b.p, "progress")); /* thinned out */
	ck_assert_ptr_nonnull(strstr(b.p, "incumbent"));
	strbuf_release(&b);
}
END_TEST

/* Of events with a tree only the newest stays, and it stays when the search has ended. */
START_TEST(test_tree_events)
{
	char id[SEARCH_ID_BYTES];
	ask("", id, NULL);
	claim(id);
	for (int i = 1; i <= 4; i++) {
		char detail[64];
		snprintf(detail, sizeof detail, "\"baselines\":[],\"tree\":[{\"evaluations\":%d}]", i);
		search_event e = {.op = {.run = search_event_run},
			.attempt = 1,
			.kind = i == 3 ? "incumbent" : "progress",
			.evaluation = i * 10,
			.milliseconds = i * 1500,
			.runtime_ns = 70,
			.peak_bytes = 90,
			.fits = true,
			.detail = i == 4 ? NULL : detail};
		memcpy(e.id, id, sizeof id);
		ck_assert_int_eq(store_write(s, &e.op), ST_OK);
	}
	strbuf b;
	int64_t last = 0;
	bool final = false;
	strbuf_init(&b);
	ck_assert(events_stream(store_reader(s), id, 2, &b, &last, &final));
	ck_assert_str_eq(b.p,
		"id: 5\nevent: incumbent\ndata: "
		"{\"evaluation\":30,\"seconds\":4.500,\"runtime_ns\":70,\"peak_bytes\":90,\"fits\":true}"
		"\n\n"
		"id: 6\nevent: progress\ndata: "
		"{\"evaluation\":30,\"seconds\":4.500,\"baselines\":[],\"tree\":[{\"evaluations\":3}]}\n\n"
		"id: 7\nevent: progress\ndata: {\"evaluation\":40,\"seconds\":6.000}\n\n");
	finish(id, 1, OUTCOME_SUCCEEDED, document);
	strbuf_clear(&b);
	ck_assert(events_stream(store_reader(s), id, 0, &b, &last, &final));
	ck_assert(final);
	ck_assert_ptr_nonnull(strstr(b.p, "id: 6\nevent: progress"));
	ck_assert_ptr_null(strstr(b.p, "id: 7\nevent: progress"));
	strbuf_release(&b);
}
END_TEST

/* ---------------------------------------------------------------- the writer */

typedef struct counted {
	write_op op;
	int number;
	_Atomic int *done, *failed;
} counted;

static status counted_run(db *c, write_op *op)
{
	counted *k = (counted *)op;
	char sql[128];
	snprintf(sql, sizeof sql, "INSERT INTO numbers VALUES (%d)", k->number);
	if (sqlite3_exec(c->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
		return ST_ERR_IO;
	return k->number % 5 ? ST_OK : ST_ERR_INVALID; /* each fifth is undone */
}

static void counted_done(write_op *op)
{
	counted *k = (counted *)op;
	atomic_fetch_add(op->result == ST_OK ? k->done : k->failed, 1);
}

static status table_run(db *c, write_op *op)
{
	(void)op;
	return sqlite3_exec(c->handle, "CREATE TABLE numbers(n)", NULL, NULL, NULL) == SQLITE_OK
		? ST_OK
		: ST_ERR_IO;
}

/* Holds the writer until all that is to share commits waits behind it. */
typedef struct held {
	write_op op;
	_Atomic int *submitted;
	int all;
} held;

static status held_run(db *c, write_op *op)
{
	(void)c;
	held *h = (held *)op;
	while (atomic_load(h->submitted) < h->all)
		usleep(100);
	return ST_OK;
}

static void held_done(write_op *op) { (void)op; }

START_TEST(test_failed_operations_are_undone_alone)
{
	enum { COUNT = 1000 };
	counted *ops = xcalloc(COUNT, sizeof *ops);
	_Atomic int done = 0, failed = 0;
	write_op table = {.run = table_run};
	ck_assert_int_eq(store_write(s, &table), ST_OK);
	int64_t commits = counters.store_commits;
	_Atomic int submitted = 0;
	held first = {
		.op = {.run = held_run, .done = held_done}, .submitted = &submitted, .all = COUNT};
	store_submit(s, &first.op);
	for (int i = 0; i < COUNT; i++) {
		ops[i] = (counted){.op = {.run = counted_run, .done = counted_done},
			.number = i,
			.done = &done,
			.failed = &failed};
		store_submit(s, &ops[i].op);
		atomic_fetch_add(&submitted, 1);
	}
	while (atomic_load(&done) + atomic_load(&failed) < COUNT)
		usleep(1000);
	ck_assert_int_eq(done, 800);
	ck_assert_int_eq(failed, 200);
	ck_assert_int_lt(counters.store_commits - commits, COUNT / 10); /* many share a commit */
	sqlite3_stmt *q;
	ck_assert_int_eq(sqlite3_prepare_v2(store_reader(s)->handle,
						 "SELECT count(*), sum(n % 5 = 0) FROM numbers", -1, &q, NULL),
		SQLITE_OK);
	ck_assert_int_eq(sqlite3_step(q), SQLITE_ROW);
	ck_assert_int_eq(sqlite3_column_int(q, 0), 800);
	ck_assert_int_eq(sqlite3_column_int(q, 1), 0);
	sqlite3_finalize(q);
	free(ops);
}
END_TEST

static verification_claim claim_verification(int64_t lease_us)
{
	verification_claim c = {
		.op = {.run = verification_claim_run}, .verifier = "v", .lease_us = lease_us};
	ck_assert_int_eq(store_write(s, &c.op), ST_OK);
	strbuf_release(&c.json);
	return c;
}

static verification_result answer_verification(
	const char *id, int64_t attempt, const verification_row *row, const char *error)
{
	verification_result r = {.op = {.run = verification_result_run},
		.attempt = attempt,
		.rows = row,
		.row_count = row != NULL,
		.error = error};
	memcpy(r.search, id, SEARCH_ID_BYTES);
	ck_assert_int_eq(store_write(s, &r.op), ST_OK);
	return r;
}

START_TEST(test_verifications)
{
	const verification_row row = {.plan = "this plan",
		.apply = "annotate",
		.source = "compiled",
		.options = "{}",
		.runtime_ns = 8,
		.peak_bytes = -1,
		.predicted_runtime_ns = 7,
		.predicted_peak_bytes = 9,
		.fits = true,
		.chosen = true};
	char id[SEARCH_ID_BYTES], other[SEARCH_ID_BYTES];
	bool over;
	ask(",\"verify\":3", id, NULL);
	expect(id, "\"verification\":{\"state\":\"queued\",\"plans\":3");
	ck_assert(!claim_verification(60000000).found); /* nothing is planned yet */
	finish(id, claim(other), OUTCOME_SUCCEEDED, document);
	verification_claim first = claim_verification(1); /* runs out at once */
	ck_assert(first.found);
	ck_assert_str_eq(first.search, id);
	usleep(1000);
	store_close(s); /* the daemon dies: the lease is the verifier's as long as nobody else takes the
	                   search */
	open_store();
	verification_beat beat = {.op = {.run = verification_beat_run}, .attempt = 1, .lease_us = 1};
	memcpy(beat.search, id, sizeof beat.search);
	ck_assert_int_eq(store_write(s, &beat.op), ST_OK);
	ck_assert(beat.held);
	usleep(1000);
	ck_assert_int_eq(claim_verification(60000000).attempt, 2);
	ck_assert(!claim_verification(60000000).found);
	ck_assert_int_eq(store_write(s, &beat.op), ST_OK);
	ck_assert(!beat.held);
	verification_result late = answer_verification(id, 1, &row, NULL);
	ck_assert(late.found && !late.held && !late.repeated);
	ck_assert_int_eq(verification_over(store_reader(s), id, &over), FOUND);
	ck_assert(!over);
	ck_assert(answer_verification(id, 2, &row, NULL).held);
	ck_assert(answer_verification(id, 2, &row, NULL).repeated);
	ck_assert_int_eq(verification_over(store_reader(s), id, &over), FOUND);
	ck_assert(over);
	expect(id, "\"runtime_ns\":8,\"peak_bytes\":null,\"fits\":true");
	ck_assert_int_eq(verification_asked(store_reader(s), id, 3), FOUND);
	ck_assert_int_eq(verification_asked(store_reader(s), id, 4), FOUND_NONE);
	ck_assert(!answer_verification("s-00000000000000000000000000000000", 1, &row, NULL).found);
	ask(",\"verify\":4", other, NULL);
	ck_assert_str_eq(other, id);
	ck_assert_int_eq(claim_verification(60000000).attempt, 3);
	ck_assert(answer_verification(id, 3, NULL, "no compiler").held);
	expect(id, "\"state\":\"failed\",\"plans\":4,\"attempt\":3");
	expect(id, "\"error\":\"no compiler\"");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("store");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_life);
	tcase_add_test(tc, test_fencing);
	tcase_add_test(tc, test_crashes_count);
	tcase_add_test(tc, test_bad_documents);
	tcase_add_test(tc, test_budgets);
	tcase_add_test(tc, test_partial_is_no_answer);
	tcase_add_test(tc, test_queue_limit);
	tcase_add_test(tc, test_leases);
	tcase_add_test(tc, test_reopening);
	tcase_add_test(tc, test_events);
	tcase_add_test(tc, test_tree_events);
	tcase_add_test(tc, test_verifications);
	tcase_add_test(tc, test_failed_operations_are_undone_alone);
	return run_suite(tc, "store");
}
