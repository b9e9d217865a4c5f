/* The built-in profiles, put into the program by the assembler: the files are found from the folder
 * the compiler runs in, which is the repository's root, as for includes. */
#include "costmodel/costmodel.h"

/* identifier, name (and file name), second name */
/* clang-format off */
#define PROFILE_TABLE(X) \
	X(tpu_v4, "tpu-v4", "") X(tpu_v5e, "tpu-v5e", "") X(tpu_v5p, "tpu-v5p", "") X(tpu_v6e, "tpu-v6e", "") \
	X(a100_80g, "a100-80g", "a100") X(h100, "h100", "") X(h200, "h200", "") X(b200, "b200", "") \
	X(mi300x, "mi300x", "") X(cpu_host, "cpu-host", "cpu")
/* clang-format on */

#define X(id, name, alias) \
	__asm__(".pushsection .rodata\n.balign 16\n.hidden device_profile_" #id \
			"\n.global device_profile_" #id "\ndevice_profile_" #id \
			":\n.incbin \"costmodel/devices/" name ".json\"\n.byte 0\n.popsection\n"); \
	extern const char device_profile_##id[];
PROFILE_TABLE(X)
#undef X

static const struct profile {
	const char *name, *alias, *json;
} profiles[] = {
#define X(id, name, alias) {name, alias, device_profile_##id},
	PROFILE_TABLE(X)
#undef X
};

uint32_t device_count(void) { return COUNT_OF(profiles); }
const char *device_name_at(uint32_t i) { return profiles[i].name; }
const char *device_alias_at(uint32_t i) { return profiles[i].alias; }
const char *device_json_at(uint32_t i) { return profiles[i].json; }

status device_find(const char *name, device *out, diag *d)
{
	for (uint32_t i = 0; i < COUNT_OF(profiles); i++)
		if (!strcmp(name, profiles[i].name) ||
			(profiles[i].alias[0] && !strcmp(name, profiles[i].alias)))
			return device_parse(profiles[i].json, strlen(profiles[i].json), out, d);
	char known[256] = "", hint[160];
	nearest near = {.wanted = str_of(name)};
	for (uint32_t i = 0; i < COUNT_OF(profiles); i++) {
		nearest_consider(&near, str_of(profiles[i].name));
		nearest_consider(&near, str_of(profiles[i].alias));
	}
	for (uint32_t i = 0; i < COUNT_OF(profiles); i++) {
		size_t n = strlen(known);
		snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", profiles[i].name);
	}
	return diag_set(d, ST_ERR_NOT_FOUND, "unknown device '%.64s'%s%s known: %s", name,
		nearest_hint(&near, hint), near.found ? "" : ";", known);
}
