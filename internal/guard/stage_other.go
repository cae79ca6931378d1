//go:build !linux

package guard

// Is does not know: this system has no /proc.
func Is(int) bool { return false }

// settle has nothing to do: this system binds no process to CPUs.
func settle([]int) {}
