package libkrun

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// View is the buffer of a running process, as another process sees it that has the descriptor. Its
// methods read and write memory and make no system call. The measured process can write anything at
// any time: Done is bounded, and a wall time may be any number.
type View struct {
	memory     []byte
	iterations int
	wall       int // offset of the wall times
}

// NewView maps a buffer. It must be called before the measured process starts, because it relies on
// the plan. With mayStop, Stop may be called. Close ends the View; f is not needed any more.
func NewView(f *os.File, mayStop bool) (*View, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("shared buffer: %w", err)
	}
	size := info.Size()
	if size < headerBytes || size != int64(int(size)) {
		return nil, fmt.Errorf("shared buffer: it has %d bytes", size)
	}
	protection := unix.PROT_READ
	if mayStop {
		protection |= unix.PROT_WRITE
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, int(size), protection, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("shared buffer: %w", os.NewSyscallError("mmap", err))
	}
	v := &View{memory: memory}
	if err := v.readPlan(); err != nil {
		return nil, errors.Join(fmt.Errorf("shared buffer: %w", err), v.Close())
	}
	return v, nil
}

func (v *View) readPlan() error {
	order := binary.NativeEndian
	if string(v.memory[:len(magic)]) != magic {
		return errors.New("it is none")
	}
	if n := order.Uint32(v.memory[planVersion:]); n < 1 || n > layoutVersion {
		return fmt.Errorf("version %d, later than %d", n, layoutVersion)
	}
	n, wall := order.Uint32(v.memory[planIterations:]), order.Uint64(v.memory[planWallOffset:])
	size := uint64(len(v.memory))
	if n < 1 || n > maxIterations || wall%stampBytes != 0 || wall > size ||
		size-wall < uint64(n)*stampBytes {
		return fmt.Errorf("%d iterations at %d do not fit into its %d bytes", n, wall, size)
	}
	v.iterations, v.wall = int(n), int(wall)
	return nil
}

// Iterations is the number of iterations planned.
func (v *View) Iterations() int { return v.iterations }

// Done is the number of complete iterations, at most Iterations.
func (v *View) Done() int {
	done := atomic.LoadUint64((*uint64)(unsafe.Pointer(&v.memory[hotDone])))
	return int(min(done, uint64(v.iterations))) //nolint:gosec // a number of iterations
}

// Wall is the duration of an iteration below Done, in nanoseconds.
func (v *View) Wall(i int) int64 {
	return atomic.LoadInt64((*int64)(unsafe.Pointer(&v.memory[v.wall+i*stampBytes])))
}

// Stop asks the process to end after its current iteration, like Buffer.Stop.
func (v *View) Stop() {
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&v.memory[controlStop])), 1)
}

// Close unmaps the buffer.
func (v *View) Close() error { return unix.Munmap(v.memory) }
