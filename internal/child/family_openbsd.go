package child

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// group stands for the control groups that this system does not have. It is always nil.
type group struct{ name, dir string }

var errNoGroups = errors.New("this system has no control groups")

func openGroup(string) (*group, error) { return nil, errNoGroups }

func (*group) clear() (int, error) { return 0, nil }

func (*group) limitProcesses(int64) bool { return false }

func (*group) refusals() int64 { return 0 }

func memoryKills(*group) (int64, bool) { return 0, false }

// family ends the benchmark with its process group. A process that left the group for a session of its own is beyond
// reach here, except with Command.KillUser: then all of that user's processes are ended.
type family struct {
	main     int                         // the benchmark, whose number is that of its process group
	end      int                         // readable once the benchmark has ended: a kqueue(2)
	killUser func(context.Context) error // Command.KillUser
	reaped   bool
	status   unix.WaitStatus
	rusage   unix.Rusage
	errs     []string
}

func newFamily(_ *group, killUser func(context.Context) error) (*family, error) {
	kq, err := unix.Kqueue()
	if err != nil {
		return nil, fmt.Errorf("kqueue: %w", err)
	}
	unix.CloseOnExec(kq)
	return &family{end: kq, killUser: killUser}, nil
}

// observe makes end readable at the end of process pid.
func (f *family) observe(pid int) error {
	f.main = pid
	change := make([]unix.Kevent_t, 1)
	unix.SetKevent(&change[0], pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	change[0].Fflags = unix.NOTE_EXIT
	_, err := unix.Kevent(f.end, change, nil, nil)
	if !errors.Is(err, unix.ESRCH) {
		return err
	}
	// It has ended already and is not taken any more. A pipe without a writer is readable at once.
	var p [2]int
	if err := pipe(&p); err != nil {
		return err
	}
	_ = unix.Close(p[1])
	_ = unix.Close(f.end)
	f.end = p[0]
	return nil
}

func (f *family) close() { _ = unix.Close(f.end) }

// killAll ends the benchmark and its process group and reaps it. The group is killed before that: until it is reaped the
// number of a dead process cannot be another's.
func (f *family) killAll() {
	limit := now() + int64(killTime)
	_ = unix.Kill(f.main, unix.SIGKILL)
	if !readable(f.end, limit) {
		return
	}
	_ = unix.Kill(-f.main, unix.SIGKILL)
	for {
		_, err := unix.Wait4(f.main, &f.status, 0, &f.rusage)
		if !errors.Is(err, unix.EINTR) {
			f.reaped = err == nil
			break
		}
	}
	if f.killUser != nil {
		if err := f.killUser(context.Background()); err != nil {
			f.errs = append(f.errs, err.Error())
		}
	}
	for unix.Kill(-f.main, 0) == nil && now() < limit {
		readable(-1, now()+int64(time.Millisecond)) // init reaps them
	}
}

// result is how the benchmark ended and what it used.
func (f *family) result() (unix.WaitStatus, unix.Rusage, bool) { return f.status, f.rusage, f.reaped }

// count is the number of further processes, which this system does not tell.
func (*family) count() int { return 0 }

// leftovers describes what could not be killed.
func (f *family) leftovers() []string {
	if !f.reaped {
		return append(f.errs, fmt.Sprintf("the benchmark, process %d, could not be killed within %v", f.main, killTime))
	}
	return f.errs
}
