//go:build cgo

package msr

import (
	"os"
	"syscall"
	"testing"

	libkrun "krund/cgo"
	"krund/rig/must"
)

// duplicate returns another descriptor of a file.
func duplicate(t testing.TB, f *os.File) int {
	t.Helper()
	fd := must.Get(syscall.Dup(int(f.Fd())))(t)
	return fd
}

// keepFiles plans duplicates of the groups' files, because libkrun closes what it is given.
func keepFiles(t testing.TB, groups []libkrun.Group) {
	t.Helper()
	for i, g := range groups {
		if g.File != nil {
			groups[i].FD = duplicate(t, g.File)
		}
	}
}
