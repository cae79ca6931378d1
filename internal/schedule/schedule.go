package schedule

import (
	"errors"
	"fmt"

	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// Version is the version of the format that this package writes, and the highest one that it reads.
const Version = 1

// Flag is the state of a slot.
type Flag byte

// The flags, as stored in the file.
const (
	Outstanding Flag = 'O' // yet to run
	Running     Flag = 'R' // begun; after a crash: begun but not finished
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

// Final reports whether a slot with this flag is finished.
func (f Flag) Final() bool { return f.Known() && f != Outstanding && f != Running }

// String returns the flag in words.
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
	Index    int // position in the schedule, from 0, in execution order
	Flag     Flag
	Attempts int // attempts begun, 0 to MaxAttempts
	Pexec    int // number of the process execution among those of Key, from 1
	Key      key.Key
}

// Limits of what the file can hold.
const (
	MaxAttempts = 999
	MaxPexec    = 9_999_999
	MaxSlots    = 999_999_999
)

// Header is the data of the schedule other than its slots.
//
// Create uses ConfigHash, Created, Order, Seed, Sensors and, if already known, Reboots, Mails, Boot
// and BaseTemperatures, and sets the other fields. UpdateHeader may change the four fields Reboots,
// Mails, Boot and BaseTemperatures.
type Header struct {
	Version    int    // version of the format
	Generation uint64 // grows with every update
	Sectors    int    // of 512 bytes, in each of the two copies
	Slots      int    // number of slots
	Width      int    // bytes of a slot's line: 128, 256 or 512
	Next       int    // from an earlier version: no slot before it was unfinished; now 0, and not used

	Reboots int // requested reboots
	Mails   int // mails sent

	Order      string // RoundRobin or Interleaved
	Seed       uint64 // seed of the order
	ConfigHash string // hash of the configuration's text
	Created    string // time in RFC 3339
	Boot       string // boot in which the last attempt was begun or the schedule was created; "" if unknown

	// Sensors is the number of base temperatures for which Create reserves room, 128 bytes each.
	// There is always room for one or two. It is not stored.
	Sensors          int
	BaseTemperatures []results.Temperature // nil if not yet measured
}

// SpareSensors is the minimum number of base temperatures for which a schedule has room, so that
// they can be stored if the machine, or a later kernel, has more sensors than were found at first.
const SpareSensors = 8

// ErrDone is the error if every slot is finished.
var ErrDone = errors.New("every slot of the schedule is finished")

// ErrHeaders is the error if neither copy of the header can be read.
var ErrHeaders = errors.New("both copies of the schedule's header are damaged; `krunctl repair` rebuilds " +
	"it from the results")

// ErrVersion is the error for schedules created by a later krund.
var ErrVersion = errors.New("the schedule has a newer format; use the krund and krunctl that created it")

// ErrReadOnly is the error if a schedule that was opened for reading is changed.
var ErrReadOnly = errors.New("the schedule is open for reading only")

// ErrRoom is the error if base temperatures do not fit into the header, whose size was fixed when
// the schedule was created.
var ErrRoom = errors.New("no room in the schedule's header")

// DamagedSlot is the error for a slot whose line is damaged. Its state is unknown; other slots are
// not affected.
type DamagedSlot struct {
	Index  int
	Reason string
}

func (e *DamagedSlot) Error() string {
	return fmt.Sprintf("slot %d of the schedule is damaged (%s); `krunctl repair` rebuilds it from the "+
		"results", e.Index, e.Reason)
}

// SizeError is the error for a file that was truncated or extended. Slots with a correct checksum
// are still valid.
type SizeError struct {
	Have, Want int64 // bytes
}

func (e *SizeError) Error() string {
	what := "extended"
	if e.Have < e.Want {
		what = "truncated"
	}
	return fmt.Sprintf("the schedule was %s: its size is %d bytes instead of %d; `krunctl repair` rebuilds "+
		"it from the results", what, e.Have, e.Want)
}

// FlagOf returns the flag of a slot whose latest attempt ended with outcome o. A rerun, or an
// outcome unknown to this version, leaves the slot Outstanding: running it once more is better than
// counting an unknown outcome.
func FlagOf(o results.Outcome) Flag {
	switch o {
	case results.Completed:
		return Completed
	case results.Error:
		return Error
	case results.Timeout:
		return Timeout
	}
	return Outstanding
}
