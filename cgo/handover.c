/*
 * handover.c - taking over the counters' descriptors from krund, and closing them. A counter that
 * turns out not to work loses its values; the times are measured all the same.
 */
#include "handover.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "counters.h"
#include "self.h"

bool krun_group_unchanged(const struct group *g)
{
	struct stat st;

	if (g->usage)
		return true;
	if (g->event)
		return krun_event_id(g->fd) == g->inode;
	return fstat(g->fd, &st) == 0 && (uint64_t)st.st_dev == g->device && (uint64_t)st.st_ino == g->inode;
}

/* first_thread reports whether the caller is the process's first thread. */
static bool first_thread(void)
{
#ifdef __linux__
	return syscall(SYS_gettid) == getpid();
#else
	return false;
#endif
}

/* valid_group checks the entries of a group against each other. */
static bool valid_group(const struct krun_entry *e, uint32_t columns)
{
	uint32_t i;

	if (e->group < 1 || e->group > KRUN_MAX_GROUP || e->group > columns || e->turn >= e->group || e->fd < 0)
		return false;
	if (e->source < KRUN_SOURCE_PERF || e->source > KRUN_SOURCE_USAGE)
		return false;
	if (e->source == KRUN_SOURCE_USAGE && e->group != KRUN_USAGE_COLUMNS)
		return false;
	if (e->source == KRUN_SOURCE_SELF && e->group != 1)
		return false;
	for (i = 0; i < e->group; i++)
		if ((i > 0 && (e[i].group != 0 || e[i].source != KRUN_SOURCE_NONE)) ||
		    (e->source == KRUN_SOURCE_REGISTERS && (e[i].bits < 1 || e[i].bits > 64)))
			return false;
	return true;
}

/* take_over checks a group's descriptor and makes it the library's own. */
static void take_over(struct group *g)
{
	if (g->event && g->inode == 0)
		g->inode = krun_event_id(g->fd);
	if ((g->event && g->inode == 0) || !krun_group_unchanged(g))
		g->error = KRUN_ELOST;
	else if (g->self && !first_thread())
		g->error = KRUN_ETHREAD;
	if (g->error) {
		g->fd = -1;
		return;
	}
	(void)fcntl(g->fd, F_SETFD, FD_CLOEXEC); /* the benchmark's children must not inherit it */
	if (g->self)
		g->page = krun_self_page(g->fd);
}

/* add_group copies a group out of the shared table, because the benchmark could change it there. */
static void add_group(struct krun_counters *s, uint32_t first)
{
	const struct krun_entry *e = &s->entries[first];
	bool registers = e->source == KRUN_SOURCE_REGISTERS;
	struct group *g = &s->group[s->groups++];
	uint32_t i;

	*g = (struct group){
		.fd = e->source == KRUN_SOURCE_USAGE ? -1 : e->fd,
		.device = e->device,
		.inode = e->inode,
		.event = (e->flags & KRUN_GROUP_EVENT) != 0,
		.self = e->source == KRUN_SOURCE_SELF,
		.usage = e->source == KRUN_SOURCE_USAGE,
		.first = first,
		.columns = e->group,
		.turn = e->turn,
		.perf = !registers,
		.partial = (e->flags & KRUN_GROUP_PARTIAL) != 0,
	};
	for (i = 0; i < e->group; i++)
		s->counter[first + i] = (struct counter){
			.mask = !registers || e[i].bits == 64 ? UINT64_MAX : (UINT64_C(1) << e[i].bits) - 1,
			.address = e[i].address,
		};
	if (g->usage)
		s->turn = 1;
	else
		take_over(g);
}

/* table_of returns the column table. */
static struct krun_entry *table_of(struct krun_header *h)
{
	return (struct krun_entry *)((char *)h + KRUN_HEADER_BYTES);
}

/* no_sources reports whether there is nothing to read: no counters, or columns that krund fills. */
static bool no_sources(struct krun_header *h)
{
	return h->plan.counters == 0 || table_of(h)->source == KRUN_SOURCE_NONE;
}

int krun_counters_check(struct krun_header *h)
{
	const struct krun_entry *e = table_of(h);
	uint32_t left = h->plan.counters;

	if (h->plan.scope > KRUN_SCOPE_EXECUTION)
		return KRUN_ELAYOUT;
	if (no_sources(h))
		return KRUN_OK;
	while (left > 0) {
		if (!valid_group(e, left) || (e->source == KRUN_SOURCE_USAGE && left != h->plan.counters))
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

	if (no_sources(h))
		return KRUN_OK;
	s = calloc(1, sizeof *s);
	if (!s)
		return KRUN_ENOMEM;
	k->sampler = s;
	s->header = h;
	s->entries = table_of(h);
	s->values = k->user - columns * k->stride;
	s->stride = k->stride;
	s->columns = columns;
	s->per_execution = h->plan.scope == KRUN_SCOPE_EXECUTION;
	s->thread = pthread_self();
	s->group = calloc(columns, sizeof *s->group);
	s->counter = calloc(columns, sizeof *s->counter);
	if (!s->group || !s->counter)
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
		if (s->group[i].fd >= 0 && krun_group_unchanged(&s->group[i]))
			(void)close(s->group[i].fd);
	}
	free(s->group);
	free(s->counter);
	free(s);
}
