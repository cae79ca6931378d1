//go:build !linux

package libkrun

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// newFile returns a temporary file without a name.
func newFile() (*os.File, error) {
	f, err := os.CreateTemp("", "krun-buffer-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// seal does nothing: only Linux can fix the size of a file. Read reports a file
// that was truncated.
func seal(*os.File) error { return nil }

func eventID(*os.File) (uint64, bool) { return 0, false }

const (
	clockID   = unix.CLOCK_MONOTONIC
	clockKind = clockMonotonic
	clockName = "CLOCK_MONOTONIC"
)
