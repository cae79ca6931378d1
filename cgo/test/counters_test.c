/*
 * counters_test.c - the order of the readings, what they give, and what happens
 * when they fail. A sparse file stands for /dev/cpu/N/msr, a pipe for a perf
 * group: what the kernel would answer is in it beforehand.
 */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

ssize_t __real_read(int fd, void *p, size_t n);
ssize_t __real_pread(int fd, void *p, size_t n, off_t at);
int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_getrusage(int who, struct rusage *usage);
ssize_t __wrap_read(int fd, void *p, size_t n);
ssize_t __wrap_pread(int fd, void *p, size_t n, off_t at);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);

/* The calls since the log was emptied, as words: a letter and a descriptor's number. */
static char calls[1024];

static void note(const char *what, int fd)
{
	size_t used = strlen(calls);

	if (used + 16 < sizeof calls)
		snprintf(calls + used, sizeof calls - used, fd < 0 ? "%s " : "%s%d ", what, fd);
}

/* The next reads, this many, fail like those of a group that a thread is leaving. */
static int leaving;

ssize_t __wrap_read(int fd, void *p, size_t n)
{
	note("group", fd);
	if (leaving > 0) {
		leaving--;
		errno = ECHILD;
		return -1;
	}
	return __real_read(fd, p, n);
}

ssize_t __wrap_pread(int fd, void *p, size_t n, off_t at)
{
	note(at == APERF ? "aperf" : at == MPERF ? "mperf" : at == CYCLES ? "cycles" : "?", fd);
	return __real_pread(fd, p, n, at);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	note("clock", -1);
	return __real_clock_gettime(clock, t);
}

/* What getrusage returns for the process and for the thread. */
static struct rusage used, own;

int __wrap_getrusage(int who, struct rusage *usage)
{
	note(who == RUSAGE_SELF ? "usage" : "thread", -1);
	CHECK(who == RUSAGE_SELF || who == RUSAGE_THREAD);
	*usage = who == RUSAGE_SELF ? used : own;
	return 0;
}

/* expect compares the log with want, a format of two descriptors used in turn, and empties it. */
static void expect(const char *want)
{
	if (strcmp(calls, want) != 0) {
		check_failures++;
		fprintf(stderr, "calls %s\nwant  %s\n", calls, want);
	}
	calls[0] = 0;
}

static krun *take(void)
{
	krun *k = NULL;

	CHECK_INT(krun_init(&k), KRUN_OK);
	calls[0] = 0;
	return k;
}

static void set_register(int fd, uint32_t address, uint64_t value)
{
	CHECK(pwrite(fd, &value, sizeof value, (off_t)address) == sizeof value);
}

static int64_t column(const struct maker *m, uint32_t c, int i)
{
	return ((int64_t *)((char *)m->header + m->entries[c].offset))[i];
}

/* put_group puts a perf group's answer into a pipe. */
static void put_group(int fd, uint64_t enabled, uint64_t running, uint64_t a, uint64_t b)
{
	uint64_t words[] = { 2, enabled, running, a, b };

	CHECK(write(fd, words, sizeof words) == sizeof words);
}

/* Listing 1 of the study, word by word. */
static void order_of_registers(void)
{
	struct maker m = maker_open(2, 6, 0);
	char want[256];
	int a = maker_file(8192), b = maker_file(8192), i;
	krun *k;

	maker_registers(&m, 0, a);
	maker_registers(&m, 3, b);
	k = take();
	for (i = 0; i < 2; i++) {
		CHECK_INT(krun_begin(k), KRUN_OK);
		snprintf(want, sizeof want, "aperf%d mperf%d cycles%d aperf%d mperf%d cycles%d clock ",
			 a, a, a, b, b, b);
		expect(want);
		CHECK_INT(krun_end(k), KRUN_OK);
		snprintf(want, sizeof want, "clock cycles%d aperf%d mperf%d cycles%d aperf%d mperf%d ",
			 a, a, a, b, b, b);
		expect(want);
	}
	CHECK_INT(krun_begin(k), KRUN_EFULL);
	CHECK_INT(krun_done(k), KRUN_OK);
	expect("clock "); /* the refused begin and done read no counter */
	CHECK_INT(fcntl(a, F_GETFD), FD_CLOEXEC);
	krun_free(k);
	CHECK(fcntl(a, F_GETFD) < 0 && errno == EBADF);
	maker_close(&m);
}

