/* What was meant by a word that nothing has. */
#include "base/base.h"
#include "tests/unit/run_suite.h"

static const char *among(const char *wanted, const char *const *words, size_t n)
{
	static char hint[160];
	nearest near = {.wanted = str_of(wanted)};
	for (size_t i = 0; i < n; i++)
		nearest_consider(&near, str_of(words[i]));
	return nearest_hint(&near, hint);
}

START_TEST(typos)
{
	static const char *const words[] = {
		"tpu-v4", "tpu-v5e", "a100-80g", "h100", "search", "strategies"};
	static const struct {
		const char *wanted, *hint;
	} cases[] = {
		{"serch", "; did you mean 'search'?"},
		{"saerch", "; did you mean 'search'?"}, /* neighbours exchanged */
		{"SEARCH", "; did you mean 'search'?"},
		{"tpu-v5", "; did you mean 'tpu-v5e'?"}, /* begins so: nearer than tpu-v4, which has one
	                                                other letter */
		{"a100", "; did you mean 'a100-80g'?"},
		{"stratagies", "; did you mean 'strategies'?"},
		{"h1", "; did you mean 'h100'?"},
		{"frobnicate", ""},
		{"x", ""},
		{"", ""},
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		ck_assert_str_eq(among(cases[i].wanted, words, COUNT_OF(words)), cases[i].hint);
}
END_TEST

START_TEST(long_words)
{
	char word[300];
	memset(word, 'a', sizeof word - 1);
	word[sizeof word - 1] = 0;
	const char *const words[] = {word, "b"};
	ck_assert_str_eq(among(word, words, 2), ""); /* too long to compare: no hint, no harm */
	word[128] = 0;
	ck_assert_ptr_nonnull(strstr(among(word, words, 2), "did you mean 'aaa"));
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("nearest");
	tcase_add_test(t, typos);
	tcase_add_test(t, long_words);
	return run_suite(t, "nearest");
}
