/*
 * bench.c - what an empty iteration costs, all figures from one run:
 *
 *   clock    two bare clock_gettime calls, the least any measurement can cost
 *   krun     krun_begin, krun_end
 *   loop     krun_should_stop, krun_begin, krun_end: a runner's iteration
 *   slots    krun_begin, krun_end with a buffer that has slots for events, unused
 *   event    krun_event without a name
 *   named    krun_event with a name of 40 characters that is in the table
 *   unasked  the same without slots: krund did not ask for events
 *   usage    two calls of getrusage for the process: the kernel's counts of an iteration
 *   thread   two for the thread: those of the thread that runs the iterations
 *   double   the pattern of Krun's libkruntime: measure(0), measure(1) into
 *            static doubles, then a call to read each, the difference stored
 *
 * Rounds of these alternate, so that a change of the machine's speed hits
 * them alike; printed are the medians over the rounds and the ratios to clock.
 * `krun` may cost at most 1.10 of `clock`.
 */
#define _GNU_SOURCE

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../krun.h"
#include "../layout.h"

#ifdef __linux__
#define CLOCK CLOCK_MONOTONIC_RAW
#else
#define CLOCK CLOCK_MONOTONIC
#endif

enum { ROUNDS = 501, PER_ROUND = 1000 };

static krun *handle, *eventful;

static void bare(void)
{
	struct timespec t;
	int i;

	for (i = 0; i < PER_ROUND; i++) {
		(void)clock_gettime(CLOCK, &t);
		(void)clock_gettime(CLOCK, &t);
	}
}

static void iterate(krun *k)
{
	int i;

	for (i = 0; i < PER_ROUND; i++) {
		(void)krun_begin(k);
		(void)krun_end(k);
	}
}

static void pair(void)
{
	iterate(handle);
}

static void slots(void)
{
	iterate(eventful);
}

static void report(krun *k, int want, const char *name)
{
	int i;

	for (i = 0; i < PER_ROUND; i++)
		if (krun_event(k, KRUN_EVENT_GC, i, 0, i, name) != want)
			abort();
}

static const char name[] = "org.example.Benchmark.aMethod(IILjava/l)";

static void event(void)
{
	report(eventful, KRUN_OK, NULL);
}

static void named(void)
{
	report(eventful, KRUN_OK, name);
}

static void unasked(void)
{
	report(handle, KRUN_EFULL, name);
}

static void read_usage(int who)
{
	struct rusage u;
	int i;

	for (i = 0; i < PER_ROUND; i++) {
		(void)getrusage(who, &u);
		(void)getrusage(who, &u);
	}
}

static void usage(void)
{
	read_usage(RUSAGE_SELF);
}

static void thread(void)
{
	read_usage(RUSAGE_THREAD);
}

/* attach_eventful attaches to a buffer with slots for all events, as krund makes it. */
static int attach_eventful(void)
{
	struct krun_places at = krun_place(ROUNDS * PER_ROUND, 0, 2 * ROUNDS * PER_ROUND);
	char file[] = "/tmp/krun-bench-XXXXXX", number[16];
	struct krun_header *h;
	int fd = mkstemp(file);

	if (fd < 0 || unlink(file) || ftruncate(fd, (off_t)at.bytes))
		return -1;
	h = mmap(NULL, at.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (h == MAP_FAILED)
		return -1;
	memcpy(h->plan.magic, KRUN_MAGIC, sizeof h->plan.magic);
	h->plan.version = KRUN_LAYOUT_VERSION;
	h->plan.header_bytes = KRUN_HEADER_BYTES;
	h->plan.bytes = at.bytes;
	h->plan.iterations = ROUNDS * PER_ROUND;
	h->plan.entry_bytes = KRUN_ENTRY_BYTES;
	h->plan.start_offset = at.start;
	h->plan.wall_offset = at.wall;
	h->plan.clock = CLOCK == CLOCK_MONOTONIC ? KRUN_CLOCK_MONOTONIC : KRUN_CLOCK_MONOTONIC_RAW;
	h->plan.events = 2 * ROUNDS * PER_ROUND;
	(void)munmap(h, at.bytes);
	(void)snprintf(number, sizeof number, "%d", fd);
	return setenv("KRUN_BUFFER_FD", number, 1) || krun_init(&eventful);
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
		{ "clock", bare }, { "krun", pair }, { "loop", loop }, { "slots", slots },
		{ "event", event }, { "named", named }, { "unasked", unasked }, { "double", doubles },
		{ "usage", usage }, { "thread", thread },
	};
	enum { KINDS = sizeof kinds / sizeof kinds[0] };
	static double ns[KINDS][ROUNDS], ratio[KINDS][ROUNDS];
	int r, i;

	setenv("KRUN_ITERATIONS", "1002000", 1); /* ROUNDS * PER_ROUND * 2 */
	if (krun_init(&handle) || attach_eventful())
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
		printf("%-7s %7.1f ns/iteration %6.3f of clock\n", kinds[i].name, median(ns[i]), median(ratio[i]));
	for (i = 0; i < ROUNDS; i++)
		ns[0][i] = (double)krun_wall_ns(handle, krun_count(handle) - 1 - i);
	printf("%-7s %7.1f ns is what an empty iteration measures\n", "empty", median(ns[0]));
	return krun_count(handle) == krun_iterations(handle) ? 0 : 1;
}
