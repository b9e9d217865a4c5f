/* The best of several jobs: of the seeds of one job, and of the shapes of one line. Costs are
 * compared as the simulator replayed the answers: what fits goes first, then by the objective. */
#include "batch/batch.h"
#include "server/server.h"

#include <stdlib.h>

static bool wants_memory(const batch_job *j)
{
	return strstr(j->request, "\"objective\":\"memory\"") != NULL;
}
static int64_t cost_of(const batch_job *j)
{
	return wants_memory(j) ? j->result.peak_bytes : j->result.runtime_ns;
}
static uint32_t seeds_of(const batch *b, uint32_t first)
{
	return (uint32_t)MAX(b->jobs.p[first].seeds, 1);
}

static uint32_t line_end(const batch *b, uint32_t first)
{
	uint32_t i = first;
	while (i < b->jobs.n && b->jobs.p[i].line == b->jobs.p[first].line)
		i++;
	return i;
}

/* ---------------------------------------------------------------- order */

typedef struct candidate {
	uint32_t job;
	bool answered, fits;
	int64_t cost;
} candidate;

static int better_first(const void *a, const void *b)
{
	const candidate *x = a, *y = b;
	if (x->answered != y->answered)
		return x->answered ? -1 : 1;
	if (x->fits != y->fits)
		return x->fits ? -1 : 1;
	if (x->cost != y->cost)
		return x->cost < y->cost ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

static void sort(const batch *b, uint32_t *order, uint32_t n)
{
	candidate *all = xcalloc(MAX(n, 1), sizeof *all);
	for (uint32_t i = 0; i < n; i++) {
		const batch_job *j = &b->jobs.p[order[i]];
		bool answered = j->result.state == BATCH_SUCCEEDED;
		all[i] =
			(candidate){order[i], answered, answered && j->result.fits, answered ? cost_of(j) : 0};
	}
	qsort(all, n, sizeof *all, better_first);
	for (uint32_t i = 0; i < n; i++)
		order[i] = all[i].job;
	free(all);
}

uint32_t batch_rank_seeds(const batch *b, uint32_t first, uint32_t *order)
{
	uint32_t n = seeds_of(b, first);
	for (uint32_t i = 0; i < n; i++)
		order[i] = first + i;
	sort(b, order, n);
	return n;
}

uint32_t batch_rank_shapes(const batch *b, uint32_t first, uint32_t *order)
{
	uint32_t n = 0, end = line_end(b, first);
	for (uint32_t i = first; i < end;
		 i += seeds_of(
			 b, i)) { /* behind the n shapes of before there is room for the seeds of this one */
		batch_rank_seeds(b, i, order + n);
		n++;
	}
	sort(b, order, n);
	return n;
}

uint32_t batch_count_unfit(const batch *b)
{
	uint32_t n = 0;
	uint32_t *order = xcalloc(MAX(b->jobs.n, 1), sizeof *order);
	for (uint32_t i = 0; i < b->jobs.n; i += seeds_of(b, i)) {
		batch_rank_seeds(b, i, order);
		const batch_result *best = &b->jobs.p[order[0]].result;
		n += best->state == BATCH_SUCCEEDED && !best->fits;
	}
	free(order);
	return n;
}

/* ---------------------------------------------------------------- spread of seeds */

typedef struct spread {              /* of the answers that fit, or of all when none does */
	uint32_t answered, fit, reached; /* reached: seeds whose answer costs as little as the best */
	int64_t best, median, worst;     /* ns, or bytes when memory is the objective */
} spread;

static spread spread_of(const batch *b, const uint32_t *order, uint32_t n)
{
	spread s = {0};
	for (uint32_t i = 0; i < n; i++) {
		const batch_result *r = &b->jobs.p[order[i]].result;
		s.answered += r->state == BATCH_SUCCEEDED;
		s.fit += r->state == BATCH_SUCCEEDED && r->fits;
	}
	uint32_t m = s.fit ? s.fit : s.answered;
	if (!m)
		return s;
	s.best = cost_of(&b->jobs.p[order[0]]);
	s.worst = cost_of(&b->jobs.p[order[m - 1]]);
	int64_t low = cost_of(&b->jobs.p[order[(m - 1) / 2]]), high = cost_of(&b->jobs.p[order[m / 2]]);
	s.median = low + (high - low) / 2;
	while (s.reached < m && cost_of(&b->jobs.p[order[s.reached]]) == s.best)
		s.reached++;
	return s;
}

static void add_figure(strbuf *line, bool by_memory, int64_t v)
{
	strbuf text = {0};
	if (by_memory)
		strbuf_bytes(&text, v);
	else
		strbuf_duration(&text, v);
	strbuf_printf(line, " %10s", text.p);
	strbuf_release(&text);
}

static void print_spread(const batch *b, const uint32_t *order, uint32_t n, FILE *out)
{
	const batch_job *best = &b->jobs.p[order[0]];
	char file[256], mesh[256];
	spread s = spread_of(b, order, n);
	strbuf line = {0};
	strbuf_printf(&line, "%5u  %-*s  %-*s  %-10s %5u %8u %4u", best->line, b->module_width,
		batch_file_shown(best, file), b->mesh_width, batch_shown(best->mesh, 40, mesh),
		batch_device_shown(best), n, s.answered, s.fit);
	if (s.answered) {
		bool by_memory = wants_memory(best);
		add_figure(&line, by_memory, s.best);
		strbuf_printf(&line, " %9lld %7u", (long long)best->seed, s.reached);
		add_figure(&line, by_memory, s.median);
		add_figure(&line, by_memory, s.worst);
		if (s.best > 0)
			strbuf_printf(&line, " %+6.1f%%", 100 * ((double)s.worst / (double)s.best - 1));
	}
	fprintf(out, "%s\n", line.p);
	strbuf_release(&line);
}

void batch_print_seeds(const batch *b, FILE *out)
{
	uint32_t *order = xcalloc(MAX(b->jobs.n, 1), sizeof *order);
	bool head = false;
	for (uint32_t i = 0, n; i < b->jobs.n; i += n) {
		n = batch_rank_seeds(b, i, order);
		if (n == 1)
			continue;
		if (!head)
			fprintf(out, "\n%5s  %-*s  %-*s  %-10s %5s %8s %4s %10s %9s %7s %10s %10s %7s\n",
				"LINE", b->module_width, "MODULE", b->mesh_width, "MESH", "DEVICE", "SEEDS",
				"ANSWERED", "FIT", "BEST", "BEST SEED", "REACHED", "MEDIAN", "WORST", "SPREAD");
		head = true;
		print_spread(b, order, n, out);
	}
	free(order);
}

static void add_positions(strbuf *out, const uint32_t *order, uint32_t n)
{
	json_key(out, "jobs");
	for (uint32_t k = 0; k < n; k++)
		strbuf_printf(out, "%c%u", k ? ',' : '[', order[k]);
	strbuf_putc(out, ']');
}

static void add_head(strbuf *out, const batch_job *j, bool more)
{
	strbuf_puts(out, more ? ",{" : "{");
	json_int(out, "line", j->line);
	json_text(out, "module", j->module);
	json_text(out, "device", batch_device_shown(j));
}

void batch_seeds_json(const batch *b, strbuf *out)
{
	uint32_t *order = xcalloc(MAX(b->jobs.n, 1), sizeof *order);
	bool more = false;
	json_key(out, "seeds");
	strbuf_putc(out, '[');
	for (uint32_t i = 0, n; i < b->jobs.n; i += n) {
		n = batch_rank_seeds(b, i, order);
		if (!b->jobs.p[i].seeds)
			continue;
		spread s = spread_of(b, order, n);
		add_head(out, &b->jobs.p[i], more);
		more = true;
		json_text(out, "mesh", b->jobs.p[i].mesh);
		json_text(out, "objective", wants_memory(&b->jobs.p[i]) ? "memory" : "runtime");
		json_int(out, "seeds", n);
		json_int(out, "answered", s.answered);
		json_int(out, "fit", s.fit);
		if (s.answered) {
			json_int(out, "best", s.best);
			json_int(out, "best_seed", b->jobs.p[order[0]].seed);
			json_int(out, "reached", s.reached);
			json_int(out, "median", s.median);
			json_int(out, "worst", s.worst);
		}
		add_positions(out, order, n);
		strbuf_putc(out, '}');
	}
	strbuf_putc(out, ']');
	free(order);
}

/* ---------------------------------------------------------------- ranking of shapes */

static void print_shape(const batch_job *j, const batch_job *best, uint32_t place, FILE *out)
{
	strbuf line = {0};
	strbuf_printf(&line, "  %3u  %-24s ", place, j->mesh);
	if (j->result.state == BATCH_SUCCEEDED) {
		batch_add_cost(&line, &j->result);
		if (best->result.runtime_ns > 0)
			strbuf_printf(
				&line, " %6.2fx", (double)j->result.runtime_ns / (double)best->result.runtime_ns);
	} else {
		strbuf_puts(&line, j->result.state == BATCH_FAILED ? "failed" : "not searched");
	}
	fprintf(out, "%s\n", line.p);
	strbuf_release(&line);
}

void batch_print_shapes(const batch *b, FILE *out)
{
	uint32_t *order = xcalloc(MAX(b->jobs.n, 1), sizeof *order);
	for (uint32_t i = 0; b->sweep && i < b->jobs.n; i = line_end(b, i)) {
		char file[256];
		uint32_t n = batch_rank_shapes(b, i, order);
		fprintf(out, "\nSHAPES of %lld %s for %s (line %u)\n", (long long)b->sweep,
			batch_device_shown(&b->jobs.p[i]), batch_file_shown(&b->jobs.p[i], file),
			b->jobs.p[i].line);
		for (uint32_t k = 0; k < n; k++)
			print_shape(&b->jobs.p[order[k]], &b->jobs.p[order[0]], k + 1, out);
	}
	free(order);
}

void batch_shapes_json(const batch *b, strbuf *out)
{
	uint32_t *order = xcalloc(MAX(b->jobs.n, 1), sizeof *order);
	json_key(out, "rankings");
	strbuf_putc(out, '[');
	for (uint32_t i = 0; b->sweep && i < b->jobs.n; i = line_end(b, i)) {
		uint32_t n = batch_rank_shapes(b, i, order);
		add_head(out, &b->jobs.p[i], i > 0);
		json_int(out, "devices", b->sweep);
		add_positions(out, order, n);
		strbuf_putc(out, '}');
	}
	strbuf_putc(out, ']');
	free(order);
}
