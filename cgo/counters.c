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

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* One descriptor's worth of columns. */
struct group {
	int fd;           /* -1: not usable */
	uint32_t first;   /* column */
	uint32_t columns; /* 1 to KRUN_MAX_GROUP */
	uint32_t turn;
	bool perf;
	bool partial;
	bool good;        /* the reading before the iteration succeeded */
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

/*
 * read_perf reads a group into reading; false when it is not all there. While a
 * thread that inherited the group is ending, its events leave the group one after
 * the other, and the kernel answers ECHILD instead of a sum of unlike parts: that
 * is over in a moment.
 */
static bool read_perf(const struct group *g, struct perf_reading *reading)
{
	enum { TRIES = 1000 };
	size_t want = (3 + g->columns) * sizeof(uint64_t);
	ssize_t got;
	int i = 0;

	do
		got = read(g->fd, reading, want);
	while (UNLIKELY(got < 0 && errno == ECHILD && ++i < TRIES));
	return got == (ssize_t)want && reading->count == g->columns;
}

/* read_register reads one register; false when it does not give eight bytes. */
static bool read_register(const struct group *g, const struct cell *c, uint64_t *value)
{
	return pread(g->fd, value, sizeof *value, (off_t)c->address) == (ssize_t)sizeof *value;
}

/* group_before takes a group's reading before an iteration. */
static void group_before(struct group *g, struct cell *c)
{
	struct perf_reading reading;
	uint32_t i;

	g->good = false;
	if (g->fd < 0)
		return;
	if (!g->perf) {
		for (i = 0; i < g->columns; i++)
			if (!read_register(g, &c[i], &c[i].before))
				return;
	} else {
		if (!read_perf(g, &reading))
			return;
		for (i = 0; i < g->columns; i++)
			c[i].before = reading.value[i];
		g->enabled = reading.enabled;
		g->running = reading.running;
	}
	g->good = true;
}

/* group_after takes the reading after it and returns a code: KRUN_OK, KRUN_EREAD or KRUN_EPART. */
static int group_after(const struct group *g, struct cell *c)
{
	struct perf_reading reading;
	uint32_t i, at;

	if (!g->good)
		return KRUN_EREAD;
	if (!g->perf) {
		for (i = 0, at = g->turn; i < g->columns; i++, at = at + 1 < g->columns ? at + 1 : 0)
			if (!read_register(g, &c[at], &c[at].after))
				return KRUN_EREAD;
		return KRUN_OK;
	}
	if (!read_perf(g, &reading))
		return KRUN_EREAD;
	for (i = 0; i < g->columns; i++)
		c[i].after = reading.value[i];
	if (g->partial)
		return KRUN_OK;
	reading.enabled -= g->enabled;
	reading.running -= g->running;
	return reading.enabled == reading.running && reading.running > 0 ? KRUN_OK : KRUN_EPART;
}

/* A register of 48 bits that went through zero counted on: unsigned arithmetic in its width. */
static inline int64_t difference(const struct cell *c)
{
	return (int64_t)((c->after - c->before) & c->mask);
}

void krun_counters_before(krun *k)
{
	struct krun_counters *s = k->counters;
	uint32_t g;

	for (g = 0; g < s->groups; g++)
		group_before(&s->group[g], &s->cell[s->group[g].first]);
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
		const struct group *of = &s->group[g];
		int err = group_after(of, &s->cell[of->first]);

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

void krun_counters_done(krun *k)
{
	struct krun_counters *s = k->sampler;

	k->counters = NULL;
	if (s && s->once && s->begun)
		sample(s, &s->entries[0].total, sizeof *s->entries / sizeof(int64_t));
}

/* same_file says whether a descriptor is still the file that krund meant. */
static bool same_file(const struct krun_entry *e)
{
	struct stat st;

	return fstat(e->fd, &st) == 0 && (uint64_t)st.st_dev == e->device && (uint64_t)st.st_ino == e->inode;
}

/* good_group checks the entries of a group against each other. */
static bool good_group(const struct krun_entry *e, uint32_t columns)
{
	uint32_t i;

	if (e->group < 1 || e->group > KRUN_MAX_GROUP || e->group > columns || e->turn >= e->group || e->fd < 0)
		return false;
	if (e->source != KRUN_SOURCE_PERF && e->source != KRUN_SOURCE_REGISTERS)
		return false;
	for (i = 0; i < e->group; i++)
		if ((i > 0 && (e[i].group != 0 || e[i].source != KRUN_SOURCE_NONE)) ||
		    (e->source == KRUN_SOURCE_REGISTERS && (e[i].bits < 1 || e[i].bits > 64)))
			return false;
	return true;
}

/* add_group copies a group out of the shared table, where the benchmark could change it. */
static void add_group(struct krun_counters *s, uint32_t first)
{
	const struct krun_entry *e = &s->entries[first];
	bool usable = same_file(e);
	uint32_t i;

	s->group[s->groups++] = (struct group){
		.fd = usable ? e->fd : -1,
		.first = first,
		.columns = e->group,
		.turn = e->turn,
		.perf = e->source == KRUN_SOURCE_PERF,
		.partial = (e->flags & KRUN_GROUP_PARTIAL) != 0,
	};
	for (i = 0; i < e->group; i++)
		s->cell[first + i] = (struct cell){
			.mask = e->source == KRUN_SOURCE_PERF || e[i].bits == 64 ? UINT64_MAX : (UINT64_C(1) << e[i].bits) - 1,
			.address = e[i].address,
		};
	if (usable)
		(void)fcntl(e->fd, F_SETFD, FD_CLOEXEC); /* the benchmark's children have no business with it */
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
	for (i = 0; i < s->groups; i++)
		if (s->group[i].fd >= 0)
			(void)close(s->group[i].fd);
	free(s->group);
	free(s->cell);
	free(s);
}
