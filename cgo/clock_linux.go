package libkrun

import "golang.org/x/sys/unix"

const (
	clockID   = unix.CLOCK_MONOTONIC_RAW // not slewed by NTP
	clockKind = clockRaw
	clockName = "CLOCK_MONOTONIC_RAW"
)
