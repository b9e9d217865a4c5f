/* Private to notation_placement.c (reading) and placement_print.c. */
#ifndef SW_LAYOUT_PLACEMENT_H
#define SW_LAYOUT_PLACEMENT_H

#include "layout/pieces.h"

struct words {
	const char *name;                                 /* of the notation */
	const char *split[3], *broadcast[3], *partial[6]; /* accepted; the first is printed */
	const char *broadcast_text,
		*partial_format; /* of sums; others are printed with the reduction in brackets */
	const char *other_partial;
	const char *devices[3], *devices_text; /* the device array */
	const char *keywords[4];               /* that may stand before the array and the words */
	bool strided;
};

extern const struct words sbp_words, dtensor_words;

#endif
