/*
 * krun.h - libkrun: measure the in-process iterations of a benchmark.
 *
 *	krun *k;
 *	int err = krun_init(&k);
 *	if (err)
 *		return fail(krun_strerror(err));
 *	while (!krun_should_stop(k)) {
 *		krun_begin(k);
 *		run_iter(parameter);
 *		if (krun_end(k))
 *			break;
 *	}
 *	krun_done(k);
 *	krun_free(k);
 *
 * Under krund the measurements go to a buffer that krund shares with the
 * process (environment variable KRUN_BUFFER_FD) and reads afterwards, so they
 * survive a crash of the process. Without krund they go to the library's own
 * memory, for KRUN_ITERATIONS (default 2000) iterations, and the functions
 * under "Reading the measurements" return them.
 *
 * Units      Times are nanoseconds in int64_t: stamps count from the clock's
 *            arbitrary start, wall times are differences of two stamps. The
 *            clock is CLOCK_MONOTONIC_RAW on Linux, CLOCK_MONOTONIC elsewhere.
 * Errors     Functions return KRUN_OK (0) or a negative KRUN_E code, which
 *            krun_strerror explains. The library never exits, never prints,
 *            never raises a signal. The first error of krun_begin, krun_end
 *            or krun_done is also recorded in the buffer for krund.
 * Cost       krun_begin and krun_end read the clock once each, without a
 *            system call where the kernel's vDSO has the clock. They do not
 *            allocate, lock or print. All memory is touched by krun_init.
 * Counters   When krund hands over processor counters, krun_begin reads them
 *            before the clock and krun_end after it. These are the only system
 *            calls, and they lie outside the wall time. A failed reading
 *            invalidates its own values, not the iteration: krun_end succeeds.
 *            Do not close descriptors that you have not opened.
 * Threads    One handle belongs to one thread at a time: calls on it must not
 *            overlap, and handing it to another thread needs the usual
 *            synchronization. There is no global state: handles are
 *            independent. A benchmark may start threads inside an iteration.
 * Events     krun_event is the exception: any thread may call it at any time
 *            between krun_init and krun_free, several at once.
 * Processes  A child made by fork cannot use its parent's handle: every call
 *            returns KRUN_ECHILD (from Linux 4.14 on, and on OpenBSD), because
 *            krund has prepared the parent and not the child. A process may
 *            attach to krund's buffer once; a second krun_init, there or in a
 *            child that inherited the environment, returns KRUN_EBUSY.
 * Binding    Every argument is an int, an int64_t or a pointer; a krun* may be
 *            kept as void*. krun_end reports what krun_begin refused, so a
 *            binding need not look at krun_begin's result inside the
 *            measurement.
 */
#ifndef KRUN_H
#define KRUN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define KRUN_API __attribute__((visibility("default")))
#else
#define KRUN_API
#endif

#define KRUN_VERSION 1 /* of this interface; krun_version() is the library's */

enum krun_error {
	KRUN_OK = 0,
	KRUN_EINVAL = -1,   /* null handle, bad name or unit, no such column or index */
	KRUN_EENV = -2,     /* KRUN_BUFFER_FD or KRUN_ITERATIONS is not a number in range */
	KRUN_EMAP = -3,     /* the descriptor is not a buffer's file or cannot be mapped (errno) */
	KRUN_EMAGIC = -4,   /* the file is not a krun buffer */
	KRUN_EVERSION = -5, /* a buffer for another libkrun, or for another clock */
	KRUN_ELAYOUT = -6,  /* the buffer's header contradicts itself */
	KRUN_EBUSY = -7,    /* the buffer is already attached to */
	KRUN_ENOMEM = -8,   /* out of memory */
	KRUN_ECLOCK = -9,   /* the clock does not work (errno) */
	KRUN_EFULL = -10,   /* all planned iterations are done, or no column or event slot is left */
	KRUN_EORDER = -11,  /* begin inside an iteration, end outside, set before the first */
	KRUN_EDONE = -12,   /* krun_done was called before */
	KRUN_EREAD = -13,   /* a processor counter could not be read; only recorded in the buffer */
	KRUN_EPART = -14,   /* a counter did not count all the time; only recorded in the buffer */
	KRUN_ECHILD = -15,  /* the handle belongs to the process that this one was forked from */
	KRUN_ELOST = -16,   /* a counter's descriptor was closed or replaced; only recorded in the buffer */
	KRUN_ETHREAD = -17  /* the counter is that of another thread; only recorded in the buffer */
};

