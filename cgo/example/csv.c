/*
 * csv.c - libkrun without krund: measure a function and print a CSV.
 *
 *	cc csv.c $(pkg-config --cflags --libs krun) -o csv
 *	KRUN_ITERATIONS=100 ./csv > iterations.csv
 *
 * Under krund the same program needs no change: the measurements go to krund,
 * and krun_count and the rest still return them.
 */
#include <inttypes.h>
#include <krun.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 10000 };

static long comparisons;

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	comparisons++;
	return (x > y) - (x < y);
}

/* run_iter is what is measured: fill an array with random numbers and sort it. */
static void run_iter(void)
{
	static uint32_t numbers[SIZE];
	uint32_t random = 1;

	for (int i = 0; i < SIZE; i++) {
		random = random * 1664525 + 1013904223;
		numbers[i] = random;
	}
	comparisons = 0;
	qsort(numbers, SIZE, sizeof *numbers, compare);
}

static int fail(const char *what, int error)
{
	fprintf(stderr, "csv: %s: %s\n", what, krun_strerror(error));
	return 1;
}

int main(void)
{
	krun *k;
	int err = krun_init(&k), column;

	if (err)
		return fail("krun_init", err);
	column = krun_column(k, "comparisons", "");
	if (column < 0)
		return fail("krun_column", column);
	while (!krun_should_stop(k)) {
		krun_begin(k);
		run_iter();
		err = krun_end(k);
		if (err)
			return fail("krun_end", err);
		krun_set(k, column, comparisons);
	}
	krun_done(k);

	printf("iteration,start_ns,wall_ns,comparisons\n");
	for (int i = 0; i < krun_count(k); i++)
		printf("%d,%" PRId64 ",%" PRId64 ",%" PRId64 "\n", i,
		       krun_start_ns(k, i), krun_wall_ns(k, i), krun_value(k, column, i));
	krun_free(k);
	return 0;
}
