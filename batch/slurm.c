/* Slurm: a run is a folder STORE/slurm/RUN that all nodes see.
 *
 *   jobs.jsonl   what the store does not know, one search a line          queue/   leases, see queue.c
 *   array.sh     an array job: each task takes jobs until none is left    tasks/   a store per task and start
 *   merge.sh     after all tasks, however they ended: tasks/ into STORE   log/     what they print */
#include "batch/batch.h"
#include "server/server.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct slurm_run {
	const batch *b;
	const slurm_options *o;
	char store[PATH_MAX], dir[PATH_MAX + 64];
	uint32_t jobs;
	strbuf lines, array, merge;
} slurm_run;

/* One word of a shell command. */
static void add_word(strbuf *out, const char *text)
{
	strbuf_putc(out, '\'');
	for (; *text; text++)
		strbuf_puts(out, *text == '\'' ? "'\\''" : (char[]){*text, 0});
	strbuf_putc(out, '\'');
}

static void add_path(strbuf *out, const slurm_run *r, const char *name)
{
	strbuf path = {0};
	strbuf_printf(&path, "%s%s", r->dir, name);
	add_word(out, path.p);
	strbuf_release(&path);
}

/* ---------------------------------------------------------------- jobs */

/* Tasks run elsewhere: a path from the root. A module that only the store knows is its text there.
 */
static bool add_module(cJSON *o, const slurm_run *r, const char *module)
{
	char full[PATH_MAX];
	objects store_texts = {.dir = r->store};
	if (!strncmp(module, "sha256:", 7))
		objects_path(&store_texts, "objects", module, full);
	else if (!realpath(module, full))
		return false;
	cJSON_ReplaceItemInObjectCaseSensitive(o, "module", cJSON_CreateString(full));
	return true;
}

static status write_lines(slurm_run *r, diag *d)
{
	for (uint32_t i = 0; i < r->b->jobs.n; i++) {
		const batch_job *j = &r->b->jobs.p[i];
		if (j->same_as != i || j->result.state != BATCH_WAITING)
			continue;
		cJSON *o = cJSON_Parse(j->request);
		bool ok = add_module(o, r, j->module);
		cJSON_AddNumberToObject(o, "priority", (double)j->priority);
		if (j->seeds)
			cJSON_AddNumberToObject(o, "seeds", 1); /* the request names the seed */
		char *text = cJSON_PrintUnformatted(o);
		strbuf_printf(&r->lines, "%s\n", text);
		cJSON_free(text);
		cJSON_Delete(o);
		if (!ok)
			return diag_set(
				d, ST_ERR_NOT_FOUND, "cannot find '%.300s': %s", j->module, strerror(errno));
		r->jobs++;
	}
	return ST_OK;
}

/* ---------------------------------------------------------------- scripts */

static void add_head(strbuf *s, const slurm_run *r, const char *name, const char *log)
{
	strbuf_printf(s,
		"#!/bin/sh\n#SBATCH --job-name=%s\n#SBATCH --nodes=1\n#SBATCH --ntasks=1\n#SBATCH "
		"--output=%s/log/%s\n#SBATCH --open-mode=append\n",
		name, r->dir, log);
	if (r->o->partition)
		strbuf_printf(s, "#SBATCH --partition=%s\n", r->o->partition);
	for (uint32_t i = 0; i < r->o->n_sbatch; i++)
		strbuf_printf(s, "#SBATCH %s\n", r->o->sbatch[i]);
}

static void write_array(slurm_run *r)
{
	strbuf *s = &r->array;
	const slurm_options *o = r->o;
	int64_t tasks = MIN(o->nodes, (int64_t)MAX(r->jobs, 1));
	add_head(s, r, "shardwright", "%A_%a.out");
	strbuf_printf(s,
		"#SBATCH --array=0-%lld\n#SBATCH --exclusive\n#SBATCH --requeue\n#SBATCH "
		"--signal=B:TERM@30\n",
		(long long)tasks - 1);
	if (o->time)
		strbuf_printf(s, "#SBATCH --time=%s\n", o->time);
	strbuf_puts(s,
		"# A task that starts again has a store of its own: the one before may be alive on a node "
		"that was lost.\n"
		"task=${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}_${SLURM_RESTART_COUNT:-0}\nexec ");
	add_word(s, o->tool);
	strbuf_puts(s, " batch ");
	add_path(s, r, "/jobs.jsonl");
	strbuf_puts(s, " --queue ");
	add_path(s, r, "/queue");
	strbuf_puts(s, " --store ");
	add_path(s, r, "/tasks/");
	strbuf_puts(s, "\"$task\"");
	for (int i = 0; i < o->n_flags; i++) {
		strbuf_putc(s, ' ');
		add_word(s, o->flags[i]);
	}
	strbuf_putc(s, '\n');
}

static void write_merge(slurm_run *r)
{
	strbuf *s = &r->merge;
	add_head(s, r, "shardwright-merge", "merge.out");
	strbuf_puts(s, "# Then: what has no answer. The same batch asks for it again.\n");
	for (int i = 0; i < 2; i++) {
		add_word(s, r->o->tool);
		strbuf_puts(s, " batch ");
		if (i)
			add_path(s, r, "/jobs.jsonl");
		else
			strbuf_puts(s, "--merge ");
		if (!i) {
			add_path(s, r, "/tasks/");
			strbuf_putc(s, '*');
		}
		strbuf_puts(s, " --store ");
		add_word(s, r->store);
		strbuf_puts(s, i ? " --dry-run\n" : " || exit\n");
	}
}

