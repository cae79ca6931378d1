/*
 * internal.h - the handle and the clock, for every file of the library. Include it, or a header
 * that does, before any system header. Headers include in one direction only:
 *
 *   krun.h, layout.h <- internal.h <- handle.h, handover.h, counters.h
 *   layout.h         <- errors.h
 *
 * and calls go down this list only: attach.c (making and ending handles), krun.c (measuring),
 * events.c (storing events), counters.c (reading counters), handover.c (taking over their
 * descriptors), self.c, handle.c, errors.c.
 */
#ifndef KRUN_INTERNAL_H
#define KRUN_INTERNAL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* CLOCK_MONOTONIC_RAW, MAP_POPULATE, RUSAGE_THREAD under -std=c11 */
#endif

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "krun.h"
#include "layout.h"

#if defined(__linux__) && defined(CLOCK_MONOTONIC_RAW)
#define KRUN_CLOCK CLOCK_MONOTONIC_RAW
#define KRUN_CLOCK_KIND KRUN_CLOCK_MONOTONIC_RAW
#else
#define KRUN_CLOCK CLOCK_MONOTONIC
#define KRUN_CLOCK_KIND KRUN_CLOCK_MONOTONIC
#endif

#if defined(__GNUC__)
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define COLD __attribute__((cold, noinline))
#else
#define LIKELY(x) (x)
#define UNLIKELY(x) (x)
#define COLD
#endif

struct krun_counters; /* counters.h */

/*
 * Everything that decides where libkrun reads and writes is kept here, in the process's private
 * memory: a benchmark that overwrites the buffer damages its own numbers, but cannot make the
 * library write elsewhere. krun_begin and krun_end need only the first cache line and the arrays.
 */
struct krun {
	struct krun_hot *hot;
	int64_t *start;    /* [iterations] */
	int64_t *wall;     /* [iterations] */
	uint32_t next;     /* index of the running iteration, or of the one to come */
	uint32_t capacity; /* begin refuses from here on: iterations, 0 once done */
	bool open;         /* between begin and end */
	bool closed;       /* krun_done was called */
	uint32_t hold;     /* parts per million that every iteration takes longer; 0: none is held */
	struct krun_counters *counters; /* to be read around the next iteration, or null */

	struct krun_header *header;
	struct krun_entry *entries; /* [user_capacity]: those of the user columns */
	int64_t *user;              /* first user column's array */
	uint64_t stride;            /* elements from one array to the next */
	uint64_t bytes;             /* mapped */
	uint32_t iterations;
	uint32_t user_capacity;
	uint32_t user_count;
	uint32_t seed; /* of the inputs */
	struct krun_counters *sampler; /* null without counters */

	/* Constant after krun_init, because any thread reads them; zero in a forked child. */
	struct krun_slot *slots;       /* [events] */
	struct krun_event_name *names; /* [KRUN_EVENT_NAMES] */
	uint32_t events;
};

static inline int64_t krun_ns(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#endif
