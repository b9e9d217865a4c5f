#include "server/observe.h"

/* Upper bounds of the buckets, us; the last has none. */
static const int64_t bounds_us[TIME_BUCKETS - 1] = {100, 250, 500, 1000, 2500, 5000, 10000, 25000,
	100000, 250000, 1000000, 5000000, 30000000, 120000000, 600000000};

void histogram_add(histogram *h, int64_t ns)
{
	int i = 0;
	while (i < TIME_BUCKETS - 1 && ns > bounds_us[i] * 1000)
		i++;
	atomic_fetch_add_explicit(&h->buckets[i], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->sum_ns, ns, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->count, 1, memory_order_relaxed);
}

void histogram_head(const char *name, const char *help, strbuf *out)
{
	strbuf_printf(
		out, "# HELP shardwright_%s %s\n# TYPE shardwright_%s histogram\n", name, help, name);
}

/* Read while others add: the count is that of the buckets, so that the last of them is never below
 * one before. */
void histogram_print(const histogram *h, const char *name, const char *label, strbuf *out)
{
	int64_t below = 0;
	const char *comma = label[0] ? "," : "";
	for (int i = 0; i < TIME_BUCKETS; i++) {
		below += atomic_load_explicit(&h->buckets[i], memory_order_relaxed);
		strbuf_printf(out, "shardwright_%s_bucket{%s%sle=\"", name, label, comma);
		if (i == TIME_BUCKETS - 1)
			strbuf_puts(out, "+Inf");
		else
			strbuf_printf(out, "%lld.%06lld", (long long)bounds_us[i] / 1000000,
				(long long)bounds_us[i] % 1000000);
		strbuf_printf(out, "\"} %lld\n", (long long)below);
	}
	int64_t sum = atomic_load_explicit(&h->sum_ns, memory_order_relaxed);
	const char *open = label[0] ? "{" : "", *close = label[0] ? "}" : "";
	strbuf_printf(out, "shardwright_%s_sum%s%s%s %lld.%09lld\n", name, open, label, close,
		(long long)(sum / 1000000000), (long long)(sum % 1000000000));
	strbuf_printf(
		out, "shardwright_%s_count%s%s%s %lld\n", name, open, label, close, (long long)below);
}

void metrics_print(const metrics *m, strbuf *out)
{
#define X(name, kind, help) \
	strbuf_puts(out, \
		"# HELP shardwright_" #name " " help "\n# TYPE shardwright_" #name " " kind \
		"\nshardwright_" #name " "); \
	strbuf_i64(out, atomic_load_explicit(&m->name, memory_order_relaxed)); \
	strbuf_putc(out, '\n');
	METRIC_TABLE(X)
#undef X
}
