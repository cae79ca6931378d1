/* internal.h - the handle, shared by krun.c (measuring) and attach.c (making and ending handles), which takes their memory from handle.c. */
#ifndef KRUN_INTERNAL_H
#define KRUN_INTERNAL_H

#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* CLOCK_MONOTONIC_RAW, MAP_POPULATE under -std=c11 */
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

struct krun_counters; /* counters.c */

/*
 * Everything that decides where libkrun reads and writes is kept here, in the
 * process's own memory: a benchmark that overwrites the buffer spoils its
 * numbers, but cannot send the library elsewhere. The first cache line is all
 * that begin and end need besides the arrays.
 */
struct krun {
	struct krun_hot *hot;
	int64_t *start;    /* [iterations] */
	int64_t *wall;     /* [iterations] */
	uint32_t next;     /* index of the running iteration, or of the one to come */
	uint32_t capacity; /* begin refuses from here on: iterations, 0 once done */
	bool open;         /* between begin and end */
	bool closed;       /* krun_done was called */
	struct krun_counters *counters; /* to be read around the next iteration, else null */

	struct krun_header *header;
	struct krun_entry *entries; /* [user_capacity]: those of the user columns */
	int64_t *user;              /* first user column's array */
	uint64_t stride;            /* elements from one array to the next */
	uint64_t bytes;             /* mapped */
	uint32_t iterations;
	uint32_t user_capacity;
	uint32_t user_count;
	struct krun_counters *sampler; /* null without counters */
};

/*
 * krun_handle_make returns a handle of zeros, or null. A child made by fork sees zeros there whatever the parent wrote (where the system can
 * do that), so that begin and end refuse it by what they look at anyway: the capacity is 0, no iteration is open.
 */
krun *krun_handle_make(void);

/* krun_handle_keep says which header the handle is about, where a child can still find it. */
void krun_handle_keep(krun *k, struct krun_header *h);

/* krun_handle_header is that header, in a child too. */
struct krun_header *krun_handle_header(const krun *k);

/* krun_handle_free releases the handle alone. */
void krun_handle_free(krun *k);

/* krun_spoil leaves the first measuring error where krund finds it, and returns it. */
int krun_spoil(struct krun_header *h, int error);

/* krun_lost leaves KRUN_ELOST there, also in the place of a KRUN_EREAD or KRUN_EPART that it explains. */
void krun_lost(struct krun_header *h);

/* krun_counters_check checks a header's scope and its counters' entries. Errors: KRUN_ELAYOUT. */
int krun_counters_check(struct krun_header *h);

/*
 * krun_counters_open takes over the counters of a filled handle's buffer, which
 * was checked. A descriptor that is not what krund meant is no error here: its
 * values will be missing. Errors: KRUN_ENOMEM.
 */
int krun_counters_open(krun *k);

/* krun_counters_before reads all counters, for the iteration that is about to begin. */
void krun_counters_before(krun *k);

/* krun_counters_after reads all counters again and stores the differences of iteration i. */
void krun_counters_after(krun *k, uint32_t i);

/* krun_counters_done stores the totals, when the scope is the execution. */
void krun_counters_done(krun *k);

/* krun_counters_free releases what krun_counters_open took. */
void krun_counters_free(krun *k);

static inline int64_t krun_ns(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#endif
