package account

import "golang.org/x/sys/unix"

// openBelow opens a directory inside another. This system has no bind mounts.
func openBelow(dir int, name string) (int, error) { return unix.Openat(dir, name, openFlags, 0) }

// directories returns further entries, and none at the end.
func (d *directory) directories() ([]string, error) { return d.read(batch) }
