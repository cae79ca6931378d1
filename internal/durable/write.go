package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// tempMark separates the name of a file from the number of its temporary file: results.tmp,
// results.tmp1, ... The names are deterministic, so that a simulated crash can be repeated.
const tempMark = ".tmp"

// maxTemps bounds the search for a free temporary name. Each crash during a write can leave one
// temporary file.
const maxTemps = 1000

// IsTemp reports whether name is one that WriteFile gives to temporary files. If nothing is being
// written, such a file is left over from a crash and worthless.
func IsTemp(name string) bool {
	i := strings.LastIndex(name, tempMark)
	if i <= 0 {
		return false
	}
	number := name[i+len(tempMark):]
	if number == "" {
		return true
	}
	n, err := strconv.Atoi(number)
	return err == nil && n > 0 && n < maxTemps && strconv.Itoa(n) == number
}

func tempName(name string, n int) string {
	if n == 0 {
		return name + tempMark
	}
	return name + tempMark + strconv.Itoa(n)
}

// WriteFile durably creates the file name with the content data: it writes and syncs a temporary
// file in the same directory, renames it to name, and syncs the directory. Whenever the power
// fails, name is the old file (or absent) or the complete new one. perm is subject to the umask. A
// symbolic link is replaced, not followed. Anything else that is not a regular file (a device, a
// FIFO, a socket, a directory) is never replaced: ErrNotRegular.
//
// After an error, the temporary file is removed if possible, and name is the old file. Only if the
// last step, syncing the directory, fails, name already is the new file, but may be the old one
// after a crash.
func WriteFile(fsys FS, name string, data []byte, perm fs.FileMode) error {
	return WriteTo(fsys, name, perm, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteTo is WriteFile for content that is produced incrementally. Writes are not buffered. An
// error of write is handled like any other error.
func WriteTo(fsys FS, name string, perm fs.FileMode, write func(io.Writer) error) error {
	const kept = fs.ModeType &^ fs.ModeSymlink // neither a regular file nor a link
	if info, err := fsys.Lstat(name); err == nil && info.Mode()&kept != 0 {
		return fmt.Errorf("write %s: %s is in its place: %w", name, Describe(info.Mode()), ErrNotRegular)
	}
	f, temp, err := createTemp(fsys, name, perm)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, unnamed(err, temp))
	}
	err = fill(f, temp, write)
	if err == nil {
		err = fsys.Rename(temp, name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, errors.Join(err, removeTemp(fsys, temp)))
	}
	if err := fsys.SyncDir(filepath.Dir(name)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// unnamed removes the name of the temporary file from an error, because users know the file by its
// own name, which precedes the error. A joined or wrapped error is returned unchanged.
func unnamed(err error, temp string) error {
	path, ok := err.(*fs.PathError) //nolint:errorlint // a wrapping error may contain more
	if ok && path.Path == temp {
		return path.Err
	}
	return err
}

// createTemp creates a new file beside name. If a temporary name is in use, by another writer or
// after a crash, the next one is tried.
func createTemp(fsys FS, name string, perm fs.FileMode) (f File, temp string, err error) {
	for n := range maxTemps {
		temp = tempName(name, n)
		f, err = fsys.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) {
			return f, temp, err
		}
	}
	return nil, "", fmt.Errorf("%d temporary files are in the way; remove %s%s*: %w", maxTemps,
		name, tempMark, err)
}

// fill writes, syncs and closes f.
func fill(f File, temp string, write func(io.Writer) error) error {
	err := write(f)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(unnamed(err, temp), unnamed(f.Close(), temp))
}

func removeTemp(fsys FS, temp string) error {
	if err := fsys.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("temporary file left behind: %w", err)
	}
	return nil
}

// RemoveTemps removes temporary files left over from crashes in the directory dir and returns their
// names. No process may be writing there at the same time.
func RemoveTemps(fsys FS, dir string) ([]string, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var removed []string
	for _, e := range entries {
		if !IsTemp(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		if err := fsys.Remove(filepath.Join(dir, e.Name())); err != nil {
			return removed, err
		}
		removed = append(removed, e.Name())
	}
	if removed == nil {
		return nil, nil
	}
	return removed, fsys.SyncDir(dir)
}

// maxFile is the maximum size that ReadFile reads into memory. Files of krund and krunctl are much
// smaller.
const maxFile = 1 << 30

// ReadFile returns the whole content of name. A file of more than 1 GiB is an
// error.
func ReadFile(fsys FS, name string) ([]byte, error) { return ReadSmallFile(fsys, name, maxFile) }

// ReadSmallFile is ReadFile with a bound, in bytes.
func ReadSmallFile(fsys FS, name string, most int64) ([]byte, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	data, err := readAll(f, most)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

// readAll reads f, at most most bytes.
func readAll(f File, most int64) ([]byte, error) {
	info, err := f.Stat() // files without a size, such as those in /proc, are bounded while reading
	var data []byte
	if err == nil && info.Size() <= most {
		data, err = io.ReadAll(io.LimitReader(f, most+1))
	}
	if err == nil && max(info.Size(), int64(len(data))) > most {
		err = fmt.Errorf("it has more than %d bytes, unlike any file of krund; is it the right file?", most)
	}
	return data, err
}

// IsFull reports whether err means that no space is left, on the disk or in the user's quota.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// WithRoom returns an FS that frees space when an operation finds none, and then continues the
// operation. makeRoom reports whether it freed some space. It is called until it returns false, so
// it must do so eventually. It must not use the returned FS.
//
// A Sync that finds no space cannot be repeated: space is freed, but the error is returned.
func WithRoom(fsys FS, makeRoom func() bool) FS { return roomy{FS: fsys, makeRoom: makeRoom} }

type roomy struct {
	FS
	makeRoom func() bool
}

// again repeats do while it finds no space and some can be freed.
func (r roomy) again(do func() error) error {
	for {
		if err := do(); !IsFull(err) || !r.makeRoom() {
			return err
		}
	}
}

func (r roomy) OpenFile(name string, flag int, perm fs.FileMode) (f File, err error) {
	err = r.again(func() (err error) { f, err = r.FS.OpenFile(name, flag, perm); return err })
	if err != nil {
		return nil, err
	}
	return roomyFile{File: f, roomy: r}, nil
}

func (r roomy) Rename(oldName, newName string) error {
	return r.again(func() error { return r.FS.Rename(oldName, newName) })
}

func (r roomy) Mkdir(name string, perm fs.FileMode) error {
	return r.again(func() error { return r.FS.Mkdir(name, perm) })
}

type roomyFile struct {
	File
	roomy roomy
}

func (f roomyFile) Write(p []byte) (n int, err error) {
	err = f.roomy.again(func() error {
		written, err := f.File.Write(p[n:])
		n += written
		return err
	})
	return n, err
}

func (f roomyFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.roomy.again(func() error {
		written, err := f.File.WriteAt(p[n:], off+int64(n))
		n += written
		return err
	})
	return n, err
}

func (f roomyFile) Sync() error { return f.synced(f.File.Sync()) }

func (f roomyFile) SyncData() error { return f.synced(f.File.SyncData()) }

func (f roomyFile) synced(err error) error {
	if IsFull(err) {
		f.roomy.makeRoom()
	}
	return err
}
