/* How every unit test ends. */
#ifndef SW_TESTS_RUN_SUITE_H
#define SW_TESTS_RUN_SUITE_H

#include <check.h>

/* Runs one case as a suite of this name; what main returns. */
static inline int run_suite(TCase *tc, const char *name)
{
	Suite *s = suite_create(name);
	suite_add_tcase(s, tc);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}

#endif
