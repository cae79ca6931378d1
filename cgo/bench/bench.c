/*
 * bench.c - what an empty iteration costs, all figures from one run:
 *
 *   clock    two bare clock_gettime calls, the least any measurement can cost
 *   krun     krun_begin, krun_end
 *   loop     krun_should_stop, krun_begin, krun_end: a runner's iteration
 *   double   the pattern of Krun's libkruntime: measure(0), measure(1) into
 *            static doubles, then a call to read each, the difference stored
 *
 * Rounds of the four alternate, so that a change of the machine's speed hits
 * them alike; printed are the medians over the rounds and the ratios to clock.
 * `krun` may cost at most 1.10 of `clock`.
 */
#define _GNU_SOURCE

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../krun.h"

#ifdef __linux__
#define CLOCK CLOCK_MONOTONIC_RAW
#else
#define CLOCK CLOCK_MONOTONIC
#endif

enum { ROUNDS = 501, PER_ROUND = 1000 };

static krun *handle;

static void bare(void)
{
	struct timespec t;
	int i;

	for (i = 0; i < PER_ROUND; i++) {
		(void)clock_gettime(CLOCK, &t);
		(void)clock_gettime(CLOCK, &t);
	}
}

static void pair(void)
{
	int i;

	for (i = 0; i < PER_ROUND; i++) {
		(void)krun_begin(handle);
		(void)krun_end(handle);
	}
}

static void loop(void)
{
	int i;

	for (i = 0; i < PER_ROUND && !krun_should_stop(handle); i++) {
		(void)krun_begin(handle);
		if (krun_end(handle))
			abort();
	}
}

static double stamps[2];
static double times[PER_ROUND];

static __attribute__((noinline)) void double_measure(int which)
{
	struct timespec t;

	(void)clock_gettime(CLOCK, &t);
	stamps[which] = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static __attribute__((noinline)) double double_get(int which)
{
	return stamps[which];
}

/* Called through pointers the compiler cannot see through, as into a shared library. */
static void (*volatile measure)(int) = double_measure;
static double (*volatile get)(int) = double_get;

static void doubles(void)
{
	int i;

	for (i = 0; i < PER_ROUND; i++) {
		measure(0);
		measure(1);
		times[i] = get(1) - get(0);
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof *values, by_value);
	return values[ROUNDS / 2];
}

int main(void)
{
	static const struct { const char *name; void (*run)(void); } kinds[] = {
		{ "clock", bare }, { "krun", pair }, { "loop", loop }, { "double", doubles },
	};
	enum { KINDS = sizeof kinds / sizeof kinds[0] };
	static double ns[KINDS][ROUNDS], ratio[KINDS][ROUNDS];
	int r, i;

	setenv("KRUN_ITERATIONS", "1002000", 1); /* ROUNDS * PER_ROUND * 2 */
	if (krun_init(&handle))
		return 1;
	for (r = 0; r < ROUNDS; r++) {
		for (i = 0; i < KINDS; i++) {
			int64_t start = krun_now_ns();

			kinds[i].run();
			ns[i][r] = (double)(krun_now_ns() - start) / PER_ROUND;
		}
		for (i = 0; i < KINDS; i++)
			ratio[i][r] = ns[i][r] / ns[0][r];
	}
	for (i = 0; i < KINDS; i++)
		printf("%-6s %7.1f ns/iteration %6.3f of clock\n", kinds[i].name, median(ns[i]), median(ratio[i]));
	for (i = 0; i < ROUNDS; i++)
		ns[0][i] = (double)krun_wall_ns(handle, krun_count(handle) - 1 - i);
	printf("%-6s %7.1f ns is what an empty iteration measures\n", "empty", median(ns[0]));
	return krun_count(handle) == krun_iterations(handle) ? 0 : 1;
}
