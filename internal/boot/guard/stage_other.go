//go:build !linux

package guard

// settle does nothing: this system does not bind processes to CPUs.
func settle([]int) {}
