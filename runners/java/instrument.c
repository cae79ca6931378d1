/*
 * instrument.c - the native methods of KrunInstrument and KrunEvents: user columns
 * from HotSpot's performance counters, and events.
 *
 * HotSpot keeps performance counters in memory, which tools map as the file
 * hsperfdata_USER/PID (option UsePerfData, which is set by default). Here they are
 * in this process. jdk/src/hotspot/share/runtime/perfMemory.hpp describes the bytes.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "krun.h"

#define INSTRUMENT(type, name) __attribute__((visibility("default"))) type Java_KrunInstrument_##name
#define EVENTS(type, name) __attribute__((visibility("default"))) type Java_KrunEvents_##name
#define VM void *env, void *class
#define UNUSED ((void)env, (void)class)

INSTRUMENT(void, open)(VM, int64_t k);
INSTRUMENT(int32_t, set)(VM, int64_t k, int64_t heap_used, int64_t allocated);
INSTRUMENT(void, settle)(VM);
INSTRUMENT(void, setCode)(VM, int64_t k, int64_t bytes);
EVENTS(int64_t, now)(VM);
EVENTS(void, name)(VM, int32_t i, int64_t characters);
EVENTS(void, event)(VM, int64_t k, int32_t kind, int64_t time, int64_t duration, int64_t argument);
EVENTS(void, countDeopts)(VM, int64_t k);

#define MOST_PARTS 8   /* counters of one sum: a VM has two or three collectors */
#define MOST_PAUSES 25 /* of 200 ms, until the VM has compiled what is waiting */

/* The start of the counters' memory. */
struct prologue {
	uint32_t magic;
	uint8_t byte_order, major, minor, accessible;
	uint32_t used, overflow;
	int64_t modified;
	uint32_t entries_offset, entries;
};

struct entry {
	uint32_t length, name_offset, vector_length;
	uint8_t type, flags, units, variability;
	uint32_t data_offset;
};

/* A user column: a sum of the VM's counters. */
struct column {
	const char *name, *unit;
	const char *prefix, *suffix; /* of the counters' names */
	int index;                   /* of krun_column, or negative */
	int parts;
	const volatile int64_t *part[MOST_PARTS];
	int64_t last;
};

enum { GC_TIME, GC_COUNT, JIT_TIME, JIT_COUNT, COLUMNS };

static struct column columns[COLUMNS] = {
	[GC_TIME] = { .name = "gc_time", .unit = "ns", .prefix = "sun.gc.collector.", .suffix = ".time" },
	[GC_COUNT] = { .name = "gc_count", .unit = "", .prefix = "sun.gc.collector.", .suffix = ".invocations" },
	[JIT_TIME] = { .name = "jit_time", .unit = "ns", .prefix = "java.ci.", .suffix = "totalTime" },
	[JIT_COUNT] = { .name = "jit_count", .unit = "", .prefix = "sun.ci.", .suffix = "totalCompiles" },
};

static int heap_column, allocated_column, code_column;
static int64_t code_size = KRUN_MISSING;
static double nanoseconds = 1; /* per tick of the VM's clock */

static krun *handle(int64_t k)
{
	return (krun *)(intptr_t)k;
}

/* find_counters returns the address and the size of the VM's counters, or null. */
static const char *find_counters(size_t *size)
{
	const char *found = NULL;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");

	if (!maps)
		return NULL;
	while (!found && fgets(line, sizeof line, maps)) {
		unsigned long start, end;

		if (strstr(line, "/hsperfdata_") && sscanf(line, "%lx-%lx", &start, &end) == 2) {
			found = (const char *)(uintptr_t)start;
			*size = end - start;
		}
	}
	fclose(maps);
	return found;
}

/* matches reports whether a name has this prefix and suffix. */
static bool matches(const char *name, const char *prefix, const char *suffix)
{
	size_t n = strlen(name), before = strlen(prefix), after = strlen(suffix);

	return n >= before + after && !strncmp(name, prefix, before) && !strcmp(name + n - after, suffix);
}

static void add_counter(const char *name, const volatile int64_t *value)
{
	size_t i;

	if (!strcmp(name, "sun.os.hrt.frequency") && *value > 0)
		nanoseconds = 1e9 / (double)*value;
	for (i = 0; i < COLUMNS; i++) {
		struct column *c = &columns[i];

		if (c->parts < MOST_PARTS && matches(name, c->prefix, c->suffix))
			c->part[c->parts++] = value;
	}
}

