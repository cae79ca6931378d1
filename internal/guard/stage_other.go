//go:build !linux

package guard

import "os"

func self() (string, error) { return os.Executable() }

// settle has nothing to do: this system binds no process to CPUs.
func settle([]int) {}
