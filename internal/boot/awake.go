package boot

import (
	"fmt"
	"time"
)

// ClockOffset bounds how far CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC: the time that the machine
// was suspended since it booted (clock_gettime(2)). It is an interval because the two clocks cannot
// be read at the same instant.
type ClockOffset struct{ Least, Most time.Duration }

// suspended returns how long the machine was suspended between two readings, 0 if not at all: the
// offset only grows while the machine sleeps, so intervals that do not overlap prove it.
func suspended(before, after ClockOffset) time.Duration {
	return max(after.Least-before.Most, 0)
}

// readOffset reads the offset; nil if this system has no such clock.
func (m *LabMachine) readOffset() *ClockOffset {
	if m.Offset == nil {
		return nil
	}
	o, err := m.Offset()
	if err != nil {
		m.Log.Debug("the time of suspension is unknown", "error", err)
		return nil
	}
	return &o
}

// judgeSuspension records how long the machine slept during the run. A run with a sleep in it does
// not count: CLOCK_MONOTONIC_RAW stood still meanwhile, and caches and frequencies began anew.
func (m *LabMachine) judgeSuspension(before *ClockOffset, seen *Observation) {
	after := m.readOffset()
	if before == nil || after == nil {
		return
	}
	slept := suspended(*before, *after)
	ns := slept.Nanoseconds()
	seen.Machine.SuspendedNS = &ns
	if slept > 0 {
		seen.Refused = append(seen.Refused, fmt.Sprintf("the machine was suspended for %s during the run",
			slept.Round(time.Millisecond)))
	}
}
