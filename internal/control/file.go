package control

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"krund/internal/sysroot"
)

// fileApplier changes files of /proc and /sys.
type fileApplier struct {
	m     *Machine
	hasty bool // does not wait for a limit to show: somebody looks again later
}

// do writes the value, unless it is there already: a step whose old and new values are the same
// only notes what is to be put back.
func (a fileApplier) do(ctx context.Context, s Step) (string, error) {
	if text, err := a.m.Root.Read(s.Target); err == nil && s.Form.show(text) == s.Form.show(s.New) {
		return text, nil
	}
	return a.set(ctx, s, s.New)
}

// settleSteps and settleFirst say how long to wait for a frequency limit to show: 1, 2, 4, ...
// milliseconds, a second in all. On an idle machine it takes less than one; a busy emulated one was
// seen to need ten.
const (
	settleSteps = 10
	settleFirst = time.Millisecond
)

// set writes a value and reads it back. Since Linux 5.4 writing a frequency limit only makes a
// request, which a kernel thread puts into force; until then the file shows the old limit. So a
// limit that reads back wrong is read again for a while.
func (a fileApplier) set(ctx context.Context, s Step, value string) (string, error) {
	text, err := a.m.Root.Set(s.Target, value, s.Form.show)
	if s.Form != FormLimit || a.hasty || a.m.Clock == nil {
		return text, err
	}
	for i := range settleSteps {
		if _, wrong := errors.AsType[*sysroot.Mismatch](err); !wrong {
			return text, err
		}
		a.m.wait(ctx, settleFirst<<i)
		var again error
		if text, again = a.m.Root.Read(s.Target); again == nil && s.Form.show(text) == s.Form.show(value) {
			return text, nil
		}
	}
	return text, err
}

func (a fileApplier) undo(ctx context.Context, s Step) (Outcome, error) {
	text, err := a.m.Root.Read(s.Target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Gone, nil // the CPU, interrupt or driver is no longer there
	case err == nil && s.Form.show(text) == s.Form.show(s.Old):
		return Already, nil
	}
	if _, err := a.set(ctx, s, s.Old); err != nil {
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
	return willSet(found+f.unit, f.want+f.unit,
		Step{Kind: KindFile, Target: f.path, Old: found, New: f.want, Form: f.form})
}

// offers reports whether a list of choices has the word.
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
