package child

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"krund/internal/machine/sysroot"
)

// rssUnit is the unit of ru_maxrss (getrusage(2)) in bytes.
const rssUnit = 1024

func rlimValue(n int64) uint64 { return uint64(n) }

func (s *stage) systemSteps() []step {
	return []step{
		{stepDescriptors, s.closeRest},
		{stepPriority, s.setPriority},
		{stepProcessors, s.setProcessors},
		{stepSignals, s.resetSignals},
		{stepAddresses, s.fixAddresses},
	}
}

func (s *stage) fixAddresses() error {
	if s.request.Fixed {
		return errors.New("OpenBSD cannot switch the randomization of addresses off; write layout = \"off\"")
	}
	return nil
}

// closeRest makes execve close everything but the benchmark's own descriptors. Go sets
// close-on-exec on all it opens, so only what the daemon itself inherited is left, which has low
// numbers.
func (s *stage) closeRest() error {
	for fd := 3 + s.n; fd < 1024; fd++ {
		unix.CloseOnExec(fd)
	}
	return nil
}

func (s *stage) setPriority() error {
	if s.request.Inherit {
		return nil
	}
	nice := s.request.Nice
	err := unix.Setpriority(unix.PRIO_PROCESS, 0, nice)
	if (errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)) && os.Geteuid() != 0 {
		s.remark(fmt.Sprintf("nice %d", nice), err)
		return nil
	}
	return err
}

func (s *stage) setProcessors() error {
	if len(s.request.CPUs) > 0 {
		return errors.New("this system cannot tie a process to processors")
	}
	return nil
}

// resetSignals gives every signal a handler, also ignored ones: execve resets those with a handler.
// What inherits from the caller keeps the ignored SIGHUP of nohup.
func (s *stage) resetSignals() error {
	ignored := signal.Ignored(unix.SIGHUP)
	signal.Notify(make(chan os.Signal, 1))
	if ignored && s.request.Inherit {
		signal.Ignore(unix.SIGHUP)
	}
	return nil
}

func (s *stage) dropPrivileges() error { return nil }

// execBenchmark applies the memory limits, writes the stamp and executes the benchmark.
func (s *stage) execBenchmark(path *byte, args, env []*byte) {
	_, _, _ = path, args, env // built for early errors; syscall.Exec builds its own
	o := s.request
	name, argv, envv := string(o.Path), toStrings(o.Args), toStrings(o.Env)
	for _, l := range []struct {
		what int
		want int64
	}{{unix.RLIMIT_STACK, o.Stack}, {unix.RLIMIT_DATA, o.Heap}} {
		if l.want == 0 {
			continue
		}
		limit := unix.Rlimit{Cur: rlimValue(l.want), Max: rlimValue(l.want)}
		if err := unix.Setrlimit(l.what, &limit); err != nil {
			s.late(lateLimits, err)
		}
	}
	if o.Stamp {
		var ts unix.Timespec
		var stamp [8]byte
		err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
		binary.NativeEndian.PutUint64(stamp[:], uint64(ts.Nano()))
		if err == nil {
			_, err = unix.Pwrite(stampFD(s.n), stamp[:], o.StampOffset)
		}
		if err != nil {
			s.late(lateStamp, err)
		}
	}
	s.late(lateExec, syscall.Exec(name, argv, envv))
}

// late reports what failed after the report.
func (s *stage) late(step byte, err error) {
	var errno syscall.Errno
	errors.As(err, &errno)
	_, _ = unix.Write(statusFD(s.n), []byte{step, byte(errno), byte(errno >> 8)})
	os.Exit(stageFailed)
}

func readBackSystem(s *Seen) {
	if nice, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil {
		s.Nice = nice
	}
}

// clearKeyrings: OpenBSD has none.
func (s *stage) clearKeyrings() error { return nil }

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
