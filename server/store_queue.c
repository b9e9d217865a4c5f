/* Who is served next. Between owners: the one whose searches have taken the least of the workers
 * for its share, what runs now included, so that thirty searches of one do not stand before one of
 * another. What was used is halved every hour. Within an owner: the highest priority, then the
 * earliest rank_us, which is the arrival plus PATIENCE times the expected time: a short search
 * overtakes long ones, and a long one waits for a bounded time. */
#include "server/searches.h"
#include "server/store_private.h"

#include <stdlib.h>

enum { PATIENCE = 10, US_PER_EVALUATION = 1000, USUAL_EVALUATIONS = 5000, MOST_WEIGHT = 1000 };
#define HALF_LIFE_US 3600000000ll
#define LEAST_RUN_US \
	1000000ll /* what a search that has just been started counts for: free workers go to different \
	             owners */

int64_t search_rank_us(const search_spec *s, int64_t now_us)
{
	int64_t expected = !strcmp(s->budget, "seconds") ? s->budget_amount * 1000
													 : US_PER_EVALUATION *
			(!strcmp(s->budget, "evaluations") ? s->budget_amount : USUAL_EVALUATIONS);
	return now_us + PATIENCE * expected;
}

/* ---------------------------------------------------------------- shares */

status shares_parse(shares *out, const char *text, diag *d)
{
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, ",");
		const char *equals = memrchr(p, '=', n);
		share s = {.weight = 0};
		if (!equals || equals == p || (size_t)(equals - p) >= sizeof s.owner ||
			!str_to_i64((str){equals + 1, n - (size_t)(equals - p) - 1}, &s.weight) ||
			s.weight < 1 || s.weight > MOST_WEIGHT)
			return diag_set(d, ST_ERR_INVALID,
				"--shares is '%.100s', expected OWNER=WEIGHT,.. with weights from 1 to %d", text,
				MOST_WEIGHT);
		memcpy(s.owner, p, (size_t)(equals - p));
		vec_push(out, s);
		p += n;
		p += *p == ',';
	}
	return ST_OK;
}

static int64_t share_of(const shares *list, const char *owner)
{
	for (uint32_t i = 0; list && i < list->n; i++)
		if (!strcmp(list->p[i].owner, owner))
			return list->p[i].weight;
	return 1;
}

/* ---------------------------------------------------------------- use */

static int64_t decayed(int64_t used_us, int64_t elapsed_us)
{
	if (elapsed_us <= 0)
		return used_us; /* the clock was set back */
	int64_t halves = elapsed_us / HALF_LIFE_US, rest = elapsed_us % HALF_LIFE_US;
	used_us = halves < 63 ? used_us >> halves : 0;
	return used_us - (int64_t)((__int128)used_us * rest / (2 * HALF_LIFE_US));
}

bool owner_charge(db *c, const char *id)
{
	char owner[64] = "";
	int64_t used = 0, now = wall_us();
	sqlite3_stmt *s = db_statement(c, SQL_OWNER_USED);
	if (!s)
		return false;
	bind_text(s, 1, id);
	sqlite3_bind_int64(s, 2, now);
	found f = db_step(c, s);
	if (f == FOUND) {
		snprintf(owner, sizeof owner, "%s", column_text(s, 0));
		used = decayed(sqlite3_column_int64(s, 2), now - sqlite3_column_int64(s, 3)) +
			sqlite3_column_int64(s, 1);
	}
	sqlite3_reset(s);
	if (f != FOUND || !(s = db_statement(c, SQL_OWNER_CHARGE)))
		return f == FOUND_NONE;
	bind_text(s, 1, owner);
	sqlite3_bind_int64(s, 2, used);
	sqlite3_bind_int64(s, 3, now);
	return statement_finish(s);
}

/* ---------------------------------------------------------------- the next search */

typedef struct candidate {
	char owner[64];
	int64_t used_us, weight, first;
} candidate;

/* used / weight, without division; the first to come among equals. */
static bool goes_before(const candidate *a, const candidate *b)
{
	__int128 x = (__int128)a->used_us * b->weight, y = (__int128)b->used_us * a->weight;
	return x != y ? x < y : a->first < b->first;
}

static found next_owner(db *c, const fair_rules *rules, int64_t now, char owner[64])
{
	candidate best = {.weight = 0};
	found more;
	sqlite3_stmt *s = db_statement(c, SQL_OWNERS_WAITING);
	if (!s)
		return FOUND_FAILED;
	sqlite3_bind_int64(s, 1, now);
	sqlite3_bind_int64(s, 2, LEAST_RUN_US);
	while ((more = db_step(c, s)) == FOUND) {
		candidate o = {.first = sqlite3_column_int64(s, 4)};
		snprintf(o.owner, sizeof o.owner, "%s", column_text(s, 0));
		o.used_us = sqlite3_column_int64(s, 3) +
			decayed(sqlite3_column_int64(s, 5), now - sqlite3_column_int64(s, 6));
		o.weight = share_of(rules ? rules->shares : NULL, o.owner);
		bool may = sqlite3_column_int64(s, 1) > 0 &&
			(!rules || !rules->most_running || sqlite3_column_int64(s, 2) < rules->most_running);
		if (may && (!best.weight || goes_before(&o, &best)))
			best = o;
	}
	sqlite3_reset(s);
	memcpy(owner, best.owner, sizeof best.owner);
	return more == FOUND_FAILED ? FOUND_FAILED : best.weight ? FOUND : FOUND_NONE;
}

status search_claim_run(db *c, write_op *op)
{
	search_claim *a = (search_claim *)op;
	char owner[64];
	int64_t now = wall_us();
	found f = next_owner(c, a->rules, now, owner);
	a->found = false;
	if (f != FOUND)
		return f == FOUND_NONE ? ST_OK : ST_ERR_IO;
	sqlite3_stmt *s = db_statement(c, SQL_SEARCH_CLAIM);
	if (!s)
		return ST_ERR_IO;
	sqlite3_bind_int64(s, 1, now + a->lease_us);
	sqlite3_bind_int64(s, 2, now);
	bind_text(s, 3, owner);
	int rc = statement_step(s);
	a->found = rc == SQLITE_ROW;
	if (a->found) {
		snprintf(a->id, sizeof a->id, "%s", column_text(s, 0));
		a->attempt = sqlite3_column_int64(s, 1);
		strbuf_clear(&a->request);
		strbuf_puts(&a->request, column_text(s, 2));
		snprintf(a->module, sizeof a->module, "%s", column_text(s, 3));
		a->waited_us = sqlite3_column_int64(s, 4);
		rc = statement_step(s); /* RETURNING has changed the row only once it is done */
	}
	sqlite3_reset(s);
	if (rc != SQLITE_DONE)
		return ST_ERR_IO;
	return !a->found || event_state(c, a->id, "running", NULL) ? ST_OK : ST_ERR_IO;
}
