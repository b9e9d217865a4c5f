/* What a batch tells: a line as each job ends, a summary, one JSON document. */
#include "batch/batch.h"
#include "server/server.h"

#include <stdlib.h>

/* Names of files and modules end on a terminal: no control characters. The end of a long one tells
 * more than its start. */
const char *batch_shown(const char *s, size_t room, char out[256])
{
	size_t n = strlen(s);
	const char *from = n > room ? s + n - (room - 2) : s;
	while (from > s && ((unsigned char)*from & 0xc0) == 0x80) /* not in the midst of a character */
		from++;
	snprintf(out, 256, "%s%s", from > s ? ".." : "", from);
	for (char *c = out; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	return out;
}

const char *batch_device_shown(const batch_job *j)
{
	return strcmp(j->device, "default") ? j->device : "tpu-v5e";
}

const char *batch_file_shown(const batch_job *j, char out[256])
{
	const char *slash = strrchr(j->module, '/');
	return batch_shown(slash && slash[1] ? slash + 1 : j->module, 32, out);
}

void batch_measure(batch *b)
{
	char text[256];
	b->module_width = (int)strlen("MODULE");
	b->mesh_width = (int)strlen("MESH");
	for (uint32_t i = 0; i < b->jobs.n; i++) {
		b->module_width = MAX(b->module_width, (int)strlen(batch_file_shown(&b->jobs.p[i], text)));
		b->mesh_width = MAX(b->mesh_width, (int)strlen(batch_shown(b->jobs.p[i].mesh, 40, text)));
		if (b->jobs.p[i].seeds)
			b->seed_width = MAX(b->seed_width,
				snprintf(text, sizeof text, "seed %lld", (long long)b->jobs.p[i].seed));
	}
}

static const char *source_of(const batch *b, const batch_job *j)
{
	if (j->same_as != (uint32_t)(j - b->jobs.p))
		return "duplicate";
	return j->result.stored ? "store" : "search";
}

void batch_add_cost(strbuf *line, const batch_result *r)
{
	strbuf time = {0}, peak = {0};
	strbuf_duration(&time, r->runtime_ns);
	strbuf_bytes(&peak, r->peak_bytes);
	strbuf_printf(line, "%10s %10s %-9s", time.p, peak.p, r->fits ? "fits" : "too large");
	strbuf_release(&time);
	strbuf_release(&peak);
}

static void add_baseline(strbuf *line, const batch_result *r)
{
	if (!r->has_baseline) {
		strbuf_printf(line, " %-24s %10s %7s", "-", "", "");
		return;
	}
	strbuf time = {0};
	strbuf_duration(&time, r->baseline_ns);
	strbuf_printf(line, " %-24.24s %10s", r->baseline, time.p);
	if (r->runtime_ns > 0)
		strbuf_printf(line, " %6.2fx", (double)r->baseline_ns / (double)r->runtime_ns);
	strbuf_release(&time);
}

void batch_print_line(const batch *b, const batch_job *j, uint32_t ended, bool dry_run, FILE *out)
{
	char file[256], mesh[256], seed[32] = "";
	const batch_result *r = &j->result;
	strbuf line = {0};
	strbuf_printf(&line, "[%u/%u] %-*s  %-*s  %-10s", ended, b->jobs.n, b->module_width,
		batch_file_shown(j, file), b->mesh_width, batch_shown(j->mesh, 40, mesh),
		batch_device_shown(j));
	if (b->seed_width && j->seeds)
		snprintf(seed, sizeof seed, "seed %lld", (long long)j->seed);
	if (b->seed_width)
		strbuf_printf(&line, "  %-*s", b->seed_width, seed);
	if (r->state == BATCH_FAILED) {
		strbuf_printf(&line, " failed: %s", r->error);
	} else if (r->state != BATCH_SUCCEEDED) {
		strbuf_puts(&line, dry_run ? " to be searched" : " not started");
	} else {
		batch_add_cost(&line, r);
		if (!strcmp(source_of(b, j), "search"))
			strbuf_printf(&line, " in %.2f s%s", (double)r->search_ns / 1e9,
				r->partial ? ", ended early" : "");
		else
			strbuf_printf(&line, " %s",
				j->same_as == (uint32_t)(j - b->jobs.p) ? "known" : "as another line");
	}
	fprintf(out, "%s\n", line.p);
	strbuf_release(&line);
}

/* ---------------------------------------------------------------- summary */

/* What its workers took; 0: it was known. */
static int64_t searched_ns(const batch *b, const uint32_t *seeds, uint32_t n)
{
	int64_t sum = 0;
	for (uint32_t i = 0; i < n; i++) {
		const batch_job *j = &b->jobs.p[seeds[i]];
		sum += j->result.state == BATCH_SUCCEEDED && !strcmp(source_of(b, j), "search")
			? MAX(j->result.search_ns, 1)
			: 0;
	}
	return sum;
}

/* The best of a job's seeds. */
static void print_row(const batch *b, const uint32_t *seeds, uint32_t n, FILE *out)
{
	const batch_job *j = &b->jobs.p[seeds[0]];
	int64_t took = searched_ns(b, seeds, n);
	char file[256], mesh[256];
	strbuf line = {0};
	strbuf_printf(&line, "%5u  %-*s  %-*s  %-10s", j->line, b->module_width,
		batch_file_shown(j, file), b->mesh_width, batch_shown(j->mesh, 40, mesh),
		batch_device_shown(j));
	if (j->result.state == BATCH_SUCCEEDED) {
		batch_add_cost(&line, &j->result);
		add_baseline(&line, &j->result);
		if (took)
			strbuf_printf(&line, " %8.2f", (double)took / 1e9);
		else
			strbuf_printf(
				&line, " %8s", j->same_as == (uint32_t)(j - b->jobs.p) ? "known" : "same");
	} else {
		strbuf_puts(&line,
			j->result.state == BATCH_FAILED          ? " failed"
				: j->result.state == BATCH_ELSEWHERE ? " by another task"
													 : " waiting");
	}
	fprintf(out, "%s\n", line.p);
	strbuf_release(&line);
}

static uint32_t to_search(const batch *b)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < b->jobs.n; i++)
		n += b->jobs.p[i].same_as == i && b->jobs.p[i].result.state == BATCH_WAITING;
	return n;
}

