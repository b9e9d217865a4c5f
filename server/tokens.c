/* Access tokens: the file holds only their sha256, so reading it gives nobody access. One a line:
 *   NAME SCOPES SHA256 [EXPIRES]      training read,submit 9f86d0... 2030-12-31      '#' starts a comment
 * EXPIRES is a day, or a time such as 2030-12-31T12:00:00Z; from then on (UTC) the token is
 * unknown. */
#include "server/access.h"
#include "server/json.h"
#include "server/observe.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TOKENS_LIMIT = 1 << 20, SECRET_BYTES = 32 };

typedef struct token {
	char owner[64];
	int scopes;
	int64_t expires_us; /* INT64_MAX: never */
	unsigned char digest[SHA256_BYTES];
} token;
typedef VEC(token) token_list;

struct tokens {
	pthread_rwlock_t lock; /* of list; a leaf */
	token_list list;
	char *path;
};

static bool scopes_parse(str text, int *out)
{
	static const char *const names[] = {"read", "submit", "admin"};
	*out = 0;
	while (text.n) {
		const char *comma = memchr(text.p, ',', text.n);
		str word = {text.p, comma ? (size_t)(comma - text.p) : text.n};
		int known = -1;
		for (int i = 0; i < 3; i++)
			if (str_is(word, names[i]))
				known = i;
		if (known < 0)
			return false;
		*out |= 1 << known;
		text = comma ? (str){comma + 1, text.n - word.n - 1} : (str){NULL, 0};
	}
	return *out != 0;
}

static bool hex_parse(str text, unsigned char out[SHA256_BYTES])
{
	if (text.n != 2 * SHA256_BYTES)
		return false;
	for (size_t i = 0; i < SHA256_BYTES; i++) {
		unsigned v;
		if (sscanf(text.p + 2 * i, "%2x", &v) != 1)
			return false;
		out[i] = (unsigned char)v;
	}
	return true;
}

static str next_word(str *line)
{
	while (line->n && (*line->p == ' ' || *line->p == '\t'))
		line->p++, line->n--;
	str word = {line->p, 0};
	while (line->n && *line->p != ' ' && *line->p != '\t')
		line->p++, line->n--, word.n++;
	return word;
}

