/* options.def as a table: for whoever asks for a search, without the search. */
#ifndef SW_SEARCH_OPTIONS_H
#define SW_SEARCH_OPTIONS_H

#include "base/base.h"

enum { SEARCH_DEFAULT_SEED = 1 };
/* What differences of steps have to be, in millionths, to be known
 * (search_options.uncertainty_ppm): half of what the model's ratio of our plan to a hand-written
 * one was off by in the median, 4.0% of 37 applied exactly, 6.9% of 34 as annotations (cost model
 * 21; tests/judged/answers.py prints it). */
enum { UNCERTAINTY_OF_WAY = -1, UNCERTAINTY_EXACT_PPM = 20000, UNCERTAINTY_ANNOTATED_PPM = 35000 };
/* Priors of tactics from the store, by default (docs/search-experiments.md). */
enum { SEARCH_DEFAULT_STORE_PRIORS = 0 };
typedef enum search_option_id {
#define OPTION(id, flag, field, kind, asked, argument, least, most, help) SEARCH_OPTION_##id,
#include "search/options.def"
	SEARCH_OPTION_COUNT
} search_option_id;
typedef struct search_option {
	const char *flag, *field,
		*argument /* what --help calls the value; words with | between them */, *help;
	enum {
		OPTION_KIND_TEXT,
		OPTION_KIND_SIZE,
		OPTION_KIND_WORD,
		OPTION_KIND_NUMBER,
		OPTION_KIND_SECONDS,
		OPTION_KIND_FILE,
		OPTION_KIND_LIST,
		OPTION_KIND_SWITCH
	} kind;
	enum { OPTION_ASKED_NOWHERE, OPTION_ASKED_REQUEST, OPTION_ASKED_BOTH } asked;
	int64_t least, most; /* of a NUMBER */
} search_option;
extern const search_option search_option_table[SEARCH_OPTION_COUNT];
/* NULL when there is none. */
const search_option *search_option_flag(const char *flag);
const search_option *search_option_field(const char *field);

#endif
