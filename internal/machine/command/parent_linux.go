package command

import (
	"os/exec"
	"runtime"
	"syscall"
)

// signalWithParent lets the kernel send a signal to cmd when the thread that starts it ends
// (prctl(2), PR_SET_PDEATHSIG), and again for other threads that end after that one. The
// calling goroutine keeps that thread until done is called.
func signalWithParent(cmd *exec.Cmd, s syscall.Signal) (done func()) {
	cmd.SysProcAttr.Pdeathsig = s
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
