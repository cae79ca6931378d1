package given

import (
	"math"

	"golang.org/x/sys/unix"
)

// diskBytes returns the size of the disk on which a directory is; a large number if it is unknown.
func diskBytes(dir string) int64 {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return math.MaxInt64
	}
	return int64(s.Blocks) * int64(s.Bsize) //nolint:unconvert // its type differs between systems
}
