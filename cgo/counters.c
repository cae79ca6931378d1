/*
 * counters.c - reading processor counters around iterations. Bytes: layout.h.
 *
 * The order is that of Listing 1 of the warmup study (Barrett et al., OOPSLA
 * 2017): before an iteration core by core APERF, MPERF, core cycles, then the
 * clock; after it the clock, then core by core core cycles, APERF, MPERF. So the
 * clock is innermost, the cycles enclose it more tightly than A/MPERF, and APERF
 * comes before MPERF on both sides. The table holds the columns in the order
 * before; `turn` says with which column the order after begins. A perf group
 * arrives whole by one read, its values in table order on both sides.
 *
 * krund may have given us counters that turn out not to work. That costs the
 * values, not the measurement: the clock goes on.
 */
#include "internal.h"
#include "self.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

/* One descriptor's worth of columns. */
struct group {
	int fd;           /* -1: not usable */
	int fault;        /* why not; else KRUN_OK */
	uint64_t device;  /* identity of the file, as in struct krun_entry */
	uint64_t inode;
	bool event;
	bool self; /* of the process's first thread alone */
	const volatile struct perf_event_mmap_page *page; /* may be null */
	uint32_t first;   /* column */
	uint32_t columns; /* 1 to KRUN_MAX_GROUP */
	uint32_t turn;
	bool perf;
	bool partial;
	int before;       /* code of the reading before the iteration */
	uint64_t enabled; /* perf: time enabled and running at that reading */
	uint64_t running;
};

/* One counter. */
struct cell {
	uint64_t before;
	uint64_t after;
	uint64_t mask;    /* of a register: the bits it has */
	uint32_t address; /* of a register */
};

struct krun_counters {
	struct krun_header *header;
	struct krun_entry *entries;
	int64_t *values; /* first counter's array */
	uint64_t stride; /* elements from one array to the next */
	uint32_t groups;
	uint32_t columns;
	bool once; /* KRUN_SCOPE_EXECUTION */
	bool begun;
	pthread_t thread; /* that a group of the process's first thread belongs to */
	struct group *group;
	struct cell *cell;
};

/* What a perf group's read returns. */
struct perf_reading {
	uint64_t count;
	uint64_t enabled;
	uint64_t running;
	uint64_t value[KRUN_MAX_GROUP];
};

/* failure says why a read that gave got bytes failed. No further system call: the end of the process execution looks closer. */
static COLD int failure(ssize_t got)
{
	return got < 0 && errno == EBADF ? KRUN_ELOST : KRUN_EREAD;
}

/*
 * read_perf reads a group into reading and returns a code: KRUN_OK, KRUN_EREAD or
 * KRUN_ELOST. While a
 * thread that inherited the group is ending, its events leave the group one after
 * the other, and the kernel answers ECHILD instead of a sum of unlike parts: that
 * is over in a moment.
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
	if (UNLIKELY(got != (ssize_t)want))
		return failure(got);
	return reading->count == g->columns ? KRUN_OK : KRUN_EREAD;
}

/*
 * read_self reads the event of this thread as if it were a group. The page knows the
 * times as of the last time that the event was put into a counter, so only their
 * difference means something.
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

/* counted says whether a group counted all the time between two readings, whose times are in g and later. */
static inline bool counted(const struct group *g, const struct perf_reading *later)
{
	uint64_t enabled = later->enabled - g->enabled;

	if (g->partial)
		return true;
	if (g->self)
		return enabled == 0; /* that is the lag */
	return enabled == later->running - g->running && enabled > 0;
}

/* read_register reads one register and returns a code. */
static int read_register(const struct group *g, const struct cell *c, uint64_t *value)
{
	ssize_t got = pread(g->fd, value, sizeof *value, (off_t)c->address);

	return LIKELY(got == (ssize_t)sizeof *value) ? KRUN_OK : failure(got);
}