/* "2030-12-31", "2030-12-31T12:00:00Z"; nothing: never. */
static bool expiry_parse(str word, int64_t *out)
{
	char text[32];
	struct tm tm = {0};
	*out = INT64_MAX;
	if (!word.n)
		return true;
	snprintf(text, sizeof text, STR_FMT, (int)MIN(word.n, 31), word.p);
	const char *end = strptime(text, word.n == 10 ? "%Y-%m-%d" : "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (!end || *end || word.n > 20)
		return false;
	*out = (int64_t)timegm(&tm) * 1000000;
	return true;
}

static status add_line(token_list *list, str line, uint32_t number, const char *path, diag *d)
{
	str name = next_word(&line), scopes = next_word(&line), digest = next_word(&line),
		expires = next_word(&line);
	token entry;
	if (!name.n || name.p[0] == '#')
		return ST_OK;
	if (name.n >= sizeof entry.owner || memchr(name.p, ':', name.n) ||
		!scopes_parse(scopes, &entry.scopes) || !hex_parse(digest, entry.digest) ||
		!expiry_parse(expires, &entry.expires_us) || next_word(&line).n)
		return diag_set(d, ST_ERR_PARSE,
			"%s:%u: expected NAME SCOPES SHA256 [EXPIRES], scopes of read,submit,admin, a day such "
			"as 2030-12-31",
			path, number);
	snprintf(entry.owner, sizeof entry.owner, STR_FMT, STR_ARG(name));
	vec_push(list, entry);
	return ST_OK;
}

static status read_tokens(const char *path, token_list *list, diag *d)
{
	strbuf text;
	struct stat st;
	strbuf_init(&text);
	if (stat(path, &st) == 0 && (st.st_mode & 077))
		return diag_set(d, ST_ERR_INVALID, "'%s' can be read by others, expected mode 0600", path);
	status s = file_read(path, TOKENS_LIMIT, &text, d);
	uint32_t number = 1;
	for (const char *p = s == ST_OK ? text.p : ""; s == ST_OK && *p; number++) {
		const char *end = strchrnul(p, '\n');
		s = add_line(list, (str){p, (size_t)(end - p)}, number, path, d);
		p = *end ? end + 1 : end;
	}
	strbuf_release(&text);
	return s;
}

tokens *tokens_load(const char *path, diag *d)
{
	tokens *t = xcalloc(1, sizeof *t);
	pthread_rwlock_init(&t->lock, NULL);
	t->path = realpath(path, NULL);
	if (!t->path)
		diag_set(d, ST_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
	if (t->path && read_tokens(path, &t->list, d) == ST_OK)
		return t;
	tokens_free(t);
	return NULL;
}

static bool has(const token_list *list, const token *entry)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (!memcmp(list->p[i].digest, entry->digest, sizeof entry->digest) &&
			list->p[i].scopes == entry->scopes && list->p[i].expires_us == entry->expires_us)
			return true;
	return false;
}

static void log_changes(const token_list *before, const token_list *after)
{
	for (uint32_t i = 0; i < before->n; i++)
		if (!has(after, &before->p[i]))
			log_audit("event=token_removed name=%s", log_quoted(before->p[i].owner).text);
	for (uint32_t i = 0; i < after->n; i++)
		if (!has(before, &after->p[i]))
			log_audit("event=token_added name=%s scopes=%d", log_quoted(after->p[i].owner).text,
				after->p[i].scopes);
}

status tokens_reload(tokens *t, diag *d)
{
	token_list fresh = {0}, old;
	status s = read_tokens(t->path, &fresh, d);
	if (s != ST_OK) {
		vec_release(&fresh);
		return s;
	}
	pthread_rwlock_wrlock(&t->lock);
	old = t->list;
	t->list = fresh;
	pthread_rwlock_unlock(&t->lock);
	log_changes(&old, &fresh);
	vec_release(&old);
	return ST_OK;
}

void tokens_free(tokens *t)
{
	if (!t)
		return;
	vec_release(&t->list);
	pthread_rwlock_destroy(&t->lock);
	free(t->path);
	free(t);
}

int tokens_check(tokens *t, const char *authorization, char owner[64])
{
	unsigned char digest[SHA256_BYTES];
	int scopes = 0;
	int64_t now = wall_us();
	if (!authorization || strncasecmp(authorization, "Bearer ", 7))
		return 0;
	sha256(authorization + 7, strlen(authorization + 7), digest);
	pthread_rwlock_rdlock(&t->lock);
	for (uint32_t i = 0; i < t->list.n; i++)
		if (!CRYPTO_memcmp(digest, t->list.p[i].digest, sizeof digest) &&
			now < t->list.p[i].expires_us) {
			scopes = t->list.p[i].scopes;
			snprintf(owner, 64, "%s", t->list.p[i].owner);
		}
	pthread_rwlock_unlock(&t->lock);
	return scopes & SCOPE_ADMIN ? SCOPE_READ | SCOPE_SUBMIT | SCOPE_ADMIN : scopes;
}

status tokens_add(const char *path, const char *spec, diag *d)
{
	const char *colon = strchr(spec, ':'), *second = colon ? strchr(colon + 1, ':') : NULL;
	str words = {colon ? colon + 1 : NULL,
		colon ? (second ? (size_t)(second - colon) - 1 : strlen(colon + 1)) : 0};
	str day = second ? str_of(second + 1) : (str){NULL, 0};
	int scopes;
	int64_t expires_us;
	unsigned char secret[SECRET_BYTES], digest[SHA256_BYTES];
	char text[2 * SECRET_BYTES + 1];
	if (!colon || colon == spec || colon - spec >= 64 || strpbrk(spec, " \t\n#") ||
		!strncmp(spec, "unix:", 5) || !scopes_parse(words, &scopes) || (second && !day.n) ||
		!expiry_parse(day, &expires_us))
		return diag_set(d, ST_ERR_INVALID,
			"--new-token takes NAME:SCOPES or NAME:SCOPES:DAY, such as "
			"training:read,submit:2030-12-31");
	if (!path[0])
		return diag_set(d, ST_ERR_INVALID, "--new-token needs --tokens FILE");
	if (getentropy(secret, sizeof secret) != 0)
		return diag_set(d, ST_ERR_INTERNAL, "no source of randomness");
	for (int i = 0; i < SECRET_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", secret[i]);
	sha256(text, strlen(text), digest);
	strbuf line;
	strbuf_init(&line);
	strbuf_printf(&line, "%.*s " STR_FMT " ", (int)(colon - spec), spec, STR_ARG(words));
	for (size_t i = 0; i < sizeof digest; i++)
		strbuf_printf(&line, "%02x", digest[i]);
	if (day.n)
		strbuf_printf(&line, " " STR_FMT, STR_ARG(day));
	strbuf_putc(&line, '\n');
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	bool ok = fd >= 0 && write(fd, line.p, line.n) == (ssize_t)line.n && fsync(fd) == 0;
	if (fd >= 0)
		close(fd);
	strbuf_release(&line);
	if (!ok)
		return diag_set(d, ST_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
	printf("%s\n", text);
	return ST_OK;
}
