#include "server/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_GROUPS = 256 };

/* ---------------------------------------------------------------- names */

typedef struct authority {
	str name; /* without brackets and port */
	bool ipv6;
} authority;

static bool is_port(const char *p)
{
	size_t n = strspn(p, "0123456789");
	return !p[n] && n > 0 && n <= 5 && atoi(p) <= 65535;
}

/* HOST or HOST:PORT, HOST a name, an IPv4 address or an IPv6 address in brackets. */
static bool authority_parse(const char *text, authority *out)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
	out->ipv6 = text[0] == '[';
	const char *from = text + out->ipv6;
	size_t n = strspn(from, out->ipv6 ? "0123456789abcdefABCDEF:." : letters);
	const char *end = from + n;
	out->name = (str){from, n};
	if (!n || n > 255 || (out->ipv6 && *end++ != ']'))
		return false;
	return !*end || (*end == ':' && is_port(end + 1));
}

static bool name_equal(str a, const char *b)
{
	size_t n = strlen(b);
	if (a.n && a.p[a.n - 1] == '.')
		a.n--; /* the root of the name system, written out */
	return a.n == n && !strncasecmp(a.p, b, n);
}

static bool in_list(const char *list, str name)
{
	for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
		char word[256];
		size_t n = strcspn(p, ",");
		snprintf(word, sizeof word, "%.*s", (int)MIN(n, 255), p);
		if (!strcmp(word, "*") || (word[0] && name_equal(name, word)))
			return true;
	}
	return false;
}

static bool address_parse(const authority *a, struct in6_addr *out)
{
	char text[256];
	struct in_addr four;
	snprintf(text, sizeof text, STR_FMT, STR_ARG(a->name));
	if (a->ipv6)
		return inet_pton(AF_INET6, text, out) == 1;
	if (inet_pton(AF_INET, text, &four) != 1)
		return false;
	*out = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}}; /* ::ffff:a.b.c.d */
	memcpy(out->s6_addr + 12, &four, 4);
	return true;
}

static bool is_loopback(const struct in6_addr *a)
{
	return IN6_IS_ADDR_LOOPBACK(a) || (IN6_IS_ADDR_V4MAPPED(a) && a->s6_addr[12] == 127);
}

/* The address of ours that this client reached. */
static bool own_address(int fd, struct in6_addr *out)
{
	struct sockaddr_storage s;
	socklen_t n = sizeof s;
	if (getsockname(fd, (struct sockaddr *)&s, &n) != 0)
		return false;
	if (s.ss_family == AF_INET6) {
		*out = ((struct sockaddr_in6 *)&s)->sin6_addr;
		return true;
	}
	*out = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
	memcpy(out->s6_addr + 12, &((struct sockaddr_in *)&s)->sin_addr, 4);
	return s.ss_family == AF_INET;
}

