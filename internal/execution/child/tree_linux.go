package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"krund/internal/machine/sysroot"
)

// processTree finds and ends the processes of one benchmark, and no others.
//
// The daemon makes itself the reaper of orphans (PR_SET_CHILD_SUBREAPER). So every process of the
// benchmark stays its descendant: a process whose parent ends becomes a child of the daemon. The
// benchmark's among the daemon's children are those in its session, and those that are new and have
// no_new_privs set: the stage sets that, children inherit it, and it cannot be cleared, while other
// children of the daemon do not have it.
type processTree struct {
	self       int
	main       int // the benchmark itself
	end        int // its pidfd, readable once it has ended
	cgroup     *cgroup
	killUser   func(context.Context) error // Command.KillUser
	before     map[int]uint64              // the daemon's children before: start time by number
	restricted bool                        // the daemon itself has no_new_privs, so it distinguishes nothing
	wasReaper  bool

	reaped     bool
	status     unix.WaitStatus
	rusage     unix.Rusage
	strays     map[int]uint64
	unkillable []proc // what could not be killed
}

// newProcessTree is called before the fork.
func newProcessTree(g *cgroup, killUser func(context.Context) error) (*processTree, error) {
	t := &processTree{self: os.Getpid(), end: -1, cgroup: g, killUser: killUser, before: map[int]uint64{},
		strays: map[int]uint64{}}
	if !noChildren() {
		for _, p := range readProcs() {
			if p.Parent == t.self {
				t.before[p.PID] = p.Start
			}
		}
	}
	t.restricted = noNewPrivileges(t.self)
	was, err := subreaper()
	if err != nil {
		return nil, err
	}
	t.wasReaper = was
	if err := setSubreaper(true); err != nil {
		return nil, err
	}
	return t, nil
}

// close undoes newProcessTree and closes what the fork opened.
func (t *processTree) close() {
	if !t.wasReaper {
		_ = setSubreaper(false) // it was possible to set
	}
	if t.end >= 0 {
		_ = unix.Close(t.end)
	}
}

// killAll ends everything of the benchmark, the benchmark itself first, and reaps it. Afterwards
// only the processes in unkillable are alive.
func (t *processTree) killAll() {
	limit := now() + int64(killTime)
	t.killMain(limit)
	if noChildren() && t.cgroup.empty() {
		return // the ordinary case: an exact answer for one system call
	}
	for quiet, round := 0, 0; ; round++ {
		all := readProcs()
		members := descendants(all, t.self, t.main, t.isBenchmark)
		for _, p := range members {
			t.strays[p.PID] = p.Start
		}
		if !t.reaped {
			t.killMain(min(limit, now()))
		}
		alive := t.killRound(members, round)
		switch {
		case t.reaped && len(members) == 0 && t.cgroup.empty():
			// Processes come and go while /proc is read. No child at all is certain; otherwise
			// twice in a row nothing must be found.
			if quiet++; noChildren() || quiet == 2 {
				return
			}
		default:
			quiet = 0
		}
		if now() >= limit {
			t.unkillable = alive
			return
		}
		pause(alive)
	}
}

// killMain kills the benchmark with its process group and reaps it. It waits for the end until
// limit.
func (t *processTree) killMain(limit int64) {
	_ = unix.PidfdSendSignal(t.end, unix.SIGKILL, nil, 0)
	if !readable(t.end, limit) {
		return
	}
	// It is dead but keeps its number until it is reaped, so the group of that number is its own.
	_ = unix.Kill(-t.main, unix.SIGKILL)
	_, err := sysroot.Uninterrupted(func() (int, error) {
		return unix.Wait4(t.main, &t.status, unix.WALL, &t.rusage)
	})
	t.reaped = err == nil
}

// killRound kills the members that are alive and returns them, and reaps those that have ended.
func (t *processTree) killRound(members []proc, round int) []proc {
	t.cgroup.kill()
	if round == killUserRound && t.killUser != nil {
		_ = t.killUser(context.Background()) // what is left is reported
	}
	var alive []proc
	for _, p := range members {
		switch {
		case p.Ended() && p.Parent == t.self:
			_, _ = unix.Wait4(p.PID, nil, unix.WNOHANG|unix.WALL, nil)
		case p.Ended(): // its parent is a member too; the daemon inherits it
			alive = append(alive, p)
		default:
			kill(p)
			alive = append(alive, p)
		}
	}
	return alive
}

// killUserRound is the round after which Command.KillUser ends processes that fork faster than they
// can be found.
const killUserRound = 3

// isBenchmark reports whether a child of the daemon is an orphan of the benchmark.
func (t *processTree) isBenchmark(p proc) bool {
	if start, was := t.before[p.PID]; was && start == p.Start {
		return false
	}
	return p.Session == t.main || t.restricted || noNewPrivileges(p.PID)
}

// kill ends exactly the process p: the number may belong to another process since p was read.
func kill(p proc) {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return // gone
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	if again, err := readProc(p.PID); err == nil && again.Start == p.Start {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // permitted: it has our user or fewer rights
	}
}

// pause waits a moment for processes to die.
func pause(alive []proc) {
	limit := now() + int64(pauseTime)
	for _, p := range alive {
		if fd, err := unix.PidfdOpen(p.PID, 0); err == nil {
			readable(fd, limit)
			_ = unix.Close(fd)
		}
	}
	if len(alive) == 0 {
		readable(-1, now()+int64(time.Millisecond))
	}
}

const pauseTime = 20 * time.Millisecond

// noChildren reports whether the daemon has no child at all, alive or dead.
func noChildren() bool {
	_, err := sysroot.Uninterrupted(func() (int, error) {
		return 0, unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
	})
	return errors.Is(err, unix.ECHILD)
}

// readProcs returns the processes of the machine.
func readProcs() []proc {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()                //nolint:errcheck // it was only read
	names, _ := dir.Readdirnames(-1) // what can be read is better than nothing
	var out []proc
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, err := readProc(pid); err == nil {
				out = append(out, p)
			}
		}
	}
	return out
}

func readProc(pid int) (proc, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return proc{}, err
	}
	return sysroot.ParseProcessStat(string(text))
}

// noNewPrivileges reports whether a process has no_new_privs set (prctl(2), PR_SET_NO_NEW_PRIVS).
func noNewPrivileges(pid int) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return false
	}
	n, ok := number(text, "NoNewPrivs")
	return ok && n == 1
}

func subreaper() (bool, error) {
	var is int32
	_, _, errno := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_GET_CHILD_SUBREAPER,
		uintptr(unsafe.Pointer(&is)), 0)
	if errno != 0 {
		return false, fmt.Errorf("read whether krund reaps orphans: %w", errno)
	}
	return is != 0, nil
}

func setSubreaper(on bool) error {
	value := uintptr(0)
	if on {
		value = 1
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, value, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of orphans: %w", err)
	}
	return nil
}

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
