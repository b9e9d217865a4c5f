/* The engine over a store: what the daemon does for POST /v1/modules and /v1/searches, without
 * HTTP. The supervisor starts the tool's own `search` for each search, watches over it and commits
 * its answer. Only as many searches as can run are put into the store's queue: what waits for its
 * turn waits in JOBS, so priorities hold and an interrupted batch leaves no long queue behind. */
#include "batch/batch.h"
#include "server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct known_module {
	const char *path;
	bool ok, later; /* later: the store could not be written */
	module_row row;
	problem why;
} known_module;

typedef struct local {
	batch_engine engine; /* first: an engine is one of these */
	server *srv;
	int log_fd;
	bool peek;
	VEC(known_module *) modules;
	index_map by_path;
	arena mem;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool news;
} local;

/* The supervisor's threads have no other way to us than the server. */
static local *from_server(server *srv) { return (local *)srv->cls; }

static void search_changed(server *srv, const char *id)
{
	(void)id;
	local *l = from_server(srv);
	pthread_mutex_lock(&l->mutex);
	l->news = true;
	pthread_cond_signal(&l->changed);
	pthread_mutex_unlock(&l->mutex);
}

static void wait_for_news(batch_engine *e, int ms)
{
	local *l = (local *)e;
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000l;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&l->mutex);
	while (!l->news && pthread_cond_timedwait(&l->changed, &l->mutex, &until) == 0)
		;
	l->news = false;
	pthread_mutex_unlock(&l->mutex);
}

/* ---------------------------------------------------------------- modules */

/* The text of a file, decoded, hashed and, where the store is ours, packed into its tmp/. */
static upload *take_file(local *l, const char *path, problem *why)
{
	enum { PIECE = 1 << 16 };
	server *srv = l->srv;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		problem_set(why, PROBLEM_NOT_FOUND, "cannot read '%s': %s", path, strerror(errno));
		return NULL;
	}
	upload *up = upload_new(l->peek ? NULL : store_objects(srv->store), &srv->memory, CODING_ANY,
		srv->opt.upload_limit, srv->opt.module_limit, why);
	char *piece = xmalloc(PIECE);
	ssize_t n = 0;
	while (up && !why->kind && (n = read(fd, piece, PIECE)) > 0)
		upload_feed(up, piece, (size_t)n, why);
	if (n < 0)
		problem_set(why, PROBLEM_NOT_FOUND, "cannot read '%s': %s", path, strerror(errno));
	free(piece);
	close(fd);
	if (up && !why->kind && upload_end(up, why))
		return up;
	upload_free(up);
	return NULL;
}

static void add_file(local *l, known_module *m, const char *path)
{
	server *srv = l->srv;
	upload *up = take_file(l, path, &m->why);
	if (up)
		snprintf(m->row.id, sizeof m->row.id, "%s", upload_id(up));
	db *c = up && srv->store ? store_reader(srv->store) : NULL;
	if (up && (!srv->store || c)) {
		found f = c ? module_find(c, upload_id(up), &m->row) : FOUND_NONE;
		if (f == FOUND &&
			(l->peek || !objects_lost(store_objects(srv->store), "objects", m->row.id)))
			m->ok = true;
		else if (l->peek)
			m->ok = module_check(srv, path, NULL, &m->row, &m->why);
		else if (upload_unwritten(up))
			m->why = *upload_unwritten(up);
		else
			m->ok = module_add(srv, up, NULL, NULL, &m->row, &m->why) == ST_OK;
	}
	if (up && !m->ok)
		problem_set(
			&m->why, PROBLEM_STORAGE, "the store cannot be written: the disk is full or broken");
	m->later = m->why.kind == PROBLEM_STORAGE || m->why.kind == PROBLEM_UNAVAILABLE;
	upload_free(up);
}

static void add_by_id(local *l, known_module *m, const char *id)
{
	db *c = l->srv->store ? store_reader(l->srv->store) : NULL;
	m->ok = c && module_find(c, id, &m->row) == FOUND;
	if (!m->ok)
		problem_set(&m->why, PROBLEM_NOT_FOUND, "the store has no module '%.80s'", id);
}

