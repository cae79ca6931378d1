/*
 * layout.h - the bytes of the shared buffer. This file is the specification;
 * layout.go repeats the numbers and a test compares the two.
 *
 * krund makes a buffer for each process execution, hands it over as an open
 * file, and reads it when the process has ended. libkrun maps it and fills it.
 * Without krund libkrun makes the same thing in its own memory.
 *
 *   0            header, KRUN_HEADER_BYTES: parts on separate cache lines, so
 *                that writers do not slow each other down
 *                  plan      written by the maker before the start, then constant
 *                  control   written by krund while the process runs
 *                  progress  written by libkrun now and then
 *                  hot       written by libkrun at every begin and end
 *   header_bytes column table, one struct krun_entry per column: the counters
 *                (fixed by the maker), then the slots for user columns (named
 *                by the measured process through krun_column)
 *   start_offset start stamps  int64[iterations]  nanoseconds on the clock
 *   wall_offset  wall times    int64[iterations]  nanoseconds, end - start
 *   entry.offset one array per column, int64[iterations], in table order
 *   events       struct krun_slot[events], only with events; then
 *   names        struct krun_event_name[KRUN_EVENT_NAMES]
 *
 * All numbers are in the byte order of the machine; a buffer never leaves it.
 * The first array starts on a page (KRUN_DATA_ALIGN) and each array on a cache
 * line (KRUN_LINE), both counted from the start of the buffer, so the layout
 * follows from four numbers alone: iterations, counters, user columns, events.
 * Both sides compute it and neither trusts the other's offsets.
 *
 * Counters come in groups of consecutive columns, one descriptor per group. It
 * yields the values of a perf group by one read (or one value without a system
 * call), or registers of one core by one pread each. The entry of a group's
 * first column has the number under which the process inherits the descriptor.
 * Groups are read in table order; values are differences, "after" minus
 * "before", or KRUN_MISSING (INT64_MIN) where a reading failed. A group of
 * KRUN_SOURCE_USAGE has no descriptor. It can only be the first one, and is read
 * last after an iteration, so that no other counter counts its system calls. Its
 * columns of the reading thread are KRUN_MISSING where another thread took the
 * reading before. With
 * KRUN_SCOPE_EXECUTION counters are read only before the first iteration and in
 * krun_done, and their arrays stay unused: the difference is in entry.total.
 * Without, krun_init replaces a total of KRUN_EMPTY by what an iteration without
 * work counts: the least of several, or KRUN_MISSING. An older libkrun leaves it.
 *
 * An element is valid once `done` exceeds its index: libkrun stores an
 * iteration's values first and `done` after them (release). So the data of a
 * process that is killed are complete up to its last complete iteration.
 *
 * Events come from any thread. A writer takes a slot by adding one to
 * event_count.next, fills it, and stores its kind last (release); so a slot whose
 * kind is not 0 is complete, even after a kill. Slots are used once, from the
 * first on: when none is left the events after that are lost, and next - events
 * of them are counted. A name is stored once: a writer claims an entry of the
 * table by its state, fills it, and makes it ready (release). A writer that finds
 * an entry claimed but not ready goes to the next, so a name may be there twice.
 *
 * Padding is zero. A change of meaning or place raises KRUN_LAYOUT_VERSION. A
 * buffer that uses nothing new has the version it always had, so that a program
 * with an older libkrun linked into it can use it. That refuses any other buffer
 * (KRUN_EVERSION).
 */
#ifndef KRUN_LAYOUT_H
#define KRUN_LAYOUT_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define KRUN_MAGIC "krunbuf" /* with its final zero: eight bytes */
#define KRUN_LAYOUT_VERSION 4
#define KRUN_LAYOUT_EVENTS 2 /* without KRUN_SOURCE_USAGE */
#define KRUN_LAYOUT_FIRST 1 /* nor events */
#define KRUN_LINE 64
#define KRUN_DATA_ALIGN 4096
#define KRUN_HEADER_BYTES 512
#define KRUN_ENTRY_BYTES 128
#define KRUN_NAME_BYTES 48 /* with the final zero */
#define KRUN_UNIT_BYTES 24 /* with the final zero */
#define KRUN_SLOT_BYTES 32
#define KRUN_EVENT_NAME_BYTES 120 /* with the final zero */
#define KRUN_EVENT_NAMES 4096 /* entries of the table, a power of two */

/* Bounds of a plan: larger numbers mean a damaged header. */
#define KRUN_MAX_ITERATIONS (1 << 24)
#define KRUN_MAX_COUNTERS 8192
#define KRUN_MAX_USER_COLUMNS 64
#define KRUN_MAX_GROUP 16 /* columns of one group */
#define KRUN_MAX_HOLD 1000000u
#define KRUN_MAX_EVENTS (1 << 20)

enum krun_clock_kind {
	KRUN_CLOCK_MONOTONIC_RAW = 1, /* Linux: not slewed by NTP */
	KRUN_CLOCK_MONOTONIC = 2      /* elsewhere */
};

