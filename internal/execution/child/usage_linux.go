package child

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// processCPU returns the nanoseconds of processor time of all threads, exactly; rusage rounds them
// to microseconds.
func processCPU(ru *unix.Rusage) int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		return ru.Utime.Nano() + ru.Stime.Nano()
	}
	return ts.Nano()
}

// residentBytes returns the size of the daemon in memory; 0 when it cannot be read.
func residentBytes() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	f := bytes.Fields(text)
	if err != nil || len(f) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(f[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
