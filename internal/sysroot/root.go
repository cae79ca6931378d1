// Package sysroot reads and changes the files by which a kernel shows and takes its settings: /proc, /sys and a few in /dev and /etc.
//
// A Root stands for "/". Programs pass New("/"); tests pass a copy of a captured machine in a temporary directory, and then look at the
// files. All names are written as the kernel documents them ("/proc/sys/kernel/randomize_va_space"); Root puts its directory before them.
//
// The package knows files, not settings: what a value means, and which one is wanted, is internal/control's. It never creates a file,
// never runs a program, and keeps nothing open (Hold apart). RealClock is the time, the other thing that programs take from the system and tests
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

// A Root is a directory that stands for "/", and the way its files are reached. The zero Root is the machine itself. It is a value: copies
// stand for the same directory. Methods may be called at the same time.
type Root struct {
	dir    string
	access Access
}

// New returns the Root below dir; "/" is the machine itself.
func New(dir string) Root { return Root{dir: dir} }

// With returns a Root below the same directory whose files are reached through a. Tests use it to refuse, tear and twist single accesses.
func (r Root) With(a Access) Root {
	r.access = a
	return r
}

// IsMachine tells whether r stands for the machine itself rather than for a copy of one.
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

// Path returns where name lies in the file system of this process. A name cannot leave the root: "/../x" is "/x".
func (r Root) Path(name string) string { return filepath.Join(r.directory(), filepath.Clean("/"+name)) }

// ReadBytes returns the whole of a file as it is. A missing file is an error that wraps fs.ErrNotExist; a device that has no value to
// give wraps what the kernel said (EAGAIN, EIO, ENODATA, ...), at once: it never waits for one.
func (r Root) ReadBytes(name string) ([]byte, error) {
	data, err := r.via().ReadFile(r.Path(name))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, cause(err))
	}
	return data, nil
}

// Read returns the text of a file without white space around it; errors are those of ReadBytes.
func (r Root) Read(name string) (string, error) {
	data, err := r.ReadBytes(name)
	return strings.TrimSpace(string(data)), err
}

// ReadInt returns the decimal number that a file holds.
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

// ReadOnly tells whether the file is on a file system that is mounted read-only, so that even root cannot change it. False when nobody knows.
func (r Root) ReadOnly(name string) bool {
	a, knows := r.via().(interface{ ReadOnly(path string) bool })
	return knows && a.ReadOnly(r.Path(name))
}

// Exists tells whether there is a file or directory of that name; one that cannot be looked at counts as absent.
func (r Root) Exists(name string) bool {
	_, err := os.Stat(r.Path(name))
	return err == nil
}

// Glob returns the names that match the pattern (path.Match for each part), in natural order: cpu2 before cpu10. No match is an empty
// list; the only error is a malformed pattern.
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

// List returns the names of the entries of a directory in natural order, nil when there is no such directory.
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

// Resolve returns the name of the file or directory that name leads to when every symbolic link is followed. A link that leads out of the
// root is an error.
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

// cause strips the path of this process from an error, which then names the file as the kernel documents it.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// excerpt is how many bytes of a value a message quotes.
const excerpt = 120
