//go:build cgo

// Package krun is the iteration runner for Go: a benchmark is a program that imports it and calls
// Main with its function. The file needs nothing else of krund, so that it can be copied into the
// benchmark's module.
//
//	usage: PROGRAM PARAMETER
//
// libkrun is the file that the environment variable KRUN_LIBRARY names. It is attached while this
// package is initialized, before the packages that import it. The main goroutine stays in the first
// thread of the process, in which krund's processor counters count.
//
// With KRUN_INSTRUMENT the columns gc_count, gc_time, gc_freed, alloc_bytes and heap_used are read
// from Go's runtime after each iteration, and collections are reported as events at that time.
//
// Exit status: 0 measured; 64 usage; 69 libkrun cannot be loaded; 70 the benchmark panicked; 71
// krun_init failed; 76 krun_begin or krun_end failed. If the benchmark exits by itself, its status
// is kept.
package krun

/*
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

// The handle stays in C, so that Go passes no pointers while measuring.
static void *handle;
static int (*init)(void **);
static int (*should_stop)(void *), (*begin)(void *), (*end)(void *), (*done)(void *);
static const char *(*text)(int);
static int (*column)(void *, const char *, const char *), (*set)(void *, int, int64_t);
static int (*event)(void *, int, int64_t, int64_t, int64_t, const char *);
static int64_t (*now)(void);

static void *find(void *library, const char *name, const char **why)
{
	void *function = dlsym(library, name);

	if (!function)
		*why = dlerror();
	return function;
}

// krun_load binds the functions and returns NULL, or the reason why it cannot.
static const char *krun_load(const char *path, int *version)
{
	const char *why = NULL;
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*of)(void);

	if (!library)
		return dlerror();
	*(void **)&of = find(library, "krun_version", &why);
	*(void **)&init = find(library, "krun_init", &why);
	*(void **)&should_stop = find(library, "krun_should_stop", &why);
	*(void **)&begin = find(library, "krun_begin", &why);
	*(void **)&end = find(library, "krun_end", &why);
	*(void **)&done = find(library, "krun_done", &why);
	*(void **)&text = find(library, "krun_strerror", &why);
	if (!why)
		*version = of();
	return why;
}

// krun_load_more binds the functions for KRUN_INSTRUMENT.
static const char *krun_load_more(const char *path)
{
	const char *why = NULL;
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return dlerror();
	*(void **)&column = find(library, "krun_column", &why);
	*(void **)&set = find(library, "krun_set", &why);
	*(void **)&event = find(library, "krun_event", &why);
	*(void **)&now = find(library, "krun_now_ns", &why);
	return why;
}

static int krun_attach(void) { return init(&handle); }
static int krun_stop(void) { return should_stop(handle); }
static void krun_start(void) { begin(handle); }
static int krun_finish(void) { return end(handle); }
static int krun_complete(void) { return done(handle); }
static const char *krun_text(int code) { return text(code); }
static int krun_new_column(const char *name, const char *unit) { return column(handle, name, unit); }
static void krun_put(int index, int64_t value) { set(handle, index, value); }

// krun_collected reports a collection. end is the time of day, which is what Go's runtime keeps.
static void krun_collected(int64_t end, int64_t paused)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	event(handle, 1, now() - (t.tv_sec * INT64_C(1000000000) + t.tv_nsec - end) - paused, paused,
	      INT64_MIN, "pauses"); // KRUN_EVENT_GC, KRUN_MISSING
}
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
	"unsafe"
)

// The statuses of all runners that apply to Go.
const (
	exitUsage   = 64
	exitLibrary = 69
	exitPanic   = 70
	exitInit    = 71
	exitMeasure = 76
)

const version = 1 // KRUN_VERSION of krun.h

var parameter int

// In an initialization, LockOSThread keeps the main goroutine in the first thread.
func init() {
	runtime.LockOSThread()
	n, err := strconv.ParseInt(os.Args[len(os.Args)-1], 10, strconv.IntSize)
	if err != nil || len(os.Args) != 2 || strings.HasPrefix(os.Args[1], "+") {
		fmt.Fprintf(os.Stderr, "usage: %s PARAMETER (an integer)\n", os.Args[0])
		os.Exit(exitUsage)
	}
	parameter = int(n)
	load()
	// A function is resolved at its first call. libkrun refuses the null handle.
	C.krun_stop()
	C.krun_start()
	C.krun_finish()
	if code := C.krun_attach(); code != 0 {
		fail(exitInit, "krun_init: "+explain(code))
	}
}

// load loads libkrun.
func load() {
	name := os.Getenv("KRUN_LIBRARY")
	if name == "" {
		fail(exitLibrary, "cannot load libkrun: set KRUN_LIBRARY to the path of libkrun.so")
	}
	path := C.CString(name)
	defer C.free(unsafe.Pointer(path))
	var found C.int
	if why := C.krun_load(path, &found); why != nil {
		fail(exitLibrary, "cannot load libkrun: "+C.GoString(why)+
			"; set KRUN_LIBRARY to the path of libkrun.so")
	}
	if found != version {
		fail(exitLibrary, fmt.Sprintf("%s has interface version %d, this runner needs %d; build the "+
			"benchmark with the runner of this krund", name, found, version))
	}
}

// Main calls runIter with the program's parameter until libkrun says stop, then exits.
func Main(runIter func(parameter int)) {
	defer func() {
		if e := recover(); e != nil {
			_, _ = os.Stderr.Write(debug.Stack())
			// krund quotes the last line
			fail(exitPanic, fmt.Sprintf("the benchmark raised an exception in run_iter: panic: %s",
				strings.Join(strings.Fields(fmt.Sprint(e)), " ")))
		}
	}()
	level := os.Getenv("KRUN_INSTRUMENT")
	code := C.int(0)
	if level == "" {
		code = measure(runIter)
	} else {
		code = measureWith(newInstrument(level == "events"), runIter)
	}
	if code != 0 {
		fail(exitMeasure, "krun_begin or krun_end: "+explain(code))
	}
	os.Exit(0)
}

// measure returns the code of the call that failed, or 0. The result of krun_begin is not checked,
// because the check would be measured, and krun_end reports the same error.
func measure(runIter func(int)) C.int {
	for C.krun_stop() == 0 {
		C.krun_start()
		runIter(parameter)
		if code := C.krun_finish(); code != 0 {
			return code
		}
	}
	return C.krun_complete()
}

// measureWith is measure, and asks Go's runtime after each iteration.
func measureWith(i *instrument, runIter func(int)) C.int {
	for C.krun_stop() == 0 {
		C.krun_start()
		runIter(parameter)
		if code := C.krun_finish(); code != 0 {
			return code
		}
		i.after()
	}
	return C.krun_complete()
}

// counted are the columns from package metrics. They are differences except for the last one.
var counted = []struct{ column, unit, metric string }{
	{"gc_count", "", "/gc/cycles/total:gc-cycles"},
	{"gc_freed", "bytes", "/gc/heap/frees:bytes"},
	{"alloc_bytes", "bytes", "/gc/heap/allocs:bytes"},
	{"heap_used", "bytes", "/memory/classes/heap/objects:bytes"},
}

// instrument is what Go's runtime reports about itself. Reading it creates no objects and does not
// stop the world.
type instrument struct {
	events  bool
	columns []C.int // of counted, then gc_time
	samples []metrics.Sample
	before  []uint64
	gc      debug.GCStats // of pauses
	cycles  int64         // reported
	paused  int64         // ns
}

func newInstrument(events bool) *instrument {
	path := C.CString(os.Getenv("KRUN_LIBRARY"))
	defer C.free(unsafe.Pointer(path))
	if why := C.krun_load_more(path); why != nil {
		fail(exitLibrary, "cannot load libkrun: "+C.GoString(why))
	}
	i := &instrument{events: events, before: make([]uint64, len(counted))}
	for _, c := range counted {
		i.columns = append(i.columns, newColumn(c.column, c.unit))
		i.samples = append(i.samples, metrics.Sample{Name: c.metric})
	}
	i.columns = append(i.columns, newColumn("gc_time", "ns"))
	metrics.Read(i.samples)
	for n, s := range i.samples {
		if s.Value.Kind() == metrics.KindUint64 {
			i.before[n] = s.Value.Uint64()
		}
	}
	i.gc.Pause = make([]time.Duration, 0, 3*256) // what ReadGCStats needs
	debug.ReadGCStats(&i.gc)
	i.cycles, i.paused = i.gc.NumGC, int64(i.gc.PauseTotal)
	return i
}

func newColumn(name, unit string) C.int {
	n, u := C.CString(name), C.CString(unit)
	defer C.free(unsafe.Pointer(n))
	defer C.free(unsafe.Pointer(u))
	return C.krun_new_column(n, u) // krun_set ignores the index of a column that there is no room for
}

// after sets the columns of the iteration that ended, and reports its collections.
func (i *instrument) after() {
	metrics.Read(i.samples)
	for n, s := range i.samples {
		if s.Value.Kind() != metrics.KindUint64 {
			continue // not known in this version of Go
		}
		value := s.Value.Uint64()
		if n < len(i.samples)-1 {
			value, i.before[n] = value-i.before[n], value
		}
		C.krun_put(i.columns[n], C.int64_t(value))
	}
	debug.ReadGCStats(&i.gc)
	C.krun_put(i.columns[len(i.columns)-1], C.int64_t(int64(i.gc.PauseTotal)-i.paused))
	if i.events {
		for n := min(int(i.gc.NumGC-i.cycles), len(i.gc.Pause)) - 1; n >= 0; n-- {
			C.krun_collected(C.int64_t(i.gc.PauseEnd[n].UnixNano()), C.int64_t(i.gc.Pause[n]))
		}
	}
	i.cycles, i.paused = i.gc.NumGC, int64(i.gc.PauseTotal)
}

// explain returns libkrun's explanation of a code.
func explain(code C.int) string { return C.GoString(C.krun_text(code)) }

func fail(status int, message string) {
	fmt.Fprintf(os.Stderr, "%s: %s\n", os.Args[0], message)
	os.Exit(status)
}
