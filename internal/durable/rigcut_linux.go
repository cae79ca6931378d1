//go:build rigcut

package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// This is a test build for the rig only (rig/README.md): it counts every step that changes the
// disk, and cuts the machine's power before the step given by the kernel argument rig.cut=N,
// counted from 1. With rig.cut=trace, and at the cut, it prints the steps to the first serial port:
//
//	RIG-STEP 17 rename /srv/krund/quick.krun/results/0000000-001.json.gz
//
// The steps are: mkdir, create (opening with O_CREATE), write, sync, rename, remove, syncdir.

// OS returns the FS of the system with counted steps.
func OS() FS { return cutFS{steps: counted()} }

// counted returns the counter of this process, which all FS share.
var counted = sync.OnceValue(func() *steps {
	cmdline, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		panic(err)
	}
	s := &steps{}
	for _, word := range strings.Fields(string(cmdline)) {
		if value, ok := strings.CutPrefix(word, "rig.cut="); ok {
			s.trace = value == "trace"
			_, _ = fmt.Sscan(value, &s.cut) // stays 0: never
		}
	}
	return s
})

type steps struct {
	n     atomic.Int64
	cut   int64
	trace bool
}

// step is called before each step.
func (s *steps) step(what, name string) {
	n := s.n.Add(1)
	if s.trace || n == s.cut {
		tell(fmt.Sprintf("RIG-STEP %d %s %s\n", n, what, name))
	}
	if n == s.cut {
		cutPower()
	}
}

// tell prints a line to the first serial port and waits until it is transmitted.
func tell(line string) {
	tty, err := os.OpenFile("/dev/ttyS0", os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	_, err = tty.WriteString(line)
	drainErr := error(unix.EINTR)
	for errors.Is(drainErr, unix.EINTR) { // Go interrupts its own threads for preemption
		drainErr = unix.IoctlSetInt(int(tty.Fd()), unix.TCSBRK, 1) // 1: tcdrain(3)
	}
	_ = tty.Close()
	if err != nil || drainErr != nil {
		panic(fmt.Sprint(err, drainErr))
	}
}

// cutPower writes to the port that terminates the emulator immediately: rig.CutPort.
func cutPower() {
	port, err := os.OpenFile("/dev/port", os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	_, err = port.WriteAt([]byte{1}, 0xf4)
	panic(fmt.Sprint("still on: ", err))
}

type cutFS struct {
	system
	steps *steps
}

// Inside implements the function Inside.
func (f cutFS) Inside(dir string) (FS, error) {
	inner, err := f.system.inside(dir)
	return cutFS{inner, f.steps}, err
}

func (f cutFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	if flag&os.O_CREATE != 0 {
		f.steps.step("create", name)
	}
	file, err := f.system.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return cutFile{file.(systemFile), f.steps}, nil
}

func (f cutFS) Rename(oldName, newName string) error {
	f.steps.step("rename", newName)
	return f.system.Rename(oldName, newName)
}

func (f cutFS) Remove(name string) error {
	f.steps.step("remove", name)
	return f.system.Remove(name)
}

func (f cutFS) Mkdir(name string, perm fs.FileMode) error {
	f.steps.step("mkdir", name)
	return f.system.Mkdir(name, perm)
}

func (f cutFS) SyncDir(name string) error {
	f.steps.step("syncdir", name)
	return f.system.SyncDir(name)
}

type cutFile struct {
	systemFile
	steps *steps
}

func (f cutFile) Write(p []byte) (int, error) {
	f.steps.step("write", f.Name())
	return f.systemFile.Write(p)
}

func (f cutFile) WriteAt(p []byte, off int64) (int, error) {
	f.steps.step("write", f.Name())
	return f.systemFile.WriteAt(p, off)
}

func (f cutFile) Sync() error {
	f.steps.step("sync", f.Name())
	return f.systemFile.Sync()
}

func (f cutFile) SyncData() error {
	f.steps.step("sync", f.Name())
	return f.systemFile.SyncData()
}
