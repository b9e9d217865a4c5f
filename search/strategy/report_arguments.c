/* The table of arguments: those that are alike are one row.
 *
 * Alike by name     their names differ in numbers of their paths, and type, role and sharding are the same.
 * Alike by place    what names leave alone: arguments without names, or with names that are words. Where such rows would fill a screen, those
 *                   that stand at the same place of repeated layers (a group of the search) are one row if type, role and sharding agree. */
#include "search/strategy/rows.h"

#include <stdlib.h>

enum {
	NAME_WIDTH = 44,
	MOST_NAME = 64,
	LEAST_NAME = 20,
	TYPE_WIDTH = 28,
	LEAST_TYPE = 16,
	MOST_TYPE = 48,
	ROLE_WIDTH = 10,
	BEFORE = 9,
	GAPS = 3
};
enum {
	SHORT_TABLE = 32 /* rows that are read one by one */,
	REPEATED = 4 /* of a group, so that it is a row */
};

/* Rows of one argument each, of one group and alike. */
typedef struct places {
	index_map by_facts;
	uint32_t *class_of, *first, *size, *start, n; /* class_of: by row, ID_NONE; first: row */
} places;

static uint32_t place_of(const row_table *t, places *p, uint32_t r)
{
	const argument *a = &t->args.p[t->rows.p[r].first];
	uint64_t h = rows_hash(a, (uint64_t)a->group);
	uint32_t it, c;
	for (it = index_first(&p->by_facts, h); index_next(&p->by_facts, h, &it, &c);) {
		const argument *b = &t->args.p[t->rows.p[p->first[c]].first];
		if (b->group == a->group && rows_alike(a, b))
			return c;
	}
	p->first[p->n] = r;
	index_add(&p->by_facts, h, p->n);
	return p->n++;
}

static void find_places(const row_table *t, places *p)
{
	for (uint32_t r = 0; r < t->rows.n; r++) {
		bool alone = t->rows.p[r].count == 1 && t->args.p[t->rows.p[r].first].group >= 0;
		p->class_of[r] = alone ? place_of(t, p, r) : ID_NONE;
		if (alone)
			p->size[p->class_of[r]]++;
	}
	for (uint32_t c = 0; c < p->n; c++)
		p->start[c + 1] = p->start[c] + p->size[c];
}

/* Of each place with enough rows, they become the first one. */
static void fold_places(row_table *t)
{
	uint32_t n = t->rows.n + 1, *room = xcalloc((size_t)n * 4, sizeof *room);
	places p = {.class_of = room, .first = room + n, .size = room + 2 * n, .start = room + 3 * n};
	str *names = xmalloc(n * sizeof *names);
	uint32_t *filled = xcalloc(n, sizeof *filled);
	strbuf text = {0};
	index_init(&p.by_facts);
	find_places(t, &p);
	for (uint32_t r = 0, c; r < t->rows.n; r++)
		if ((c = p.class_of[r]) != ID_NONE)
			names[p.start[c] + filled[c]++] = t->rows.p[r].name;
	n = t->rows.n;
	t->rows.n = 0;
	for (uint32_t r = 0; r < n; r++) {
		uint32_t c = p.class_of[r];
		row x = t->rows.p[r];
		bool folds = c != ID_NONE && p.size[c] >= REPEATED;
		if (folds && p.first[c] != r)
			continue;
		if (folds) {
			report_name_of_all(names + p.start[c], p.size[c], &text);
			x.name = rows_keep(t, &text);
			x.count = p.size[c];
		}
		vec_push(&t->rows, x);
	}
	index_release(&p.by_facts);
	strbuf_release(&text);
	free(room);
	free(names);
	free(filled);
}

/* ---------------------------------------------------------------- columns */

typedef struct widths {
	size_t name, role, type, sharding;
} widths;

static const char by_propagation[] = " by propagation", marked[] = " *", title[] = "sharding",
				  marked_title[] = "sharding (* propagated)";

static size_t all_of(const widths *w)
{
	return BEFORE + w->name + w->role + w->type + w->sharding + GAPS;
}

