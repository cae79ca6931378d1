/*
 * instrument.c - what V8 reports about itself, for instrument.js. krun.node has these
 * functions only when KRUN_INSTRUMENT is set.
 *
 *	asked()             the value of KRUN_INSTRUMENT, a string
 *	start(major)        from now on, collections and compilations are counted; major is V8's number of
 *	                    a full collection. Returns the bytes in use of V8's heap, or undefined if
 *	                    this V8 has not the functions below
 *	open(events)        makes the columns; the script that V8 compiled since start has shown whether it
 *	                    reports compilations. From now on collections are events, too, if events is
 *	                    not 0
 *	close()             from now on they are not
 *	ended()             sets the columns of the iteration that ended
 *	now()               a stamp of libkrun's clock
 *	event(kind, time, duration, argument, name)
 *	countDeopts()       makes the column deopt_count of these events, unless some were lost
 *
 * Node-API has no functions for this. These are members of the class v8::Isolate, which Node's
 * executable exports under these names. A name contains the types of the arguments, so a V8 with
 * other ones has another name, and the function is null here.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "napi.h"

#define V8(name) __asm__("_ZN2v87Isolate" name) __attribute__((weak))

/* Beginnings of v8::HeapStatistics and v8::HeapSpaceStatistics; V8 may write more. */
struct heap {
	size_t total, executable, physical, available, used;
	size_t more[27];
};

struct space {
	const char *name;
	size_t size, used;
	size_t more[13];
};

typedef void gc_callback(void *isolate, int type, int flags, void *data);

extern void *v8_current(void) V8("10GetCurrentEv");
extern void v8_read_heap(void *isolate, struct heap *out) V8("17GetHeapStatisticsEPNS_14HeapStatisticsE");
extern size_t v8_count_spaces(void *isolate) V8("18NumberOfHeapSpacesEv");
extern bool v8_read_space(void *isolate, struct space *out, size_t index)
	V8("22GetHeapSpaceStatisticsEPNS_19HeapSpaceStatisticsEm");
extern void v8_before_gc(void *isolate, gc_callback *callback, void *data, int types)
	V8("21AddGCPrologueCallbackEPFvPS0_NS_6GCTypeENS_15GCCallbackFlagsEPvES4_S2_");
extern void v8_after_gc(void *isolate, gc_callback *callback, void *data, int types)
	V8("21AddGCEpilogueCallbackEPFvPS0_NS_6GCTypeENS_15GCCallbackFlagsEPvES4_S2_");
extern void v8_log_events(void *isolate, void (*logger)(const char *name, int status))
	V8("14SetEventLoggerEPFvPKciE");

#define ALL_TYPES 31
#define SCAVENGE 1 /* V8's number of a collection of young objects */
#define MOST_SPACES 32

static void *isolate;
static int32_t events; /* not 0: collections are events */

/* The current collection, and sums since the start of the iteration. They are the main thread's. */
static struct {
	int major; /* V8's number of a full collection */
	int depth; /* collections contain others */
	int64_t started, used;
	int64_t time, count, freed;
} gc;

/* Compilations since start, by any thread. */
static struct {
	_Atomic int64_t time, count;
	atomic_bool reported; /* this V8 calls log_event */
} jit;

/* The time of the outermost part of a compilation in this thread, and how many contain this one. */
static _Thread_local int64_t jit_started;
static _Thread_local int jit_depth;

static int64_t jit_last_time, jit_last_count;

enum column { GC_TIME, GC_COUNT, GC_FREED, HEAP_USED, CODE_SIZE, JIT_TIME, JIT_COUNT, COLUMNS };

static int columns[COLUMNS];

static int64_t heap_used(void)
{
	struct heap heap = { 0 };

	v8_read_heap(isolate, &heap);
	return (int64_t)heap.used;
}

/* code_size returns the bytes in use of V8's memory for compiled code. */
static int64_t code_size(void)
{
	size_t i, n = v8_count_spaces(isolate);
	int64_t size = 0;

	for (i = 0; i < n && i < MOST_SPACES; i++) {
		struct space space = { 0 };

		if (v8_read_space(isolate, &space, i) && space.name &&
		    (!strcmp(space.name, "code_space") || !strcmp(space.name, "code_large_object_space")))
			size += (int64_t)space.used;
	}
	return size;
}

static const char *gc_name(int type)
{
	if (type == SCAVENGE)
		return "scavenge";
	if (type == gc.major)
		return "mark-compact";
	if (type == 2 * gc.major)
		return "incremental marking";
	return type == 4 * gc.major ? "weak callbacks" : "minor mark-sweep";
}

static void before_gc(void *current, int type, int flags, void *data)
{
	(void)current;
	(void)type;
	(void)flags;
	(void)data;
	if (gc.depth++)
		return;
	gc.used = heap_used();
	gc.started = krun_now_ns();
}

static void after_gc(void *current, int type, int flags, void *data)
{
	int64_t duration, freed;

	(void)current;
	(void)flags;
	(void)data;
	if (!gc.depth || --gc.depth)
		return;
	duration = krun_now_ns() - gc.started;
	freed = gc.used - heap_used();
	gc.time += duration;
	gc.count += type <= gc.major;
	gc.freed += freed;
	if (events)
		(void)krun_event(krun_handle, KRUN_EVENT_GC, gc.started, duration, freed, gc_name(type));
}

