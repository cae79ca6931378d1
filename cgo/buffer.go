package libkrun

import (
	"encoding/binary"
	"fmt"
	"os"

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
