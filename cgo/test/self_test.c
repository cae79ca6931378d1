/*
 * self_test.c - reading one's own perf event without a system call: the protocol,
 * with a page that this file fills and a counter that it plays.
 */
#include "check.h"

#include "../self.h"

uint64_t __wrap_krun_rdpmc(uint32_t counter);

#if defined(__linux__) && defined(__x86_64__)
#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

/* The counters of a processor, and what happens when one is read. */
static struct {
	uint64_t value[8];
	uint32_t read[16]; /* which were, in order */
	int reads;
	void (*meanwhile)(struct perf_event_mmap_page *page, int nth);
	struct perf_event_mmap_page *page;
} machine;

uint64_t __wrap_krun_rdpmc(uint32_t counter)
{
	if (machine.reads < 16)
		machine.read[machine.reads] = counter;
	machine.reads++;
	if (machine.meanwhile)
		machine.meanwhile(machine.page, machine.reads);
	return machine.value[counter & 7];
}

/* on puts an event into a counter: the kernel's half of the protocol. */
static void on(struct perf_event_mmap_page *p, uint32_t index, int64_t offset)
{
	p->lock++;
	p->index = index;
	p->offset = offset;
	p->lock++;
}

/* fresh is a page of an event that counts in counter 2, of 48 bits. */
static void fresh(struct perf_event_mmap_page *p)
{
	memset(&machine, 0, sizeof machine);
	memset(p, 0, sizeof *p);
	machine.page = p;
	p->cap_user_rdpmc = 1;
	p->pmc_width = 48;
	p->time_enabled = 700;
	p->time_running = 650;
	on(p, 3, 1000);
}

/* moved plays a migration to counter 5, while counter 2 was read for the first time. */
static void moved(struct perf_event_mmap_page *p, int nth)
{
	if (nth > 1)
		return;
	machine.value[5] = 7;
	on(p, 6, 5000);
}

/* taken plays the loss of the counter meanwhile. */
static void taken(struct perf_event_mmap_page *p, int nth)
{
	if (nth == 1)
		on(p, 0, 9000);
}

/* restless changes the page at each reading. */
static void restless(struct perf_event_mmap_page *p, int nth)
{
	p->lock += 2;
	p->offset = nth;
}

/* The counter is signed: the kernel starts it below zero to make it overflow after its period. */
static void widths(void)
{
	static const struct { uint16_t width; int64_t offset; uint64_t counter, want; } cases[] = {
		{ 48, 0, 5, 5 },
		{ 48, 1000, (UINT64_C(1) << 48) - 1, 999 },                                    /* -1 */
		{ 48, (INT64_C(1) << 47) - 1, (UINT64_C(1) << 47) + 41, 40 }, /* where Linux starts */
		{ 48, 0, (UINT64_C(1) << 47) - 1, (UINT64_C(1) << 47) - 1 },
		{ 40, 1 << 20, UINT64_C(0xffffffffff), (1 << 20) - 1 },
		{ 40, 0, UINT64_C(0xab7fffffffff), UINT64_C(0x7fffffffff) }, /* bits above the width do not count */
		{ 64, -3, 2, UINT64_MAX },
		{ 32, 0, 0x80000000, UINT64_MAX - 0x7fffffff },
		{ 1, 10, 1, 9 },
	};
	struct perf_event_mmap_page p;
	struct krun_self got;
	size_t i;

	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		fresh(&p);
		p.pmc_width = cases[i].width;
		p.offset = cases[i].offset;
		machine.value[2] = cases[i].counter;
		CHECK(krun_self_read(&p, &got));
		CHECK_INT(got.value, cases[i].want);
		CHECK_INT(got.lag, 50);
		CHECK_INT(machine.read[0], 2);
	}
}

static void changes(void)
{
	struct perf_event_mmap_page p;
	struct krun_self got;

	fresh(&p);
	machine.meanwhile = moved;
	machine.value[2] = 999;
	CHECK(krun_self_read(&p, &got));
	CHECK_INT(got.value, 5007); /* offset and counter of the same moment */
	CHECK_INT(machine.reads, 2);
	CHECK_INT(machine.read[1], 5);

	fresh(&p);
	machine.meanwhile = taken;
	CHECK(!krun_self_read(&p, &got));
	CHECK_INT(machine.reads, 1);

	fresh(&p);
	machine.meanwhile = restless; /* never the same twice: krun gives up */
	CHECK(!krun_self_read(&p, &got));
	CHECK_INT(machine.reads, 1000);

	fresh(&p);
	on(&p, (1 << 30) + 2, 0); /* fixed counter 1 */
	machine.value[1] = 8;
	CHECK(krun_self_read(&p, &got));
	CHECK_INT(machine.read[0], (1 << 30) + 1);
	CHECK_INT(got.value, 8);
}

/* Nothing may be read where the processor would refuse: that is a SIGSEGV. */
static void not_allowed(void)
{
	struct perf_event_mmap_page p;
	struct krun_self got;

	fresh(&p);
	p.cap_user_rdpmc = 0;
	CHECK(!krun_self_read(&p, &got));
	fresh(&p);
	on(&p, 0, 0);
	CHECK(!krun_self_read(&p, &got));
	fresh(&p);
	p.pmc_width = 0;
	CHECK(!krun_self_read(&p, &got));
	fresh(&p);
	p.pmc_width = 65;
	CHECK(!krun_self_read(&p, &got));
	CHECK_INT(machine.reads, 0);
}

