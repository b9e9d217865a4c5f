/* For the verbs that use the library and for those that speak to a daemon. */
#ifndef SW_CLI_COLOR_H
#define SW_CLI_COLOR_H

#include <stdbool.h>
#include <stdint.h>

/* Whether to colour what goes to that stream: a terminal, and no NO_COLOR (https://no-color.org).
 * In common.c. */
bool cli_color(int fd);
/* How wide the terminal is that the stream goes to; 0: it goes to none. In common.c. */
uint32_t cli_columns(int fd);

#endif
