/* search/options.def as a table. */
#include "search/options.h"

const search_option search_option_table[SEARCH_OPTION_COUNT] = {
#define OPTION(id, flag, field, kind, asked, argument, least, most, help) \
	[SEARCH_OPTION_##id] = { \
		flag, field, argument, help, OPTION_KIND_##kind, OPTION_ASKED_##asked, least, most},
#include "search/options.def"
};

const search_option *search_option_flag(const char *flag)
{
	for (size_t i = 0; i < SEARCH_OPTION_COUNT; i++)
		if (!strcmp(search_option_table[i].flag, flag))
			return &search_option_table[i];
	return NULL;
}

const search_option *search_option_field(const char *field)
{
	for (size_t i = 0; i < SEARCH_OPTION_COUNT; i++)
		if (search_option_table[i].asked != OPTION_ASKED_NOWHERE &&
			!strcmp(search_option_table[i].field, field))
			return &search_option_table[i];
	return NULL;
}