static void print_counts(const batch *b, const batch_outcome *r, bool dry_run, FILE *out)
{
	if (dry_run)
		fprintf(out, "%u jobs: %u to be searched, %u known, %u the same as others", b->jobs.n,
			to_search(b), r->stored, b->duplicates);
	else
		fprintf(out, "%u jobs: %u searched, %u known", b->jobs.n,
			r->succeeded - r->stored - r->same, r->stored);
	if (r->same && !dry_run)
		fprintf(out, ", %u the same as others", r->same);
	if (r->elsewhere)
		fprintf(out, ", %u by other tasks", r->elsewhere);
	if (r->fits_not)
		fprintf(out, ", %u too large", r->fits_not);
	if (r->failed)
		fprintf(out, ", %u failed", r->failed);
	if (b->faults.n)
		fprintf(out, ", %u lines refused", b->faults.n);
	if (r->waiting && !dry_run)
		fprintf(out, ", %u not done: the same command goes on with them", r->waiting);
	fprintf(out, "; %.2f s\n", (double)r->elapsed_ns / 1e9);
}

static void print_table(const batch *b, FILE *out)
{
	uint32_t *order = xcalloc(b->jobs.n, sizeof *order);
	fprintf(out, "\n%5s  %-*s  %-*s  %-10s%10s %10s %-9s %-24s %10s %7s %8s\n", "LINE",
		b->module_width, "MODULE", b->mesh_width, "MESH", "DEVICE", "STEP", "PEAK", "",
		"BEST BASELINE", "ITS STEP", "FASTER", "SECONDS");
	for (uint32_t i = 0, n; i < b->jobs.n; i += n) {
		n = batch_rank_seeds(b, i, order);
		print_row(b, order, n, out);
	}
	free(order);
	batch_print_seeds(b, out);
	batch_print_shapes(b, out);
	fputc('\n', out);
}

