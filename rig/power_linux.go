package rig

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel kill the machine when this process ends in any way: a killed test
// leaves no machine behind.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