/* A file of one page stands for the event; read(2) at its end gives nothing. */
static struct perf_event_mmap_page *page_file(struct maker *m, int *fd)
{
	struct perf_event_mmap_page *p;

	*fd = maker_file(4096);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	CHECK(p != MAP_FAILED);
	fresh(p);
	maker_group(m, 0, 1, KRUN_SOURCE_SELF, *fd);
	return p;
}

int maker_self(struct maker *m)
{
	int fd;

	return munmap(page_file(m, &fd), 4096) == 0;
}

static int64_t value(const struct maker *m, int i)
{
	return ((int64_t *)((char *)m->header + m->entries[0].offset))[i];
}

static void iterations(void)
{
	struct maker m = maker_open(4, 1, 0);
	int fd;
	struct perf_event_mmap_page *p = page_file(&m, &fd);
	krun *k;

	CHECK_INT(krun_init(&k), KRUN_OK);
	machine.value[2] = 100;
	CHECK_INT(krun_begin(k), KRUN_OK);
	machine.value[2] = 140;
	CHECK_INT(krun_end(k), KRUN_OK);
	CHECK_INT(value(&m, 0), 40);
	CHECK_INT(krun_begin(k), KRUN_OK); /* moves to another processor: counter 5, offset what was counted */
	machine.value[5] = 3;
	on(p, 6, 1140);
	p->time_enabled = p->time_running = 9000;
	p->time_running -= 50;
	CHECK_INT(krun_end(k), KRUN_OK);
	CHECK_INT(value(&m, 1), 3);
	CHECK_INT(m.header->progress.error, KRUN_OK);
	CHECK_INT(krun_begin(k), KRUN_OK); /* did not count for a nanosecond: lost, never scaled */
	p->time_enabled++;
	CHECK_INT(krun_end(k), KRUN_OK);
	CHECK_INT(value(&m, 2), KRUN_MISSING);
	CHECK_INT(m.header->progress.error, KRUN_EPART);
	CHECK_INT(krun_begin(k), KRUN_OK); /* lost its counter: read(2) has to say, and this file says nothing */
	on(p, 0, 0);
	CHECK_INT(krun_end(k), KRUN_OK);
	CHECK_INT(value(&m, 3), KRUN_MISSING);
	CHECK_INT(krun_done(k), KRUN_OK);
	krun_free(k);
	munmap(p, 4096);
	maker_close(&m);
}

/* Without RDPMC the values come by read(2): here from a pipe, which has no page. */
static void by_read(void)
{
	static const uint64_t answers[4][4] = {
		{ 1, 90, 80, 5 }, { 1, 190, 180, 25 }, { 1, 200, 190, 30 }, { 1, 300, 289, 40 }
	};
	struct maker m = maker_open(2, 1, 0);
	int fds[2];
	krun *k;

	CHECK(pipe(fds) == 0 && write(fds[1], answers, sizeof answers) == sizeof answers);
	maker_group(&m, 0, 1, KRUN_SOURCE_SELF, fds[0]);
	CHECK_INT(krun_init(&k), KRUN_OK);
	CHECK_INT(krun_begin(k), KRUN_OK);
	CHECK_INT(krun_end(k), KRUN_OK);
	CHECK_INT(value(&m, 0), 20);
	CHECK_INT(m.header->progress.error, KRUN_OK);
	CHECK_INT(krun_begin(k), KRUN_OK);
	CHECK_INT(krun_end(k), KRUN_OK);
	CHECK_INT(value(&m, 1), KRUN_MISSING); /* the lag grew by one */
	CHECK_INT(m.header->progress.error, KRUN_EPART);
	krun_free(k);
	close(fds[1]);
	maker_close(&m);
}

static krun *other;

static void *iterate_there(void *unused)
{
	CHECK_INT(krun_begin(other), KRUN_OK);
	CHECK_INT(krun_end(other), KRUN_OK);
	return unused;
}

static void *init_there(void *unused)
{
	CHECK_INT(krun_init(&other), KRUN_OK);
	return iterate_there(unused);
}

/* Another thread than the first has another counter under the same number: not even looked at. */
static void threads(void)
{
	void *(*const begin[])(void *) = { iterate_there, init_there };
	size_t i;

	for (i = 0; i < 2; i++) {
		struct maker m = maker_open(1, 1, 0);
		pthread_t thread;
		int fd;
		struct perf_event_mmap_page *p = page_file(&m, &fd);

		if (begin[i] == iterate_there)
			CHECK_INT(krun_init(&other), KRUN_OK);
		CHECK(pthread_create(&thread, NULL, begin[i], NULL) == 0 && pthread_join(thread, NULL) == 0);
		CHECK_INT(machine.reads, 0);
		CHECK_INT(value(&m, 0), KRUN_MISSING);
		CHECK_INT(m.header->progress.error, KRUN_ETHREAD);
		krun_free(other);
		munmap(p, 4096);
		maker_close(&m);
	}
}

void test_self(void)
{
	widths();
	changes();
	not_allowed();
	iterations();
	by_read();
	threads();
}

#else

uint64_t __wrap_krun_rdpmc(uint32_t counter)
{
	return counter;
}

int maker_self(struct maker *m)
{
	(void)m;
	return 0;
}

void test_self(void)
{
	CHECK(krun_self_page(0) == NULL);
}

#endif