/* ---------------------------------------------------------------- submit */

static status write_run(const slurm_run *r, diag *d)
{
	static const char *const folders[] = {"", "/queue", "/tasks", "/log"};
	const struct {
		const char *name;
		const strbuf *text;
	} files[] = {{"/jobs.jsonl", &r->lines}, {"/array.sh", &r->array}, {"/merge.sh", &r->merge}};
	char path[PATH_MAX + 128];
	snprintf(path, sizeof path, "%s/slurm", r->store);
	if (mkdir(path, 0777) != 0 && errno != EEXIST)
		return diag_set(d, ST_ERR_IO, "cannot make the folder '%.300s': %s", path, strerror(errno));
	for (size_t i = 0; i < COUNT_OF(folders); i++) {
		snprintf(path, sizeof path, "%s%s", r->dir, folders[i]);
		if (mkdir(path, 0777) != 0)
			return diag_set(
				d, ST_ERR_IO, "cannot make the folder '%.300s': %s", path, strerror(errno));
	}
	for (size_t i = 0; i < COUNT_OF(files); i++) {
		snprintf(path, sizeof path, "%s%s", r->dir, files[i].name);
		TRY(file_write(path, files[i].text->p, files[i].text->n, d));
	}
	return ST_OK;
}

/* The id that sbatch prints. */
static status run_sbatch(const char *command, char id[64], diag *d)
{
	FILE *f = popen(command, "re");
	id[0] = 0;
	bool ok = f && fgets(id, 64, f);
	int code = f ? pclose(f) : -1;
	id[strcspn(id, ";\r\n")] = 0; /* JOB;CLUSTER */
	if (code != 0 && WIFEXITED(code) && WEXITSTATUS(code) == 127)
		return diag_set(d, ST_ERR_NOT_FOUND, "no Slurm here: sbatch is not on the PATH");
	if (!ok || code != 0 || !id[0] || id[strspn(id, "0123456789")])
		return diag_set(d, ST_ERR_INVALID, "sbatch refused the job: %s", command);
	return ST_OK;
}

static status submit(const slurm_run *r, FILE *out, diag *d)
{
	char array[64], merge[64];
	strbuf command = {0};
	strbuf_puts(&command, "sbatch --parsable ");
	add_path(&command, r, "/array.sh");
	status st = run_sbatch(command.p, array, d);
	strbuf_clear(&command);
	if (st == ST_OK) {
		strbuf_printf(&command, "sbatch --parsable --dependency=afterany:%s ", array);
		add_path(&command, r, "/merge.sh");
		st = run_sbatch(command.p, merge, d);
		if (st != ST_OK)
			fprintf(stderr, "the array job %s runs; when it has ended: sh %s/merge.sh\n", array,
				r->dir);
	}
	if (st == ST_OK)
		fprintf(
			out, "array job %s, merge job %s, %u jobs, run %s\n", array, merge, r->jobs, r->dir);
	strbuf_release(&command);
	return st;
}

static status check_words(const slurm_options *o, const char *store_path, diag *d)
{
	bool bad = strpbrk(store_path, "\n%\\ ") != NULL ||
		(o->partition && strpbrk(o->partition, " \n")) || (o->time && strpbrk(o->time, " \n"));
	for (uint32_t i = 0; i < o->n_sbatch; i++)
		bad = bad || strchr(o->sbatch[i], '\n');
	return bad ? diag_set(d, ST_ERR_INVALID,
					 "a path with a blank, %% or \\, or an option of several words, cannot be "
					 "written for sbatch")
			   : ST_OK;
}

status slurm_submit(const batch *b, const slurm_options *o, bool dry_run, FILE *out, diag *d)
{
	slurm_run r = {.b = b, .o = o};
	time_t now = time(NULL);
	struct tm tm;
	char stamp[32];
	if (!dry_run && mkdir(o->store, 0700) != 0 && errno != EEXIST)
		return diag_set(
			d, ST_ERR_IO, "cannot make the folder '%.300s': %s", o->store, strerror(errno));
	char here[PATH_MAX] = "";
	if (!realpath(o->store, r.store) && (o->store[0] == '/' || !getcwd(here, sizeof here)))
		snprintf(r.store, sizeof r.store, "%s", o->store);
	else if (here[0])
		snprintf(r.store, sizeof r.store, "%.2000s/%.2000s", here, o->store);
	strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", gmtime_r(&now, &tm));
	snprintf(r.dir, sizeof r.dir, "%.4000s/slurm/%s-%d", r.store, stamp, (int)getpid());
	status st = check_words(o, r.store, d);
	if (st == ST_OK)
		st = write_lines(&r, d);
	write_array(&r);
	write_merge(&r);
	if (st == ST_OK && dry_run)
		fprintf(out, "\n%s/array.sh\n\n%s\n%s/merge.sh, after the array job\n\n%s", r.dir,
			r.array.p, r.dir, r.merge.p);
	else if (st == ST_OK && !r.jobs)
		fputs("nothing to be searched\n", out);
	else if (st == ST_OK && (st = write_run(&r, d)) == ST_OK)
		st = submit(&r, out, d);
	strbuf_release(&r.lines);
	strbuf_release(&r.array);
	strbuf_release(&r.merge);
	return st;
}
