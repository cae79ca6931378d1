package schedule

import (
	"errors"
	"fmt"

	"krund/internal/key"
	"krund/internal/results"
)

// Version is the number of the format that this package writes, and the
// highest one it reads.
const Version = 1

// Flag is the state of a slot.
type Flag byte

// The flags, as they stand in the file.
const (
	Outstanding Flag = 'O' // to be run
	Running     Flag = 'R' // begun; after a crash: begun and not finished
	Completed   Flag = 'C'
	Error       Flag = 'E'
	Timeout     Flag = 'T'
	Skipped     Flag = 'S'
)

// Known reports whether f is one of the flags above.
func (f Flag) Known() bool {
	switch f {
	case Outstanding, Running, Completed, Error, Timeout, Skipped:
		return true
	}
	return false
}

// Final reports whether nothing is left to do for a slot with this flag.
func (f Flag) Final() bool { return f.Known() && f != Outstanding && f != Running }

// String is the flag in words.
func (f Flag) String() string {
	switch f {
	case Outstanding:
		return "outstanding"
	case Running:
		return "running"
	case Completed:
		return "completed"
	case Error:
		return "error"
	case Timeout:
		return "timeout"
	case Skipped:
		return "skipped"
	}
	return fmt.Sprintf("flag %q", byte(f))
}

// Slot is one planned process execution.
type Slot struct {
	Index    int // place in the schedule, from 0; the order of running
	Flag     Flag
	Attempts int // times it was begun, 0 to MaxAttempts
	Pexec    int // number of the process execution among those of Key, from 1
	Key      key.Key
}

// Bounds of what the file can hold.
const (
	MaxAttempts = 999
	MaxPexec    = 9_999_999
	MaxSlots    = 999_999_999
)

// Header is what the schedule knows besides its slots.
//
// Create takes ConfigHash, Created, Order, Seed, Sensors and, if known already,
// Reboots, Mails, Boot and BaseTemperatures, and sets the rest. Those four are
// what UpdateHeader may change.
type Header struct {
	Version    int    // of the format
	Generation uint64 // grows with every update
	Sectors    int    // of 512 bytes, in each of the two copies
	Slots      int    // number of slots
	Width      int    // bytes of a slot's line: 128, 256 or 512
	Next       int    // hint: no slot before it is outstanding or running

	Reboots int // reboots asked for
	Mails   int // mails sent

	Order      string // RoundRobin or Interleaved
	Seed       uint64 // of the order
	ConfigHash string // of the configuration's text
	Created    string // time in RFC 3339
	Boot       string // boot in which the last attempt was begun, or the schedule made; "" unknown

	// Sensors is how many base temperatures Create makes room for, at 128
	// bytes each; there is room for one or two anyway. It is not stored.
	Sensors          int
	BaseTemperatures []results.Temperature // nil: not measured yet
}

// SpareSensors is for how many base temperatures a schedule has room at least, so
// that they can be stored when a machine, or a later kernel, has more sensors
// than were found at first.
const SpareSensors = 8

// ErrDone is returned when every slot is finished.
var ErrDone = errors.New("every slot of the schedule is finished")

// ErrHeaders is returned when neither copy of the header can be read.
var ErrHeaders = errors.New("both copies of the schedule's header are damaged; `krunctl repair` rebuilds " +
	"it from the results")

// ErrVersion is returned for schedules that a later krund has made.
var ErrVersion = errors.New("the schedule is of a newer format; use the krund and krunctl that made it")

// ErrReadOnly is returned by changes to a schedule that was opened for reading.
var ErrReadOnly = errors.New("the schedule is open for reading only")

// ErrRoom is returned when base temperatures do not fit into the header, whose
// size was fixed when the schedule was made.
var ErrRoom = errors.New("no room in the schedule's header")

// DamagedSlot is the error for a slot whose line is not as it was written. Its
// state is unknown; the slots around it are not affected.
type DamagedSlot struct {
	Index  int
	Reason string
}

func (e *DamagedSlot) Error() string {
	return fmt.Sprintf("slot %d of the schedule is damaged (%s); `krunctl repair` rebuilds it from the "+
		"results", e.Index, e.Reason)
}

// SizeError is the error for a file that was truncated or extended. Slots that
// are still there are intact as long as their checksums are.
type SizeError struct {
	Have, Want int64 // bytes
}

func (e *SizeError) Error() string {
	what := "extended"
	if e.Have < e.Want {
		what = "truncated"
	}
	return fmt.Sprintf("the schedule was %s: it has %d bytes and should have %d; `krunctl repair` rebuilds "+
		"it from the results", what, e.Have, e.Want)
}
