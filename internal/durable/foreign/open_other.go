//go:build !linux

package foreign

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// open judges the file before it opens it, and again afterwards. The system has no file systems
// whose files are made up.
func open(path string) (*os.File, error) {
	if err := check(path); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func check(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	return err
}
