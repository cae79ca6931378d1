/*
 * counters.c - reading processor counters around iterations. Bytes: layout.h. The descriptors
 * come from handover.c.
 *
 * The order is that of Listing 1 of the warmup study (Barrett et al., OOPSLA
 * 2017): before an iteration core by core APERF, MPERF, core cycles, then the
 * clock; after it the clock, then core by core core cycles, APERF, MPERF. So the
 * clock is innermost, the cycles enclose it more tightly than A/MPERF, and APERF
 * comes before MPERF on both sides. The table holds the columns in the order
 * before; `turn` says with which column the order after begins. A perf group
 * arrives whole by one read, its values in table order on both sides. The usage
 * of the process is outermost, so that the counters do not count its system calls.
 */
#include "counters.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include "errors.h"
#include "handover.h"
#include "self.h"

/* What read(2) of a perf group returns. */
struct perf_reading {
	uint64_t count;
	uint64_t enabled;
	uint64_t running;
	uint64_t value[KRUN_MAX_GROUP];
};

/*
 * read_error returns the code of a read that returned got. It makes no further system call:
 * krun_counters_done looks closer.
 */
static COLD int read_error(ssize_t got)
{
	return got < 0 && errno == EBADF ? KRUN_ELOST : KRUN_EREAD;
}

/*
 * read_perf reads a group into reading and returns a code: KRUN_OK, KRUN_EREAD,
 * KRUN_EPART or KRUN_ELOST. While a thread that inherited the group exits, its events leave the
 * group one after the other. Until that is over the kernel returns ECHILD, because the events
 * cannot be summed consistently; so the read is repeated.
 */
static int read_perf(const struct group *g, struct perf_reading *reading)
{
	enum { TRIES = 1000 };
	size_t want = (3 + g->columns) * sizeof(uint64_t);
	ssize_t got;
	int i = 0;

	do
		got = read(g->fd, reading, want);
	while (UNLIKELY(got < 0 && errno == ECHILD && ++i < TRIES));
	if (UNLIKELY(got == 0)) /* a pinned group that lost its counters: perf_event_open(2) */
		return KRUN_EPART;
	if (UNLIKELY(got != (ssize_t)want))
		return read_error(got);
	return reading->count == g->columns ? KRUN_OK : KRUN_EREAD;
}

/*
 * read_self reads the event of this thread as if it were a group. The times in the page are those
 * of the moment when the event was last scheduled onto a counter, so only their difference has a
 * meaning.
 */
static int read_self(const struct group *g, struct perf_reading *reading)
{
	struct krun_self got;
	int err;

	if (LIKELY(g->page != NULL) && LIKELY(krun_self_read(g->page, &got))) {
		reading->value[0] = got.value;
		reading->enabled = got.lag;
		reading->running = 0;
		return KRUN_OK;
	}
	err = read_perf(g, reading);
	if (err)
		return err;
	reading->enabled -= reading->running;
	reading->running = 0;
	return KRUN_OK;
}

/* read_group reads a perf group of either kind and returns a code. */
static inline int read_group(const struct group *g, struct perf_reading *reading)
{
	return UNLIKELY(g->self) ? read_self(g, reading) : read_perf(g, reading);
}

/*
 * counted_throughout reports whether a group counted all the time between two readings, whose times
 * are in g and later.
 */
static inline bool counted_throughout(const struct group *g, const struct perf_reading *later)
{
	uint64_t enabled = later->enabled - g->enabled;

	if (g->partial)
		return true;
	if (g->self)
		return enabled == 0; /* the lag of struct krun_self */
	return enabled == later->running - g->running && enabled > 0;
}

/* read_register reads one register and returns a code. */
static int read_register(const struct group *g, const struct counter *c, uint64_t *value)
{
	ssize_t got = pread(g->fd, value, sizeof *value, (off_t)c->address);

	return LIKELY(got == (ssize_t)sizeof *value) ? KRUN_OK : read_error(got);
}

/* What getrusage returns. */
struct usage {
	struct rusage process, thread;
};

/*
 * read_usage cannot fail: the arguments are valid. For the process the kernel adds up the threads
 * that run and those that have ended (kernel/sys.c, getrusage; kernel/exit.c, __exit_signal).
 */
static inline void read_usage(struct usage *u)
{
	(void)getrusage(RUSAGE_SELF, &u->process);
	(void)getrusage(RUSAGE_THREAD, &u->thread);
}

/* used returns the field for one of the group's columns. */
static inline uint64_t used(const struct usage *u, uint32_t column)
{
	switch (column) {
	case KRUN_USAGE_MINOR_FAULTS:
		return (uint64_t)u->process.ru_minflt;
	case KRUN_USAGE_MAJOR_FAULTS:
		return (uint64_t)u->process.ru_majflt;
	case KRUN_USAGE_VOLUNTARY:
		return (uint64_t)u->process.ru_nvcsw;
	case KRUN_USAGE_INVOLUNTARY:
		return (uint64_t)u->process.ru_nivcsw;
	case KRUN_USAGE_THREAD_VOLUNTARY:
		return (uint64_t)u->thread.ru_nvcsw;
	default:
		return (uint64_t)u->thread.ru_nivcsw;
	}
}

