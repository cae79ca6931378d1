package child

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// scratchFile returns a file in memory.
func scratchFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("krund-start", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	return os.NewFile(uintptr(fd), "krund-start"), nil
}

// enlargePipe enlarges a pipe and reports whether that worked.
func enlargePipe(fd int) bool {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, pipeBytes)
	return err == nil && n >= pipeBytes
}

// fork starts the stage in its own session.
func (s *execution) fork(program string, args []string, attr *syscall.ProcAttr) (pid int, err error) {
	pidfd := -1
	attr.Sys = &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd}
	if pid, err = syscall.ForkExec(program, args, attr); err != nil {
		return 0, err
	}
	if pidfd < 0 {
		pidfd, err = unix.PidfdOpen(pid, 0)
	}
	s.tree.main, s.tree.end = pid, pidfd
	if err != nil {
		_ = unix.Kill(-pid, unix.SIGKILL)
		_, _ = unix.Wait4(pid, nil, 0, nil)
		old := errors.New("this kernel has no pidfd_open(2); Linux 5.3 is the oldest that has")
		return 0, errors.Join(old, err)
	}
	return pid, nil
}

// result returns how the benchmark ended and what it used; not ok when it could not be reaped.
func (t *processTree) result() (unix.WaitStatus, unix.Rusage, bool) {
	return t.status, t.rusage, t.reaped
}

// count is the number of further processes.
func (t *processTree) count() int { return len(t.strays) }

// mostNamed is how many processes that cannot be killed are named in a record.
const mostNamed = 10

// leftovers describes what could not be killed.
func (t *processTree) leftovers() []string {
	var out []string
	for _, p := range t.unkillable[:min(len(t.unkillable), mostNamed)] {
		out = append(out, fmt.Sprintf("process %d (%s) of the benchmark cannot be killed: state %c",
			p.PID, p.Name, p.State))
	}
	if more := len(t.unkillable) - mostNamed; more > 0 {
		out = append(out, fmt.Sprintf("%d more processes of the benchmark cannot be killed", more))
	}
	if !t.reaped {
		out = append(out, fmt.Sprintf("the benchmark, process %d, could not be killed within %v",
			t.main, killTime))
	}
	return out
}
