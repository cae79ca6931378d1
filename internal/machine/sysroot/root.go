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
// simulate. Start reading at Root, then Set in set.go.
package sysroot

import (
	"errors"
	"fmt"
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
	if err != nil {
		return "", fmt.Errorf("resolve %s: %w", name, cause(err))
	}
	base, err := filepath.EvalSymlinks(r.directory())
	if err != nil {
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