static int descriptor(request *r)
{
	return MHD_get_connection_info(r->conn, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

bool peer_is_local(request *r)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(r->conn, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	return info && info->client_addr && info->client_addr->sa_family == AF_UNIX;
}

static bool is_own_name(request *r, const authority *a)
{
	const options *o = &r->srv->opt;
	char host[256] = "";
	struct in6_addr asked, own;
	if (name_equal(a->name, "localhost") || in_list(o->host, a->name))
		return true;
	if (address_parse(a, &asked))
		return is_loopback(&asked) ||
			(own_address(descriptor(r), &own) && !memcmp(&asked, &own, sizeof own));
	if (gethostname(host, sizeof host - 1) == 0 && host[0] && name_equal(a->name, host))
		return true;
	const char *colon = strrchr(o->listen, ':');
	snprintf(host, sizeof host, "%.*s", colon ? (int)(colon - o->listen) : 0, o->listen);
	return host[0] && name_equal(a->name, host);
}

bool check_host(request *r, const char *host)
{
	authority a;
	if (!authority_parse(host, &a))
		return problem_set(
			&r->why, PROBLEM_BAD_REQUEST, "Host is '%.100s', expected NAME or NAME:PORT", host);
	/* No browser comes over a Unix socket, and a proxy in front of one has a name of its own. */
	return peer_is_local(r) || is_own_name(r, &a) ||
		problem_set(
			&r->why, PROBLEM_MISDIRECTED, "this daemon is not known as '%.100s'; see --host", host);
}

/* ---------------------------------------------------------------- pages of other origins */

bool check_origin(request *r, const char *method)
{
	const char *site = request_header(r, "Sec-Fetch-Site"), *origin = request_header(r, "Origin"),
			   *host = request_header(r, "Host");
	authority a;
	if (!strcmp(method, "GET") || !strcmp(method, "HEAD"))
		return true; /* they change nothing, and a browser does not show the answer to a page of
		                another origin */
	if (site && strcasecmp(site, "same-origin") && strcasecmp(site, "none"))
		return problem_set(&r->why, PROBLEM_FORBIDDEN,
			"a page of another origin may not do this (Sec-Fetch-Site: %.40s)", site);
	if (!origin)
		return true; /* no browser, or one that says so in Sec-Fetch-Site */
	const char *mark = strstr(origin, "://");
	bool ok = mark && authority_parse(mark + 3, &a) &&
		((host && !strcasecmp(mark + 3, host)) || in_list(r->srv->opt.host, a.name));
	return ok ||
		problem_set(&r->why, PROBLEM_FORBIDDEN,
			"a page of another origin may not do this (Origin: %.100s)", origin);
}

/* ---------------------------------------------------------------- clients of the Unix socket */

bool group_find(const char *name, gid_t *out)
{
	char text[4096];
	struct group entry, *found_entry = NULL;
	int64_t number;
	if (str_to_i64(str_of(name), &number) && number < UINT32_MAX) {
		*out = (gid_t)number;
		return true;
	}
	if (getgrnam_r(name, &entry, text, sizeof text, &found_entry) != 0 || !found_entry)
		return false;
	*out = entry.gr_gid;
	return true;
}

static bool in_group(int fd, const struct ucred *peer, const char *name)
{
	gid_t group, all[MOST_GROUPS];
	socklen_t n = sizeof all;
	if (!name[0] || !group_find(name, &group))
		return false;
	if (peer->gid == group)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, all, &n) != 0)
		return false;
	for (size_t i = 0; i < n / sizeof all[0]; i++)
		if (all[i] == group)
			return true;
	return false;
}

void peer_text(request *r, char text[PEER_BYTES])
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(r->conn, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *a = info ? info->client_addr : NULL;
	snprintf(text, PEER_BYTES, "%s", a && a->sa_family == AF_UNIX ? "unix" : "?");
	if (a && a->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)a)->sin_addr, text, 64);
	else if (a && a->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)a)->sin6_addr, text, 64);
	const char *from = request_header(r, "X-Forwarded-For");
	size_t n = strlen(text);
	if (from) /* what a proxy says, or whoever says that he is one */
		snprintf(text + n, PEER_BYTES - n, " forwarded=%s", log_quoted(from).text);
}

/* Proxies say for whom they speak. */
static bool is_forwarded(request *r)
{
	static const char *const headers[] = {"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host",
		"X-Forwarded-Proto", "X-Real-IP"};
	for (size_t i = 0; i < COUNT_OF(headers); i++)
		if (request_header(r, headers[i]))
			return true;
	return false;
}

bool peer_is_trusted(request *r)
{
	struct ucred peer;
	socklen_t n = sizeof peer;
	int fd = descriptor(r);
	if (!peer_is_local(r) || is_forwarded(r) ||
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) != 0)
		return false;
	if (peer.uid != geteuid() && peer.uid != 0 && !in_group(fd, &peer, r->srv->opt.unix_group))
		return false;
	snprintf(r->owner, sizeof r->owner, "unix:%u", (unsigned)peer.uid);
	r->admin = peer.uid == geteuid() || peer.uid == 0;
	return true;
}
