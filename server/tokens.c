/* Access tokens: the file holds only their sha256, so reading it gives nobody access. One a line:
 *   NAME SCOPES SHA256      training read,submit 9f86d0...      '#' starts a comment */
#include "server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOKENS_LIMIT = 1 << 20, SECRET_BYTES = 32 };

typedef struct token {
	char owner[64];
	int scopes;
	unsigned char digest[SHA256_DIGEST_LENGTH];
} token;

struct tokens {
	VEC(token) list;
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

static bool hex_parse(str text, unsigned char out[SHA256_DIGEST_LENGTH])
{
	if (text.n != 2 * SHA256_DIGEST_LENGTH)
		return false;
	for (size_t i = 0; i < SHA256_DIGEST_LENGTH; i++) {
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

static status add_line(tokens *t, str line, uint32_t number, const char *path, diag *d)
{
	str name = next_word(&line), scopes = next_word(&line), digest = next_word(&line);
	token entry;
	if (!name.n || name.p[0] == '#')
		return ST_OK;
	if (name.n >= sizeof entry.owner || !scopes_parse(scopes, &entry.scopes) || !hex_parse(digest, entry.digest))
		return diag_set(d, ST_ERR_PARSE, "%s:%u: expected NAME SCOPES SHA256, scopes of read,submit,admin", path, number);
	snprintf(entry.owner, sizeof entry.owner, STR_FMT, STR_ARG(name));
	vec_push(&t->list, entry);
	return ST_OK;
}

tokens *tokens_load(const char *path, diag *d)
{
	strbuf text;
	struct stat st;
	strbuf_init(&text);
	if (stat(path, &st) == 0 && (st.st_mode & 077)) {
		diag_set(d, ST_ERR_INVALID, "'%s' can be read by others, expected mode 0600", path);
		return NULL;
	}
	if (file_read(path, TOKENS_LIMIT, &text, d) != ST_OK)
		return NULL;
	tokens *t = xcalloc(1, sizeof *t);
	status s = ST_OK;
	uint32_t number = 1;
	for (const char *p = text.p; s == ST_OK && *p; number++) {
		const char *end = strchrnul(p, '\n');
		s = add_line(t, (str){p, (size_t)(end - p)}, number, path, d);
		p = *end ? end + 1 : end;
	}
	strbuf_release(&text);
	if (s == ST_OK)
		return t;
	tokens_free(t);
	return NULL;
}

void tokens_free(tokens *t)
{
	if (t)
		vec_release(&t->list);
	free(t);
}

int tokens_check(const tokens *t, const char *authorization, char owner[64])
{
	unsigned char digest[SHA256_DIGEST_LENGTH];
	int scopes = 0;
	if (!authorization || strncasecmp(authorization, "Bearer ", 7))
		return 0;
	SHA256((const unsigned char *)authorization + 7, strlen(authorization + 7), digest);
	for (uint32_t i = 0; i < t->list.n; i++)
		if (!CRYPTO_memcmp(digest, t->list.p[i].digest, sizeof digest)) {
			scopes = t->list.p[i].scopes;
			snprintf(owner, 64, "%s", t->list.p[i].owner);
		}
	return scopes;
}

status tokens_add(const char *path, const char *spec, diag *d)
{
	const char *colon = strchr(spec, ':');
	int scopes;
	unsigned char secret[SECRET_BYTES], digest[SHA256_DIGEST_LENGTH];
	char text[2 * SECRET_BYTES + 1];
	if (!colon || colon == spec || colon - spec >= 64 || strpbrk(spec, " \t\n#") || !scopes_parse(str_of(colon + 1), &scopes))
		return diag_set(d, ST_ERR_INVALID, "--new-token takes NAME:SCOPES, such as training:read,submit");
	if (!path[0])
		return diag_set(d, ST_ERR_INVALID, "--new-token needs --tokens FILE");
	if (RAND_bytes(secret, sizeof secret) != 1)
		return diag_set(d, ST_ERR_INTERNAL, "no source of randomness");
	for (int i = 0; i < SECRET_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", secret[i]);
	SHA256((const unsigned char *)text, strlen(text), digest);
	strbuf line;
	strbuf_init(&line);
	strbuf_printf(&line, "%.*s %s ", (int)(colon - spec), spec, colon + 1);
	for (size_t i = 0; i < sizeof digest; i++)
		strbuf_printf(&line, "%02x", digest[i]);
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
