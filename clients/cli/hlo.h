/* Compiled HLO text in the verbs that take it beside StableHLO. Private to the command line tool.
 */
#ifndef SW_CLI_HLO_H
#define SW_CLI_HLO_H

#include "clients/cli/cli.h"
#include "hlo/hlo.h"

/* Reads a file (gzip and zstd too). When it holds HLO text *out is the module; otherwise *out is
 * NULL and text holds the decoded file, which the caller releases in both cases. */
status cli_read_hlo(const char *path, strbuf *text, hlo_module **out, diag *d) MUST_USE;
struct cJSON;
/* The event list of `simulate --ops`, and the collectives of `lower --json` with their groups. */
struct cJSON *cli_hlo_ops(const hlo_module *m, const hlo_simulation *s);
/* {"kernels": {"compiler": {"count": 12, "ns": 3400}, ..}, ..} */
struct cJSON *cli_hlo_sources(const hlo_simulation *s);
struct cJSON *cli_hlo_collectives(const hlo_module *m, const hlo_simulation *s);
struct cJSON *cli_hlo_counts(const cost *c);
void cli_hlo_print_peak(const hlo_module *m, const hlo_simulation *s);
void cli_hlo_print_collectives(const hlo_module *m, const hlo_simulation *s);

#endif
