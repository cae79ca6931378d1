package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"krund/internal/durable"
)

// A Request is what a person asks of krund by a file of that name in the
// experiment's directory. That the file is there says it; its text is for people.
type Request string

// The requests.
const (
	// Hold lets boots be ordinary ones until it is taken back: krund does
	// nothing at all.
	Hold Request = "hold"
	// Stop lets the running process execution finish; then krund ends, without
	// restarting the machine, and takes the request back.
	Stop Request = "stop"
)

// RequestFile returns the path of the file of a request.
func (f Directory) RequestFile(r Request) string { return filepath.Join(f.dir, string(r)) }

// Ask leaves a request, durably. text is for whoever looks into the file, which counts as it is: on a full disk, when somebody most wants the
// machine for himself, an empty one is left.
func (f Directory) Ask(r Request, text string) error {
	const othersRead = 0o644
	err := durable.WriteFile(f.fsys, f.RequestFile(r), []byte(text+"\n"), othersRead)
	if err != nil && durable.WriteFile(f.fsys, f.RequestFile(r), nil, othersRead) != nil {
		return fmt.Errorf("ask krund to %s: %w", r, err)
	}
	return nil
}

// Withdraw removes a request, durably. It returns whether there was one.
func (f Directory) Withdraw(r Request) (bool, error) {
	err := f.fsys.Remove(f.RequestFile(r))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = f.fsys.SyncDir(f.dir)
	}
	if err != nil {
		return false, fmt.Errorf("take the request to %s back: %w", r, err)
	}
	return true, nil
}

// Asked says whether the request is there.
func (f Directory) Asked(r Request) (bool, error) { return Asked(f.fsys, f.dir, r) }

// Asked says whether the request is in the directory dir, which need not exist.
func Asked(fsys durable.FS, dir string, r Request) (bool, error) {
	_, err := fsys.Lstat(filepath.Join(dir, string(r)))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	}
	return false, fmt.Errorf("look whether krund is to %s: %w", r, err)
}