void batch_print_summary(const batch *b, const batch_outcome *r, bool dry_run, FILE *out)
{
	if (!dry_run && b->jobs.n)
		print_table(b, out);
	print_counts(b, r, dry_run, out);
}

/* ---------------------------------------------------------------- JSON */

static void seconds_json(strbuf *out, const char *key, int64_t ns)
{
	json_key(out, key);
	strbuf_printf(out, "%.3f", (double)ns / 1e9);
}

static void job_json(const batch *b, const batch_job *j, strbuf *out)
{
	static const char *const states[] = {"waiting", "waiting", "succeeded", "failed", "elsewhere"};
	const batch_result *r = &j->result;
	strbuf_putc(out, '{');
	json_int(out, "line", j->line);
	json_text(out, "module", j->module);
	json_text(out, "name", r->name[0] ? r->name : NULL);
	json_text(out, "mesh", j->mesh);
	json_int(out, "devices", j->devices);
	json_text(out, "device", batch_device_shown(j));
	json_int(out, "memory_bytes", j->memory_bytes);
	json_int(out, "priority", j->priority);
	if (j->seeds)
		json_int(out, "seed", j->seed);
	json_text(out, "state", states[r->state]);
	if (r->state == BATCH_SUCCEEDED) {
		json_text(out, "from", source_of(b, j));
		json_text(out, "search", r->search);
		json_text(out, "strategy", r->strategy);
		json_int(out, "runtime_ns", r->runtime_ns);
		json_int(out, "peak_bytes", r->peak_bytes);
		json_bool(out, "fits", r->fits);
		json_bool(out, "partial", r->partial);
		json_int(out, "evaluations", r->evaluations);
		seconds_json(out, "seconds", r->search_ns);
		json_key(out, "baseline");
		if (r->has_baseline) {
			strbuf_putc(out, '{');
			json_text(out, "name", r->baseline);
			json_int(out, "runtime_ns", r->baseline_ns);
			json_int(out, "peak_bytes", r->baseline_peak_bytes);
			json_bool(out, "fits", r->baseline_fits);
			strbuf_putc(out, '}');
		} else {
			strbuf_puts(out, "null");
		}
	} else if (r->state == BATCH_FAILED) {
		json_text(out, "error", r->error);
	}
	strbuf_putc(out, '}');
}

void batch_print_json(const batch *b, const batch_outcome *r, FILE *out)
{
	strbuf t = {0};
	strbuf_putc(&t, '{');
	json_text(&t, "format", "shardwright.batch/1");
	json_key(&t, "jobs");
	strbuf_putc(&t, '[');
	for (uint32_t i = 0; i < b->jobs.n; i++) {
		if (i)
			strbuf_putc(&t, ',');
		job_json(b, &b->jobs.p[i], &t);
	}
	strbuf_putc(&t, ']');
	json_key(&t, "refused");
	strbuf_putc(&t, '[');
	for (uint32_t i = 0; i < b->faults.n; i++) {
		strbuf_puts(&t, i ? ",{" : "{");
		json_int(&t, "line", b->faults.p[i].line);
		json_int(&t, "column", b->faults.p[i].col);
		json_text(&t, "error", b->faults.p[i].msg);
		strbuf_putc(&t, '}');
	}
	strbuf_putc(&t, ']');
	batch_shapes_json(b, &t);
	batch_seeds_json(b, &t);
	json_key(&t, "summary");
	strbuf_putc(&t, '{');
	json_int(&t, "jobs", b->jobs.n);
	json_int(&t, "searched", r->succeeded - r->stored - r->same);
	json_int(&t, "known", r->stored);
	json_int(&t, "duplicates", b->duplicates);
	json_int(&t, "elsewhere", r->elsewhere);
	json_int(&t, "too_large", r->fits_not);
	json_int(&t, "failed", r->failed);
	json_int(&t, "waiting", r->waiting);
	json_int(&t, "refused", b->faults.n);
	json_bool(&t, "interrupted", r->stopped);
	seconds_json(&t, "seconds", r->elapsed_ns);
	strbuf_puts(&t, "}}\n");
	fwrite(t.p, 1, t.n, out);
	strbuf_release(&t);
}
