/* Groups of the user: arguments that match one glob shard alike. Each is one group of the problem,
 * whatever structure says. */
#include "search/problem/problem.h"

#include <stdlib.h>

status names_no_argument(
	const module *m, uint32_t n_args, const char *what, const char *glob, diag *d)
{
	char hint[160], bare[128];
	size_t n = 0;
	for (const char *c = glob; *c && n + 1 < sizeof bare; c++)
		if (*c != '*' && *c != '?')
			bare[n++] = *c;
	nearest near = {.wanted = {bare, n}};
	strbuf name;
	strbuf_init(&name);
	for (uint32_t a = 0; a < n_args; a++) {
		strbuf_clear(&name);
		module_arg_name(m, a, &name);
		nearest_consider(&near, (str){name.p, name.n});
	}
	nearest_hint(&near, hint);
	if (!near.found && n_args) /* say what names look like */
		snprintf(hint, sizeof hint, "; names are like %.120s", name.p);
	strbuf_release(&name);
	return diag_set(d, ST_ERR_INVALID, "%s '%s' names no argument%s", what, glob, hint);
}

/* Which is said of an argument where two of a group differ in it: the member's words, into text. */
typedef void (*trait)(const problem *pb, uint32_t arg, strbuf *text);

static void tell_role(const problem *pb, uint32_t arg, strbuf *text)
{
	strbuf_printf(text, "is %s", role_name(pb->roles[arg]));
}
static void tell_rank(const problem *pb, uint32_t arg, strbuf *text)
{
	strbuf_printf(text, "has rank %u", pval_type(pb->p, pb->p->args.p[arg])->rank);
}
static void tell_pin(const problem *pb, uint32_t arg, strbuf *text)
{
	strbuf_puts(text, pb->pinned[arg] ? "is pinned to " : "is not pinned");
	if (pb->pinned[arg])
		sharding_print(pb->m->shardings,
			value_at(pb->m, pb->p->vals.p[pb->p->args.p[arg]].value)->sharding, text);
}

/* ST_OK where all members say the same. */
static status all_alike(
	const problem *pb, const char *glob, const uint32_t *members, uint32_t n, trait tell, diag *d)
{
	strbuf first = {0}, other = {0};
	status s = ST_OK;
	tell(pb, members[0], &first);
	for (uint32_t i = 1; i < n && s == ST_OK; i++) {
		strbuf_clear(&other);
		tell(pb, members[i], &other);
		if (str_equal((str){first.p, first.n}, (str){other.p, other.n}))
			continue;
		strbuf a = {0}, b = {0};
		module_arg_name(pb->m, members[0], &a);
		module_arg_name(pb->m, members[i], &b);
		s = diag_set(d, ST_ERR_INVALID,
			"group '%.100s': arguments that shard alike: %.100s %s, %.100s %s", glob, a.p, first.p,
			b.p, other.p);
		strbuf_release(&a);
		strbuf_release(&b);
	}
	strbuf_release(&first);
	strbuf_release(&other);
	return s;
}

/* Enters the arguments of glob k into given and lists them. */
static status match(
	const problem *pb, uint32_t k, uint32_t *given, uint32_t *members, uint32_t *n, diag *d)
{
	const char *glob = pb->o->groups[k];
	status s = ST_OK;
	strbuf name = {0};
	*n = 0;
	for (uint32_t a = 0; a < pb->n_args && s == ST_OK; a++) {
		strbuf_clear(&name);
		module_arg_name(pb->m, a, &name);
		if (!glob_match(glob, (str){name.p, name.n}))
			continue;
		if (given[a] != ID_NONE)
			s = diag_set(d, ST_ERR_INVALID,
				"groups '%.100s' and '%.100s' both have argument %.100s", pb->o->groups[given[a]],
				glob, name.p);
		given[a] = k;
		members[(*n)++] = a;
	}
	strbuf_release(&name);
	return s == ST_OK && !*n ? names_no_argument(pb->m, pb->n_args, "group", glob, d) : s;
}

/* Dims that all members divide by as often: their greatest common divisors. */
static int64_t *common_dims(problem *pb, const uint32_t *members, uint32_t n)
{
	int64_t *dims = arena_zarray(&pb->mem, int64_t, MAX_RANK);
	for (uint32_t i = 0; i < n; i++) {
		const ir_type *ty = pval_type(pb->p, pb->p->args.p[members[i]]);
		for (uint32_t d = 0; d < ty->rank; d++)
			dims[d] = i && (dims[d] <= 0 || ty->dims[d] <= 0) ? 0 : gcd_i64(ty->dims[d], dims[d]);
	}
	return dims;
}

status problem_find_given(problem *pb, diag *d)
{
	static const trait traits[] = {tell_rank, tell_role, tell_pin};
	pb->given = arena_array(&pb->mem, uint32_t, pb->n_args + 1);
	pb->given_dims = arena_array(&pb->mem, const int64_t *, pb->o->n_groups + 1);
	pb->given_first = arena_array(&pb->mem, uint32_t, pb->o->n_groups + 1);
	memset(pb->given, 0xff, pb->n_args * sizeof *pb->given);
	uint32_t *members = xmalloc((pb->n_args + 1) * sizeof *members), n;
	status s = ST_OK;
	for (uint32_t k = 0; k < pb->o->n_groups && s == ST_OK; k++) {
		s = match(pb, k, pb->given, members, &n, d);
		for (size_t i = 0; i < COUNT_OF(traits) && s == ST_OK; i++)
			s = all_alike(pb, pb->o->groups[k], members, n, traits[i], d);
		if (s == ST_OK) {
			pb->given_dims[k] = common_dims(pb, members, n);
			pb->given_first[k] = members[0];
		}
	}
	free(members);
	return s;
}

status problem_takes_whole_groups(const problem *pb, const bool *allowed, diag *d)
{
	for (uint32_t k = 0; k < pb->o->n_groups; k++) {
		uint32_t in = ID_NONE, out = ID_NONE;
		for (uint32_t a = 0; a < pb->n_args; a++)
			if (pb->given[a] == k)
				*(allowed[a] ? &in : &out) = a;
		if (in == ID_NONE || out == ID_NONE)
			continue;
		strbuf text = {0};
		strbuf_printf(&text, "of group '%.100s' it takes ", pb->o->groups[k]);
		module_arg_name(pb->m, in, &text);
		strbuf_puts(&text, " and leaves out ");
		module_arg_name(pb->m, out, &text);
		diag_set(d, ST_ERR_INVALID, "%s", text.p);
		strbuf_release(&text);
		return ST_ERR_INVALID;
	}
	return ST_OK;
}

uint32_t problem_keep_whole_groups(const problem *pb, action_target *t, uint32_t n)
{
	if (!pb->o->n_groups)
		return n;
	uint32_t *missing = xcalloc(pb->o->n_groups, sizeof *missing), kept = 0;
	for (uint32_t a = 0; a < pb->n_args; a++)
		if (pb->given[a] != ID_NONE)
			missing[pb->given[a]]++;
	for (uint32_t i = 0; i < n; i++)
		if (pb->given[t[i].arg] != ID_NONE)
			missing[pb->given[t[i].arg]]--;
	for (uint32_t i = 0; i < n; i++)
		if (pb->given[t[i].arg] == ID_NONE || !missing[pb->given[t[i].arg]])
			t[kept++] = t[i];
	free(missing);
	return kept;
}
