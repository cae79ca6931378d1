package probe

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// perfCycles is a perf event of the calling thread.
type perfCycles int

// openCycles opens the processor's cycle counter for the calling thread, in user mode only, so that
// reading the clock is not counted. Virtual machines and some kernels have none.
func openCycles() (cycleCounter, error) {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_HARDWARE, Config: unix.PERF_COUNT_HW_CPU_CYCLES,
		Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}
	attr.Size = uint32(unsafe.Sizeof(attr))
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("open cycle counter: %w", err)
	}
	return perfCycles(fd), nil
}

func (p perfCycles) Cycles() (uint64, error) {
	var data [8]byte
	n, err := unix.Read(int(p), data[:])
	if err != nil || n != len(data) {
		return 0, fmt.Errorf("read cycle counter: %d bytes, %w", n, err)
	}
	return binary.NativeEndian.Uint64(data[:]), nil
}

func (p perfCycles) Close() error { return unix.Close(int(p)) }
