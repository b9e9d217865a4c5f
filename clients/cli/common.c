#include "clients/cli/cli.h"

#include <getopt.h>
#include <sys/ioctl.h>
#include <unistd.h>

int cli_usage(const char *verb, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	fprintf(stderr, "shardwright %s: ", verb);
	vfprintf(stderr, fmt, args);
	fprintf(stderr, "\n`shardwright %s --help` tells more\n", verb);
	va_end(args);
	return EXIT_USAGE;
}

int cli_bad_option(const char *verb, const struct option *options, char *const *argv)
{
	const char *word = argv[optind - 1];
	if (!strncmp(word, "--", 2)) {
		size_t n = strcspn(word + 2, "=");
		nearest near = {.wanted = {word + 2, n}};
		bool known = false;
		for (const struct option *o = options; o->name; o++) {
			known |= strlen(o->name) >= n &&
				!strncmp(
					o->name, word + 2, n); /* refused for another reason, which getopt has said */
			nearest_consider(&near, str_of(o->name));
		}
		if (!known && near.found)
			return cli_usage(verb, "did you mean '--%s'?", near.text);
	}
	return cli_usage(verb, "see --help");
}

bool cli_color(int fd)
{
	const char *no = getenv("NO_COLOR");
	return isatty(fd) && !(no && *no);
}

uint32_t cli_columns(int fd)
{
	struct winsize size = {0};
	return isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size) ? size.ws_col : 0;
}

int cli_fail(const diag *d, status s)
{
	if (d->msg[0])
		diag_print(d, stderr);
	else
		fprintf(stderr, "error: %s\n", status_name(s));
	return status_exit_code(s);
}

status cli_mesh(sharding_table *t, const char *mesh_text, cli_target *out, diag *d)
{
	out->mesh = ID_NONE;
	if (!mesh_text)
		return ST_OK;
	mesh_spec spec;
	TRY(mesh_from_text(t, mesh_text, &spec, d));
	out->mesh = spec.mesh;
	const device_mesh *m = &t->meshes.p[spec.mesh];
	if (!m->n_axes)
		return diag_set(d, ST_ERR_INVALID, "the mesh '%s' has no axes", mesh_text);
	for (uint32_t i = 0; i < m->n_axes; i++) {
		str name = strtab_get(&t->names, spec.links[i]);
		if (!name.n)
			continue;
		out->axis_links[i] = xmalloc(name.n + 1);
		memcpy(out->axis_links[i], name.p, name.n);
		out->axis_links[i][name.n] = 0;
		out->has_links = true;
	}
	return ST_OK;
}

status cli_device(const char *name, const char *file, cli_target *out, diag *d)
{
	if (name && file)
		return diag_set(d, ST_ERR_INVALID, "--device and --device-file exclude each other");
	return file ? device_read_file(file, &out->dev, d)
				: device_find(name ? name : "tpu-v5e", &out->dev, d);
}

void cli_target_release(cli_target *t)
{
	for (uint32_t i = 0; i < MAX_MESH_AXES; i++)
		free(t->axis_links[i]);
}

bool cli_number(
	const char *verb, const char *option, const char *text, int64_t min, int64_t max, int64_t *out)
{
	if (str_to_i64(str_of(text), out) && *out >= min && *out <= max)
		return true;
	cli_usage(verb, "%s: expected a whole number from %lld to %lld, found '%s'", option,
		(long long)min, (long long)max, text);
	return false;
}

bool cli_trip_count(const char *verb, const char *text, int64_t *out)
{
	return cli_number(verb, "--trip-count", text, 1, MOST_TRIPS, out);
}

bool cli_bytes(const char *verb, const char *option, const char *text, int64_t *out)
{
	bool unit = strspn(text, "0123456789.") < strlen(text);
	if (size_parse(str_of(text), out) && *out > 0) {
		if (unit || *out >= 1 << 16)
			return true;
		cli_usage(
			verb, "%s: %s bytes; did you mean '%sGiB'? (%sB says bytes)", option, text, text, text);
		return false;
	}
	cli_usage(
		verb, "%s: expected a size such as 16GiB, 300GB or plain bytes, found '%s'", option, text);
	return false;
}

status cli_shape(const char *text, int64_t *shape, uint32_t *rank, diag *d)
{
	str s = str_of(text);
	*rank = 0;
	if (s.n == 0 || str_is(s, "scalar"))
		return ST_OK;
	for (size_t at = 0;;) {
		const char *x = memchr(s.p + at, 'x', s.n - at);
		size_t end = x ? (size_t)(x - s.p) : s.n;
		if (*rank == MAX_RANK)
			return diag_at(d, s.p, s.n, at, ST_ERR_LIMIT, "more than %d dimensions", MAX_RANK);
		if (!str_to_i64((str){s.p + at, end - at}, &shape[(*rank)++]))
			return diag_at(d, s.p, s.n, at, ST_ERR_PARSE, "expected sizes like 8x16");
		if (!x)
			return ST_OK;
		at = end + 1;
	}
}
