/* The options of search/options.def as --help shows them, on standard output. */
#ifndef SW_CLI_SEARCH_OPTIONS_H
#define SW_CLI_SEARCH_OPTIONS_H

/* A line or more for each, as search has them. */
void cli_print_search_options(void);
/* search/constants.def, a row each. */
void cli_print_search_constants(void);
/* Flags alone, several in a line: for a verb that passes them on. */
void cli_print_search_flags(void);

#endif