/* count says how many calls are in the log, clocks apart, and empties it. */
static int count_calls(void)
{
	int n = 0;
	const char *c;

	for (c = calls; *c; c++)
		n += *c == ' ';
	for (c = calls; (c = strstr(c, "clock ")) != NULL; c++)
		n--;
	calls[0] = 0;
	return n;
}

/*
 * What a side of an iteration costs in system calls, for four cores. Krun's seek and
 * read for each of the three registers were 24; registers must take half of that at
 * most, perf groups one for each core.
 */
static void number_of_calls(void)
{
	enum { CORES = 4, KRUN = CORES * 3 * 2 };
	struct maker m = maker_open(1, 3 * CORES, 0);
	int fds[CORES][2], i;
	uint64_t words[2][6] = { { 3, 100, 100, 1, 1, 1 }, { 3, 200, 200, 2, 2, 2 } };
	krun *k;

	for (i = 0; i < CORES; i++)
		maker_registers(&m, (uint32_t)(3 * i), maker_file(8192));
	k = take();
	CHECK_INT(krun_begin(k), KRUN_OK);
	CHECK(2 * count_calls() <= KRUN);
	CHECK_INT(krun_end(k), KRUN_OK);
	CHECK(2 * count_calls() <= KRUN);
	krun_free(k);
	maker_close(&m);

	m = maker_open(1, 3 * CORES, 0);
	for (i = 0; i < CORES; i++) {
		CHECK(pipe(fds[i]) == 0 && write(fds[i][1], words, sizeof words) == sizeof words);
		maker_group(&m, (uint32_t)(3 * i), 3, KRUN_SOURCE_PERF, fds[i][0]);
	}
	k = take();
	CHECK_INT(krun_begin(k), KRUN_OK);
	CHECK_INT(count_calls(), CORES);
	CHECK_INT(krun_end(k), KRUN_OK);
	CHECK_INT(count_calls(), CORES);
	CHECK_INT(m.header->progress.error, KRUN_OK);
	krun_free(k);
	for (i = 0; i < CORES; i++)
		close(fds[i][1]);
	maker_close(&m);
}

static void order_of_groups(void)
{
	struct maker m = maker_open(1, 4, 0);
	char want[64];
	int a[2], b[2];
	krun *k;

	CHECK(pipe(a) == 0 && pipe(b) == 0);
	maker_group(&m, 0, 2, KRUN_SOURCE_PERF, a[0]);
	maker_group(&m, 2, 2, KRUN_SOURCE_PERF, b[0]);
	put_group(a[1], 100, 100, 5, 7);
	put_group(b[1], 100, 90, UINT64_MAX, 0);
	put_group(a[1], 200, 200, 15, 7);
	put_group(b[1], 210, 200, 1, INT64_MAX);
	k = take();
	CHECK_INT(krun_begin(k), KRUN_OK);
	snprintf(want, sizeof want, "group%d group%d clock ", a[0], b[0]);
	expect(want);
	CHECK_INT(krun_end(k), KRUN_OK);
	snprintf(want, sizeof want, "clock group%d group%d ", a[0], b[0]);
	expect(want);
	CHECK_INT(column(&m, 0, 0), 10);
	CHECK_INT(column(&m, 1, 0), 0);
	CHECK_INT(column(&m, 2, 0), 2); /* the lag of 10 is from before the iteration */
	CHECK_INT(column(&m, 3, 0), INT64_MAX);
	CHECK_INT(m.header->progress.error, KRUN_OK);
	krun_free(k);
	close(a[1]);
	close(b[1]);
	maker_close(&m);
}

/* maker_usage makes the first columns the usage of the process. */
static void maker_usage(struct maker *m)
{
	m->entries[0].group = KRUN_USAGE_COLUMNS;
	m->entries[0].source = KRUN_SOURCE_USAGE;
}

