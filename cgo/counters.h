/* counters.h - reading the counters of a handle around its iterations. */
#ifndef KRUN_COUNTERS_H
#define KRUN_COUNTERS_H

#include "internal.h"

#include <pthread.h>

struct perf_event_mmap_page; /* linux/perf_event.h */

/* A counter group: the columns that one descriptor yields. */
struct group {
	int fd;           /* -1: not usable */
	int error;        /* why not; else KRUN_OK */
	uint64_t device;  /* identity of the file, as in struct krun_entry */
	uint64_t inode;
	bool event;
	bool self;        /* counts the process's first thread alone */
	bool usage;       /* getrusage; fd is -1 */
	pthread_t reader; /* usage: the thread that took the reading before */
	const volatile struct perf_event_mmap_page *page; /* self: may be null */
	uint32_t first;   /* column */
	uint32_t columns; /* 1 to KRUN_MAX_GROUP */
	uint32_t turn;    /* column that is read first after an iteration */
	bool perf;
	bool partial;
	int before;       /* code of the reading before the iteration */
	uint64_t enabled; /* perf: time enabled and running at that reading */
	uint64_t running;
};

/* One counter. */
struct counter {
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
	uint32_t turn; /* group that is read first after an iteration */
	uint32_t columns;
	bool per_execution; /* KRUN_SCOPE_EXECUTION */
	bool started; /* per_execution: the first reading is done */
	pthread_t thread; /* the only one that may read a group with self */
	struct group *group;
	struct counter *counter;
};

/* krun_counters_before reads all counters for the iteration that is about to begin. */
void krun_counters_before(krun *k);

/* krun_counters_after reads all counters again and stores the differences of iteration i. */
void krun_counters_after(krun *k, uint32_t i);

/* krun_counters_empty stores what an iteration without work counts, where the maker asks for it. */
void krun_counters_empty(krun *k);

/* krun_counters_done stores the totals when the scope is the execution. */
void krun_counters_done(krun *k);

#endif
