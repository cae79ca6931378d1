//go:build cgo

package libkrun

/*
#cgo CFLAGS: -std=c11 -O2 -Wall -Wextra
#include <stdlib.h>
#include <string.h>
#include "krun.h"

// krun_event with a Go string, which has no final zero.
static int event(krun *k, int kind, int64_t time_ns, int64_t duration_ns, int64_t argument, const char *name,
		 size_t bytes)
{
	char text[120]; // libkrun stores no more

	if (bytes > sizeof text - 1)
		bytes = sizeof text - 1;
	memcpy(text, name, bytes);
	text[bytes] = 0;
	return krun_event(k, kind, time_ns, duration_ns, argument, text);
}
*/
import "C"

import "unsafe"

// Meter measures the iterations of the Go program it is in, through the same C code as every other
// language: the tests of buffers and counters are measured by it. Benchmarks in Go use the runner
// in runners/go. A Meter must not be used by several goroutines at once; see krun.h for the rest.
type Meter struct{ k *C.krun }

// NewMeter is krun_init. The error is an [Error].
func NewMeter() (*Meter, error) {
	m := new(Meter)
	if e := C.krun_init(&m.k); e != C.KRUN_OK {
		return nil, Error(e)
	}
	return m, nil
}

// ShouldStop reports whether no further iteration should begin.
func (m *Meter) ShouldStop() bool { return C.krun_should_stop(m.k) != 0 }

// Begin starts an iteration. The error is an [Error]; End reports it again.
func (m *Meter) Begin() error { return asError(C.krun_begin(m.k)) }

// End ends the iteration. The error is an [Error].
func (m *Meter) End() error { return asError(C.krun_end(m.k)) }

// Column names a user column and returns its index for Set.
func (m *Meter) Column(name, unit string) (int, error) {
	n, u := C.CString(name), C.CString(unit)
	defer C.free(unsafe.Pointer(n))
	defer C.free(unsafe.Pointer(u))
	i := C.krun_column(m.k, n, u)
	if i < 0 {
		return 0, Error(i)
	}
	return int(i), nil
}

// Set sets a user column's value in the running or latest iteration.
func (m *Meter) Set(column int, value int64) error {
	return asError(C.krun_set(m.k, C.int(column), C.int64_t(value)))
}

// Event is krun_event. It may be called by several goroutines at once, until Close. The error is an
// [Error].
func (m *Meter) Event(e Event) error {
	return asError(C.event(m.k, C.int(e.Kind), C.int64_t(e.TimeNS), C.int64_t(e.DurationNS),
		C.int64_t(e.Argument), (*C.char)(unsafe.Pointer(unsafe.StringData(e.Name))), C.size_t(len(e.Name))))
}

// Done ends the measurement.
func (m *Meter) Done() error { return asError(C.krun_done(m.k)) }

// Close releases the meter, which must not be used afterwards.
func (m *Meter) Close() {
	C.krun_free(m.k)
	m.k = nil
}

// asError turns a code into an error, or nil.
func asError(code C.int) error {
	if code == C.KRUN_OK {
		return nil
	}
	return Error(code)
}
