package control

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"krund/internal/sysroot"
)

// fileActor changes files of /proc and /sys.
type fileActor struct{ root sysroot.Root }

// do writes the value, unless it is there already: a step whose old and new values are the same only notes what is to be put back.
func (a fileActor) do(_ context.Context, s Step) (string, error) {
	if text, err := a.root.Read(s.Target); err == nil && s.Form.show(text) == s.Form.show(s.New) {
		return text, nil
	}
	return a.root.Set(s.Target, s.New, s.Form.show)
}

func (a fileActor) undo(_ context.Context, s Step) (Outcome, error) {
	text, err := a.root.Read(s.Target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Gone, nil // the CPU, interrupt or driver is no longer there
	case err == nil && s.Form.show(text) == s.Form.show(s.Old):
		return Already, nil
	}
	if _, err := a.root.Set(s.Target, s.Old, s.Form.show); err != nil {
		return Failed, err
	}
	return Restored, nil
}

// A sysfile is a setting that is one file with one wanted value: most of them.
type sysfile struct {
	path   string
	want   string
	form   Form
	absent string // what it means that the kernel has no such file; then all is well
	unit   string // put after values in front of people: " us"
}

// plan compares the file with the wanted value.
func (f sysfile) plan(_ context.Context, m *Machine) Plan {
	text, err := m.Root.Read(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.absent != "":
		p := ok("absent", f.want+f.unit)
		p.Detail = f.absent
		return p
	case errors.Is(err, fs.ErrNotExist):
		return cannot("absent", f.want+f.unit, "this kernel has no "+f.path, "")
	case err != nil:
		return unreadable(f.want+f.unit, err)
	}
	found := f.form.show(text)
	if found == f.form.show(f.want) {
		return ok(found+f.unit, f.want+f.unit)
	}
	if f.form == FormChoice && !offers(text, f.want) {
		return cannot(found, f.want, "this kernel offers "+text, "")
	}
	return willSet(found+f.unit, f.want+f.unit, Step{Kind: KindFile, Target: f.path, Old: found, New: f.want, Form: f.form})
}

// offers tells whether a list of choices has the word.
func offers(text, word string) bool {
	for _, w := range strings.Fields(text) {
		if strings.Trim(w, "[]") == word {
			return true
		}
	}
	return false
}

// unreadable is the plan of a setting that is there and cannot be read.
func unreadable(wanted string, err error) Plan {
	return cannot("unknown", wanted, err.Error(), remedy(err))
}

// remedy says what a user can do about an error of the kernel, "" when nobody knows.
func remedy(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "run as root, outside of containers"
	case errors.Is(err, syscall.EROFS):
		return "run outside of containers: the file system of the kernel's settings is read-only here"
	case errors.Is(err, syscall.EINVAL):
		return "the kernel refuses the value; the firmware or another setting may forbid it"
	}
	return ""
}