/* What the columns hold. */
static widths natural(const row_table *t, const char *mark, const char *sharding_text)
{
	widths w = {4, 4, 4, strlen(sharding_text)};
	for (uint32_t k = 0; k < t->rows.n; k++) {
		const argument *a = &t->args.p[t->rows.p[k].first];
		w.name = MAX(w.name, report_width(t->rows.p[k].name));
		w.role = MAX(w.role, report_width(a->role));
		w.type = MAX(w.type, report_width(a->type));
		w.sharding =
			MAX(w.sharding, report_width(a->sharding) + (a->propagated ? strlen(mark) : 0));
	}
	return w;
}

static size_t within(size_t x, size_t least, size_t most)
{
	return x < least ? least : x > most ? most : x;
}

/* On a narrow terminal rows are as wide as it is: first names give way, then types. narrow: whether
 * it is. */
static widths settle(const row_table *t, uint32_t columns, bool *narrow)
{
	widths w = natural(t, by_propagation, title),
		   wide = {within(w.name, NAME_WIDTH, MOST_NAME), ROLE_WIDTH,
			   within(w.type, TYPE_WIDTH, MOST_TYPE), w.sharding};
	*narrow = columns && all_of(&wide) > columns;
	if (!*narrow)
		return wide;
	w = natural(t, marked, marked_title);
	size_t over = all_of(&w) > columns ? all_of(&w) - columns : 0,
		   gives = w.name > LEAST_NAME ? MIN(over, w.name - LEAST_NAME) : 0;
	w.name -= gives;
	over -= gives;
	w.type -= w.type > LEAST_TYPE ? MIN(over, w.type - LEAST_TYPE) : 0;
	return w;
}

static void put_columns(strbuf *out, str name, str what, str type, const widths *w)
{
	if (w->name) {
		report_cell(name, w->name, out);
		strbuf_putc(out, ' ');
	}
	report_cell(what, w->role, out);
	strbuf_putc(out, ' ');
	report_cell(type, w->type, out);
	strbuf_putc(out, ' ');
}

/* Are names that differ still different in a column of that width? */
static bool tell_apart(const row_table *t, size_t width)
{
	index_map seen;
	strbuf text = {0};
	bool apart = true;
	index_init(&seen);
	for (uint32_t k = 0; k < t->rows.n && apart; k++) {
		str name = t->rows.p[k].name;
		strbuf_clear(&text);
		report_shortened(name, width, &text);
		uint64_t h = hash_bytes(text.p, text.n, 0);
		uint32_t other;
		for (uint32_t it = index_first(&seen, h); index_next(&seen, h, &it, &other) && apart;) {
			str b = t->rows.p[other].name;
			apart = b.n == name.n && !memcmp(b.p, name.p, b.n);
		}
		index_add(&seen, h, k);
	}
	strbuf_release(&text);
	index_release(&seen);
	return apart;
}

/* Names that would look alike have a line of their own: as wide as the terminal. */
static void put_name_line(strbuf *out, str name, uint32_t columns)
{
	report_shortened(name, MAX(columns, BEFORE + LEAST_NAME) - BEFORE, out);
	strbuf_printf(out, "\n%*s", BEFORE, "");
}

void report_arguments(const cJSON *document, uint32_t columns, strbuf *out)
{
	row_table t = {0};
	bool narrow;
	rows_fold(&t, document);
	if (t.rows.n > SHORT_TABLE)
		fold_places(&t);
	widths w = settle(&t, columns, &narrow);
	bool alone = narrow && !tell_apart(&t, w.name);
	if (alone) {
		w = natural(&t, marked, marked_title);
		w.name = 0;
		w.type -= w.type > LEAST_TYPE && all_of(&w) > columns
			? MIN(all_of(&w) - columns, w.type - LEAST_TYPE)
			: 0;
	}
	strbuf_printf(out, "\nARGUMENTS\n  %5s  ", "count");
	if (alone)
		put_name_line(out, str_of("name"), columns);
	put_columns(out, str_of("name"), str_of("role"), str_of("type"), &w);
	strbuf_printf(out, "%s\n", narrow ? marked_title : title);
	for (uint32_t k = 0; k < t.rows.n; k++) {
		const argument *a = &t.args.p[t.rows.p[k].first];
		strbuf_printf(out, "  %5u  ", t.rows.p[k].count);
		if (alone)
			put_name_line(out, t.rows.p[k].name, columns);
		put_columns(out, t.rows.p[k].name, a->role, a->type, &w);
		strbuf_str(out, a->sharding);
		strbuf_printf(out, "%s\n", !a->propagated ? "" : narrow ? marked : by_propagation);
	}
	rows_release(&t);
}