/* log_event is called at the start (status 0) and end (1) of what V8 does, in any thread. */
static void log_event(const char *name, int status)
{
	bool optimizes = !strcmp(name, "V8.OptimizeCode");

	jit.reported = true;
	if (!optimizes && strncmp(name, "V8.Recompile", strlen("V8.Recompile")) != 0)
		return;
	if (status == 0) {
		if (optimizes)
			jit.count++;
		if (jit_depth++ == 0)
			jit_started = krun_now_ns();
	} else if (status == 1 && jit_depth && --jit_depth == 0) {
		jit.time += krun_now_ns() - jit_started;
	}
}

static napi_value asked(napi_env env, napi_callback_info info)
{
	const char *text = getenv("KRUN_INSTRUMENT");
	napi_value value = NULL;

	(void)info;
	(void)napi_create_string_utf8(env, text ? text : "", NAPI_AUTO_LENGTH, &value);
	return value;
}

static napi_value start(napi_env env, napi_callback_info info)
{
	napi_value argument = NULL, value = NULL;
	size_t count = 1;

	if (!v8_current || !v8_read_heap || !v8_count_spaces || !v8_read_space || !v8_before_gc ||
	    !v8_after_gc)
		return NULL;
	isolate = v8_current();
	(void)napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
	(void)napi_get_value_int32(env, argument, &gc.major);
	v8_before_gc(isolate, before_gc, NULL, ALL_TYPES);
	v8_after_gc(isolate, after_gc, NULL, ALL_TYPES);
	if (v8_log_events)
		v8_log_events(isolate, log_event);
	(void)napi_create_int64(env, heap_used(), &value);
	return value;
}

static napi_value open(napi_env env, napi_callback_info info)
{
	static const struct {
		const char *name, *unit;
	} descriptions[COLUMNS] = {
		[GC_TIME] = { "gc_time", "ns" },        [GC_COUNT] = { "gc_count", "" },
		[GC_FREED] = { "gc_freed", "bytes" },   [HEAP_USED] = { "heap_used", "bytes" },
		[CODE_SIZE] = { "code_size", "bytes" }, [JIT_TIME] = { "jit_time", "ns" },
		[JIT_COUNT] = { "jit_count", "" },
	};
	napi_value argument = NULL;
	size_t count = 1;
	int i;

	(void)napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
	(void)napi_get_value_int32(env, argument, &events);
	for (i = 0; i < COLUMNS; i++)
		columns[i] = i < JIT_TIME || jit.reported ?
				     krun_column(krun_handle, descriptions[i].name, descriptions[i].unit) :
				     KRUN_EINVAL;
	return NULL;
}

static napi_value close(napi_env env, napi_callback_info info)
{
	(void)env;
	(void)info;
	events = 0;
	return NULL;
}

/* set sets a column; libkrun refuses missing ones, and values before the first iteration. */
static void set(enum column column, int64_t value)
{
	(void)krun_set(krun_handle, columns[column], value);
}

static napi_value ended(napi_env env, napi_callback_info info)
{
	int64_t time = jit.time, count = jit.count;

	(void)env;
	(void)info;
	set(GC_TIME, gc.time);
	set(GC_COUNT, gc.count);
	set(GC_FREED, gc.freed);
	set(HEAP_USED, heap_used());
	set(CODE_SIZE, code_size());
	set(JIT_TIME, time - jit_last_time);
	set(JIT_COUNT, count - jit_last_count);
	gc.time = gc.count = gc.freed = 0;
	jit_last_time = time;
	jit_last_count = count;
	return NULL;
}

static napi_value now(napi_env env, napi_callback_info info)
{
	napi_value value = NULL;

	(void)info;
	(void)napi_create_int64(env, krun_now_ns(), &value);
	return value;
}

static napi_value event(napi_env env, napi_callback_info info)
{
	napi_value arguments[5] = { NULL };
	int64_t time = 0, duration = 0, argument = 0;
	size_t count = 5, length;
	int32_t kind = 0;
	char name[128] = "";

	(void)napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
	(void)napi_get_value_int32(env, arguments[0], &kind);
	(void)napi_get_value_int64(env, arguments[1], &time);
	(void)napi_get_value_int64(env, arguments[2], &duration);
	(void)napi_get_value_int64(env, arguments[3], &argument);
	(void)napi_get_value_string_utf8(env, arguments[4], name, sizeof name, &length);
	(void)krun_event(krun_handle, kind, time, duration, argument, name);
	return NULL;
}

static napi_value count_deopts(napi_env env, napi_callback_info info)
{
	(void)env;
	(void)info;
	(void)krun_count_events(krun_handle, krun_column(krun_handle, "deopt_count", ""), KRUN_EVENT_DEOPT);
	return NULL;
}

const struct function krun_instrument[] = {
	{ "asked", asked }, { "start", start }, { "open", open },   { "close", close },
	{ "ended", ended }, { "now", now },     { "event", event },
	{ "countDeopts", count_deopts }, { NULL, NULL },
};
