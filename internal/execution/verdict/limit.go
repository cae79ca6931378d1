package verdict

import (
	"fmt"
	"slices"
	"strings"
)

// Bounds are the limits that were in effect while the process ran, and what it used of them.
type Bounds struct {
	Heap, Stack, Processes, Home string // as in the configuration, "2GiB"; "" for no limit

	HeapBytes   int64 // Heap in bytes; 0 for no limit
	MaxRSSBytes int64 // the largest resident size; 0 if unknown
}

// smallHeap is the size of the data segment below which a VM, and often a program in C, dies while
// it is loaded, without a word: the loader and libc need room of their own.
const smallHeap = 64 << 20

// symptom is what programs write when a limit stops them, in lower case.
type symptom struct {
	limit string   // key of [limits]
	said  []string // parts of the output
}

// symptoms, the most specific ones first: a thread that cannot be created is often reported as a
// lack of memory, too.
var symptoms = []symptom{
	{"processes", []string{
		"resource temporarily unavailable", // EAGAIN of fork and clone, glibc
		"can't start new thread",           // CPython
		"unable to create native thread", "unable to create new native thread", "pthread_create failed",
		"can't create thread", "cannot create thread", "uv_thread_create",
	}},
	{"home", []string{"no space left on device"}},
	{"heap", []string{
		"cannot allocate memory", "can't allocate memory", "out of memory", "not enough memory",
		"outofmemoryerror", "memoryerror", "nomemoryerror", "failed to allocate memory", "bad_alloc",
		"insufficient memory", "could not reserve enough space", "failed to map segment",
		"memory allocation failed", "mmap failed", "failed to reserve", "can't initialize heap",
	}},
}

// limit names the limit that probably ended the process, as a clause, or returns "". It judges by
// what the process said, and by how it ended.
func (e Evidence) limit() string {
	b := e.Bounds
	in := map[string]string{"heap": b.Heap, "processes": b.Processes, "home": b.Home}
	said := strings.ToLower(e.Said)
	for _, s := range symptoms {
		known := slices.ContainsFunc(s.said, func(part string) bool { return strings.Contains(said, part) })
		if known && in[s.limit] != "" {
			return fmt.Sprintf("the limit limits.%s = %q was probably reached", s.limit, in[s.limit])
		}
	}
	switch {
	case b.HeapBytes > 0 && b.HeapBytes < smallHeap && e.Done == 0 && e.crashed():
		return fmt.Sprintf("limits.heap = %q is probably too small for the program to start; a number "+
			"without a unit is in bytes", b.Heap)
	case e.OOMKills == 0 && nearly(b.MaxRSSBytes, b.HeapBytes):
		return fmt.Sprintf("it used almost all of limits.heap = %q", b.Heap)
	case e.Signal == "SIGSEGV" && b.Stack != "" && e.Done < e.Planned:
		return fmt.Sprintf("if it recurses deeply, limits.stack = %q may be too small", b.Stack)
	}
	return ""
}

// nearly reports whether a process used nine tenths of a limit, or more.
func nearly(used, limit int64) bool {
	const tenths, most = 10, 9
	return limit > 0 && used >= limit/tenths*most
}

// crashed reports whether the process ended before its program could decide how: by a signal, or
// because its loader failed.
func (e Evidence) crashed() bool {
	const loader = 127 // exit status of ld.so
	return e.Signal != "" || e.Exit != nil && *e.Exit == loader
}
