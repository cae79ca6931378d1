//go:build !linux

package command

import (
	"os/exec"
	"syscall"
)

// signalWithParent does nothing: only Linux tells a process that its parent has ended.
func signalWithParent(*exec.Cmd, syscall.Signal) (done func()) { return func() {} }
