package command

import (
	"os/exec"
	"runtime"
	"syscall"
)

// hangUpWithParent lets the kernel send SIGHUP to cmd when the thread that starts it ends
// (prctl(2), PR_SET_PDEATHSIG), and again for other threads that end after that one. The
// calling goroutine keeps that thread until done is called.
func hangUpWithParent(cmd *exec.Cmd) (done func()) {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGHUP
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
