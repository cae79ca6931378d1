package trust

import "golang.org/x/sys/unix"

// directoryOnly opens a directory to access its entries, without permission to list them.
const directoryOnly = unix.O_PATH
