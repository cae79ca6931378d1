package child

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// scratchFile returns a file without a name.
func scratchFile() (*os.File, error) {
	f, err := os.CreateTemp("", "krund-start-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close() // the first error counts
		return nil, err
	}
	return f, nil
}

// enlargePipe reports that this system's pipes cannot be enlarged.
func enlargePipe(int) bool { return false }

// fork starts the stage in its own session.
func (s *execution) fork(program string, args []string, attr *syscall.ProcAttr) (pid int, err error) {
	attr.Sys = &syscall.SysProcAttr{Setsid: true}
	if pid, err = syscall.ForkExec(program, args, attr); err != nil {
		return 0, err
	}
	if err := s.tree.observe(pid); err != nil {
		s.tree.killAll()
		return 0, fmt.Errorf("watch the benchmark: %w", err)
	}
	return pid, nil
}

// processCPU returns the nanoseconds of processor time of all threads.
func processCPU(ru *unix.Rusage) int64 { return ru.Utime.Nano() + ru.Stime.Nano() }

// residentBytes is 0: this system does not provide it.
func residentBytes() int64 { return 0 }
