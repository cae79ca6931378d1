package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"krund/internal/machine/sysroot"
)

// cgroup stands for the control groups that this system does not have. It is always nil.
type cgroup struct{ name, dir string }

var errNoGroups = errors.New("this system has no control groups")

func openGroup(string) (*cgroup, error) { return nil, errNoGroups }

// RemoveGroup has nothing to remove: there are no control groups.
func RemoveGroup(string) error { return nil }

func (*cgroup) clear() (int, error) { return 0, nil }

func (*cgroup) limitProcesses(int64) bool { return false }

func (*cgroup) refusals() int64 { return 0 }

func (*cgroup) processorTime() int64 { return 0 }

func memoryKills(*cgroup) (int64, bool) { return 0, false }

// processTree ends the benchmark with its process group. Processes that have left the group for a
// session of their own can only be ended with Command.KillUser.
type processTree struct {
	main     int                         // the benchmark, whose number is that of its process group
	end      int                         // readable once the benchmark has ended: a kqueue(2)
	killUser func(context.Context) error // Command.KillUser
	reaped   bool
	status   unix.WaitStatus
	rusage   unix.Rusage
	errs     []string
}

func newProcessTree(_ *cgroup, killUser func(context.Context) error) (*processTree, error) {
	kq, err := unix.Kqueue()
	if err != nil {
		return nil, fmt.Errorf("kqueue: %w", err)
	}
	unix.CloseOnExec(kq)
	return &processTree{end: kq, killUser: killUser}, nil
}

// observe makes end readable at the end of process pid.
func (t *processTree) observe(pid int) error {
	t.main = pid
	change := make([]unix.Kevent_t, 1)
	unix.SetKevent(&change[0], pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	change[0].Fflags = unix.NOTE_EXIT
	_, err := unix.Kevent(t.end, change, nil, nil)
	if !errors.Is(err, unix.ESRCH) {
		return err
	}
	// It has ended already and is not taken any more. A pipe without a writer is readable at once.
	var p [2]int
	if err := pipe(&p); err != nil {
		return err
	}
	_ = unix.Close(p[1])
	_ = unix.Close(t.end)
	t.end = p[0]
	return nil
}

func (t *processTree) close() { _ = unix.Close(t.end) }

// killAll ends the benchmark and its process group and reaps it. The group is killed before that:
// until it is reaped the number of a dead process cannot be another's.
func (t *processTree) killAll() {
	limit := now() + int64(killTime)
	_ = unix.Kill(t.main, unix.SIGKILL)
	if !readable(t.end, limit) {
		return
	}
	_ = unix.Kill(-t.main, unix.SIGKILL)
	_, err := sysroot.Uninterrupted(func() (int, error) {
		return unix.Wait4(t.main, &t.status, 0, &t.rusage)
	})
	t.reaped = err == nil
	if t.killUser != nil {
		if err := t.killUser(context.Background()); err != nil {
			t.errs = append(t.errs, err.Error())
		}
	}
	for unix.Kill(-t.main, 0) == nil && now() < limit {
		readable(-1, now()+int64(time.Millisecond)) // init reaps them
	}
}

// result is how the benchmark ended and what it used.
func (t *processTree) result() (unix.WaitStatus, unix.Rusage, bool) {
	return t.status, t.rusage, t.reaped
}

// count is the number of further processes, which is unknown on this system.
func (*processTree) count() int { return 0 }

// leftovers describes what could not be killed.
func (t *processTree) leftovers() []string {
	if !t.reaped {
		return append(t.errs, fmt.Sprintf("the benchmark, process %d, could not be killed within %v",
			t.main, killTime))
	}
	return t.errs
}

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

// pinThreads: OpenBSD has no affinity.
func pinThreads([]int) (func() error, error) { return nil, errors.New("this system has no affinity") }

func Affinity() []int { return nil }

// OpenBSD gives no information on single threads without kvm(3).
func ownThreads() map[int]thread    { return nil }
func kernelThreads() map[int]thread { return nil }
