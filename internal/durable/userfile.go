package durable

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// OpenUserFile opens the file name for reading: a regular file, or a descriptor that the caller of
// krunctl opened for it (/dev/stdin, /dev/fd/N). It rejects every other FIFO, device and socket,
// and never blocks on one.
func OpenUserFile(name string) (File, error) {
	if fd, ok := descriptor(name); ok {
		file, err := duplicate(fd, name)
		if err != nil {
			return nil, err
		}
		info, err := file.Stat()
		if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return systemFile{file}, nil
		}
		_ = file.Close() // a regular file is reopened below, so that it is read from its beginning
	}
	return OS().OpenFile(name, os.O_RDONLY, 0)
}

// WriteUserFile makes the output of write the content of the file name. It replaces a regular file
// atomically once everything is written, and otherwise leaves it unchanged; the file keeps its mode
// and owner. It replaces the target of a symbolic link, and writes to a character device or a FIFO.
//
// It calls write once, with a buffered writer, unless name cannot be written.
func WriteUserFile(name string, write func(io.Writer) error) error {
	if fd, ok := descriptor(name); ok {
		return through(name, write, func() (*os.File, error) { return duplicate(fd, name) })
	}
	info, err := os.Stat(name) // follows links if the kernel allows it
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if target, err := os.Readlink(name); err == nil {
			return fmt.Errorf(
				"write %s: it is a symbolic link to %s, which does not exist; name another file",
				name,
				target,
			)
		}
		const usual = 0o644
		return WriteTo(OS(), name, usual, buffered(write))
	case err != nil:
		return fmt.Errorf("write %s: %w", name, unwrapped(err))
	case info.IsDir():
		return fmt.Errorf("write %s: it is a directory; name a file in it", name)
	case info.Mode().IsRegular():
		return replace(name, info, write)
	case info.Mode()&(fs.ModeCharDevice|fs.ModeNamedPipe) != 0:
		return through(name, write, func() (*os.File, error) { return openSame(name, info) })
	}
	return fmt.Errorf("write %s: it is %s; name a file", name, Describe(info.Mode()))
}

// replace replaces the regular file described by info with a new file.
func replace(name string, info fs.FileInfo, write func(io.Writer) error) error {
	file, err := filepath.EvalSymlinks(name)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if now, err := os.Lstat(file); err != nil || !os.SameFile(info, now) {
		return fmt.Errorf("write %s: it was replaced at the same time; try again", name)
	}
	return WriteTo(OS(), file, info.Mode().Perm(), func(w io.Writer) error {
		if f, ok := w.(attributes); ok {
			if err := keep(f, info); err != nil {
				return err
			}
		}
		return buffered(write)(w)
	})
}

// attributes are the attributes that a file keeps when it is replaced.
type attributes interface {
	Chmod(mode fs.FileMode) error
	Chown(uid, gid int) error
}

// keep gives a file the mode and, if permitted, the owner of another one. If the owner changes, the
// file already has the mode, so it is never more accessible than the old one.
func keep(f attributes, old fs.FileInfo) error {
	if uid, gid, ok := owner(old); ok {
		_ = f.Chown(uid, gid) // only root may change the owner
	}
	return f.Chmod(old.Mode().Perm())
}

// owner returns the owner of a file.
func owner(info fs.FileInfo) (uid, gid int, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(stat.Uid), int(stat.Gid), true
}

// openSame opens a device or a FIFO for writing, if it is still the one described by info.
func openSame(name string, info fs.FileInfo) (*os.File, error) {
	file, err := os.OpenFile(
		name,
		os.O_WRONLY|unix.O_NOCTTY,
		0,
	) // waits for the reader of a FIFO, like the shell
	if err != nil {
		return nil, err
	}
	if now, err := file.Stat(); err != nil || !os.SameFile(info, now) {
		return nil, errors.Join(fmt.Errorf("%s was replaced at the same time; try again", name), file.Close())
	}
	return file, nil
}

// through writes to the file that open opens.
func through(name string, write func(io.Writer) error, open func() (*os.File, error)) error {
	file, err := open()
	if err != nil {
		return fmt.Errorf("write %s: %w", name, unwrapped(err))
	}
	err = buffered(write)(file)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, unwrapped(err))
	}
	return nil
}

