/* A measured step into a store that nobody has open. */
#include "batch/batch.h"
#include "server/server.h"

#include <sys/stat.h>

status store_record(
	const char *dir, const char *strategy, const struct cJSON *body, strbuf *out, diag *d)
{
	metrics counters = {0};
	problem why = {0};
	struct stat there;
	strbuf path = {0};
	measurement_add a = {.op = {.run = measurement_add_run}};
	log_to(-1); /* what goes wrong is told by d */
	strbuf_printf(&path, "%s/shardwright.db", dir);
	status st = stat(path.p, &there) == 0
		? ST_OK
		: diag_set(d, ST_ERR_NOT_FOUND, "there is no store in '%.300s'", dir);
	strbuf_release(&path);
	if (st == ST_OK && !measurement_parse(&a.what, body, &why))
		st = diag_set(
			d, ST_ERR_INVALID, "%s: %.300s", why.pointer + (why.pointer[0] == '/'), why.detail);
	store *s = st == ST_OK ? store_open(dir, &counters, d) : NULL;
	if (st == ST_OK && !s)
		st = d->code;
	snprintf(a.strategy, sizeof a.strategy, "%.71s", strategy);
	if (s && store_write(s, &a.op) != ST_OK)
		st = diag_set(d, ST_ERR_IO, "the store '%.300s' cannot be written", dir);
	else if (s && !a.found)
		st = diag_set(d, ST_ERR_NOT_FOUND, "there is no strategy '%.100s' in the store", strategy);
	else if (s && a.full)
		st = diag_set(d, ST_ERR_LIMIT,
			"the strategy has %d measurements, the most that one may have", MOST_MEASUREMENTS);
	else if (s)
		strbuf_puts(out, a.json.p);
	if (s)
		store_close(s);
	measurement_release(&a.what);
	strbuf_release(&a.json);
	return st;
}
