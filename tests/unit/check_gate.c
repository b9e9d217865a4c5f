/* What the request gate lets through, cut at every place, and what it makes of the rest. */
#include "server/server.h"
#include "tests/unit/run_suite.h"

#include <check.h>

/* Feeds text in pieces of `piece` bytes; returns all that comes out. */
static strbuf feed(gate *g, const char *text, size_t n, size_t piece, size_t cap)
{
	strbuf out;
	char buf[4096];
	strbuf_init(&out);
	for (size_t at = 0; at < n; at += piece) {
		size_t take = MIN(piece, n - at);
		memcpy(buf, text + at, take);
		strbuf_add(&out, buf, gate_pass(g, buf, take, MAX(cap, take)));
	}
	strbuf_add(&out, "", 0);
	return out;
}

static const char good[] =
	"POST /v1/searches?x=y HTTP/1.1\r\nHost: localhost:7070\r\nContent-Length:  13\r\nX-Y: a\tb "
	"\r\n\r\n\r\n\0 any\nthing"
	"\r\nGET / HTTP/1.0\r\n\r\n"
	"POST /v1/opt HTTP/1.1\r\nhost: a\r\ntransfer-encoding: Chunked "
	"\r\n\r\n5\r\n\r\n\0ab\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nX: y\r\n\r\n"
	"GET /last HTTP/1.1\r\nHost: [::1]\r\nX-Empty:\r\n\r\n";

START_TEST(test_what_is_right_passes_unchanged)
{
	for (size_t piece = 1; piece < sizeof good; piece++) {
		gate *g = gate_new();
		strbuf out = feed(g, good, sizeof good - 1, piece, sizeof good);
		ck_assert_uint_eq(out.n, sizeof good - 1);
		ck_assert_int_eq(memcmp(out.p, good, out.n), 0);
		for (uint64_t i = 0; i < 6; i++)
			ck_assert_ptr_null(gate_refusal(g, i));
		strbuf_release(&out);
		gate_free(g);
	}
}
END_TEST

/* What is wrong, and what becomes of it. */
static const struct {
	const char *text, *out, *reason;
} bad[] = {
	{"GET / HTTP/1.1\r\nHost : a\r\n\r\n", "GET / HTTP/1.1\r\nHost: 0\r\nHost: localhost\r\n\r\n",
		"before the colon"},
	{"GET / HTTP/1.1\r\nHost: a\r\n X: b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nHost: localhost\r\n\r\n", "folded"},
	{"GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: localhost\r\n\r\n",
		"CR without LF"},
	{"GET / HTTP/1.1\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"request line"},
	{"GET / HTTP/1.1\r\nX: a\r\n\r\n", "GET / HTTP/1.1\r\nX: a\r\nHost: localhost\r\n\r\n",
		"no Host"},
	{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "PRI * HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"request line"},
	{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		"both"},
	{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nHost: localhost\r\n\r\n", "no number"},
	{"POST / HTTP/1.1\r\nHost: a\r\nTransfer_Encoding: chunked\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer_Encoding: 0\r\nHost: localhost\r\n\r\n", "'_'"},
	{"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
		"longer than its size"},
};

START_TEST(test_what_is_wrong_is_completed_and_refused)
{
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		for (size_t piece = 1; piece <= strlen(bad[i].text); piece++) {
			static const char first[] = "GET /first HTTP/1.1\r\nHost: a\r\n\r\n";
			gate *g = gate_new();
			strbuf before = feed(g, first, sizeof first - 1, piece, 4096),
				   out = feed(g, bad[i].text, strlen(bad[i].text), piece, 4096);
			ck_assert_str_eq(out.p, bad[i].out);
			ck_assert_ptr_null(gate_refusal(g, 1));
			ck_assert_ptr_nonnull(gate_refusal(g, 2));
			ck_assert_msg(strstr(gate_refusal(g, 2), bad[i].reason) != NULL, "%s: %s", bad[i].text,
				gate_refusal(g, 2));
			ck_assert_ptr_null(gate_refusal(g, 3));
			strbuf rest = feed(g, first, sizeof first - 1, 7, 4096);
			ck_assert_uint_eq(rest.n, 0); /* nothing more comes through */
			strbuf_release(&before);
			strbuf_release(&out);
			strbuf_release(&rest);
			gate_free(g);
		}
}
END_TEST

START_TEST(test_bytes_that_do_not_fit_come_later)
{
	gate *g = gate_new();
	strbuf out;
	char buf[8] = "GET /\n";
	strbuf_init(&out);
	for (size_t n = gate_pass(g, buf, 6, 6); n; n = gate_pass(g, buf, 0, sizeof buf))
		strbuf_add(&out, buf, n);
	ck_assert_str_eq(out.p, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
	strbuf_release(&out);
	gate_free(g);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("gate");
	tcase_add_test(tc, test_what_is_right_passes_unchanged);
	tcase_add_test(tc, test_what_is_wrong_is_completed_and_refused);
	tcase_add_test(tc, test_bytes_that_do_not_fit_come_later);
	return run_suite(tc, "gate");
}
