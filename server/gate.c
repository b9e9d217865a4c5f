/* The request gate: sees every byte that clients send before libmicrohttpd does, and lets through
 * only what RFC 9112 leaves one reading of. libmicrohttpd 0.9.75 takes bare line feeds, folded
 * lines, spaces before a colon, NUL and bare CR in its stride; a proxy in front that reads them
 * otherwise takes another request from the same bytes.
 *
 * libmicrohttpd has no hook for this, but it calls recv() through the dynamic linker, and so finds
 * the one defined here. http_start makes sure of it, and serve() answers nothing on a connection
 * that did not pass through here.
 *
 * Happy path: request line, fields, empty line, then a body by its length or in chunks, and so on.
 * When something is wrong the request is completed with bytes of ours, so that libmicrohttpd hands
 * it over in its turn behind earlier ones and the refusal is an ordinary answer; whatever the
 * client sends after that is thrown away. */
#include "server/access.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <sys/socket.h>

typedef enum gate_state {
	AT_START, /* before a request; an empty line is skipped */
	AT_START_LF,
	IN_METHOD,
	IN_TARGET,
	IN_VERSION,
	AT_LINE_LF, /* of the request line */
	AT_FIELD,   /* at the begin of a line */
	IN_NAME,
	IN_VALUE,
	AT_VALUE_LF,
	AT_END_LF, /* of the head, or of the trailer */
	IN_BODY,
	IN_CHUNK_SIZE,
	AT_CHUNK_SIZE_LF,
	IN_CHUNK,
	AT_CHUNK_CR,
	AT_CHUNK_LF,
	STOPPED /* nothing more is let through */
} gate_state;

typedef enum field_kind { FIELD_OTHER, FIELD_LENGTH, FIELD_CODING } field_kind;

enum { NAME_BYTES = 20, VALUE_BYTES = 8, LENGTH_DIGITS = 18, CHUNK_DIGITS = 15 };

struct gate {
	gate_state state;
	bool skipped, trailer, has_length, has_host, chunked, other_coding, ended;
	bool version_1; /* HTTP/1.1 */
	field_kind kind;
	uint32_t part, solid; /* bytes of the part of the line that is being read; of a value up to its
	                         last that is no space */
	char name[NAME_BYTES], value[VALUE_BYTES];
	uint64_t left;              /* of the body or the chunk */
	uint64_t requests, refused; /* refused: the number of the request that was, 0: none */
	const char *reason, *rest;  /* rest: bytes of ours that did not fit */
};

gate *gate_new(void) { return xcalloc(1, sizeof(gate)); }
void gate_free(gate *g) { free(g); }