enum krun_state {
	KRUN_STATE_NEW = 0,   /* no process has attached yet */
	KRUN_STATE_READY = 1, /* krun_init succeeded */
	KRUN_STATE_DONE = 2   /* krun_done was called */
};

enum krun_column_kind {
	KRUN_COLUMN_FREE = 0,    /* an unused slot for a user column */
	KRUN_COLUMN_COUNTER = 1, /* named by the maker */
	KRUN_COLUMN_USER = 2     /* named through krun_column */
};

enum krun_source {
	KRUN_SOURCE_NONE = 0,     /* not the first column of a group */
	KRUN_SOURCE_PERF = 1,     /* read gives count, time enabled, time running, values */
	KRUN_SOURCE_REGISTERS = 2, /* pread of eight bytes at the register's address */
	KRUN_SOURCE_SELF = 3, /* one perf event, of the process's first thread: RDPMC if possible, else read */
	KRUN_SOURCE_USAGE = 4 /* getrusage of the process and of the reading thread: no descriptor */
};

/* The columns of KRUN_SOURCE_USAGE, in this order. */
enum krun_usage {
	KRUN_USAGE_MINOR_FAULTS,
	KRUN_USAGE_MAJOR_FAULTS,
	KRUN_USAGE_VOLUNTARY,   /* context switches */
	KRUN_USAGE_INVOLUNTARY,
	KRUN_USAGE_THREAD_VOLUNTARY, /* of the thread that calls krun_begin and krun_end */
	KRUN_USAGE_THREAD_INVOLUNTARY,
	KRUN_USAGE_COLUMNS
};

#define KRUN_EMPTY (INT64_MIN + 1) /* entry.total: krun_init shall count an empty iteration */

enum krun_scope {
	KRUN_SCOPE_ITERATION = 0, /* counters are read around each iteration */
	KRUN_SCOPE_EXECUTION = 1  /* ... and here around all of them */
};

/*
 * A perf group that may count only part of the time: one of several, each for
 * another kind of core. Without this flag a group whose time running lags behind
 * its time enabled had to share the hardware counters, and its values are lost.
 */
#define KRUN_GROUP_PARTIAL 1

/*
 * The group's file is a perf event, identified by its id (PERF_EVENT_IOC_ID) in
 * entry.inode: to fstat all perf events are the same file. 0 is any perf event.
 */
#define KRUN_GROUP_EVENT 2

/* Constant after the maker has written it. */
struct krun_plan {
	char magic[8];
	uint32_t version;      /* KRUN_LAYOUT_VERSION */
	uint32_t header_bytes; /* KRUN_HEADER_BYTES: where the table starts */
	uint64_t bytes;        /* of the whole buffer */
	uint32_t iterations;   /* planned, at least 1 */
	uint32_t counters;     /* entries of kind counter, first in the table */
	uint32_t user_columns; /* entries after them, reserved for the process */
	uint32_t entry_bytes;  /* KRUN_ENTRY_BYTES */
	uint64_t start_offset;
	uint64_t wall_offset;
	uint32_t clock;        /* enum krun_clock_kind */
	uint32_t scope;        /* enum krun_scope */
	uint32_t events;       /* slots for events; 0: none */
	uint32_t hold;         /* parts per million that every iteration is to take longer */
	uint8_t room[56];
};

/* Written by krund (and its stage, before the exec). */
struct krun_control {
	_Atomic uint32_t stop; /* not 0: end after this iteration */
	uint32_t pad;
	int64_t exec_ns;       /* stamp just before exec; 0: not taken */
	uint8_t room[48];
};

/* Written by libkrun outside the iterations. */
struct krun_progress {
	_Atomic uint32_t state; /* enum krun_state */
	_Atomic int32_t error;  /* the first KRUN_E* code a call returned, or 0 */
	_Atomic int64_t pid;    /* of the process that attached; 0: none */
	int64_t init_ns;        /* stamp at the start of krun_init; 0: not taken */
	int64_t done_ns;        /* stamp in krun_done; 0: not taken */
	uint8_t room[32];
};

/* Written by libkrun in every iteration. */
struct krun_hot {
	struct timespec begun; /* the clock at the latest krun_begin */
	_Atomic uint64_t done; /* complete iterations */
	uint8_t room[40];
};

/* Written by libkrun, by any thread, at every event. */
struct krun_event_count {
	_Atomic uint64_t next; /* events so far, those without a slot included */
	uint8_t room[56];
};

struct krun_header {
	struct krun_plan plan;
	struct krun_control control;
	struct krun_progress progress;
	struct krun_hot hot;
	struct krun_event_count event_count;
	uint8_t room[KRUN_HEADER_BYTES - 384];
};

