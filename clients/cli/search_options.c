#include "clients/cli/search_options.h"

#include "search/options.h"

enum { TEXT_COLUMN = 30, WIDTH = 118 };

/* Words of text from the column on; further lines begin in TEXT_COLUMN. */
static void print_words(const char *text, size_t column)
{
	for (const char *word = text; *word;) {
		size_t n = strcspn(word, " ");
		bool first = word == text;
		if (!first && column + 1 + n > WIDTH) {
			printf("\n%*s", TEXT_COLUMN, "");
			column = TEXT_COLUMN;
			first = true;
		}
		column += (size_t)printf("%s%.*s", first ? "" : " ", (int)n, word);
		word += n + strspn(word + n, " ");
	}
	putchar('\n');
}

void cli_print_search_options(void)
{
	for (size_t i = 0; i < SEARCH_OPTION_COUNT; i++) {
		const search_option *o = &search_option_table[i];
		char left[64];
		int n = snprintf(
			left, sizeof left, "  --%s%s%s ", o->flag, *o->argument ? " " : "", o->argument);
		printf("%-*s", TEXT_COLUMN, left);
		print_words(o->help, (size_t)MAX(n, TEXT_COLUMN));
	}
}

void cli_print_search_constants(void)
{
	static const struct {
		const char *name;
		int value, least, most;
		const char *what, *chosen;
	} rows[] = {
#define CONSTANT(name, value, least, most, what, chosen) {#name, value, least, most, what, chosen},
#include "search/constants.def"
#undef CONSTANT
	};
	printf(
		"%-21s %10s %10s %10s  %s\n", "constant", "value", "least", "most", "what (where chosen)");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		printf("%-21s %10d %10d %10d  %s (%s)\n", rows[i].name, rows[i].value, rows[i].least,
			rows[i].most, rows[i].what, rows[i].chosen);
}

void cli_print_search_flags(void)
{
	size_t column = 0;
	for (size_t i = 0; i < SEARCH_OPTION_COUNT; i++) {
		const search_option *o = &search_option_table[i];
		char flag[64];
		size_t n = (size_t)snprintf(
			flag, sizeof flag, "--%s%s%s", o->flag, *o->argument ? " " : "", o->argument);
		bool breaks = column + 3 + n > WIDTH;
		column = (breaks ? 0 : column) + 2 + n;
		printf("%s  %s", breaks ? "\n" : "", flag);
	}
	putchar('\n');
}
