// Package foreign opens the files that an experiment names: programs, libraries, benchmarks. Root
// reads them, but another user has chosen their paths, and may replace them at any time.
//
// A file is opened only if it is a regular one of a disk, of memory or of the network: what the
// kernel makes up (/proc, /sys and the like) may wait for an event, or act when it is opened or
// read. What takes longer than its limit is abandoned, because no signal ends a call to a file
// system that does not answer.
//
// Start reading at Open.
package foreign

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// ErrNotRegular is the error for a directory, a FIFO, a socket or a device.
var ErrNotRegular = errors.New("not a regular file")

// ErrKernel is the error for a file that the kernel makes up.
var ErrKernel = errors.New("a file of the kernel, not of a disk")

// Open opens a file for reading. It does not wait for the other end of a FIFO, and has no effect on
// a device. Errors: ErrNotRegular, ErrKernel, or an error of the file system.
func Open(path string) (*os.File, error) {
	file, err := open(path)
	if err == nil {
		return file, nil
	}
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err // of another path
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: err}
}

// statTime is the limit for asking what a file is.
const statTime = 30 * time.Second

// Stat is os.Stat, which ends with ctx and after half a minute.
func Stat(ctx context.Context, path string) (fs.FileInfo, error) {
	ctx, cancel := Limited(ctx, statTime)
	defer cancel()
	type result struct {
		info fs.FileInfo
		err  error
	}
	r, err := Within(ctx, func() (r result) {
		r.info, r.err = os.Stat(path)
		return r
	})
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return r.info, r.err
}

// Check returns the error that Open returns of a file because of its kind. It needs no permission
// to read the file, and ends after half a minute.
func Check(path string) error {
	ctx, cancel := Limited(context.Background(), statTime)
	defer cancel()
	failed, err := Within(ctx, func() error { return check(path) })
	if err != nil {
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return failed
}

// mostHashed is the maximum size in bytes of a file that is hashed: larger than any VM.
const mostHashed = 4 << 30

// hashTime is the limit for one file: four gigabytes at 35 MB/s.
const hashTime = 2 * time.Minute

// Hash returns the hexadecimal SHA-256 of a file of at most 4 GiB. It ends with ctx, and after two
// minutes.
func Hash(ctx context.Context, path string) (string, error) {
	ctx, cancel := Limited(ctx, hashTime)
	defer cancel()
	type result struct {
		hash string
		err  error
	}
	r, err := Within(ctx, func() result {
		hash, err := hashFile(ctx, path)
		return result{hash, err}
	})
	if err == nil {
		err = r.err
	}
	if err != nil {
		return "", fmt.Errorf("hash %s: %w", path, err)
	}
	return r.hash, nil
}

func hashFile(ctx context.Context, path string) (hash string, err error) {
	file, err := Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if info.Size() > mostHashed {
		return "", fmt.Errorf("larger than %d bytes", int64(mostHashed))
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(reader{ctx, file}, mostHashed)); err != nil { // it may grow
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// reader is a file that cannot be read once ctx has ended.
type reader struct {
	ctx  context.Context //nolint:containedctx // it lives as long as one call
	file *os.File
}

func (r reader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.file.Read(p)
}

// Within returns what do returns, or the cause of ctx if ctx ends before: do is then abandoned, and
// goes on for as long as a call to the kernel takes.
func Within[T any](ctx context.Context, do func() T) (T, error) {
	done := make(chan T, 1)
	if ctx.Err() == nil {
		go func() { done <- do() }()
	}
	select {
	case result := <-done:
		return result, nil
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// ErrLate is in the error for what took longer than its limit.
var ErrLate = errors.New("a disk or a file system does not answer")

// Limited returns ctx with a limit, whose cause wraps ErrLate.
func Limited(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %v: %w", limit, ErrLate))
}
