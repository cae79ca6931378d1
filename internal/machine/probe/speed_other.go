//go:build !linux

package probe

import "errors"

// openCycles fails, because there is no counter.
func openCycles() (cycleCounter, error) {
	return nil, errors.New("no cycle counter on this system")
}
