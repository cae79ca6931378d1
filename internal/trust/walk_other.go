//go:build unix && !linux

package trust

import "golang.org/x/sys/unix"

// directoryOnly opens a directory for what is in it. Only Linux does so without the right to read
// its names.
const directoryOnly = unix.O_RDONLY