static const known_module *module_of(local *l, const char *path)
{
	uint64_t h = hash_bytes(path, strlen(path), 0);
	uint32_t id, it = index_first(&l->by_path, h);
	known_module *m = NULL;
	while (!m && index_next(&l->by_path, h, &it, &id))
		if (!strcmp(l->modules.p[id]->path, path))
			m = l->modules.p[id];
	if (m && !m->later)
		return m;
	if (!m) {
		m = arena_zalloc(&l->mem, sizeof *m);
		m->path = arena_strdup(&l->mem, path, strlen(path));
		index_add(&l->by_path, h, l->modules.n);
		vec_push(&l->modules, m);
	}
	m->why = (problem){0};
	if (!strncmp(path, "sha256:", 7))
		add_by_id(l, m, path);
	else
		add_file(l, m, path);
	return m;
}

/* ---------------------------------------------------------------- answers */

static void fail(batch_result *out, const problem *why, const char *file)
{
	out->state = BATCH_FAILED;
	if (file && why->line)
		snprintf(out->error, sizeof out->error, "%.200s:%u:%u: %.500s", file, why->line, why->col,
			why->detail);
	else if (why->pointer[0])
		snprintf(out->error, sizeof out->error, "%.200s: %.500s", why->pointer + 1, why->detail);
	else
		snprintf(out->error, sizeof out->error, "%s", why->detail);
}

static void take_text(char *to, size_t n, sqlite3_stmt *s, int at)
{
	snprintf(to, n, "%s", column_text(s, at));
}

static bool read_baseline(db *c, batch_result *out)
{
	sqlite3_stmt *s = db_statement(c, SQL_BEST_BASELINE);
	if (!s)
		return false;
	bind_text(s, 1, out->strategy);
	found f = db_step(c, s);
	out->has_baseline = f == FOUND;
	if (f == FOUND) {
		take_text(out->baseline, sizeof out->baseline, s, 0);
		out->baseline_ns = sqlite3_column_int64(s, 1);
		out->baseline_peak_bytes = sqlite3_column_int64(s, 2);
		out->baseline_fits = sqlite3_column_int(s, 3);
	}
	sqlite3_reset(s);
	return f != FOUND_FAILED;
}

/* The state of out->search. False: it could not be read. */
static bool read_result(local *l, batch_result *out)
{
	db *c = store_reader(l->srv->store);
	sqlite3_stmt *s = c ? db_statement(c, SQL_SEARCH_RESULT) : NULL;
	if (!s)
		return false;
	bind_text(s, 1, out->search);
	found f = db_step(c, s);
	if (f == FOUND) {
		const char *state = column_text(s, 0);
		take_text(out->strategy, sizeof out->strategy, s, 1);
		take_text(out->error, sizeof out->error, s, 2);
		out->runtime_ns = sqlite3_column_int64(s, 3);
		out->peak_bytes = sqlite3_column_int64(s, 4);
		out->fits = sqlite3_column_int(s, 5);
		out->evaluations = sqlite3_column_int64(s, 6);
		out->search_ns = sqlite3_column_int64(s, 7) * 1000;
		out->partial = sqlite3_column_int(s, 8);
		bool running = !strcmp(state, "running");
		bool ended = !running && strcmp(state, "queued");
		out->state = running   ? BATCH_RUNNING
			: !ended           ? BATCH_WAITING
			: out->strategy[0] ? BATCH_SUCCEEDED
							   : BATCH_FAILED;
		if (out->state == BATCH_FAILED && !out->error[0])
			snprintf(out->error, sizeof out->error, "the search was canceled");
	}
	sqlite3_reset(s);
	if (f == FOUND_NONE) {
		out->state = BATCH_FAILED;
		snprintf(out->error, sizeof out->error, "the search is not in the store any more");
	}
	return f != FOUND_FAILED && (out->state != BATCH_SUCCEEDED || read_baseline(c, out));
}