/* KRUN_MISSING is the value of a user column in iterations without krun_set. */
#define KRUN_MISSING INT64_MIN

/* A handle: opaque, made by krun_init, released by krun_free. */
typedef struct krun krun;

/*
 * krun_init attaches to krund's buffer, or to private memory when
 * KRUN_BUFFER_FD is not set, writes to every page of it, and stamps the start
 * of the process. Call it as early as the language allows. *out is a handle on
 * success, else null. The buffer's descriptor is closed after mapping; those of counters stay
 * open until krun_free and are not inherited through exec.
 * Errors: KRUN_EINVAL to KRUN_ECLOCK.
 */
KRUN_API int krun_init(krun **out);

/* krun_iterations returns the number of planned iterations, 0 for a null handle. */
KRUN_API int krun_iterations(const krun *k);

/*
 * krun_begin starts an iteration; reading the clock is the last thing it does.
 * Errors: KRUN_EORDER, KRUN_EFULL, KRUN_EDONE, KRUN_ECHILD, KRUN_EINVAL. After an error
 * krun_end returns KRUN_EORDER unless an iteration was already running.
 */
KRUN_API int krun_begin(krun *k);

/*
 * krun_end ends the iteration; reading the clock is the first thing it does.
 * Then it stores start stamp and wall time and publishes the iteration.
 * Errors: KRUN_EORDER, KRUN_ECHILD, KRUN_EINVAL.
 */
KRUN_API int krun_end(krun *k);

/*
 * krun_should_stop returns 1 when no further iteration should begin: all
 * planned ones are done, krund asks to stop, krun_done was called, or the
 * handle is null or belongs to another process. Otherwise it returns 0.
 */
KRUN_API int krun_should_stop(const krun *k);

/*
 * krun_input returns the input of the iteration that begins next, 0 to 2^31-1, 0 for a null
 * handle: a number that differs by iteration and follows from the environment variable KRUN_SEED.
 * krund draws the seed from that of the experiment, the same for all arms of a block.
 */
KRUN_API int krun_input(const krun *k);

/*
 * krun_column names a user column (time in the garbage collector, number of
 * compiled methods, ...) and returns its index, 0 or more. Call it before the
 * first iteration or between two, not inside one, because it writes to memory.
 * name: 1 to 47 characters of A-Z a-z 0-9 _ . - ; unit: 0 to 23 of these or / %.
 * The same name and unit again return the same index.
 * Errors: KRUN_EINVAL, KRUN_EORDER, KRUN_EDONE, KRUN_ECHILD, KRUN_EFULL (krund
 * reserves a fixed number; without krund there are 16).
 */
KRUN_API int krun_column(krun *k, const char *name, const char *unit);

/*
 * krun_set sets a user column's value for the running iteration or, between two
 * iterations, for the one that ended last. KRUN_MISSING removes the value.
 * Errors: KRUN_EINVAL (no such column), KRUN_EORDER (no iteration yet),
 * KRUN_EDONE, KRUN_ECHILD.
 */
KRUN_API int krun_set(krun *k, int column, int64_t value);

/*
 * The kinds of events. A kind's argument and name mean the same for all VMs,
 * unless the documentation of a VM's runner says otherwise.
 */
