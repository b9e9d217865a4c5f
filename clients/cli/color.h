/* For the verbs that use the library and for those that speak to a daemon. */
#ifndef SW_CLI_COLOR_H
#define SW_CLI_COLOR_H

#include <stdbool.h>

/* Whether to colour what goes to that stream: a terminal, and no NO_COLOR (https://no-color.org). In common.c. */
bool cli_color(int fd);

#endif
