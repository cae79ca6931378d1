package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"krund/internal/durable"
)

// A Request asks krund to do something. It is a file of that name in the experiment's directory;
// the request is made by its existence, and its text is informational.
type Request string

// The requests.
const (
	// Hold makes krund do nothing at all, so that boots are ordinary, until the request is
	// withdrawn.
	Hold Request = "hold"
	// Stop lets the running process execution finish. krund then ends without restarting the
	// machine and withdraws the request.
	Stop Request = "stop"
	// Accept makes the next krund go on with programs that have changed, as a new edition. krund
	// then withdraws the request.
	Accept Request = "accept-changed"
)

// RequestFile returns the path of the file of a request.
func (f Directory) RequestFile(r Request) string { return filepath.Join(f.dir, string(r)) }

// Ask makes a request durably. text is for users who look into the file. On a full disk, Ask leaves
// an empty file, because a full disk is a common reason to stop krund.
func (f Directory) Ask(r Request, text string) error {
	const othersRead = 0o644
	err := durable.WriteFile(f.fsys, f.RequestFile(r), []byte(text+"\n"), othersRead)
	if err != nil && durable.WriteFile(f.fsys, f.RequestFile(r), nil, othersRead) != nil {
		return fmt.Errorf("ask krund to %s: %w", r, err)
	}
	return nil
}

// Withdraw withdraws a request durably. It reports whether there was one.
func (f Directory) Withdraw(r Request) (bool, error) {
	err := f.fsys.Remove(f.RequestFile(r))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = f.fsys.SyncDir(f.dir)
	}
	if err != nil {
		return false, fmt.Errorf("withdraw the request to %s: %w", r, err)
	}
	return true, nil
}

// Asked reports whether the request exists.
func (f Directory) Asked(r Request) (bool, error) { return Asked(f.fsys, f.dir, r) }

// Asked reports whether the request exists in the directory dir, which need not exist.
func Asked(fsys durable.FS, dir string, r Request) (bool, error) {
	_, err := fsys.Lstat(filepath.Join(dir, string(r)))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, syscall.ENOTDIR):
		return false, notDirectory(dir)
	}
	return false, fmt.Errorf("look for the request to %s: %w", r, err)
}
