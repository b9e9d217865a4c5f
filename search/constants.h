/* The constants of constants.def by name. */
#ifndef SW_SEARCH_CONSTANTS_H
#define SW_SEARCH_CONSTANTS_H

enum {
#define CONSTANT(name, value, least, most, what, chosen) name = (value),
#include "search/constants.def"
#undef CONSTANT
};
#define CONSTANT(name, value, least, most, what, chosen) \
	_Static_assert((value) >= (least) && (value) <= (most), #name);
#include "search/constants.def"
#undef CONSTANT

#endif
