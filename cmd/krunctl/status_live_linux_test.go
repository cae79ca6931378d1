package main

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	libkrun "krund/cgo"
	"krund/internal/execution/watcher"
	"krund/rig/must"
)

// TestStatusOfIterations: the iterations of the running execution are read from the buffer of the
// process that has the experiment, here this one.
func TestStatusOfIterations(t *testing.T) {
	b := mixed(t)
	lock := must.Get(b.directory.Lock(os.Getpid(), "bencher7"))(t)
	defer lock.Release()
	running := func() string {
		t.Helper()
		_, text, _ := strings.Cut(krunctl(t, "status", b.dir()).stdout, "\nrunning ")
		text, _, _ = strings.Cut(text, "\n")
		return text
	}
	text := running()
	must.Be(t, text != "" && !strings.Contains(text, "iterations"), "without a buffer", text)
	buffer := must.Get(libkrun.Create(libkrun.Spec{Iterations: 70}))(t)
	defer buffer.Close()
	text = running()
	must.Be(t, strings.HasSuffix(text, ": 0 of 70 iterations"), text)
}

// TestStatusOfHostileBuffer: the file of a directory that names the process is its owner's, and so
// is the process. A buffer that it can shrink is not mapped: reading it would end krunctl.
func TestStatusOfHostileBuffer(t *testing.T) {
	real := must.Get(libkrun.Create(libkrun.Spec{Iterations: 70}))(t)
	content, err := io.ReadAll(io.NewSectionReader(real.File(), 0, 1<<20))
	must.Do(t, errors.Join(err, real.Close()))
	fd, err := unix.MemfdCreate("krun-buffer", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Skip(err)
	}
	f := os.NewFile(uintptr(fd), "krun-buffer")
	defer f.Close()
	must.Get(f.Write(content))(t)
	_, planned, ok := watcher.IterationsOf(os.Getpid())
	must.Be(t, !ok, planned, "iterations of a buffer that is not sealed")
	must.Get(unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK))(t)
	_, planned, ok = watcher.IterationsOf(os.Getpid())
	must.Be(t, ok && planned == 70, planned, "iterations", ok)
}