/* group_before takes a group's reading before an iteration and returns a code. */
static int group_before(struct group *g, struct counter *c)
{
	struct perf_reading reading;
	struct usage usage;
	uint32_t i;
	int err = KRUN_OK;

	if (UNLIKELY(g->error))
		return g->error;
	if (g->usage) {
		g->reader = pthread_self();
		read_usage(&usage);
		for (i = 0; i < g->columns; i++)
			c[i].before = used(&usage, i);
		return KRUN_OK;
	}
	if (!g->perf) {
		for (i = 0; i < g->columns && !err; i++)
			err = read_register(g, &c[i], &c[i].before);
		return err;
	}
	err = read_group(g, &reading);
	if (err)
		return err;
	for (i = 0; i < g->columns; i++)
		c[i].before = reading.value[i];
	g->enabled = reading.enabled;
	g->running = reading.running;
	return KRUN_OK;
}

/*
 * group_after takes a group's reading after an iteration and returns a code: that of the reading
 * before, its own, or KRUN_EPART.
 */
static int group_after(const struct group *g, struct counter *c)
{
	struct perf_reading reading;
	struct usage usage;
	uint32_t i, at;
	int err = g->error ? g->error : g->before;

	if (UNLIKELY(err))
		return err;
	if (g->usage) {
		read_usage(&usage);
		for (i = 0; i < g->columns; i++)
			c[i].after = used(&usage, i);
		return KRUN_OK;
	}
	if (!g->perf) {
		for (i = 0, at = g->turn; i < g->columns && !err; i++, at = at + 1 < g->columns ? at + 1 : 0)
			err = read_register(g, &c[at], &c[at].after);
		return err;
	}
	err = read_group(g, &reading);
	if (err)
		return err;
	for (i = 0; i < g->columns; i++)
		c[i].after = reading.value[i];
	return counted_throughout(g, &reading) ? KRUN_OK : KRUN_EPART;
}

/* difference handles a register that wrapped around: unsigned arithmetic in its width. */
static inline int64_t difference(const struct counter *c)
{
	return (int64_t)((c->after - c->before) & c->mask);
}

/*
 * check_thread marks a group of one thread as failed when another thread reads it: there RDPMC
 * would return an unrelated counter.
 */
static inline void check_thread(const struct krun_counters *s, struct group *g)
{
	if (UNLIKELY(g->self) && UNLIKELY(!pthread_equal(pthread_self(), s->thread)))
		g->error = KRUN_ETHREAD;
}

void krun_counters_before(krun *k)
{
	struct krun_counters *s = k->counters;
	uint32_t g;

	for (g = 0; g < s->groups; g++) {
		check_thread(s, &s->group[g]);
		s->group[g].before = group_before(&s->group[g], &s->counter[s->group[g].first]);
	}
	if (s->per_execution) {
		s->started = true;
		k->counters = NULL; /* not again until krun_done */
	}
}

/*
 * absent reports whether a column cannot be known: a thread's numbers, if the iteration began on
 * another one.
 */
static inline bool absent(const struct group *g, uint32_t column)
{
	return g->usage && column - g->first >= KRUN_USAGE_THREAD_VOLUNTARY &&
	       UNLIKELY(!pthread_equal(pthread_self(), g->reader));
}

/* store_group takes a group's reading after and stores column c's difference at out[c * step]. */
static void store_group(struct krun_counters *s, struct group *of, int64_t *out, uint64_t step)
{
	uint32_t c;
	int err;

	check_thread(s, of);
	err = group_after(of, &s->counter[of->first]);
	if (UNLIKELY(err != KRUN_OK))
		(void)krun_set_error(s->header, err);
	for (c = of->first; c < of->first + of->columns; c++)
		out[c * step] = err || absent(of, c) ? KRUN_MISSING : difference(&s->counter[c]);
}

/* store_differences does that for all groups. */
static void store_differences(struct krun_counters *s, int64_t *out, uint64_t step)
{
	uint32_t g;

	for (g = s->turn; g < s->groups; g++)
		store_group(s, &s->group[g], out, step);
	for (g = 0; g < s->turn; g++)
		store_group(s, &s->group[g], out, step);
}

void krun_counters_after(krun *k, uint32_t i)
{
	store_differences(k->counters, k->counters->values + i, k->counters->stride);
}

/*
 * The first iteration's places serve for the readings; it has not begun. A failure is that of a
 * column that stays unknown here, and no error: no iteration has lost a value.
 */
void krun_counters_empty(krun *k)
{
	enum { ROUNDS = 8 };
	struct krun_counters *s = k->sampler;
	int round;
	uint32_t c;

	if (!s || s->per_execution || s->entries[0].total != KRUN_EMPTY)
		return;
	for (round = 0; round < ROUNDS; round++) {
		krun_counters_before(k);
		(void)krun_now_ns();
		(void)krun_now_ns();
		krun_counters_after(k, 0);
		for (c = 0; c < s->columns; c++) {
			int64_t *least = &s->entries[c].total, value = s->values[c * s->stride];

			if (value != KRUN_MISSING && (*least <= KRUN_EMPTY || value < *least))
				*least = value;
		}
	}
	for (c = 0; c < s->columns; c++) {
		s->values[c * s->stride] = 0;
		if (s->entries[c].total == KRUN_EMPTY)
			s->entries[c].total = KRUN_MISSING;
	}
	atomic_store_explicit(&s->header->progress.error, KRUN_OK, memory_order_relaxed);
}

void krun_counters_done(krun *k)
{
	struct krun_counters *s = k->sampler;
	uint32_t g;

	k->counters = NULL;
	if (!s)
		return;
	if (s->per_execution && s->started)
		store_differences(s, &s->entries[0].total, sizeof *s->entries / sizeof(int64_t));
	/* Another file under the same number may have returned plausible values, or failed. */
	for (g = 0; g < s->groups; g++)
		if (!s->group[g].error && !krun_group_unchanged(&s->group[g]))
			krun_set_fd_lost(s->header);
}
