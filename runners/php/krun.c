/*
 * krun.c - times the garbage collections of PHP, for runner.php with KRUN_INSTRUMENT.
 *
 * PHP calls its collector through the variable gc_collect_cycles, so that it can
 * be replaced. PHP's own statistics have no times before version 8.3, and never
 * the time of day. The file needs no PHP headers; one build works for all versions.
 */
#include <stdint.h>

/* zend_gc.h: collects cycles and returns how many values it freed. */
extern int (*gc_collect_cycles)(void);

struct krun_collections {
	int64_t count;
	int64_t time; /* ns */
};

struct krun_collections *krun_watch(void *handle, void *krun_now_ns, void *krun_event);

static struct krun_collections collections;
static int (*collect)(void);
static void *krun;
static int64_t (*now)(void);
static int (*event)(void *, int, int64_t, int64_t, int64_t, const char *); /* null without events */

static int collect_timed(void)
{
	int64_t began = now();
	int freed = collect();
	int64_t duration = now() - began;

	collections.count++;
	collections.time += duration;
	if (event)
		event(krun, 1 /* KRUN_EVENT_GC */, began, duration, INT64_MIN /* KRUN_MISSING */, 0);
	return freed;
}

/* krun_watch counts collections from now on. krun_event may be null. */
struct krun_collections *krun_watch(void *handle, void *krun_now_ns, void *krun_event)
{
	krun = handle;
	*(void **)&now = krun_now_ns; /* as POSIX shows it for dlsym */
	*(void **)&event = krun_event;
	collect = gc_collect_cycles;
	gc_collect_cycles = collect_timed;
	return &collections;
}
