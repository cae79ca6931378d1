package libkrun

import "golang.org/x/sys/unix"

// Now reads the clock of all stamps, libkrun's included: nanoseconds since an arbitrary start that
// stays fixed until the machine reboots. It is a system call, meant for a few stamps around a run.
// It returns 0, which the clock of a running machine never shows, if the system lacks the clock.
func Now() int64 {
	var t unix.Timespec
	if unix.ClockGettime(clockID, &t) != nil {
		return 0
	}
	return t.Nano()
}

// ClockName is the name of that clock: CLOCK_MONOTONIC_RAW on Linux,
// CLOCK_MONOTONIC elsewhere.
func ClockName() string { return clockName }