/* The usage of the process encloses the other counters, and needs no descriptor. */
static void order_of_usage(void)
{
	struct maker m = maker_open(1, KRUN_USAGE_COLUMNS + 2, 0);
	char want[64];
	int a[2], zero = open("/dev/null", O_RDONLY);
	krun *k;

	CHECK(pipe(a) == 0);
	CHECK(zero >= 0 && (zero == 0 || close(zero) == 0)); /* 0 in the entry's fd is no descriptor to close */
	maker_usage(&m);
	maker_group(&m, KRUN_USAGE_COLUMNS, 2, KRUN_SOURCE_PERF, a[0]);
	put_group(a[1], 100, 100, 5, 7);
	put_group(a[1], 200, 200, 15, 7);
	used = (struct rusage){ .ru_minflt = 10, .ru_majflt = 20, .ru_nvcsw = 30, .ru_nivcsw = 40 };
	own = (struct rusage){ .ru_minflt = 1, .ru_nvcsw = 2, .ru_nivcsw = 3 };
	k = take();
	CHECK_INT(krun_begin(k), KRUN_OK);
	snprintf(want, sizeof want, "usage thread group%d clock ", a[0]);
	expect(want);
	used = (struct rusage){ .ru_minflt = 11, .ru_majflt = 22, .ru_nvcsw = 33, .ru_nivcsw = 44 };
	own = (struct rusage){ .ru_minflt = 1, .ru_nvcsw = 3, .ru_nivcsw = 5 };
	CHECK_INT(krun_end(k), KRUN_OK);
	snprintf(want, sizeof want, "clock group%d usage thread ", a[0]);
	expect(want);
	CHECK_INT(column(&m, KRUN_USAGE_MINOR_FAULTS, 0), 1);
	CHECK_INT(column(&m, KRUN_USAGE_MAJOR_FAULTS, 0), 2);
	CHECK_INT(column(&m, KRUN_USAGE_VOLUNTARY, 0), 3);
	CHECK_INT(column(&m, KRUN_USAGE_INVOLUNTARY, 0), 4);
	CHECK_INT(column(&m, KRUN_USAGE_THREAD_VOLUNTARY, 0), 1);
	CHECK_INT(column(&m, KRUN_USAGE_THREAD_INVOLUNTARY, 0), 2);
	CHECK_INT(column(&m, KRUN_USAGE_COLUMNS, 0), 10);
	CHECK_INT(krun_done(k), KRUN_OK);
	CHECK_INT(m.header->progress.error, KRUN_OK);
	krun_free(k);
	CHECK(fcntl(0, F_GETFD) >= 0);
	close(a[1]);
	maker_close(&m);
}

/* A group of usage that has other columns, or is not the first, is no plan of krund. */
static void bad_usage(void)
{
	struct maker m = maker_open(1, KRUN_USAGE_COLUMNS + 1, 0);
	krun *k;

	maker_usage(&m);
	m.entries[0].group++;
	CHECK_INT(krun_init(&k), KRUN_ELAYOUT);
	m.entries[0].group = 1;
	m.entries[0].source = KRUN_SOURCE_PERF;
	m.entries[1].group = KRUN_USAGE_COLUMNS;
	m.entries[1].source = KRUN_SOURCE_USAGE;
	maker_offer(&m);
	CHECK_INT(krun_init(&k), KRUN_ELAYOUT);
	maker_close(&m);
}

