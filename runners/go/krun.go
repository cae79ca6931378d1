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
// Exit status: 0 measured; 64 usage; 69 libkrun cannot be loaded; 70 the benchmark panicked; 71
// krun_init failed; 76 krun_begin or krun_end failed. If the benchmark exits by itself, its status
// is kept.
package krun

/*
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

// The handle stays in C, so that Go passes no pointers while measuring.
static void *handle;
static int (*init)(void **);
static int (*should_stop)(void *), (*begin)(void *), (*end)(void *), (*done)(void *);
static const char *(*text)(int);

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

static int krun_attach(void) { return init(&handle); }
static int krun_stop(void) { return should_stop(handle); }
static void krun_start(void) { begin(handle); }
static int krun_finish(void) { return end(handle); }
static int krun_complete(void) { return done(handle); }
static const char *krun_text(int code) { return text(code); }
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
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
	if code := measure(runIter); code != 0 {
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

// explain returns libkrun's explanation of a code.
func explain(code C.int) string { return C.GoString(C.krun_text(code)) }

func fail(status int, message string) {
	fmt.Fprintf(os.Stderr, "%s: %s\n", os.Args[0], message)
	os.Exit(status)
}