static bool is_token(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		(c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_text(unsigned char c) { return c == '\t' || (c >= 0x20 && c != 0x7f); }

#define HOST_LINE "Host: localhost\r\n\r\n"

/* What makes a whole of the request that has come this far; NULL: nothing does, the connection
 * ends. libmicrohttpd must find nothing to refuse in it by itself: without a Host, or with a length
 * that is no number, it answers twice. */
static const char *completion(const gate *g)
{
	switch (g->state) {
	case AT_START: return "GET / HTTP/1.1\r\n" HOST_LINE;
	case IN_METHOD: return " / HTTP/1.1\r\n" HOST_LINE;
	case IN_TARGET: return g->part ? " HTTP/1.1\r\n" HOST_LINE : "/ HTTP/1.1\r\n" HOST_LINE;
	case IN_VERSION: return &"HTTP/1.1\r\n" HOST_LINE[MIN(g->part, 8)];
	case AT_LINE_LF:
	case AT_VALUE_LF: return "\n" HOST_LINE;
	case AT_FIELD: return HOST_LINE;
	case IN_NAME: return ": 0\r\n" HOST_LINE;
	case IN_VALUE:
		return g->kind == FIELD_LENGTH && !g->part ? "0\r\n" HOST_LINE : "\r\n" HOST_LINE;
	case AT_END_LF: return "\n";
	case IN_CHUNK_SIZE: return g->part ? NULL : "0\r\n\r\n";
	case AT_CHUNK_CR: return "\r\n0\r\n\r\n";
	case AT_CHUNK_LF: return "\n0\r\n\r\n";
	default: return NULL;
	}
}

static bool refuse(gate *g, const char *reason)
{
	g->refused = g->requests;
	g->reason = reason;
	return false;
}

static void begin_request(gate *g)
{
	g->requests++;
	g->trailer = g->has_length = g->has_host = g->chunked = g->other_coding = false;
	g->left = 0;
}

/* '_' reads as '-' for programs that turn names into variables, so neither spelling may slip past
 * the other. */
static bool name_is(const gate *g, const char *name)
{
	size_t n = strlen(name);
	for (size_t i = 0; g->part == n && i < n; i++) {
		char c = g->name[i] == '_' ? '-' : g->name[i];
		if ((c | 0x20) != (name[i] | 0x20))
			return false;
	}
	return g->part == n;
}

static bool end_name(gate *g)
{
	bool length = name_is(g, "content-length"), coding = name_is(g, "transfer-encoding"),
		 host = name_is(g, "host");
	bool exact = g->part >= NAME_BYTES || !memchr(g->name, '_', g->part);
	if ((length || coding) && !exact)
		return refuse(g,
			"a header that reads as Content-Length or Transfer-Encoding once '_' is taken for '-'");
	if (g->trailer && (length || coding || host))
		return refuse(g, "a trailer that would say where the request ends or whom it is for");
	if (length && g->has_length)
		return refuse(g, "more than one Content-Length");
	g->has_length = g->has_length || length;
	g->has_host = g->has_host || host;
	g->kind = length ? FIELD_LENGTH : coding ? FIELD_CODING : FIELD_OTHER;
	g->part = g->solid = 0;
	g->state = IN_VALUE;
	return true;
}

static bool in_length(gate *g, unsigned char c)
{
	if (c < '0' || c > '9')
		return refuse(g, "a Content-Length that is no number");
	if (g->part == LENGTH_DIGITS)
		return refuse(g, "a Content-Length beyond all bounds");
	g->left = g->left * 10 + (uint64_t)(c - '0');
	g->part++;
	return true;
}

static bool end_value(gate *g)
{
	if (g->kind == FIELD_LENGTH && !g->part)
		return refuse(g, "an empty Content-Length");
	g->state = AT_VALUE_LF;
	bool chunked = g->solid == 7 && !strncasecmp(g->value, "chunked", 7);
	if (g->kind == FIELD_CODING) {
		g->other_coding = g->other_coding || g->chunked || !chunked;
		g->chunked = chunked;
	}
	return true;
}

static bool end_head(gate *g)
{
	g->skipped = false;
	if (g->trailer) {
		g->state = AT_START;
	} else if (g->other_coding) {
		g->state = STOPPED; /* answered with 501 from the head alone */
	} else if (g->has_length && g->chunked) {
		return refuse(g, "both Content-Length and Transfer-Encoding");
	} else if (g->chunked) {
		g->state = IN_CHUNK_SIZE;
		g->part = 0;
		g->left = 0;
	} else {
		g->state = g->left ? IN_BODY : AT_START;
	}
	return true;
}

static bool in_request_line(gate *g, unsigned char c)
{
	static const char version[] = "HTTP/1.";
	if (g->state == IN_METHOD && (is_token(c) || (c == ' ' && g->part))) {
		g->part = c == ' ' ? 0 : g->part + 1;
		g->state = c == ' ' ? IN_TARGET : IN_METHOD;
		return true;
	}
	if (g->state == IN_TARGET && c > 0x20 && c != 0x7f) {
		g->part++;
		return true;
	}
	if (g->state == IN_TARGET && c == ' ' && g->part) {
		g->state = IN_VERSION;
		g->part = 0;
		return true;
	}
	if (g->state == IN_VERSION &&
		(g->part < 7 ? c == (unsigned char)version[g->part]
					 : g->part == 7 && (c == '0' || c == '1'))) {
		g->version_1 = c == '1';
		g->part++;
		return true;
	}
	if (g->state == IN_VERSION && g->part == 8 && c == '\r') {
		g->state = AT_LINE_LF;
		return true;
	}
	return refuse(g,
		"a request line that is not METHOD TARGET HTTP/1.1, with one space between and CR LF "
		"behind");
}

static bool in_field(gate *g, unsigned char c)
{
	switch (g->state) {
	case AT_FIELD:
		if (c == '\r' && g->version_1 && !g->has_host && !g->trailer)
			return refuse(g, "no Host");
		if (c == '\r') {
			g->state = AT_END_LF;
			return true;
		}
		if (c == ' ' || c == '\t')
			return refuse(g, "a folded header line");
		g->part = 0;
		g->state = IN_NAME;
		if (c == ':' || !is_token(c)) {
			g->state = AT_FIELD;
			return refuse(g, "a header line without a name");
		}
		g->name[g->part++] = (char)c;
		return true;
	case IN_NAME:
		if (c == ':')
			return end_name(g);
		if (!is_token(c))
			return refuse(g,
				"a header name with a character that it may not have, such as a space before the "
				"colon");
		if (g->part < NAME_BYTES)
			g->name[g->part] = (char)c;
		g->part++;
		return true;
	case IN_VALUE:
		if (c == '\r')
			return end_value(g);
		if (!is_text(c))
			return refuse(g,
				c == '\n' ? "a header line that ends with LF alone"
						  : "a control character in a header");
		if (!g->part && (c == ' ' || c == '\t'))
			return true;
		if (g->kind == FIELD_LENGTH)
			return in_length(g, c);
		if (g->part < VALUE_BYTES)
			g->value[g->part] = (char)c;
		g->part++;
		if (c != ' ' && c != '\t')
			g->solid = g->part;
		return true;
	default: /* AT_LINE_LF, AT_VALUE_LF, AT_END_LF */
		if (c != '\n')
			return refuse(g, "a CR without LF");
		if (g->state == AT_END_LF)
			return end_head(g);
		g->state = AT_FIELD;
		return true;
	}
}

static bool in_chunk_size(gate *g, unsigned char c)
{
	int digit = c >= '0' && c <= '9'             ? c - '0'
		: (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
												 : -1;
	if (digit >= 0 && g->part < CHUNK_DIGITS) {
		g->left = g->left * 16 + (uint64_t)digit;
		g->part++;
		return true;
	}
	if (c != '\r' || !g->part)
		return refuse(g, "a chunk whose size is no hexadecimal number followed by CR LF");
	g->state = AT_CHUNK_SIZE_LF;
	return true;
}

static bool in_chunked(gate *g, unsigned char c)
{
	switch (g->state) {
	case IN_CHUNK_SIZE: return in_chunk_size(g, c);
	case AT_CHUNK_SIZE_LF:
		if (c != '\n')
			return refuse(g, "a CR without LF");
		g->trailer = !g->left;
		g->state = g->left ? IN_CHUNK : AT_FIELD;
		return true;
	case AT_CHUNK_CR:
		g->state = c == '\r' ? AT_CHUNK_LF : g->state;
		return c == '\r' || refuse(g, "a chunk that is longer than its size");
	default:
		if (c != '\n')
			return refuse(g, "a CR without LF");
		g->state = IN_CHUNK_SIZE;
		g->part = 0;
		g->left = 0;
		return true;
	}
}

static bool at_start(gate *g, unsigned char c)
{
	if (g->state == AT_START_LF && c != '\n') {
		begin_request(g);
		g->state = AT_START;
		return refuse(g, "a CR without LF");
	}
	if (g->state == AT_START_LF) {
		g->state = AT_START;
		return true;
	}
	if (c == '\r' && !g->skipped) {
		g->skipped = true; /* old clients send an empty line behind a body */
		g->state = AT_START_LF;
		return true;
	}
	begin_request(g);
	if (!is_token(c))
		return refuse(g, "a request that does not begin with a method");
	g->state = IN_METHOD;
	g->part = 1;
	return true;
}

static bool one(gate *g, unsigned char c)
{
	if (g->state <= AT_START_LF)
		return at_start(g, c);
	if (g->state <= IN_VERSION)
		return in_request_line(g, c);
	if (g->state <= AT_END_LF)
		return in_field(g, c);
	return in_chunked(g, c);
}

/* Bytes of a body, which may be anything; returns how many. */
static size_t skip_body(gate *g, size_t n)
{
	size_t take = MIN((uint64_t)n, g->left);
	g->left -= take;
	if (!g->left)
		g->state = g->state == IN_BODY ? AT_START : AT_CHUNK_CR;
	return take;
}

/* As much of rest as fits behind the n bytes. */
static size_t add_rest(gate *g, char *buf, size_t n, size_t cap)
{
	while (g->rest && *g->rest && n < cap)
		buf[n++] = *g->rest++;
	return n;
}

size_t gate_pass(gate *g, char *buf, size_t n, size_t cap)
{
	size_t at = 0;
	while (at < n && g->state != STOPPED) {
		if (g->state == IN_BODY || g->state == IN_CHUNK) {
			at += skip_body(g, n - at);
		} else if (one(g, (unsigned char)buf[at])) {
			at++;
		} else {
			g->rest = completion(g);
			g->ended = !g->rest;
			g->state = STOPPED;
		}
	}
	return add_rest(g, buf, at, cap);
}

bool gate_stopped(const gate *g) { return g->state == STOPPED; }
bool gate_ended(const gate *g) { return g->ended; }

const char *gate_refusal(const gate *g, uint64_t number)
{
	return g->refused && g->refused == number ? g->reason : NULL;
}

/* ---------------------------------------------------------------- in front of libmicrohttpd */

typedef struct entry { /* belongs to the thread of its connection */
	_Atomic(gate *) gate;
	atomic_bool tls; /* the bytes are to be looked at behind their decryption, see tls.c */
} entry;

static entry *gates; /* by descriptor */
static size_t gate_count;

bool gate_init(size_t descriptors)
{
	gate_count = descriptors;
	gates = xcalloc(descriptors, sizeof *gates);
	return dlsym(RTLD_DEFAULT, "recv") == (void *)recv &&
		dlsym(RTLD_DEFAULT, "gnutls_record_recv") == (void *)gnutls_record_recv;
}

void gate_put(int fd, gate *g, bool tls)
{
	if ((size_t)fd >= gate_count)
		return;
	atomic_store(&gates[fd].tls, tls);
	atomic_store(&gates[fd].gate, g);
}

gate *gate_of(int fd) { return (size_t)fd < gate_count ? atomic_load(&gates[fd].gate) : NULL; }
gate *gate_of_tls(int fd)
{
	return (size_t)fd < gate_count && atomic_load(&gates[fd].tls) ? gate_of(fd) : NULL;
}

/* What a refused client goes on to send: left unread it would turn the close into a reset, which
 * may overtake the answer. */
static void drain(int fd)
{
	char waste[4096];
	for (int i = 0; i < 64 && recvfrom(fd, waste, sizeof waste, MSG_DONTWAIT, NULL, NULL) > 0; i++)
		;
}

ssize_t recv(int fd, void *buf, size_t n, int flags)
{
	gate *g = gate_of(fd);
	if (!g || !n || atomic_load(&gates[fd].tls))
		return recvfrom(fd, buf, n, flags, NULL, NULL);
	if (g->state == STOPPED) {
		drain(fd);
		size_t ours = add_rest(g, buf, 0, n);
		errno = EAGAIN;
		return ours ? (ssize_t)ours : g->ended ? 0 : -1;
	}
	ssize_t got = recvfrom(fd, buf, n, flags, NULL, NULL);
	return got > 0 ? (ssize_t)gate_pass(g, buf, (size_t)got, n) : got;
}