static void wrapping(void)
{
	static const struct { uint64_t before, after; int64_t aperf, cycles; } cases[] = {
		{ 0, 1, 1, 1 },
		{ 7, 7, 0, 0 },
		{ (UINT64_C(1) << 48) - 1, 0, 1 - (INT64_C(1) << 48), 1 },
		{ (UINT64_C(1) << 48) - 5, 10, 15 - (INT64_C(1) << 48), 15 },
		{ UINT64_MAX, 4, 5, 5 },
		{ 1000, 999, -1, (INT64_C(1) << 48) - 1 },
		{ UINT64_C(1) << 62, UINT64_C(3) << 61, INT64_C(1) << 61, 0 },
	};
	enum { CASES = sizeof cases / sizeof cases[0] };
	struct maker m = maker_open(CASES, 3, 0);
	int fd = maker_file(8192), i;
	krun *k;

	maker_registers(&m, 0, fd);
	k = take();
	for (i = 0; i < CASES; i++) {
		set_register(fd, APERF, cases[i].before);
		set_register(fd, CYCLES, cases[i].before);
		CHECK_INT(krun_begin(k), KRUN_OK);
		set_register(fd, APERF, cases[i].after);
		set_register(fd, CYCLES, cases[i].after);
		CHECK_INT(krun_end(k), KRUN_OK);
		CHECK_INT(column(&m, 0, i), cases[i].aperf);
		CHECK_INT(column(&m, 1, i), 0);
		CHECK_INT(column(&m, 2, i), cases[i].cycles);
	}
	CHECK_INT(m.header->progress.error, KRUN_OK);
	krun_free(k);
	maker_close(&m);
}

/* iterate does one iteration, which succeeds whatever the counters do. */
static void iterate(krun *k)
{
	CHECK_INT(krun_begin(k), KRUN_OK);
	CHECK_INT(krun_end(k), KRUN_OK);
}

/*
 * A device too short for the cycles: that core's three values are missing, the other core's are
 * there, and it recovers.
 */
static void short_device(void)
{
	struct maker m = maker_open(3, 6, 0);
	int a = maker_file(CYCLES + 7), b = maker_file(8192), i;
	krun *k;

	maker_registers(&m, 0, a);
	maker_registers(&m, 3, b);
	k = take();
	CHECK_INT(krun_begin(k), KRUN_OK);
	set_register(b, APERF, 9);
	CHECK_INT(krun_end(k), KRUN_OK);
	for (i = 0; i < 3; i++)
		CHECK_INT(column(&m, (uint32_t)i, 0), KRUN_MISSING);
	CHECK_INT(column(&m, 3, 0), 9);
	CHECK_INT(column(&m, 5, 0), 0);
	CHECK_INT(m.header->progress.error, KRUN_EREAD);
	CHECK_INT(m.header->hot.done, 1);
	CHECK_INT(krun_begin(k), KRUN_OK);
	CHECK(ftruncate(a, 8192) == 0); /* works after, but did not before */
	CHECK_INT(krun_end(k), KRUN_OK);
	CHECK_INT(column(&m, 0, 1), KRUN_MISSING);
	iterate(k);
	CHECK_INT(column(&m, 0, 2), 0);
	CHECK_INT(m.header->progress.error, KRUN_EREAD);
	krun_free(k);
	maker_close(&m);
}

/* The process closed the descriptor, or it is another file by now. */
static void lost_descriptors(void)
{
	struct maker m = maker_open(1, 6, 0);
	int a = maker_file(8192), b = maker_file(8192);
	char want[64];
	krun *k;

	maker_registers(&m, 0, a);
	maker_registers(&m, 3, b);
	CHECK(close(a) == 0 && dup2(b, a) == a);
	k = take();
	CHECK_INT(krun_begin(k), KRUN_OK);
	snprintf(want, sizeof want, "aperf%d mperf%d cycles%d clock ", b, b, b);
	expect(want); /* nothing is read from a stranger */
	close(b);
	CHECK_INT(krun_end(k), KRUN_OK);
	CHECK_INT(column(&m, 0, 0), KRUN_MISSING);
	CHECK_INT(column(&m, 3, 0), KRUN_MISSING);
	CHECK_INT(m.header->progress.error, KRUN_ELOST);
	krun_free(k);
	CHECK(fcntl(a, F_GETFD) >= 0); /* nor closed */
	close(a);
	maker_close(&m);
}

/*
 * The benchmark opened another file under the same number: the values look like a counter's, and
 * the check at the end finds it.
 */