/* read_counters finds the counters of the columns in the VM's memory. */
static void read_counters(void)
{
	size_t size = 0, at;
	const char *base = find_counters(&size);
	struct prologue p;
	uint32_t i;

	if (!base || size < sizeof p)
		return;
	memcpy(&p, base, sizeof p);
	if (p.major != 2 || p.entries_offset < sizeof p)
		return;
	for (i = 0, at = p.entries_offset; i < p.entries; i++) {
		struct entry e;
		const char *name;

		if (at > size || size - at < sizeof e)
			return;
		memcpy(&e, base + at, sizeof e);
		if (e.length < sizeof e || e.length > size - at || e.name_offset >= e.length)
			return;
		name = base + at + e.name_offset;
		if (!memchr(name, 0, e.length - e.name_offset))
			return;
		if (e.type == 'J' && e.vector_length == 0 && e.data_offset <= e.length - sizeof(int64_t))
			add_counter(name, (const volatile int64_t *)(const void *)(base + at + e.data_offset));
		at += e.length;
	}
}

/* sum returns the value of a column since the start of the VM. */
static int64_t sum(const struct column *c)
{
	int64_t total = 0;
	int i;

	for (i = 0; i < c->parts; i++)
		total += *c->part[i];
	return *c->unit ? (int64_t)((double)total * nanoseconds) : total;
}

INSTRUMENT(void, open)(VM, int64_t k)
{
	size_t i;

	UNUSED;
	read_counters();
	for (i = 0; i < COLUMNS; i++) {
		struct column *c = &columns[i];

		c->index = c->parts > 0 ? krun_column(handle(k), c->name, c->unit) : KRUN_EINVAL;
		c->last = sum(c);
	}
	heap_column = krun_column(handle(k), "heap_used", "bytes");
	allocated_column = krun_column(handle(k), "alloc_bytes", "bytes");
	code_column = krun_column(handle(k), "code_size", "bytes");
}

/* krun_set refuses the columns that there are not; nothing is lost by that. */
INSTRUMENT(int32_t, set)(VM, int64_t k, int64_t heap_used, int64_t allocated)
{
	bool changed = code_size == KRUN_MISSING;
	size_t i;

	UNUSED;
	for (i = 0; i < COLUMNS; i++) {
		struct column *c = &columns[i];
		int64_t now = sum(c);

		changed = changed || now != c->last;
		(void)krun_set(handle(k), c->index, now - c->last);
		c->last = now;
	}
	(void)krun_set(handle(k), heap_column, heap_used);
	if (allocated >= 0)
		(void)krun_set(handle(k), allocated_column, allocated);
	(void)krun_set(handle(k), code_column, code_size);
	return changed;
}

INSTRUMENT(void, settle)(VM)
{
	static const struct timespec pause = { 0, 200000000 };
	int64_t before, now = sum(&columns[JIT_TIME]);
	int i = 0;

	UNUSED;
	do {
		before = now;
		(void)nanosleep(&pause, NULL);
		now = sum(&columns[JIT_TIME]);
	} while (now != before && ++i < MOST_PAUSES);
}

INSTRUMENT(void, setCode)(VM, int64_t k, int64_t bytes)
{
	UNUSED;
	code_size = bytes;
	(void)krun_set(handle(k), code_column, bytes);
}

static char name_text[128]; /* of the next event; only the main thread sends them */

EVENTS(int64_t, now)(VM)
{
	UNUSED;
	return krun_now_ns();
}

EVENTS(void, name)(VM, int32_t i, int64_t characters)
{
	int j;

	UNUSED;
	if (i < 0 || i >= (int32_t)sizeof name_text / 8)
		return;
	for (j = 0; j < 8; j++)
		name_text[i * 8 + j] = (char)(characters >> 8 * j);
	name_text[sizeof name_text - 1] = 0;
}

EVENTS(void, event)(VM, int64_t k, int32_t kind, int64_t time, int64_t duration, int64_t argument)
{
	UNUSED;
	(void)krun_event(handle(k), kind, time, duration, argument, name_text);
}

EVENTS(void, countDeopts)(VM, int64_t k)
{
	UNUSED;
	(void)krun_count_events(handle(k), krun_column(handle(k), "deopt_count", ""), KRUN_EVENT_DEOPT);
}
