package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	"krund/internal/machine/sysroot"
)

// fileApplier changes files of /proc and /sys.
type fileApplier struct {
	m     *Machine
	hasty bool // do not wait for a limit to show: a later pass checks it
}

// do writes the value, unless it is in effect already: a step with equal old and new values only
// records what to restore.
func (a fileApplier) do(ctx context.Context, s Step) (string, error) {
	if text, err := a.m.Root.Read(s.Target); err == nil && s.Form.show(text) == s.Form.show(s.New) {
		return text, nil
	}
	return a.set(ctx, s, s.New)
}

// settleSteps and settleFirst define the delays while waiting for a frequency limit to show: 1, 2,
// 4, ... milliseconds, about a second in total. An idle machine takes less than a millisecond; a
// busy emulated one took ten.
const (
	settleSteps = 10
	settleFirst = time.Millisecond
)

// set writes a value and reads it back. Since Linux 5.4 writing a frequency limit only queues a
// request, which a kernel thread applies; until then the file shows the old limit. So set reads a
// limit several times before it fails.
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

func (a fileApplier) restore(ctx context.Context, s Step) (Restoration, error) {
	text, err := a.m.Root.Read(s.Target)
	if errors.Is(err, fs.ErrNotExist) {
		return Gone, nil // the CPU, interrupt or driver no longer exists
	}
	return back(err == nil && s.Form.show(text) == s.Form.show(s.Old), nil, func() error {
		_, err := a.set(ctx, s, s.Old)
		return err
	})
}

// A sysfile is a setting that is one file with one wanted value: most of them.
type sysfile struct {
	path   string
	want   string
	form   Form
	absent string // what a missing file means, if that is as good as the wanted value
	unit   string // printed after values: " us"
}

// plan compares the file with the wanted value.
func (f sysfile) plan(_ context.Context, m *Machine) Plan {
	text, err := m.Root.Read(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.absent != "":
		return ok("absent", f.want+f.unit, f.absent)
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

// note returns a step that changes nothing and records a value that another step makes the kernel
// change, so that it is restored.
func note(file, value string) Step {
	return Step{Kind: KindFile, Target: file, Old: value, New: value, Optional: true}
}

// noteFile returns a note of the value of a file, none if it cannot be read.
func noteFile(m *Machine, file string) []Step {
	value, err := m.Root.Read(file)
	if err != nil {
		return nil
	}
	return []Step{note(file, value)}
}

// offers reports whether a list of choices has the word.
func offers(text, word string) bool {
	return slices.ContainsFunc(strings.Fields(text),
		func(w string) bool { return strings.Trim(w, "[]") == word })
}

// unknown is what was found of a setting that cannot be read.
const unknown = "unknown"

// unreadable is the plan of a setting that exists but cannot be read.
func unreadable(wanted string, err error) Plan {
	return cannot(unknown, wanted, err.Error(), remedy(err))
}

// remedy returns what the user can do about an error of the kernel, "" if unknown.
func remedy(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "run as root, outside of containers"
	case errors.Is(err, syscall.EROFS):
		return "run outside of containers: the file system of the kernel's settings is read-only here"
	case errors.Is(err, syscall.EINVAL):
		return "the kernel rejects the value; the firmware or another setting may forbid it"
	}
	return ""
}

// groupApplier creates and removes control groups.
type groupApplier struct{ root sysroot.Root }

func (a groupApplier) do(_ context.Context, s Step) (string, error) {
	if err := a.root.Mkdir(s.Target); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return "present", nil
}

// restore removes the group and the groups below it that a killed krund left behind. Processes that
// still run in them are moved to the root group first: restoring the machine must not kill
// anything.
func (a groupApplier) restore(_ context.Context, s Step) (Restoration, error) {
	return back(!a.root.Exists(s.Target), nil, func() error { return a.remove(s.Target) })
}

// remove empties and removes a group and those below it.
func (a groupApplier) remove(group string) error {
	children, err := a.root.Glob(group + "/*/cgroup.procs")
	if err != nil {
		return err
	}
	for _, child := range children {
		if err := a.remove(strings.TrimSuffix(child, "/cgroup.procs")); err != nil {
			return err
		}
	}
	procs, err := a.root.Read(group + "/cgroup.procs")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, pid := range strings.Fields(procs) {
		err := a.root.Write(groupRoot+"/cgroup.procs", pid)
		if err != nil && !errors.Is(err, syscall.ESRCH) && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("move process %s out of %s: %w", pid, group, err)
		}
	}
	return a.root.Rmdir(group)
}

// grantApplier enables controllers for the children of a group. New is "+name".
type grantApplier struct{ root sysroot.Root }

func (a grantApplier) file(s Step) string { return s.Target + "/cgroup.subtree_control" }

func (a grantApplier) has(s Step) (bool, error) {
	text, err := a.root.Read(a.file(s))
	return slices.Contains(strings.Fields(text), s.New[1:]), err
}

func (a grantApplier) do(_ context.Context, s Step) (string, error) {
	if err := a.root.Write(a.file(s), s.New); err != nil {
		return "", err
	}
	has, err := a.has(s)
	if err == nil && !has {
		err = &sysroot.Mismatch{Name: a.file(s), Wrote: s.New, Read: "not there"}
	}
	return s.New, err
}

// restore disables the controller for the children. If other groups have started to use it (EBUSY)
// it stays enabled: that costs nothing, and they need it.
func (a grantApplier) restore(_ context.Context, s Step) (Restoration, error) {
	has, err := a.has(s)
	if errors.Is(err, fs.ErrNotExist) {
		return Gone, nil
	}
	return back(!has, err, func() error {
		if err := a.root.Write(a.file(s), s.Old); !errors.Is(err, syscall.EBUSY) {
			return err
		}
		return nil
	})
}