static void replaced_descriptor(void)
{
	struct maker m = maker_open(3, 3, 0);
	int a = maker_file(8192), b = maker_file(8192);
	krun *k;

	maker_registers(&m, 0, a);
	k = take();
	CHECK_INT(krun_begin(k), KRUN_OK);
	CHECK_INT(krun_end(k), KRUN_OK);
	set_register(b, APERF, 77);
	CHECK_INT(krun_begin(k), KRUN_OK);
	CHECK(dup2(b, a) == a);
	CHECK_INT(krun_end(k), KRUN_OK);
	CHECK_INT(column(&m, 0, 1), 77);
	CHECK_INT(m.header->progress.error, KRUN_OK);
	CHECK_INT(krun_done(k), KRUN_OK);
	CHECK_INT(m.header->progress.error, KRUN_ELOST);
	krun_free(k);
	CHECK(fcntl(a, F_GETFD) >= 0); /* it is the benchmark's */
	close(a);
	close(b);
	maker_close(&m);
}

/*
 * The descriptor was closed and reused for a file that cannot be read like a counter: at first the
 * reading only fails.
 */
static void reused_descriptor(void)
{
	struct maker m = maker_open(2, 3, 0);
	int a = maker_file(8192), b = maker_file(1);
	krun *k;

	maker_registers(&m, 0, a);
	k = take();
	CHECK(dup2(b, a) == a);
	CHECK_INT(krun_begin(k), KRUN_OK);
	CHECK_INT(krun_end(k), KRUN_OK);
	CHECK_INT(column(&m, 0, 0), KRUN_MISSING);
	CHECK_INT(m.header->progress.error, KRUN_EREAD);
	CHECK_INT(krun_done(k), KRUN_OK);
	CHECK_INT(m.header->progress.error, KRUN_ELOST);
	krun_free(k);
	close(a);
	close(b);
	maker_close(&m);
}

/*
 * End of file from a perf group means that it lost its counters. An empty file in its place reads
 * the same until the check at the end.
 */
static void empty_group(void)
{
	struct maker m = maker_open(2, 1, 0);
	int a = maker_file(0), b = maker_file(0);
	krun *k;

	maker_group(&m, 0, 1, KRUN_SOURCE_PERF, a);
	k = take();
	iterate(k);
	CHECK_INT(column(&m, 0, 0), KRUN_MISSING);
	CHECK_INT(m.header->progress.error, KRUN_EPART);
	CHECK(dup2(b, a) == a);
	CHECK_INT(krun_done(k), KRUN_OK);
	CHECK_INT(m.header->progress.error, KRUN_ELOST);
	krun_free(k);
	close(a);
	close(b);
	maker_close(&m);
}

/* A perf event that is none: its number is what it is known by. */
static void no_event(void)
{
	uint64_t numbers[] = { 0, 4711 };
	int i;

	for (i = 0; i < 2; i++) {
		struct maker m = maker_open(1, 1, 0);
		int fd = maker_file(64);
		krun *k;

		maker_group(&m, 0, 1, KRUN_SOURCE_PERF, fd);
		m.entries[0].flags = KRUN_GROUP_EVENT;
		m.entries[0].inode = numbers[i];
		k = take();
		CHECK_INT(krun_begin(k), KRUN_OK);
		expect("clock ");
		CHECK_INT(krun_end(k), KRUN_OK);
		CHECK_INT(column(&m, 0, 0), KRUN_MISSING);
		CHECK_INT(m.header->progress.error, KRUN_ELOST);
		krun_free(k);
		close(fd);
		maker_close(&m);
	}
}

