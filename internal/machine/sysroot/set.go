package sysroot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"krund/internal/display"
)

// Show extracts the effective value from the text of a file, so that what was written can be
// compared with what is read: a list of choices shows the selected one in brackets, and a CPU list
// is returned in the kernel's own notation. Show must be idempotent. nil removes surrounding white
// space.
type Show func(text string) string

// A Mismatch is a write that the kernel accepted but that had no effect.
type Mismatch struct {
	Name  string // the file, relative to the root
	Wrote string // the value written
	Read  string // the file's text afterwards
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("set %s: wrote %q, reads back %q", m.Name, display.Head(m.Wrote, excerpt),
		display.Head(m.Read, excerpt))
}

// Set writes a value to an existing file, reads the file back and returns its text. If the value
// did not take effect, the error is a *Mismatch. Set never creates a file: if it is missing, the
// error wraps fs.ErrNotExist. It does not retry.
func (r Root) Set(name, value string, show Show) (readBack string, err error) {
	if err := r.Write(name, value); err != nil {
		return "", err
	}
	readBack, err = r.Read(name)
	if err != nil {
		return "", fmt.Errorf("read back: %w", err)
	}
	if show == nil {
		show = strings.TrimSpace
	}
	if show(readBack) != show(value) {
		return readBack, &Mismatch{Name: name, Wrote: value, Read: readBack}
	}
	return readBack, nil
}

// Write writes a value to an existing file, with a newline like echo, and does not read it back:
// for files that are commands rather than settings, such as cgroup.procs.
func (r Root) Write(name, value string) error {
	if err := r.via().WriteFile(r.Path(name), []byte(value+"\n")); err != nil {
		return fmt.Errorf("write %q to %s: %w", display.Head(value, excerpt), name, cause(err))
	}
	return nil
}

// ReadAt reads into data at an offset of a device such as /dev/cpu/0/msr.
func (r Root) ReadAt(name string, data []byte, offset int64) error {
	if err := r.via().ReadAt(r.Path(name), data, offset); err != nil {
		return fmt.Errorf("read %s at %#x: %w", name, offset, cause(err))
	}
	return nil
}

// WriteAt writes data at an offset of a device.
func (r Root) WriteAt(name string, data []byte, offset int64) error {
	if err := r.via().WriteAt(r.Path(name), data, offset); err != nil {
		return fmt.Errorf("write %s at %#x: %w", name, offset, cause(err))
	}
	return nil
}

// ReadWord reads the 64 bits at an offset of a device: a register of /dev/cpu/0/msr.
func (r Root) ReadWord(name string, offset int64) (uint64, error) {
	var data [8]byte
	err := r.ReadAt(name, data[:], offset)
	return binary.NativeEndian.Uint64(data[:]), err
}

// WriteWord writes 64 bits at an offset of a device.
func (r Root) WriteWord(name string, offset int64, word uint64) error {
	return r.WriteAt(name, binary.NativeEndian.AppendUint64(nil, word), offset)
}

// Hold writes data to a device and keeps it open until the Closer is closed or this process ends.
func (r Root) Hold(name string, data []byte) (io.Closer, error) {
	c, err := r.via().Hold(r.Path(name), data)
	if err != nil {
		return nil, fmt.Errorf("hold %s: %w", name, cause(err))
	}
	return c, nil
}

// Mkdir creates one directory (a cgroup) in an existing one. If it exists, the error wraps
// fs.ErrExist.
func (r Root) Mkdir(name string) error {
	if err := r.via().Mkdir(r.Path(name)); err != nil {
		return fmt.Errorf("make %s: %w", name, cause(err))
	}
	return nil
}

// Rmdir removes an empty directory (a cgroup). It is no error if it does not exist.
func (r Root) Rmdir(name string) error {
	err := r.via().Rmdir(r.Path(name))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("remove %s: %w", name, cause(err))
}
