//go:build unix && !linux

package trust

import "golang.org/x/sys/unix"

// directoryOnly opens a directory to access its entries. Only Linux can do so without permission to
// list them.
const directoryOnly = unix.O_RDONLY