/* Groups that stood still, were multiplexed, were not what was announced, or failed. */
static void bad_groups(void)
{
	struct maker m = maker_open(6, 2, 0);
	uint64_t words[] = { 1, 1, 1, 1, 1 };
	int fds[2], i;
	krun *k;

	CHECK(pipe(fds) == 0);
	maker_group(&m, 0, 2, KRUN_SOURCE_PERF, fds[0]);
	k = take();
	put_group(fds[1], 100, 100, 0, 0);
	put_group(fds[1], 200, 199, 50, 50); /* multiplexed for 1 ns: never scaled */
	iterate(k);
	CHECK_INT(m.header->progress.error, KRUN_EPART);
	put_group(fds[1], 200, 200, 0, 0);
	put_group(fds[1], 200, 200, 50, 50); /* no time has passed for it */
	iterate(k);
	put_group(fds[1], 300, 300, 1, 1);
	put_group(fds[1], 400, 400, 4, 5);
	iterate(k);
	put_group(fds[1], 500, 500, 0, 0);
	CHECK(write(fds[1], words, sizeof words) == sizeof words); /* one value announced */
	iterate(k);
	put_group(fds[1], 500, 500, 0, 0);
	CHECK(write(fds[1], words, 32) == 32); /* short */
	iterate(k);
	close(fds[1]); /* a pinned group that lost its place reads as an end of file */
	iterate(k);
	for (i = 0; i < 6; i++) {
		CHECK_INT(column(&m, 0, i), i == 2 ? 3 : KRUN_MISSING);
		CHECK_INT(column(&m, 1, i), i == 2 ? 4 : KRUN_MISSING);
	}
	CHECK_INT(m.header->progress.error, KRUN_EPART); /* the first */
	CHECK_INT(m.header->hot.done, 6);
	krun_free(k);
	maker_close(&m);
}

static void partial_group(void)
{
	struct maker m = maker_open(1, 2, 0);
	int fds[2];
	krun *k;

	CHECK(pipe(fds) == 0);
	maker_group(&m, 0, 2, KRUN_SOURCE_PERF, fds[0]);
	m.entries[0].flags = KRUN_GROUP_PARTIAL;
	k = take();
	put_group(fds[1], 100, 50, 1, 2);
	put_group(fds[1], 200, 50, 1, 3);
	iterate(k);
	CHECK_INT(column(&m, 0, 0), 0);
	CHECK_INT(column(&m, 1, 0), 1);
	CHECK_INT(m.header->progress.error, KRUN_OK);
	krun_free(k);
	close(fds[1]);
	maker_close(&m);
}

/* A thread that leaves the group in the moment of the reading is waited for, but not for ever. */
static void leaving_thread(void)
{
	struct maker m = maker_open(2, 2, 0);
	int fds[2];
	krun *k;

	CHECK(pipe(fds) == 0);
	maker_group(&m, 0, 2, KRUN_SOURCE_PERF, fds[0]);
	k = take();
	put_group(fds[1], 100, 100, 1, 2);
	put_group(fds[1], 200, 200, 1, 5);
	leaving = 20;
	CHECK_INT(krun_begin(k), KRUN_OK);
	leaving = 999;
	CHECK_INT(krun_end(k), KRUN_OK);
	CHECK_INT(column(&m, 1, 0), 3);
	CHECK_INT(m.header->progress.error, KRUN_OK);
	put_group(fds[1], 100, 100, 1, 2);
	CHECK_INT(krun_begin(k), KRUN_OK);
	leaving = 1000;
	CHECK_INT(krun_end(k), KRUN_OK);
	CHECK_INT(leaving, 0);
	CHECK_INT(column(&m, 1, 1), KRUN_MISSING);
	CHECK_INT(m.header->progress.error, KRUN_EREAD);
	krun_free(k);
	close(fds[1]);
	maker_close(&m);
}

static void scope_execution(void)
{
	struct maker m = maker_open(10, 3, 1);
	int fd = maker_file(8192), i;
	char want[64];
	krun *k;

	maker_registers(&m, 0, fd);
	m.header->plan.scope = KRUN_SCOPE_EXECUTION;
	m.entries[0].total = KRUN_MISSING;
	k = take();
	for (i = 0; i < 3; i++) {
		CHECK_INT(krun_begin(k), KRUN_OK);
		snprintf(want, sizeof want, "aperf%d mperf%d cycles%d clock ", fd, fd, fd);
		expect(i == 0 ? want : "clock ");
		set_register(fd, APERF, 100 + (uint64_t)i);
		CHECK_INT(krun_end(k), KRUN_OK);
		expect("clock ");
	}
	CHECK_INT(m.entries[0].total, KRUN_MISSING);
	CHECK_INT(krun_done(k), KRUN_OK);
	snprintf(want, sizeof want, "clock cycles%d aperf%d mperf%d ", fd, fd, fd);
	expect(want);
	CHECK_INT(m.entries[0].total, 102);
	CHECK_INT(m.entries[1].total, 0);
	for (i = 0; i < 10; i++)
		CHECK_INT(column(&m, 0, i), 0);
	CHECK_INT(column(&m, 3, 0), 0); /* the user column's array */
	krun_free(k);
	maker_close(&m);
}