enum krun_event_kind {
	KRUN_EVENT_GC = 1,      /* garbage collection; argument: bytes freed, or KRUN_MISSING */
	KRUN_EVENT_COMPILE = 2, /* JIT compilation of the named function; argument: bytes of code, or the tier */
	KRUN_EVENT_DEOPT = 3,   /* compiled code of the named function was left or is invalid */
	KRUN_EVENT_CODE = 4,    /* the code cache is full, was flushed, or discarded code */
	KRUN_EVENT_LOAD = 5,    /* a class or module was loaded */
	KRUN_EVENT_PAUSE = 6,   /* the VM stopped all threads, not for garbage collection */
	KRUN_EVENT_MARK = 7,    /* the benchmark's own */
	/* Written by krund, which watches the kernel; krun_event refuses them. */
	KRUN_EVENT_SWITCH = 8, /* another task ran on the benchmark's processor */
	KRUN_EVENT_IRQ = 9,    /* interrupt */
	KRUN_EVENT_FAULT = 10, /* page fault */
	KRUN_EVENT_SMI = 11    /* system management interrupt */
};

/*
 * krun_event stores what the VM did at time_ns, a stamp of krun_now_ns, for
 * duration_ns (0: an instant). krund asks for events in the environment variable
 * KRUN_INSTRUMENT ("events") and provides slots for them; without that, and
 * without krund, nothing is stored. The function is safe from any thread; it
 * neither locks, waits, allocates nor makes a system call. Between krun_begin
 * and krun_end in the measuring thread its time is in the wall time.
 * name may be null. It is stored once, up to 119 bytes of it, with ? for
 * whatever is not printable ASCII; when there are too many names, events
 * have the name "(other)".
 * Errors: KRUN_EFULL (no slot is left: the event is lost, and counted),
 * KRUN_EINVAL (kind, time_ns, duration_ns), KRUN_ECHILD. They are not recorded.
 */
KRUN_API int krun_event(krun *k, int kind, int64_t time_ns, int64_t duration_ns, int64_t argument,
			const char *name);

/*
 * krun_count_events sets a user column in all complete iterations: to the number of
 * stored events of this kind that began in the iteration, or after it and before
 * the next one. It is for VMs that report events after the last iteration.
 * Errors: KRUN_EINVAL (column, kind), KRUN_EORDER (inside an iteration), KRUN_EFULL
 * (there are no slots, or events were lost), KRUN_EDONE, KRUN_ECHILD; then nothing
 * is set.
 */
KRUN_API int krun_count_events(krun *k, int column, int kind);

/*
 * krun_done ends the measurement. Everything measured stays readable until
 * krun_free. An iteration that is still running is dropped, and KRUN_EORDER is
 * returned. Errors: KRUN_EORDER, KRUN_EDONE, KRUN_ECHILD, KRUN_EINVAL.
 */
KRUN_API int krun_done(krun *k);

/* krun_free releases the handle; null is allowed. krund's buffer keeps its contents. */
KRUN_API void krun_free(krun *k);

/* Reading the measurements */

/* krun_count returns the number of complete iterations, 0 for a null handle. */
KRUN_API int krun_count(const krun *k);

/* krun_start_ns returns iteration i's start stamp, or KRUN_MISSING when i is not complete. */
KRUN_API int64_t krun_start_ns(const krun *k, int i);

/* krun_wall_ns returns iteration i's wall time, or KRUN_MISSING when i is not complete. */
KRUN_API int64_t krun_wall_ns(const krun *k, int i);

/* krun_value returns a user column's value in iteration i, or KRUN_MISSING. */
KRUN_API int64_t krun_value(const krun *k, int column, int i);

/* Other functions */

/* krun_now_ns reads the library's clock: a stamp, or KRUN_MISSING when it fails. */
KRUN_API int64_t krun_now_ns(void);

/* krun_strerror returns an English sentence without a final period; never null. */
KRUN_API const char *krun_strerror(int error);

/* krun_version returns the library's KRUN_VERSION. */
KRUN_API int krun_version(void);

#ifdef __cplusplus
}
#endif

#endif
