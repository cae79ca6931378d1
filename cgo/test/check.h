/* check.h - shared by the tests of libkrun: checks, and krund's end of the buffer. */
#ifndef CHECK_H
#define CHECK_H

#define _GNU_SOURCE

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../krun.h"
#include "../layout.h"

/* Failed checks so far. */
extern int check_failures;

#define CHECK(condition)                                                              \
	do {                                                                          \
		if (!(condition)) {                                                   \
			check_failures++;                                             \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
		}                                                                     \
	} while (0)

#define CHECK_INT(got, want)                                                                            \
	do {                                                                                            \
		long long check_got = (long long)(got), check_want = (long long)(want);                 \
		if (check_got != check_want) {                                                          \
			check_failures++;                                                               \
			fprintf(stderr, "%s:%d: %s is %lld, want %lld\n", __FILE__, __LINE__, #got,                   \
				check_got, check_want);                                                  \
		}                                                                                       \
	} while (0)

/* A buffer as krund makes it, mapped on this side. */
struct maker {
	int fd;
	struct krun_header *header;
	struct krun_entry *entries;
	struct krun_places at;
	struct krun_slot *slots; /* with events */
	struct krun_event_name *names;
};

/* maker_open makes a buffer and sets KRUN_BUFFER_FD. A failure ends the test program. */
struct maker maker_open(uint32_t iterations, uint32_t counters, uint32_t user_columns);

/* maker_events does the same with slots for events. */
struct maker maker_events(uint32_t iterations, uint32_t counters, uint32_t user_columns, uint32_t events);

/* maker_offer sets KRUN_BUFFER_FD to a duplicate of the buffer's descriptor, for krun_init. */
void maker_offer(const struct maker *m);

/* maker_close unmaps the buffer and unsets KRUN_BUFFER_FD. */
void maker_close(struct maker *m);

/* maker_group makes the columns from first on a group read from fd, which libkrun may close. */
void maker_group(struct maker *m, uint32_t first, uint32_t columns, enum krun_source source, int fd);

/*
 * maker_registers makes columns first to first+2 APERF, MPERF and core cycles (48 bits), in the
 * order of the study.
 */
void maker_registers(struct maker *m, uint32_t first, int fd);

/*
 * The registers' addresses in a file: eight times those of the device, where registers of eight
 * bytes are one address apart.
 */
enum { APERF = 8 * 0xe8, MPERF = 8 * 0xe7, CYCLES = 8 * 0x30a };

/* maker_file returns the descriptor of a sparse file without a name. */
int maker_file(long bytes);

/*
 * maker_self makes column 0 the event of this thread: a file with a page like the kernel's. It
 * returns 0 where there are none.
 */
int maker_self(struct maker *m);

/* attach makes a buffer of the given plan and attaches to it; a failure ends the program. */
krun *attach(struct maker *m, uint32_t iterations, uint32_t user_columns);

/* in_child runs f in a child and returns its wait status. */
int in_child(void (*f)(void));

/* One per file of tests. */
void test_attach(void);
void test_measure(void);
void test_columns(void);
void test_process(void);
void test_counters(void);
void test_self(void);
void test_events(void);

#endif
