package libkrun

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// State is how far a measured process got.
type State uint32

// The states, in the order a process goes through them.
const (
	StateNew   State = 0 // no krun_init succeeded
	StateReady State = 1 // it may have iterated; it did not call krun_done
	StateDone  State = 2 // it called krun_done
)

// String returns the state's name.
func (s State) String() string {
	switch s {
	case StateNew:
		return "new"
	case StateReady:
		return "ready"
	case StateDone:
		return "done"
	}
	return fmt.Sprintf("state %d", uint32(s))
}

// Kind distinguishes counters from user columns.
type Kind string

// The kinds of columns.
const (
	KindCounter Kind = "counter"
	KindUser    Kind = "user"
)

// Missing is the value of a user column without krun_set in an iteration, and of a counter that
// could not be read.
const Missing int64 = math.MinInt64

// ColumnData is a column with its values.
type ColumnData struct {
	Kind Kind
	Column
	Values []int64 // [Done]; differences for counters; Missing possible
	Empty  *uint64 // of a counter: the least count of an iteration without work; nil: unknown
}

// Total is a counter's difference over all iterations of an execution, from
// before the first to krun_done. Missing when the process did not get there.
type Total struct {
	Column
	Value int64
}

// Series is what was measured in one process execution. Stamps are nanoseconds
// on the clock of Now; 0 means that the stamp was not taken.
type Series struct {
	State   State
	Pid     int   // of the process that called krun_init, 0: none
	Error   Error // the first one of krun_begin, krun_end, krun_done; OK: none
	Done    int   // complete iterations, 0 to the planned number
	ExecNS  int64 // just before exec
	InitNS  int64 // first thing in krun_init
	FirstNS int64 // start of the first iteration, also when that was never completed
	BegunNS int64 // start of the latest iteration, complete or not
	DoneNS  int64 // in krun_done
	StartNS []int64
	WallNS  []int64
	Columns []ColumnData // the Spec's in its order, then the user columns in the order they were named

	// Totals take the place of the Spec's columns when its scope is PerExecution.
	Totals []Total

	// Events in the order in which they were reported, which need not be that of their times.
	Events     []Event
	EventsLost int // events that were reported when no slot was left, or not completely

	// Findings are contents of the buffer that libkrun cannot have written: the measured process,
	// or a child of it, wrote into the memory. Each is a sentence. The data are as found, without
	// meaningless parts.
	Findings []string
}

// finding adds a sentence.
func (s *Series) finding(format string, args ...any) {
	s.Findings = append(s.Findings, fmt.Sprintf(format, args...))
}

// Read returns what the process has measured so far. It may be called at any time, but the result
// is final only after the end of the process. The error is only about reading the file; everything
// wrong with its contents is in the Findings.
func (b *Buffer) Read() (Series, error) {
	s, err := read(b.file, b.spec, Now)
	if err != nil {
		return Series{}, fmt.Errorf("shared buffer: read: %w", err)
	}
	return s, nil
}

// read decodes a buffer made from spec. now bounds the stamps; it is called after everything is
// read, because the process may still be running.
func read(r io.ReaderAt, spec Spec, now func() int64) (Series, error) {
	var s Series
	head := make([]byte, spec.tableEnd())
	switch err := readFull(r, head, 0); {
	case errors.Is(err, io.EOF):
		s.finding("the buffer was truncated")
		return s, nil
	case err != nil:
		return s, err
	}
	s.header(head, spec)
	s.table(head, spec)
	if err := s.arrays(r, spec); err != nil {
		return s, err
	}
	s.totals(head, spec)
	slots, names, err := readEvents(r, spec)
	if err != nil {
		return s, err
	}
	end := now()
	s.events(head, slots, names, spec)
	s.checkEvents(spec.made, end)
	s.checkTimes(spec.made, end)
	s.checkCounters()
	return s, nil
}

// readFull fills p from offset on; io.EOF when the file ends before.
func readFull(r io.ReaderAt, p []byte, offset int64) error {
	n, err := r.ReadAt(p, offset)
	if n == len(p) {
		return nil
	}
	return err
}

