//go:build !linux

package probe

import "errors"

// bindThread cannot bind: OpenBSD has no call for it.
func bindThread(int) (unbind func(), err error) {
	return nil, errors.New("threads cannot be bound to a CPU on this system")
}

// threadSwitches is unknown.
func threadSwitches() int64 { return -1 }

// openCycles has no counter.
func openCycles() (cycleCounter, error) {
	return nil, errors.New("no cycle counter on this system")
}
