/* What one does to a store as a whole: check, backup, export, import, prune. */
#include "clients/cli/store_care.h"
#include "clients/cli/cli.h"

static status run_check(const care_options *o, diag *d)
{
	return store_verify(o->store, stdout, d);
}

static status run_backup(const care_options *o, diag *d)
{
	int64_t lost = 0;
	TRY(store_backup(o->store, o->operands[0], &lost, d));
	if (lost)
		printf("%lld texts of modules are lost in the store, and are not in the backup either\n",
			(long long)lost);
	status st = store_verify(o->operands[0], stdout, d);
	return st != ST_OK && d->code == ST_OK && lost
		? ST_OK
		: st; /* a text that the store has lost is told, and is no fault of the copy */
}

static void print_counts(const care_options *o, const char *what, const merge_counts *c)
{
	if (o->json) {
		printf(
			"{\"format\":\"shardwright.%s/"
			"1\",\"answers\":%lld,\"better\":%lld,\"known\":%lld,\"failed\":%lld,\"modules\":%lld,"
			"\"verifications\":%lld,\"measurements\":%lld}\n",
			what, (long long)c->answers, (long long)c->better, (long long)c->known,
			(long long)c->failed, (long long)c->modules, (long long)c->verifications,
			(long long)c->measurements);
		return;
	}
	if (!strcmp(what, "export"))
		printf(
			"%lld answers and %lld modules written", (long long)c->answers, (long long)c->modules);
	else
		printf("%lld answers taken, %lld of them better than what the store had; %lld known "
			   "already; %lld modules",
			(long long)c->answers, (long long)c->better, (long long)c->known,
			(long long)c->modules);
	if (c->verifications || c->measurements)
		printf("; %lld verifications, %lld measurements", (long long)c->verifications,
			(long long)c->measurements);
	putchar('\n');
}

static status run_export(const care_options *o, diag *d)
{
	merge_counts c = {0};
	transfer_filter f = {o->module, o->mesh, o->device, o->label};
	status st = store_export(o->store, o->operands[0], &f, &c, d);
	if (st == ST_OK)
		print_counts(o, "export", &c);
	return st;
}

static status run_import(const care_options *o, diag *d)
{
	merge_counts c = {0};
	TRY(store_import(o->store, o->operands[0], &c, d));
	print_counts(o, "import", &c);
	return ST_OK;
}

static status run_prune(const care_options *o, diag *d)
{
	prune_counts c = {0};
	strbuf before = {0}, after = {0};
	TRY(store_prune(o->store, o->keep_days, o->keep_size, &c, d));
	strbuf_bytes(&before, c.bytes_before);
	strbuf_bytes(&after, c.bytes_after);
	if (o->json)
		printf("{\"format\":\"shardwright.prune/"
			   "1\",\"strategies\":%lld,\"searches\":%lld,\"modules\":%lld,\"bytes_before\":%lld,"
			   "\"bytes_after\":%lld}\n",
			(long long)c.strategies, (long long)c.searches, (long long)c.modules,
			(long long)c.bytes_before, (long long)c.bytes_after);
	else
		printf("%lld strategies, %lld searches and %lld modules deleted; %s, %s before\n",
			(long long)c.strategies, (long long)c.searches, (long long)c.modules, after.p,
			before.p);
	strbuf_release(&before);
	strbuf_release(&after);
	return ST_OK;
}

static const struct {
	const char *name, *operand, *help;
	status (*run)(const care_options *o, diag *d);
} actions[] = {
	{"check", NULL, "reads everything, tells what is lost or damaged; beside a daemon too",
		run_check},
	{"backup", "DIR", "a whole copy in a new folder, checked; beside a daemon too", run_backup},
	{"export", "FILE", "answers and their modules as one file; beside a daemon too", run_export},
	{"import", "FILE",
		"such a file into a store that nobody has open; of two answers the better one counts",
		run_import},
	{"prune", NULL,
		"deletes what was not asked for (--keep-days), or is too much (--keep-size); nobody may "
		"have it open",
		run_prune},
};

void care_help(void)
{
	for (size_t i = 0; i < COUNT_OF(actions); i++) {
		char head[32];
		snprintf(head, sizeof head, "%s%s%s", actions[i].name, actions[i].operand ? " " : "",
			actions[i].operand ? actions[i].operand : "");
		printf("  %-12s %s\n", head, actions[i].help);
	}
}

bool care_is_action(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(actions); i++)
		if (!strcmp(actions[i].name, name))
			return true;
	return false;
}

int care_run(const char *name, const care_options *o)
{
	diag d = {0};
	for (size_t i = 0; i < COUNT_OF(actions); i++) {
		if (strcmp(actions[i].name, name))
			continue;
		if (o->n_operands != (actions[i].operand != NULL))
			return actions[i].operand
				? cli_usage("store", "%s takes one %s", name, actions[i].operand)
				: cli_usage("store", "%s takes no operand", name);
		if (actions[i].run == run_prune && !o->keep_days && !o->keep_size)
			return cli_usage("store", "prune needs --keep-days N or --keep-size SIZE");
		status st = actions[i].run(o, &d);
		return st == ST_OK ? 0 : d.code != ST_OK ? cli_fail(&d, st) : status_exit_code(st);
	}
	return EXIT_INTERNAL;
}
