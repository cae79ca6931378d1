/* spin MILLISECONDS THRESHOLD_NS CPU...: one thread on each CPU reads the clock in a loop. A gap
 * between two readings is time in which the thread did not run: an interrupt, another thread, the
 * firmware or a hypervisor had the processor. krund starts it (internal/machine/noise) and reads
 *
 *   gap CPU START_NS LENGTH_NS PREEMPTED   a gap of at least THRESHOLD_NS; START_NS from the begin
 *   cpu CPU TIME_NS GAPS LOST_NS           the sums, also of gaps that were not kept
 *
 * It is in C, since the threads of Go's runtime would be noise themselves. Nothing is allocated or
 * printed while it spins; the system is called only after a gap, to learn whether another thread
 * ran (a context switch that the thread did not ask for).
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { KEPT = 5000, MOST_CPUS = 8192 };

struct gap {
	int64_t start, length;
	int preempted;
};

struct spinner {
	pthread_t thread;
	int cpu, failed;
	int64_t time, gaps, lost;
	struct gap *kept;
};

static int64_t duration, threshold;
static atomic_int ready, all;

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t); /* the raw clock needs a system call on some kernels */
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static long preemptions(void)
{
	struct rusage u;

	return getrusage(RUSAGE_THREAD, &u) == 0 ? u.ru_nivcsw : 0;
}

static void note(struct spinner *s, int64_t start, int64_t length, long *switches)
{
	long n = preemptions();

	if (s->gaps < KEPT)
		s->kept[s->gaps] = (struct gap){ start, length, n != *switches };
	*switches = n;
	s->gaps++;
	s->lost += length;
}

static void *spin(void *argument)
{
	struct spinner *s = argument;
	cpu_set_t *set = CPU_ALLOC(MOST_CPUS);
	size_t size = CPU_ALLOC_SIZE(MOST_CPUS);

	CPU_ZERO_S(size, set);
	CPU_SET_S((size_t)s->cpu, size, set);
	s->failed = pthread_setaffinity_np(pthread_self(), size, set);
	CPU_FREE(set);
	atomic_fetch_add(&ready, 1);
	while (atomic_load(&ready) < atomic_load(&all))
		sched_yield();
	if (s->failed)
		return NULL;
	long switches = preemptions();
	int64_t begin = now(), last = begin, t;
	do {
		t = now();
		if (t - last >= threshold) {
			note(s, last - begin, t - last, &switches);
			t = now(); /* the note itself is no gap */
		}
		last = t;
	} while (t - begin < duration);
	s->time = t - begin;
	return NULL;
}

/* number reads a decimal argument from least to most, or ends the program. */
static int64_t number(const char *text, int64_t least, int64_t most)
{
	char *end;
	long long n = strtoll(text, &end, 10);

	if (*text == '\0' || *end != '\0' || n < least || n > most) {
		fprintf(stderr, "spin: %s is not a number from %" PRId64 " to %" PRId64 "\n", text, least, most);
		exit(2);
	}
	return n;
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: spin MILLISECONDS THRESHOLD_NS CPU...\n");
		return 2;
	}
	duration = number(argv[1], 1, 3600000) * 1000000;
	threshold = number(argv[2], 100, 1000000000);
	int n = argc - 3;
	struct spinner *list = calloc((size_t)n, sizeof *list);
	atomic_store(&all, n);
	for (int i = 0; list && i < n; i++) {
		struct spinner *s = &list[i];
		s->cpu = (int)number(argv[3 + i], 0, MOST_CPUS - 1);
		s->kept = malloc(KEPT * sizeof *s->kept);
		if (!s->kept || (memset(s->kept, 1, KEPT * sizeof *s->kept),
				 pthread_create(&s->thread, NULL, spin, s) != 0)) {
			fprintf(stderr, "spin: no memory or no thread\n");
			return 1;
		}
	}
	for (int i = 0; list && i < n; i++) {
		struct spinner *s = &list[i];
		pthread_join(s->thread, NULL);
		if (s->failed) {
			fprintf(stderr, "spin: CPU %d: %s\n", s->cpu, strerror(s->failed));
			return 1;
		}
		for (int64_t g = 0; g < s->gaps && g < KEPT; g++)
			printf("gap %d %" PRId64 " %" PRId64 " %d\n", s->cpu, s->kept[g].start,
			       s->kept[g].length, s->kept[g].preempted);
		printf("cpu %d %" PRId64 " %" PRId64 " %" PRId64 "\n", s->cpu, s->time, s->gaps, s->lost);
	}
	return list ? fflush(stdout) : 1;
}
