// Package sysroot reads and changes the files through which a kernel exposes its settings: /proc,
// /sys and a few in /dev and /etc.
//
// A Root replaces "/". Programs use New("/"); tests use a copy of a captured machine in a temporary
// directory and then inspect the files. Names are written as in the kernel's documentation
// ("/proc/sys/kernel/randomize_va_space"), and Root prepends its directory.
//
// The package handles files, not settings: internal/control defines what a value means and which
// one is wanted. It never creates a file, never runs a program, and keeps nothing open (except
// Hold). RealClock is the time, the other thing that programs take from the system and tests
// simulate. Start reading at Root, then Set.
package sysroot

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"krund/internal/display"
)

// A Root is a directory that replaces "/", with a way to access its files. The zero Root is the
// machine itself. A Root is a value: copies refer to the same directory. Its methods are safe for
// concurrent use.
type Root struct {
	dir    string
	access Access
}

// New returns the Root at dir; "/" is the machine itself.
func New(dir string) Root { return Root{dir: dir} }

// With returns a Root at the same directory that accesses files through a. Tests use it to make
// single accesses fail.
func (r Root) With(a Access) Root {
	r.access = a
	return r
}

// IsMachine reports whether r is the machine itself rather than a copy.
func (r Root) IsMachine() bool { return r.directory() == "/" }

func (r Root) directory() string {
	if r.dir == "" {
		return "/"
	}
	return r.dir
}

func (r Root) via() Access {
	if r.access == nil {
		return OS{}
	}
	return r.access
}

// Path returns the path of name in the file system of this process. A name cannot leave the root:
// "/../x" is "/x".
func (r Root) Path(name string) string { return filepath.Join(r.directory(), filepath.Clean("/"+name)) }

// ReadBytes returns the raw contents of a file. If the file is missing, the error wraps
// fs.ErrNotExist; if a device has no value, it wraps the kernel's error (EAGAIN, EIO, ENODATA,
// ...). It never waits for a device.
func (r Root) ReadBytes(name string) ([]byte, error) {
	data, err := r.via().ReadFile(r.Path(name))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, cause(err))
	}
	return data, nil
}

// Read returns the text of a file without surrounding white space. The errors are those of
// ReadBytes.
func (r Root) Read(name string) (string, error) {
	data, err := r.ReadBytes(name)
	return strings.TrimSpace(string(data)), err
}

// ReadInt returns the decimal number in a file.
func (r Root) ReadInt(name string) (int64, error) {
	text, err := r.Read(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read %s: %q is not a number", name, display.Head(text, excerpt))
	}
	return n, nil
}

// ReadOnly reports whether the file is on a file system that is mounted read-only, so that even
// root cannot change it. It returns false if that is unknown.
func (r Root) ReadOnly(name string) bool {
	a, knows := r.via().(interface{ ReadOnly(path string) bool })
	return knows && a.ReadOnly(r.Path(name))
}

// Exists reports whether a file or directory exists. One that cannot be accessed counts as absent.
func (r Root) Exists(name string) bool {
	_, err := os.Stat(r.Path(name))
	return err == nil
}

// Glob returns the names that match the pattern (path.Match per component), in natural order: cpu2
// before cpu10. The list is empty if nothing matches; the only error is a malformed pattern.
func (r Root) Glob(pattern string) ([]string, error) {
	found, err := fs.Glob(os.DirFS(r.directory()), strings.TrimPrefix(filepath.Clean("/"+pattern), "/"))
	if err != nil {
		return nil, fmt.Errorf("look for %s: %w", pattern, err)
	}
	for i := range found {
		found[i] = "/" + found[i]
	}
	slices.SortFunc(found, Compare)
	return found, nil
}

// List returns the names of the entries of a directory in natural order, or nil if there is no such
// directory.
func (r Root) List(name string) []string {
	entries, err := os.ReadDir(r.Path(name))
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.SortFunc(names, Compare)
	return names
}

// ReadLink returns the text of a symbolic link.
func (r Root) ReadLink(name string) (string, error) {
	text, err := os.Readlink(r.Path(name))
	if err != nil {
		return "", fmt.Errorf("read link %s: %w", name, cause(err))
	}
	return text, nil
}

// Resolve returns the name that name leads to after following every symbolic link. A link that
// leads out of the root is an error.
func (r Root) Resolve(name string) (string, error) {
	real, err := filepath.EvalSymlinks(r.Path(name))
	base, err2 := filepath.EvalSymlinks(r.directory())
	if err := cmp.Or(err, err2); err != nil {
		return "", fmt.Errorf("resolve %s: %w", name, cause(err))
	}
	rel, err := filepath.Rel(base, real)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", fmt.Errorf("resolve %s: leads out of %s", name, base)
	}
	return filepath.Clean("/" + rel), nil
}

// cause removes the path of this process from an error, so that messages name files as the kernel's
// documentation does.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// excerpt is how many bytes of a value a message quotes.
const excerpt = 120

// Compare orders names naturally: runs of digits by value, everything else by byte, so that hwmon9
// precedes hwmon10. Names that differ only in leading zeros are ordered by byte. It is a total
// order for slices.SortFunc.
func Compare(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		nx, ny := digits(x), digits(y)
		if nx == 0 || ny == 0 {
			if x[0] != y[0] {
				return int(x[0]) - int(y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		if c := compareNumbers(x[:nx], y[:ny]); c != 0 {
			return c
		}
		x, y = x[nx:], y[ny:]
	}
	if c := len(x) - len(y); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// digits returns the number of leading digits of s.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// compareNumbers compares two runs of digits of any length by value.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if c := len(a) - len(b); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

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
