package child

import "golang.org/x/sys/unix"

// now returns nanoseconds of a monotonic clock, for deadlines and durations of this package. The
// study's clock is that of the exec stamp.
func now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("clock_gettime(CLOCK_MONOTONIC): " + err.Error()) // POSIX: cannot happen
	}
	return ts.Nano()
}