/* One column. Names and units are ASCII and end with a zero byte. */
struct krun_entry {
	uint32_t kind;   /* enum krun_column_kind */
	int32_t core;    /* of a per-core counter, else -1 */
	uint64_t offset; /* of its array */
	char name[KRUN_NAME_BYTES];
	char unit[KRUN_UNIT_BYTES];
	uint16_t group;   /* columns in the group that starts here, else 0 */
	uint8_t source;   /* enum krun_source */
	uint8_t flags;    /* of the group: KRUN_GROUP_PARTIAL, KRUN_GROUP_EVENT */
	uint8_t turn;     /* of the group: the column that is read first after an iteration */
	uint8_t bits;     /* of a register: its width, 1 to 64 */
	uint16_t pad;
	int32_t fd;       /* of the group: the descriptor's number in the process */
	uint32_t address; /* of a register */
	uint64_t device;  /* of the group's file: st_dev and st_ino, to detect another */
	uint64_t inode;   /* file under the same number */
	int64_t total;    /* written by libkrun: over the execution, or of an empty iteration */
};

/* One event. */
struct krun_slot {
	_Atomic uint32_t kind; /* enum krun_event_kind; 0: not complete */
	uint32_t name;         /* KRUN_NAME_NONE, KRUN_NAME_OTHER or an index in the table */
	int64_t time_ns;       /* its start, on the clock */
	int64_t duration_ns;
	int64_t argument;
};

#define KRUN_NAME_NONE UINT32_MAX         /* no name was given */
#define KRUN_NAME_OTHER (UINT32_MAX - 1) /* the table had no room for it */

enum krun_name_state {
	KRUN_NAME_FREE = 0,
	KRUN_NAME_CLAIMED = 1, /* a thread is writing it, or was killed meanwhile */
	KRUN_NAME_READY = 2
};

/* The name of events: printable ASCII that ends with a zero byte. */
struct krun_event_name {
	_Atomic uint32_t state; /* enum krun_name_state */
	uint32_t hash;          /* libkrun's own */
	char text[KRUN_EVENT_NAME_BYTES];
};

static_assert(sizeof(time_t) == 8 && sizeof(struct timespec) == 16, "libkrun needs 64-bit time_t and long");
static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2, "shared words must be plain memory");
static_assert(sizeof(struct krun_plan) == 128, "plan");
static_assert(sizeof(struct krun_control) == KRUN_LINE, "control");
static_assert(sizeof(struct krun_progress) == KRUN_LINE, "progress");
static_assert(sizeof(struct krun_hot) == KRUN_LINE, "hot");
static_assert(sizeof(struct krun_header) == KRUN_HEADER_BYTES, "header");
static_assert(sizeof(struct krun_entry) == KRUN_ENTRY_BYTES, "entry");
static_assert(offsetof(struct krun_entry, total) == KRUN_ENTRY_BYTES - 8, "total");
static_assert(sizeof(struct krun_event_count) == KRUN_LINE, "event_count");
static_assert(sizeof(struct krun_slot) == KRUN_SLOT_BYTES, "slot");
static_assert(sizeof(struct krun_event_name) == KRUN_EVENT_NAME_BYTES + 8, "event_name");
static_assert((KRUN_EVENT_NAMES & (KRUN_EVENT_NAMES - 1)) == 0, "names");
static_assert(offsetof(struct krun_header, control) == 128, "control");
static_assert(offsetof(struct krun_header, progress) == 192, "progress");
static_assert(offsetof(struct krun_header, hot) == 256, "hot");
static_assert(offsetof(struct krun_header, event_count) == 320, "event_count");

/* The offsets that follow from a plan. */
struct krun_places {
	uint64_t start;  /* offset of the start stamps */
	uint64_t wall;   /* offset of the wall times */
	uint64_t column; /* offset of the first column's array */
	uint64_t stride; /* bytes from one array to the next */
	uint64_t slots;  /* offset of the events' slots; bytes, without events */
	uint64_t names;  /* offset of their names; bytes, without events */
	uint64_t bytes;  /* of the whole buffer */
};

/* krun_place computes the layout. Within the bounds above nothing overflows. */
static inline struct krun_places krun_place(uint32_t iterations, uint32_t columns, uint32_t events)
{
	struct krun_places p;
	uint64_t table = KRUN_HEADER_BYTES + (uint64_t)columns * KRUN_ENTRY_BYTES;

	p.stride = ((uint64_t)iterations * 8 + KRUN_LINE - 1) / KRUN_LINE * KRUN_LINE;
	p.start = (table + KRUN_DATA_ALIGN - 1) / KRUN_DATA_ALIGN * KRUN_DATA_ALIGN;
	p.wall = p.start + p.stride;
	p.column = p.wall + p.stride;
	p.slots = p.column + columns * p.stride;
	p.names = p.slots + ((uint64_t)events * KRUN_SLOT_BYTES + KRUN_LINE - 1) / KRUN_LINE * KRUN_LINE;
	p.bytes = p.names + (events ? KRUN_EVENT_NAMES * sizeof(struct krun_event_name) : 0);
	return p;
}

#endif
