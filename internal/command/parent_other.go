//go:build !linux

package command

import "os/exec"

// hangUpWithParent does nothing: only Linux tells a process that its parent has ended.
func hangUpWithParent(*exec.Cmd) (done func()) { return func() {} }
