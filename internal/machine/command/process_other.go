//go:build !linux

package command

import (
	"os"
	"os/exec"
	"syscall"
)

// Self returns a path of the running program.
func Self() (string, error) { return os.Executable() }

// byDescriptor returns the path of an open file, because this system cannot execute a descriptor.
// Only users whom Cmd.Trust accepts can replace the file.
func byDescriptor(_ *os.File, path string) string { return path }

// Expendable does nothing.
func Expendable(int) {}

// signalWithParent does nothing: only Linux tells a process that its parent has ended.
func signalWithParent(*exec.Cmd, syscall.Signal) (done func()) { return func() {} }
