// Package libkrun is the measuring library and its Go side.
//
// The C files make libkrun.so, which every iteration runner loads: krun.h is
// its interface, layout.h specifies the bytes it shares with krund. The Go
// files are what krund needs of it, and need no C compiler:
//
//  1. [Create] makes a buffer from a [Spec]: the planned iterations, the
//     counters' columns, slots for user columns.
//  2. The measured process inherits [Buffer.File] and finds its descriptor's
//     number in the environment variable [EnvFD]. The stage that starts it
//     writes [Now], eight bytes in the machine's order, at [ExecOffset].
//  3. libkrun in that process maps the buffer and stores each iteration.
//     During that time krund does nothing; [Buffer.Stop] asks the process to end after
//     the iteration it is in.
//  4. When the process has ended, for whatever reason, [Buffer.Read] returns a
//     [Series] with every iteration that was completed.
//
// The measured process can write anything into the buffer. So Read takes every
// offset and every count from the Spec, trusts nothing else, and reports
// impossible values in [Series.Findings]. The file is sealed where the system
// can do that, so that it cannot shrink under a reader.
//
// [Meter], by which the tests measure themselves, is the only part that needs cgo.
//
// The package never starts a process and never judges a measurement. Start reading at [Buffer].
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

// EnvFD is the environment variable in which the measured process finds the
// number of the buffer's descriptor.
const EnvFD = "KRUN_BUFFER_FD"

// EnvLibrary is the environment variable in which a runner finds the path of
// libkrun.so.
const EnvLibrary = "KRUN_LIBRARY"

// Buffer is krund's end of the memory it shares with one measured process. It serves one process
// execution: make another for the next. It must not be used by several goroutines at once.
type Buffer struct {
	file *os.File
	spec Spec
}

// Create makes an empty buffer: on Linux anonymous memory, sealed against changes of its size;
// elsewhere an unlinked temporary file. The error lists every mistake in the spec, or says what the
// system refused. The caller closes the buffer.
func Create(spec Spec) (*Buffer, error) {
	if err := spec.check(); err != nil {
		return nil, fmt.Errorf("shared buffer: %w", err)
	}
	spec.Columns = append([]Column(nil), spec.Columns...)
	groups, err := identify(spec.Groups)
	if err != nil {
		return nil, fmt.Errorf("shared buffer: %w", err)
	}
	spec.Groups, spec.made = groups, Now()
	f, err := newFile()
	if err != nil {
		return nil, fmt.Errorf("shared buffer: %w", err)
	}
	if err := initialize(f, spec); err != nil {
		_ = f.Close() // it is empty
		return nil, fmt.Errorf("shared buffer: %w", err)
	}
	return &Buffer{file: f, spec: spec}, nil
}

// identify returns the groups with the identity of their files filled in.
func identify(groups []Group) ([]Group, error) {
	groups = append([]Group(nil), groups...)
	for i := range groups {
		groups[i].event, groups[i].device, groups[i].inode = false, 0, 0
		switch groups[i].Source {
		case SourceUsage:
			continue
		case SourceSelf:
			groups[i].event = true
			continue
		}
		if id, ok := eventID(groups[i].File); ok && groups[i].Source == SourcePerf {
			groups[i].event, groups[i].inode = true, id
			continue
		}
		var st unix.Stat_t
		if err := unix.Fstat(int(groups[i].File.Fd()), &st); err != nil {
			return nil, fmt.Errorf("group %d: %w", i, os.NewSyscallError("fstat", err))
		}
		groups[i].device = uint64(st.Dev) //nolint:unconvert // signed on some systems
		groups[i].inode = st.Ino
	}
	return groups, nil
}

func initialize(f *os.File, spec Spec) error {
	if err := f.Truncate(spec.place().bytes); err != nil {
		return err
	}
	if _, err := f.WriteAt(spec.encode(), 0); err != nil {
		return err
	}
	return seal(f)
}

// File is the open file that the measured process inherits; it belongs to the
// buffer and is closed by Close.
func (b *Buffer) File() *os.File { return b.file }

// ExecOffset is where in File the stage writes the stamp just before exec: an
// int64 in the machine's byte order, from Now.
func (b *Buffer) ExecOffset() int64 { return controlExec }

// Stop asks the measured process to end after the current iteration. It has no effect on a process
// that does not call krun_should_stop.
func (b *Buffer) Stop() error {
	var flag [4]byte
	binary.NativeEndian.PutUint32(flag[:], 1)
	if _, err := b.file.WriteAt(flag[:], controlStop); err != nil {
		return fmt.Errorf("shared buffer: set the stop flag: %w", err)
	}
	return nil
}

// Close releases the memory, which is freed when no process maps it any more.
func (b *Buffer) Close() error { return b.file.Close() }

// Now reads the clock of all stamps, libkrun's included: nanoseconds since an arbitrary start that
// stays fixed until the machine reboots. It is a system call, meant for a few stamps around a run.
// It returns 0, which the clock of a running machine never shows, if the system lacks the clock.
func Now() int64 {
	var t unix.Timespec
	if unix.ClockGettime(clockID, &t) != nil {
		return 0
	}
	return t.Nano()
}

// ClockName is the name of that clock: CLOCK_MONOTONIC_RAW on Linux,
// CLOCK_MONOTONIC elsewhere.
func ClockName() string { return clockName }

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