static bool look(batch_engine *e, batch_result *out, diag *d)
{
	if (!read_result((local *)e, out))
		return diag_set(d, ST_ERR_IO, "the store cannot be read"), false;
	return out->state == BATCH_SUCCEEDED || out->state == BATCH_FAILED;
}

#define UNWRITABLE \
	"the store cannot be written: the disk is full or broken, or another program holds its lock"

/* The supervisor keeps what it could not commit, and offers it again. */
static const char *trouble(batch_engine *e)
{
	return store_writable(((local *)e)->srv->store) ? NULL : UNWRITABLE;
}

/* The request with the id of its module. */
static bool make_spec(
	local *l, const batch_job *job, const module_row *row, search_spec *spec, problem *why)
{
	cJSON *o = cJSON_Parse(job->request);
	cJSON_SetValuestring(cJSON_GetObjectItemCaseSensitive(o, "module"), row->id);
	char *text = cJSON_PrintUnformatted(o);
	bool ok = spec_parse(spec, text, strlen(text), l->srv->device_names, l->srv->device_count, why);
	cJSON_free(text);
	cJSON_Delete(o);
	return ok;
}

static batch_asked ask_stored(
	local *l, const search_spec *spec, const char *key, bool own_seed, batch_result *out)
{
	db *c = l->srv->store ? store_reader(l->srv->store) : NULL;
	char id[SEARCH_ID_BYTES];
	if (!c || search_cached(c, key, spec, own_seed, id) != FOUND)
		return BATCH_ASK_STARTED;
	snprintf(out->search, sizeof out->search, "%s", id);
	out->stored = read_result(l, out);
	return out->stored ? BATCH_ASK_ENDED : BATCH_ASK_LATER;
}

static batch_asked start(local *l, const search_spec *spec, const char *key, bool own_seed,
	const module_row *row, batch_result *out)
{
	search_create a = {.op = {.run = search_create_run},
		.spec = spec,
		.own_seed = own_seed,
		.queue_limit = INT64_MAX,
		.max_failures = (int)l->srv->opt.search_attempts};
	snprintf(a.key, sizeof a.key, "%s", key);
	snprintf(a.fingerprint, sizeof a.fingerprint, "%s", row->fingerprint);
	snprintf(a.owner, sizeof a.owner, "batch");
	status st = store_write(l->srv->store, &a.op);
	strbuf_release(&a.json);
	if (st != ST_OK)
		return BATCH_ASK_LATER;
	snprintf(out->search, sizeof out->search, "%s", a.id);
	supervisor_kick(l->srv->supervisor);
	return BATCH_ASK_STARTED;
}

static batch_asked ask(batch_engine *e, const batch_job *job, batch_result *out, diag *d)
{
	local *l = (local *)e;
	const known_module *m = module_of(l, job->module);
	problem why = {0};
	search_spec spec = {0};
	if (!m->ok) {
		if (m->later)
			return diag_set(d, ST_ERR_IO, "%s", m->why.detail), BATCH_ASK_LATER;
		fail(out, &m->why, job->module);
		return BATCH_ASK_ENDED;
	}
	snprintf(out->name, sizeof out->name, "%.127s", m->row.name);
	batch_asked asked = BATCH_ASK_ENDED;
	if (!make_spec(l, job, &m->row, &spec, &why)) {
		fail(out, &why, NULL);
	} else {
		char key[ID_BYTES];
		spec_key(&spec, m->row.fingerprint, m->row.shardings, l->srv->cost_model, key);
		asked = ask_stored(l, &spec, key, job->seeds > 0, out);
		if (asked == BATCH_ASK_STARTED && l->peek)
			asked = BATCH_ASK_ENDED;
		else if (asked == BATCH_ASK_STARTED)
			asked = start(l, &spec, key, job->seeds > 0, &m->row, out);
		if (asked == BATCH_ASK_LATER)
			diag_set(d, ST_ERR_IO, UNWRITABLE);
	}
	spec_release(&spec);
	return asked;
}

/* ---------------------------------------------------------------- open and close */