/* The least count of the readings alone, where the maker asks for it: here their own number. */
static void empty_iteration(void)
{
	struct maker m = maker_open(10, 3, 1);
	int fd = maker_file(8192), i;
	krun *k;

	maker_registers(&m, 0, fd);
	for (i = 0; i < 3; i++)
		m.entries[i].total = KRUN_EMPTY;
	set_register(fd, APERF, 100);
	k = take();
	CHECK_INT(m.entries[0].total, 0);
	CHECK_INT(m.entries[2].total, 0);
	CHECK_INT(column(&m, 0, 0), 0);
	CHECK_INT(krun_begin(k), KRUN_OK);
	set_register(fd, APERF, 105);
	CHECK_INT(krun_end(k), KRUN_OK);
	CHECK_INT(column(&m, 0, 0), 5);
	CHECK_INT(m.header->progress.error, KRUN_OK);
	krun_free(k);
	maker_close(&m);
	m = maker_open(10, 3, 1); /* no value, and no error before an iteration */
	fd = maker_file(8192);
	maker_registers(&m, 0, fd);
	for (i = 0; i < 3; i++)
		m.entries[i].total = KRUN_EMPTY;
	CHECK(ftruncate(fd, 8) == 0);
	k = take();
	CHECK_INT(m.entries[0].total, KRUN_MISSING);
	CHECK_INT(m.header->progress.error, KRUN_OK);
	krun_free(k);
	maker_close(&m);
}

/* Done without an iteration: there was no reading before. */
static void nothing_done(void)
{
	struct maker m = maker_open(1, 3, 0);
	krun *k;

	maker_registers(&m, 0, maker_file(8192));
	m.header->plan.scope = KRUN_SCOPE_EXECUTION;
	m.entries[0].total = KRUN_MISSING;
	k = take();
	CHECK_INT(krun_done(k), KRUN_OK);
	expect("clock ");
	CHECK_INT(m.entries[0].total, KRUN_MISSING);
	krun_free(k);
	maker_close(&m);
}

/* REFUSED changes one thing in a valid plan of two groups; krun_init must then refuse it. */
#define REFUSED(change)                                  \
	do {                                             \
		struct maker m = maker_open(1, 6, 0);    \
		krun *k = (krun *)&m;                    \
		int fd = maker_file(8192);               \
		struct krun_entry *e = m.entries;        \
		maker_registers(&m, 0, fd);              \
		maker_registers(&m, 3, fd);              \
		change;                                  \
		CHECK_INT(krun_init(&k), KRUN_ELAYOUT);  \
		CHECK(k == NULL && e == m.entries);      \
		CHECK_INT(m.header->progress.pid, 0);    \
		close(fd);                               \
		maker_close(&m);                         \
	} while (0)

static void bad_plans(void)
{
	REFUSED(m.header->plan.scope = 2);
	REFUSED(e[0].group = 4);
	REFUSED(e[0].group = 2);
	REFUSED(e[3].group = 4);
	REFUSED(e[3].group = 0);
	REFUSED(e[3].source = KRUN_SOURCE_NONE);
	REFUSED(e[0].source = 4);
	REFUSED(e[0].source = KRUN_SOURCE_SELF); /* of three columns */
	REFUSED(e[1].source = KRUN_SOURCE_PERF);
	REFUSED(e[0].turn = 3);
	REFUSED(e[0].fd = -1);
	REFUSED(e[5].bits = 0);
	REFUSED(e[5].bits = 65);
}

void test_counters(void)
{
	order_of_registers();
	number_of_calls();
	order_of_groups();
	order_of_usage();
	bad_usage();
	wrapping();
	short_device();
	lost_descriptors();
	replaced_descriptor();
	reused_descriptor();
	empty_group();
	no_event();
	bad_groups();
	partial_group();
	leaving_thread();
	scope_execution();
	empty_iteration();
	nothing_done();
	bad_plans();
}
