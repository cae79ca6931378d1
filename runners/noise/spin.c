/* spin MILLISECONDS THRESHOLD_NS CPU...: one thread on each CPU reads the clock in a loop. A gap
 * between two readings is time in which the thread did not run: an interrupt, another thread, the
 * firmware or a hypervisor had the processor. krund starts it (internal/machine/noise) and reads
 *
 *   pid PID NICE 0 0                       of this process, and what it runs at
 *   gap CPU START_NS LENGTH_NS PREEMPTED   a gap of at least THRESHOLD_NS, of the KEPT longest;
 *                                          START_NS from the begin
 *   class CPU LEAST_NS GAPS LOST_NS        gaps without another thread, LEAST_NS to twice that
 *   most CPU LONGEST_NS PREEMPTED NS       the longest gap, and the sums of gaps with another
 *   cpu CPU TIME_NS GAPS LOST_NS           the sums of all gaps; the last line of each CPU
 *
 * It runs at nice -20, as benchmarks do, where it may: what it loses is what they would lose.
 * It is in C, since the threads of Go's runtime would be noise themselves. Nothing is allocated or
 * printed while it spins; the system is called only after a gap, to learn whether another thread
 * ran (a context switch that the thread did not ask for).
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KEPT = 5000, CLASSES = 24, MOST_CPUS = 8192 };

struct gap {
	int64_t start, length;
	int preempted;
};

struct spinner {
	pthread_t thread;
	int cpu, failed;
	int64_t time, gaps, lost, longest, preempted, preempted_ns;
	int64_t class_gaps[CLASSES], class_ns[CLASSES]; /* from the threshold, doubling */
	struct gap *kept;				/* room for twice as many */
	int n;
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

static int longer(const void *a, const void *b)
{
	int64_t x = ((const struct gap *)a)->length, y = ((const struct gap *)b)->length;

	return (x < y) - (x > y);
}

static void trim(struct spinner *s)
{
	qsort(s->kept, (size_t)s->n, sizeof *s->kept, longer);
	if (s->n > KEPT)
		s->n = KEPT;
}

static void note(struct spinner *s, int64_t start, int64_t length, long *switches)
{
	long n = preemptions();
	int preempted = n != *switches, class = 0;

	if (s->n == 2 * KEPT)
		trim(s);
	s->kept[s->n++] = (struct gap){ start, length, preempted };
	*switches = n;
	s->gaps++;
	s->lost += length;
	if (length > s->longest)
		s->longest = length;
	if (preempted) {
		s->preempted++;
		s->preempted_ns += length;
		return;
	}
	for (int64_t most = 2 * threshold; length >= most && class < CLASSES - 1; most *= 2)
		class++;
	s->class_gaps[class]++;
	s->class_ns[class] += length;
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

/* as_benchmark goes on in a process with the priority of benchmarks, in a session of its own: with
 * autogroups a nice value counts within a session only (kernel/sched/autogroup.c). It returns -1
 * there, and in the first process, at its end, the exit status.
 */
static int as_benchmark(void)
{
	int status;
	pid_t child = fork();

	if (child > 0)
		return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setsid();
	}
	setpriority(PRIO_PROCESS, 0, -20); /* what came of it is printed */
	FILE *f = fopen("/proc/self/autogroup", "w");
	if (f) {
		fputs("-20", f);
		fclose(f);
	}
	return -1;
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: spin MILLISECONDS THRESHOLD_NS CPU...\n");
		return 2;
	}
	int status = as_benchmark();
	if (status >= 0)
		return status;
	duration = number(argv[1], 1, 3600000) * 1000000;
	threshold = number(argv[2], 100, 1000000000);
	int n = argc - 3;
	struct spinner *list = calloc((size_t)n, sizeof *list);
	atomic_store(&all, n);
	for (int i = 0; list && i < n; i++) {
		struct spinner *s = &list[i];
		s->cpu = (int)number(argv[3 + i], 0, MOST_CPUS - 1);
		s->kept = malloc(2 * KEPT * sizeof *s->kept);
		if (!s->kept || (memset(s->kept, 1, 2 * KEPT * sizeof *s->kept),
				 pthread_create(&s->thread, NULL, spin, s) != 0)) {
			fprintf(stderr, "spin: no memory or no thread\n");
			return 1;
		}
	}
	printf("pid %d %d 0 0\n", (int)getpid(), getpriority(PRIO_PROCESS, 0));
	for (int i = 0; list && i < n; i++) {
		struct spinner *s = &list[i];
		pthread_join(s->thread, NULL);
		if (s->failed) {
			fprintf(stderr, "spin: CPU %d: %s\n", s->cpu, strerror(s->failed));
			return 1;
		}
		trim(s);
		for (int g = 0; g < s->n; g++)
			printf("gap %d %" PRId64 " %" PRId64 " %d\n", s->cpu, s->kept[g].start,
			       s->kept[g].length, s->kept[g].preempted);
		for (int c = 0; c < CLASSES; c++)
			if (s->class_gaps[c])
				printf("class %d %" PRId64 " %" PRId64 " %" PRId64 "\n", s->cpu, threshold << c,
				       s->class_gaps[c], s->class_ns[c]);
		printf("most %d %" PRId64 " %" PRId64 " %" PRId64 "\n", s->cpu, s->longest, s->preempted,
		       s->preempted_ns);
		printf("cpu %d %" PRId64 " %" PRId64 " %" PRId64 "\n", s->cpu, s->time, s->gaps, s->lost);
	}
	return list ? fflush(stdout) : 1;
}
