package durable

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// MkdirAll creates a directory and its missing parents. It is no error if the directory exists.
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
