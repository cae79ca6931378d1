package durable

import "golang.org/x/sys/unix"

// syncData is fdatasync(2): like fsync, but without the timestamps of the inode.
func syncData(fd int) error { return unix.Fdatasync(fd) }
