/* What a search begins with (--start, --store). */
#ifndef SW_CLI_STARTS_H
#define SW_CLI_STARTS_H

#include "search/search.h"

typedef struct cli_starts { /* zeroed; cli_starts_release */
	VEC(search_start) list; /* names and texts live as long as this */
	VEC(char *) names;
	VEC(strbuf) texts;
	strbuf statistics; /* of tactics, for priors; p NULL: none */
} cli_starts;
/* A strategy document in a file. */
status cli_start_file(cli_starts *s, const char *path, diag *d) MUST_USE;
/* What a store has for programs of the module's structure; text_path: its file, by which the store
 * may know it. */
status cli_start_store(cli_starts *s, const char *dir, const module *m, const char *text_path,
	const char *mesh, const char *device, diag *d) MUST_USE;
/* What won there, for priors of the tree. */
status cli_start_statistics(cli_starts *s, const char *dir, const module *m, mesh_id mesh,
	const char *mesh_text, const char *device, diag *d) MUST_USE;
void cli_starts_release(cli_starts *s);

#endif
