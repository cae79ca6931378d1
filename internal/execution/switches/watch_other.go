//go:build !linux

package switches

import (
	"errors"

	"krund/internal/machine/sysroot"
)

// Watch is a recording that goes on.
type Watch struct{}

// Open fails: only Linux records context switches.
func Open(sysroot.Root, []int) (*Watch, error) {
	return nil, errors.New("only Linux records context switches")
}

// Close is never called.
func (*Watch) Close() error { return nil }

// Stop is never called.
func (*Watch) Stop() (Log, error) { return Log{}, nil }
