package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const (
	// sweepDepth bounds how deep a user can make krund climb.
	sweepDepth = 200
	sweepBatch = 1024 // entries read at once
)

// removeOwned removes everything below dir that belongs to the user uid, and nothing else: not other users' files in the
// user's folders (which then stay too), not what lies on another file system, and never through a symbolic link, because
// others can write there as well. A dir that does not exist is empty. It returns how many entries it removed.
func removeOwned(ctx context.Context, dir string, uid int) (removed int, err error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer root.Close() //nolint:errcheck // it was only read
	info, err := root.Lstat(".")
	if err != nil {
		return 0, err
	}
	device, ok := deviceOf(info)
	if !ok {
		return 0, fmt.Errorf("%s: its device is unknown", dir)
	}
	s := sweep{root: root, uid: uid, device: device}
	err = s.folder(ctx, ".", 0)
	return s.removed, err
}

type sweep struct {
	root    *os.Root
	uid     int
	device  uint64
	removed int
}

// folder sweeps one folder. It goes on after an error, and returns the first few.
func (s *sweep) folder(ctx context.Context, name string, depth int) error {
	if depth > sweepDepth {
		return fmt.Errorf("%s: more than %d folders deep", name, sweepDepth)
	}
	dir, err := s.root.Open(name)
	if err != nil {
		return ignoreGone(err)
	}
	defer dir.Close() //nolint:errcheck // it was only read
	var failed error
	for {
		if err := ctx.Err(); err != nil {
			return errors.Join(failed, err)
		}
		entries, err := dir.ReadDir(sweepBatch)
		for _, e := range entries {
			if err := s.entry(ctx, filepath.Join(name, e.Name()), depth); err != nil && failed == nil {
				failed = err
			}
		}
		if errors.Is(err, io.EOF) {
			return failed
		}
		if err != nil {
			return errors.Join(failed, err)
		}
	}
}

func (s *sweep) entry(ctx context.Context, name string, depth int) error {
	info, err := s.root.Lstat(name)
	if err != nil {
		return ignoreGone(err)
	}
	owner, _ := ownerOf(info)
	device, ok := deviceOf(info)
	if !ok || device != s.device {
		return nil
	}
	if info.IsDir() {
		if err := s.folder(ctx, name, depth+1); err != nil {
			return err
		}
	}
	if owner != s.uid {
		return nil
	}
	if err := s.root.Remove(name); err != nil {
		return ignoreGone(err)
	}
	s.removed++
	return nil
}

// ignoreGone forgives that others remove their own files meanwhile.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func deviceOf(info fs.FileInfo) (uint64, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return uint64(st.Dev), true
}
