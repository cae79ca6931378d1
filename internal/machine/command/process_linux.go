package command

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

// Self returns a path of the running program, which stays valid when its file is replaced.
func Self() (string, error) { return "/proc/self/exe", nil }

// byDescriptor returns a path that leads to the open file and no other, as long as the file is
// open. Scripts, and other files that the kernel passes to an interpreter, keep their own path: the
// interpreter opens them by it, and a script may need it. Only users whom Cmd.Trust accepts can
// replace such a file.
func byDescriptor(file *os.File, path string) string {
	const native = "\x7fELF"
	var mark [len(native)]byte
	if n, err := file.ReadAt(mark[:], 0); err != nil || string(mark[:n]) != native {
		return path
	}
	return fmt.Sprintf("/proc/self/fd/%d", file.Fd())
}

// Expendable lets the kernel's OOM killer choose the process pid as any other. krund's unit exempts
// krund from it (OOMScoreAdjust=), and a process inherits that: one that used up all memory would
// have all others killed, or end in a panic of the kernel (proc_pid_oom_score_adj(5)). What the
// process has started before is not changed, so call it at once. It does nothing if this process is
// not exempt.
func Expendable(pid int) {
	own, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil || !strings.HasPrefix(string(own), "-") {
		return
	}
	// an error: the process has ended
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("0"), 0)
}

// signalWithParent lets the kernel send a signal to cmd when the thread that starts it ends
// (prctl(2), PR_SET_PDEATHSIG), and again for other threads that end after that one. The
// calling goroutine keeps that thread until done is called.
func signalWithParent(cmd *exec.Cmd, s syscall.Signal) (done func()) {
	cmd.SysProcAttr.Pdeathsig = s
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
