package durable

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// MkdirAll makes a directory, and those above it that are missing. One that is there is no error.
func MkdirAll(fsys FS, dir string) error {
	const usual = 0o755
	err := fsys.Mkdir(dir, usual)
	if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) &&
		strings.Contains(dir, string(filepath.Separator)) {
		if err := MkdirAll(fsys, filepath.Dir(dir)); err != nil {
			return err
		}
		err = fsys.Mkdir(dir, usual)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
