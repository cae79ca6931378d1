package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"krund/internal/machine/sysroot"
)

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