// header reads the fields that the process writes.
func (s *Series) header(head []byte, spec Spec) {
	order := binary.NativeEndian
	stamp := func(at int) int64 { return int64(order.Uint64(head[at:])) }
	s.State = State(order.Uint32(head[progressState:]))
	if s.State > StateDone {
		s.finding("the state is %d, which does not exist", uint32(s.State))
	}
	s.Error = Error(int32(order.Uint32(head[progressError:])))
	if !s.Error.known() {
		s.finding("the error code is %d, which does not exist", int(s.Error))
	}
	if pid := stamp(progressPid); pid >= 0 && pid <= math.MaxInt32 {
		s.Pid = int(pid)
	} else {
		s.finding("the process id is %d", pid)
	}
	s.ExecNS, s.InitNS, s.DoneNS = stamp(controlExec), stamp(progressInit), stamp(progressDone)
	seconds, nanos := stamp(hotBegunSeconds), stamp(hotBegunNanos)
	if seconds >= 0 && seconds < math.MaxInt64/nanosPerSecond && nanos >= 0 && nanos < nanosPerSecond {
		s.BegunNS = seconds*nanosPerSecond + nanos
	} else {
		s.finding("the latest begin is at %d s %d ns", seconds, nanos)
	}
	done := order.Uint64(head[hotDone:])
	if done <= uint64(spec.Iterations) {
		s.Done = int(done)
	} else {
		s.finding("%d iterations are done of %d planned; none of them counts", done, spec.Iterations)
	}
	if s.State == StateNew && done > 0 {
		s.finding("%d iterations are done, but krun_init was never called", done)
	}
}

// arrays reads the first Done elements of each array. A file that ends too early, which is possible
// where it cannot be sealed, yields no iterations.
func (s *Series) arrays(r io.ReaderAt, spec Spec) error {
	at := spec.place()
	raw := make([]byte, s.Done*stampBytes)
	var first error
	array := func(offset int64) []int64 {
		values := make([]int64, s.Done)
		if err := readFull(r, raw, offset); err != nil && first == nil {
			first = err
		}
		for i := range values {
			values[i] = int64(binary.NativeEndian.Uint64(raw[i*stampBytes:]))
		}
		return values
	}
	s.StartNS, s.WallNS = array(at.start), array(at.wall)
	for i := range s.Columns {
		s.Columns[i].Values = array(at.column + int64(i)*at.stride)
	}
	if errors.Is(first, io.EOF) {
		s.finding("the buffer was truncated; its %d iterations are lost", s.Done)
		s.Done, s.StartNS, s.WallNS = 0, nil, nil
		for i := range s.Columns {
			s.Columns[i].Values = nil
		}
		return nil
	}
	s.FirstNS = s.BegunNS
	if s.Done > 0 {
		s.FirstNS = s.StartNS[0]
	}
	return first
}

// Error is a KRUN_E code of krun.h: negative, or 0 for no error. The texts are
// those of krun_strerror.
type Error int

// The codes, in the order of krun.h.
const (
	OK       Error = 0
	EINVAL   Error = -1
	EENV     Error = -2
	EMAP     Error = -3
	EMAGIC   Error = -4
	EVERSION Error = -5
	ELAYOUT  Error = -6
	EBUSY    Error = -7
	ENOMEM   Error = -8
	ECLOCK   Error = -9
	EFULL    Error = -10
	EORDER   Error = -11
	EDONE    Error = -12
	EREAD    Error = -13
	EPART    Error = -14
	ECHILD   Error = -15
	ELOST    Error = -16
	ETHREAD  Error = -17
)

// Error explains the code.
func (e Error) Error() string {
	texts := [...]string{
		"no error",
		"invalid argument: null handle, bad name or unit, or no such column",
		"KRUN_BUFFER_FD or KRUN_ITERATIONS is not a number in range",
		"the descriptor in KRUN_BUFFER_FD cannot be mapped; was it closed before krun_init?",
		"the descriptor in KRUN_BUFFER_FD is not a krun buffer",
		"the buffer was made for another version of libkrun or another clock; " +
			"install krund and libkrun together",
		"the buffer's header contradicts itself",
		"the buffer is already in use; call krun_init once per process execution",
		"out of memory",
		"the clock does not work",
		"all planned iterations are done, or no column or event slot is left; " +
			"ask krun_should_stop before krun_begin",
		"krun_begin and krun_end do not alternate, or a column was touched at the wrong moment",
		"krun_done was called before",
		"a processor counter could not be read; krunctl check says which can be",
		"a processor counter did not count all the time: something else uses the same hardware",
		"the handle belongs to the process that this one was forked from; " +
			"call krun_init in the process that measures",
		"a counter's descriptor was closed or replaced; " +
			"the benchmark must not close descriptors it did not open",
		"the iterations ran in another thread than the process's first, " +
			"the only one whose counter rdpmc reads; use perf",
	}
	if !e.known() {
		return "unknown error " + strconv.Itoa(int(e))
	}
	return texts[-e]
}

// known reports whether the code is one of krun.h.
func (e Error) known() bool { return e <= OK && e >= ETHREAD }
