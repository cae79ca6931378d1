package rig

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel kill the machine when this process ends, however it ends: a test that is killed leaves no machine behind.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
