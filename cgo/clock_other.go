//go:build !linux

package libkrun

import "golang.org/x/sys/unix"

const (
	clockID   = unix.CLOCK_MONOTONIC
	clockKind = clockMonotonic
	clockName = "CLOCK_MONOTONIC"
)