static void close_local(batch_engine *e)
{
	local *l = (local *)e;
	server *srv = l->srv;
	if (srv->supervisor)
		supervisor_stop(srv->supervisor);
	if (srv->store)
		store_close(srv->store);
	worker_release(srv);
	options_release(&srv->opt);
	free(srv);
	vec_release(&l->modules);
	index_release(&l->by_path);
	arena_release(&l->mem);
	pthread_mutex_destroy(&l->mutex);
	pthread_cond_destroy(&l->changed);
	if (l->log_fd >= 0)
		close(l->log_fd);
	free(l);
}

static status read_options(local *l, const batch_local_options *o, diag *d)
{
	char *argv[COUNT_OF(o->flags) + 8] = {
		"batch", "--store", (char *)o->store, "--worker-binary", "/proc/self/exe", "--workers"};
	char cores[16], threads[16];
	int n = 6, all = parallel_cores();
	snprintf(cores, sizeof cores, "%d", MIN(all, 256));
	argv[n++] = cores;
	for (int i = 0; i < o->n_flags; i++)
		argv[n++] = (char *)o->flags[i];
	options *opt = &l->srv->opt;
	TRY(options_parse(opt, n, argv, d));
	if (!opt->worker_threads) { /* one worker per core, one core per worker */
		snprintf(threads, sizeof threads, "%d", MAX(all / (int)opt->workers, 1));
		str_to_i64(str_of(threads), &opt->worker_threads);
	}
	return ST_OK;
}

static status open_log(local *l, const char *path, diag *d)
{
	l->log_fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
	if (path && l->log_fd < 0)
		return diag_set(d, ST_ERR_IO, "cannot write the log '%s': %s", path, strerror(errno));
	log_to(l->log_fd);
	return ST_OK;
}

static local *local_new(const batch_local_options *o, bool peek, diag *d)
{
	local *l = xcalloc(1, sizeof *l);
	server *srv = l->srv = xcalloc(1, sizeof *srv);
	l->engine =
		(batch_engine){.ask = ask, .look = look, .wait = wait_for_news, .close = close_local};
	l->peek = peek;
	l->log_fd = -1;
	arena_init(&l->mem);
	index_init(&l->by_path);
	pthread_mutex_init(&l->mutex, NULL);
	pthread_cond_init(&l->changed, NULL);
	srv->cls = l;
	srv->search_changed = search_changed;
	if (open_log(l, o->log, d) == ST_OK && read_options(l, o, d) == ST_OK) {
		memory_init(&srv->memory, 0);
		if (worker_find(srv, d) == ST_OK)
			return l;
	}
	close_local(&l->engine);
	return NULL;
}

batch_engine *batch_local_open(const batch_local_options *o, diag *d)
{
	local *l = local_new(o, false, d);
	if (!l)
		return NULL;
	server *srv = l->srv;
	srv->store = store_open_by(srv->opt.store, o->alone, &srv->metrics, d);
	srv->supervisor = srv->store ? supervisor_new(srv) : NULL;
	l->engine.trouble = trouble;
	l->engine.workers = (uint32_t)srv->opt.workers;
	/* The next one is there when a worker gets free; of a queue, others may take it. */
	l->engine.most_at_once = l->engine.workers + !o->alone;
	if (srv->supervisor)
		return &l->engine;
	diag_set(d, ST_ERR_INTERNAL, "cannot start threads");
	close_local(&l->engine);
	return NULL;
}

batch_engine *batch_peek_open(const batch_local_options *o, diag *d)
{
	local *l = local_new(o, true, d);
	if (!l)
		return NULL;
	l->engine.workers = (uint32_t)l->srv->opt.workers;
	l->engine.most_at_once = 1;
	l->srv->confined =
		false; /* a module is checked where it lies, which a confined worker may not read */
	diag why = {0};
	l->srv->store = store_peek(l->srv->opt.store, &why);
	if (l->srv->store || why.code == ST_ERR_NOT_FOUND)
		return &l->engine;
	if (d)
		*d = why;
	close_local(&l->engine);
	return NULL;
}
