//go:build !linux

package guard

// Is always returns false: this system has no /proc.
func Is(int) bool { return false }

// settle does nothing: this system does not bind processes to CPUs.
func settle([]int) {}
