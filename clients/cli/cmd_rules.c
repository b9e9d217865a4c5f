/* rules: the sharding rules of a module's ops, and the table of all ops. */
#include "clients/cli/cli.h"

#include <getopt.h>

static const char help[] = "shardwright rules MODULE [--conservative]\n"
						   "shardwright rules --list\n\n"
						   "Prints the sharding rule of every op, one line each: place, op, rule. "
						   "An op without a rule is said to have none.\n\n"
						   "  --conservative  the rules of Shardy's conservative propagation\n"
						   "  --list          the op table instead: how each op is written, its "
						   "kind of rule, its cost, and how lower --emit-mlir\n"
						   "                  writes it\n";

/* ---------------------------------------------------------------- the op table */

static const struct row {
	const char *text, *form, *rule, *cost;
} rows[] = {
#define OP(id, text, form, in, out, regions, check, rule, cost, emit, flags) \
	{text, #form, #rule, #cost},
#include "ir/ops.def"
#undef OP
};

static const char *rule_word(const char *word)
{
	return !strcmp(word, "none") ? "by-design" : !strcmp(word, "unknown") ? "none" : word;
}

static const char *const emit_words[] = {[EMIT_SHARDS] = "shards",
	[EMIT_MANUAL] = "manual",
	[EMIT_WHOLE] = "whole",
	[EMIT_INLINED] = "inlined",
	[EMIT_REFUSED] = "refused"};

/* Words by column, for people and scripts; the last column has the reason behind `refused: `. Rule:
 * by-design = none is needed, none = propagation stops there. */
static int list_ops(void)
{
	printf("%-40s %-8s %-22s %-16s %s\n", "OP", "TEXT", "RULE", "COST", "DEVICE PROGRAM");
	for (uint32_t k = OP_UNKNOWN + 1; k < OP_COUNT; k++) {
		const char *why = emit_refusal((op_kind)k);
		printf("%-40s %-8s %-22s %-16s %s%s%s\n", rows[k].text,
			strcmp(rows[k].form, "generic") ? "pretty" : "generic", rule_word(rows[k].rule),
			rows[k].cost, emit_words[emit_way_of((op_kind)k)], why ? ": " : "", why ? why : "");
	}
	return 0;
}

/* ---------------------------------------------------------------- rules of a module */

static void print_rules(const module *m, bool conservative, strbuf *out)
{
	rule_table rules;
	line_cursor lines = {0};
	rule_table_init(&rules);
	for (op_id o = op_walk_first(m, ID_NONE); o != ID_NONE; o = op_walk_next(m, ID_NONE, o)) {
		rule_id id;
		uint32_t flags = op_infos[op_at(m, o)->kind].flags;
		if (flags & (OPF_TERMINATOR | OPF_SYMBOL))
			continue;
		rule_status st = rule_of_op(&rules, m, o, conservative, &id);
		op_print_place(m, o, &lines, out);
		strbuf_printf(out, ": " STR_FMT ": ", STR_ARG(strtab_get(&m->strs, op_at(m, o)->name)));
		if (st == RULE_FOUND) {
			strbuf_puts(out, "#sdy.op_sharding_rule");
			rule_print(rule_get(&rules, id), out);
		} else {
			strbuf_puts(out,
				st == RULE_BY_DESIGN ? "no rule, by design" : "no rule: propagation stops here");
		}
		strbuf_putc(out, '\n');
	}
	rule_table_release(&rules);
}

int cmd_rules(int argc, char **argv)
{
	static const struct option options[] = {
		{"conservative", 0, 0, 'c'}, {"list", 0, 0, 'l'}, {"help", 0, 0, 'h'}, {0}};
	bool conservative = false;
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
		if (c == 'c')
			conservative = true;
		else if (c == 'l')
			return list_ops();
		else if (c == 'h')
			return fputs(help, stdout), 0;
		else
			return cli_bad_option("rules", options, argv);
	}
	if (optind + 1 != argc)
		return cli_usage("rules", "expected one MODULE");
	diag d = {0};
	module *m = NULL;
	strbuf out;
	strbuf_init(&out);
	status st = module_read_file(argv[optind], NULL, &m, &d);
	if (st == ST_OK)
		st = module_verify_types(m, &d);
	if (st == ST_OK)
		print_rules(m, conservative, &out);
	if (st == ST_OK)
		st = file_write("-", out.p, out.n, &d);
	strbuf_release(&out);
	module_free(m);
	return st == ST_OK ? 0 : cli_fail(&d, st);
}
