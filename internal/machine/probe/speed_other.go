//go:build !linux

package probe

import "errors"

// bindThread fails, because OpenBSD has no call for binding threads.
func bindThread(int) (unbind func(), err error) {
	return nil, errors.New("threads cannot be bound to a CPU on this system")
}

// openCycles fails, because there is no counter.
func openCycles() (cycleCounter, error) {
	return nil, errors.New("no cycle counter on this system")
}
