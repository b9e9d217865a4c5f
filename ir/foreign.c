/* Files that people have at hand and that are not StableHLO text: what they are, and what to do. */
#define _GNU_SOURCE /* memmem */
#include "ir/ir.h"

#define CONVERT "; `python -m shardwright.convert FILE OUT.mlir` writes it as text"

typedef struct magic {
	const char *bytes;
	size_t n;
	const char *what;
} magic;

static const magic magics[] = {
	{"ML\xefR", 4, "MLIR bytecode" CONVERT},
	{"\xfd"
	 "7zXZ\0",
		6,
		"xz data: unpack it (xz -dc FILE | shardwright search - ..), or compress with zstd or "
		"gzip"},
	{"BZh", 3,
		"bzip2 data: unpack it (bzip2 -dc FILE | shardwright search - ..), or compress with zstd "
		"or gzip"},
	{"\x80\x03", 2, "a Python pickle" CONVERT},
	{"\x80\x04", 2, "a Python pickle" CONVERT},
	{"\x80\x05", 2, "a Python pickle" CONVERT},
	{"PK\x03\x04", 4, "a zip archive: unpack it"},
	{"HloModule", 9,
		"HLO text, what is compiled already: `shardwright simulate` costs it. A plan is made from "
		"jax.jit(step).lower(..).as_text(debug_info=True)"},
};

status module_refuse_foreign(const char *text, size_t n, diag *d)
{
	for (size_t i = 0; i < COUNT_OF(magics); i++)
		if (n >= magics[i].n && !memcmp(text, magics[i].bytes, magics[i].n))
			return diag_set(
				d, ST_ERR_UNSUPPORTED, "expected StableHLO text, found %s", magics[i].what);
	/* jax.export's own format holds the program as bytecode, somewhere behind its tables. */
	if (n && memchr(text, 0, MIN(n, (size_t)64)) && memmem(text, n, "ML\xefR", 4))
		return diag_set(d, ST_ERR_UNSUPPORTED,
			"expected StableHLO text, found a serialized jax.export%s", CONVERT);
	return ST_OK;
}
