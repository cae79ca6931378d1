/* main.c - runs all tests but those with threads. */
#include "check.h"

int main(void)
{
	test_attach();
	test_measure();
	test_columns();
	test_process();
	test_counters();
	test_self();
	test_events();
	if (check_failures) {
		fprintf(stderr, "libkrun: %d checks failed\n", check_failures);
		return 1;
	}
	printf("libkrun: ok\n");
	return 0;
}
