/* devices: the built-in profiles, as a table, as JSON, or one of them as the file it is. */
#include "clients/cli/cli.h"

#include <cjson/cJSON.h>
#include <getopt.h>

static const char help[] = "shardwright devices [NAME] [--json]\n\n"
						   "Lists the built-in device profiles. With a NAME it prints that "
						   "profile: save it, change it, use it with\n"
						   "--device-file. Every number in it names its source.\n";

static const char *const targets[] = {
	[TARGET_TPU] = "tpu", [TARGET_GPU] = "gpu", [TARGET_CPU] = "cpu"};

static void print_row(uint32_t i, const device *dev)
{
	strbuf memory = {0}, links = {0};
	strbuf_bytes(&memory, dev->memory_bytes);
	for (uint32_t k = 0; k < dev->n_links; k++) {
		const link_class *l = &dev->links[k];
		strbuf_printf(&links, "%s%s ", k ? ", " : "", l->name);
		for (uint32_t d = 0; d < l->n_dims && l->size; d++)
			strbuf_printf(&links, "%s%lld", d ? "x" : "", (long long)l->shape[d]);
		strbuf_printf(&links, "%s%s %lld GB/s", l->size ? " " : "",
			link_kind_name((link_kind)l->kind), (long long)(l->bandwidth_bytes_s / 1000000000));
	}
	printf("%-10s %-7s %9lld %10s %9lld  %s\n", device_name_at(i), device_alias_at(i),
		(long long)(dev->peak_flops[ELEM_BF16] / 1000000000000), memory.p,
		(long long)(dev->memory_bytes_s / 1000000000), links.p);
	strbuf_release(&memory);
	strbuf_release(&links);
}

static cJSON *json_row(uint32_t i, const device *dev)
{
	cJSON *o = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "name", device_name_at(i));
	cJSON *aliases = cJSON_AddArrayToObject(o, "aliases");
	if (device_alias_at(i)[0])
		cJSON_AddItemToArray(aliases, cJSON_CreateString(device_alias_at(i)));
	cJSON_AddStringToObject(o, "title", dev->title);
	cJSON_AddStringToObject(o, "target", targets[dev->target]);
	cJSON_AddNumberToObject(o, "memory_bytes", (double)dev->memory_bytes);
	cJSON_AddNumberToObject(o, "usable_bytes", (double)dev->usable_bytes);
	cJSON_AddNumberToObject(o, "memory_bytes_s", (double)dev->memory_bytes_s);
	cJSON_AddNumberToObject(o, "bf16_flops", (double)dev->peak_flops[ELEM_BF16]);
	cJSON *links = cJSON_AddArrayToObject(o, "links");
	for (uint32_t k = 0; k < dev->n_links; k++) {
		cJSON *l = cJSON_CreateObject();
		cJSON_AddStringToObject(l, "name", dev->links[k].name);
		cJSON_AddStringToObject(l, "kind", link_kind_name((link_kind)dev->links[k].kind));
		cJSON_AddNumberToObject(l, "size", (double)dev->links[k].size);
		cJSON_AddNumberToObject(l, "bandwidth_bytes_s", (double)dev->links[k].bandwidth_bytes_s);
		cJSON_AddItemToArray(links, l);
	}
	cJSON_AddStringToObject(o, "version", dev->version);
	return o;
}

static int print_profile(const char *name)
{
	device dev;
	diag d = {0};
	status st = device_find(name, &dev, &d);
	if (st != ST_OK)
		return cli_fail(&d, st);
	for (uint32_t i = 0; i < device_count(); i++)
		if (!strcmp(device_name_at(i), name) ||
			(device_alias_at(i)[0] && !strcmp(device_alias_at(i), name)))
			fputs(device_json_at(i), stdout);
	return 0;
}

int cmd_devices(int argc, char **argv)
{
	static const struct option options[] = {{"json", 0, 0, 'j'}, {"help", 0, 0, 'h'}, {0}};
	bool json = false;
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		switch (c) {
		case 'j': json = true; break;
		case 'h': fputs(help, stdout); return 0;
		default: return cli_bad_option("devices", options, argv);
		}
	}
	if (optind + 1 < argc)
		return cli_usage("devices", "expected one NAME at most");
	if (optind < argc)
		return print_profile(argv[optind]);
	cJSON *all = json ? cJSON_CreateArray() : NULL;
	if (!json)
		printf("%-10s %-7s %9s %10s %9s  %s\n", "NAME", "ALSO", "BF16 TF/S", "MEMORY", "GB/S",
			"LINKS (one way, per device or torus link)");
	for (uint32_t i = 0; i < device_count(); i++) {
		device dev;
		diag d = {0};
		status st = device_find(device_name_at(i), &dev, &d);
		if (st != ST_OK) {
			cJSON_Delete(all);
			return cli_fail(&d, st);
		}
		if (json)
			cJSON_AddItemToArray(all, json_row(i, &dev));
		else
			print_row(i, &dev);
	}
	if (json) {
		char *text = cJSON_PrintUnformatted(all);
		puts(text);
		cJSON_free(text);
		cJSON_Delete(all);
	}
	return 0;
}