// buffered returns write with a buffered writer.
func buffered(write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 1<<16)
		if err := write(b); err != nil {
			return err
		}
		return b.Flush()
	}
}

// unwrapped removes the name from an error that is reported together with the name.
func unwrapped(err error) error {
	if path, ok := err.(*fs.PathError); ok { //nolint:errorlint // a wrapping error may contain more
		return path.Err
	}
	return err
}

// IsDescriptor reports whether name refers to a descriptor that krunctl was started with, such as
// /dev/stdin.
func IsDescriptor(name string) bool {
	_, ok := descriptor(name)
	return ok
}

// descriptor returns the number of the descriptor of this process that name refers to.
func descriptor(name string) (fd int, ok bool) {
	switch name {
	case "/dev/stdin":
		return 0, true
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	}
	for _, dir := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if text, found := strings.CutPrefix(name, dir); found {
			fd, err := strconv.ParseUint(text, 10, 16)
			return int(fd), err == nil
		}
	}
	return 0, false
}

// duplicate opens a descriptor of this process a second time.
func duplicate(fd int, name string) (*os.File, error) {
	again, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(again), name), nil
}

// NamesDirectory reports whether -o names a directory: one that exists, or a name that ends with a
// separator.
func NamesDirectory(output string) bool {
	if strings.HasSuffix(output, string(os.PathSeparator)) {
		return true
	}
	info, err := os.Stat(output)
	return err == nil && info.IsDir()
}

// The bounds. A series of measurements compresses to about a tenth of its size, because the digits
// of a time are mostly noise. Small files are harmless and may compress better.
const (
	SmallUnpacked = 32 << 20 // bytes to which every file may decompress
	UnpackRatio   = 200      // maximum ratio of decompressed to compressed size
)

// UnpackError is the error for a file that decompresses to more than allowed.
type UnpackError struct {
	Most   int64 // bytes
	Packed int64 // size of the file in bytes; 0 if Most does not depend on it
}

func (e *UnpackError) Error() string {
	if e.Packed > 0 {
		return fmt.Sprintf(
			"it has %d bytes and decompresses to more than %d; measurements do not compress this well",
			e.Packed,
			e.Most,
		)
	}
	return fmt.Sprintf("it decompresses to more than %d bytes, the maximum", e.Most)
}

// PackedInput is the compressed input. It counts what is read and never reads further ahead than
// its decompressor requests, so that data after the compressed data can be read from it.
type PackedInput struct {
	from *bufio.Reader
	size int64
	read int64
}

// NewPackedInput returns a PackedInput that reads r. size is the expected number of bytes, 0 if
// unknown.
func NewPackedInput(r io.Reader, size int64) *PackedInput {
	return &PackedInput{from: bufio.NewReaderSize(r, 1<<16), size: size}
}

// Peek returns the next n bytes without consuming them.
func (in *PackedInput) Peek(n int) ([]byte, error) { return in.from.Peek(n) }

// Read reads compressed bytes.
func (in *PackedInput) Read(p []byte) (int, error) {
	n, err := in.from.Read(p)
	in.read += int64(n)
	return n, err
}

// ReadByte reads one compressed byte.
func (in *PackedInput) ReadByte() (byte, error) {
	b, err := in.from.ReadByte()
	if err == nil {
		in.read++
	}
	return b, err
}

// Bound returns a reader of unpacked, the output of the decompressor of in. It fails with a
// *UnpackError after most bytes, or when there is more output than the size of the compressed data
// allows.
func (in *PackedInput) Bound(unpacked io.Reader, most int64) io.Reader {
	return &bounded{in: in, from: unpacked, most: most}
}

type bounded struct {
	in         *PackedInput
	from       io.Reader
	most, read int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.read += int64(n)
	packed := max(b.in.size, b.in.read)
	switch by := max(UnpackRatio*packed, SmallUnpacked); {
	case b.read > b.most:
		return 0, &UnpackError{Most: b.most}
	case b.read > by:
		return 0, &UnpackError{Most: by, Packed: packed}
	}
	return n, err
}