/* group_before takes a group's reading before an iteration and returns a code. */
static int group_before(struct group *g, struct cell *c)
{
	struct perf_reading reading;
	uint32_t i;
	int err = KRUN_OK;

	if (UNLIKELY(g->fault))
		return g->fault;
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

/* group_after takes the reading after it and returns a code: that of the reading before, its own, or KRUN_EPART. */
static int group_after(const struct group *g, struct cell *c)
{
	struct perf_reading reading;
	uint32_t i, at;
	int err = g->fault ? g->fault : g->before;

	if (UNLIKELY(err))
		return err;
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
	return counted(g, &reading) ? KRUN_OK : KRUN_EPART;
}

/* A register of 48 bits that went through zero counted on: unsigned arithmetic in its width. */
static inline int64_t difference(const struct cell *c)
{
	return (int64_t)((c->after - c->before) & c->mask);
}

/*
 * check_thread sees to it that the event of one thread is read by that thread: for
 * another one RDPMC gives the counter of something else.
 */
static inline void check_thread(const struct krun_counters *s, struct group *g)
{
	if (UNLIKELY(g->self) && UNLIKELY(!pthread_equal(pthread_self(), s->thread)))
		g->fault = KRUN_ETHREAD;
}

void krun_counters_before(krun *k)
{
	struct krun_counters *s = k->counters;
	uint32_t g;

	for (g = 0; g < s->groups; g++) {
		check_thread(s, &s->group[g]);
		s->group[g].before = group_before(&s->group[g], &s->cell[s->group[g].first]);
	}
	if (s->once) {
		s->begun = true;
		k->counters = NULL; /* not again until krun_done */
	}
}

/* sample takes all readings after, and gives the differences to the place that column 0's value has at out. */
static void sample(struct krun_counters *s, int64_t *out, uint64_t step)
{
	uint32_t g, c;

	for (g = 0; g < s->groups; g++) {
		struct group *of = &s->group[g];
		int err;

		check_thread(s, of);
		err = group_after(of, &s->cell[of->first]);
		if (UNLIKELY(err != KRUN_OK))
			(void)krun_spoil(s->header, err);
		for (c = of->first; c < of->first + of->columns; c++)
			out[c * step] = err ? KRUN_MISSING : difference(&s->cell[c]);
	}
}

void krun_counters_after(krun *k, uint32_t i)
{
	sample(k->counters, k->counters->values + i, k->counters->stride);
}

/* still_there says whether a group's descriptor is still the file that krund meant. */
static bool still_there(const struct group *g)
{
	struct stat st;

	if (g->event)
		return krun_event_id(g->fd) == g->inode;
	return fstat(g->fd, &st) == 0 && (uint64_t)st.st_dev == g->device && (uint64_t)st.st_ino == g->inode;
}

void krun_counters_done(krun *k)
{
	struct krun_counters *s = k->sampler;
	uint32_t g;

	k->counters = NULL;
	if (!s)
		return;
	if (s->once && s->begun)
		sample(s, &s->entries[0].total, sizeof *s->entries / sizeof(int64_t));
	/* Another file under the number may have given values that look like a counter's, or have failed for no reason. */
	for (g = 0; g < s->groups; g++)
		if (!s->group[g].fault && !still_there(&s->group[g]))
			krun_lost(s->header);
}

/* first_thread says whether this is the thread that the process began with. */
static bool first_thread(void)
{
#ifdef __linux__
	return syscall(SYS_gettid) == getpid();
#else
	return false;
#endif
}

/* good_group checks the entries of a group against each other. */
static bool good_group(const struct krun_entry *e, uint32_t columns)
{
	uint32_t i;

	if (e->group < 1 || e->group > KRUN_MAX_GROUP || e->group > columns || e->turn >= e->group || e->fd < 0)
		return false;
	if (e->source < KRUN_SOURCE_PERF || e->source > KRUN_SOURCE_SELF || (e->source == KRUN_SOURCE_SELF && e->group != 1))
		return false;
	for (i = 0; i < e->group; i++)
		if ((i > 0 && (e[i].group != 0 || e[i].source != KRUN_SOURCE_NONE)) ||
		    (e->source == KRUN_SOURCE_REGISTERS && (e[i].bits < 1 || e[i].bits > 64)))
			return false;
	return true;
}

/* take_over looks at a group's descriptor for the first time. */
static void take_over(struct group *g)
{
	if (g->event && g->inode == 0)
		g->inode = krun_event_id(g->fd);
	if ((g->event && g->inode == 0) || !still_there(g))
		g->fault = KRUN_ELOST;
	else if (g->self && !first_thread())
		g->fault = KRUN_ETHREAD;
	if (g->fault) {
		g->fd = -1;
		return;
	}
	(void)fcntl(g->fd, F_SETFD, FD_CLOEXEC); /* the benchmark's children have no business with it */
	if (g->self)
		g->page = krun_self_page(g->fd);
}

/* add_group copies a group out of the shared table, where the benchmark could change it. */
static void add_group(struct krun_counters *s, uint32_t first)
{
	const struct krun_entry *e = &s->entries[first];
	bool registers = e->source == KRUN_SOURCE_REGISTERS;
	struct group *g = &s->group[s->groups++];
	uint32_t i;

	*g = (struct group){
		.fd = e->fd,
		.device = e->device,
		.inode = e->inode,
		.event = (e->flags & KRUN_GROUP_EVENT) != 0,
		.self = e->source == KRUN_SOURCE_SELF,
		.first = first,
		.columns = e->group,
		.turn = e->turn,
		.perf = !registers,
		.partial = (e->flags & KRUN_GROUP_PARTIAL) != 0,
	};
	for (i = 0; i < e->group; i++)
		s->cell[first + i] = (struct cell){
			.mask = !registers || e[i].bits == 64 ? UINT64_MAX : (UINT64_C(1) << e[i].bits) - 1,
			.address = e[i].address,
		};
	take_over(g);
}

/* entries_of finds the table. */
static struct krun_entry *entries_of(struct krun_header *h)
{
	return (struct krun_entry *)((char *)h + KRUN_HEADER_BYTES);
}

/* unread says that there is nothing to read: no counters, or columns that somebody else fills. */
static bool unread(struct krun_header *h)
{
	return h->plan.counters == 0 || entries_of(h)->source == KRUN_SOURCE_NONE;
}

int krun_counters_check(struct krun_header *h)
{
	const struct krun_entry *e = entries_of(h);
	uint32_t left = h->plan.counters;

	if (h->plan.scope > KRUN_SCOPE_EXECUTION)
		return KRUN_ELAYOUT;
	if (unread(h))
		return KRUN_OK;
	while (left > 0) {
		if (!good_group(e, left))
			return KRUN_ELAYOUT;
		left -= e->group;
		e += e->group;
	}
	return KRUN_OK;
}

int krun_counters_open(krun *k)
{
	struct krun_header *h = k->header;
	uint32_t columns = h->plan.counters, at;
	struct krun_counters *s;

	if (unread(h))
		return KRUN_OK;
	s = calloc(1, sizeof *s);
	if (!s)
		return KRUN_ENOMEM;
	k->sampler = s;
	s->header = h;
	s->entries = entries_of(h);
	s->values = k->user - columns * k->stride;
	s->stride = k->stride;
	s->columns = columns;
	s->once = h->plan.scope == KRUN_SCOPE_EXECUTION;
	s->thread = pthread_self();
	s->group = calloc(columns, sizeof *s->group);
	s->cell = calloc(columns, sizeof *s->cell);
	if (!s->group || !s->cell)
		return KRUN_ENOMEM;
	for (at = 0; at < columns; at += s->entries[at].group)
		add_group(s, at);
	k->counters = s;
	return KRUN_OK;
}

void krun_counters_free(krun *k)
{
	struct krun_counters *s = k->sampler;
	uint32_t i;

	if (!s)
		return;
	for (i = 0; i < s->groups; i++) {
		krun_self_unmap(s->group[i].page);
		if (s->group[i].fd >= 0 && still_there(&s->group[i]))
			(void)close(s->group[i].fd);
	}
	free(s->group);
	free(s->cell);
	free(s);
}
