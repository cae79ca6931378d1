//go:build unix && !linux

package durable

import "golang.org/x/sys/unix"

// syncData is fsync(2), which is equivalent to fdatasync on these systems.
func syncData(fd int) error { return unix.Fsync(fd) }
