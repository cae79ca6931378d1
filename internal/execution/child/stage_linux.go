package child

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"krund/internal/machine/host"
)

// rssUnit is the unit of ru_maxrss (getrusage(2)) in bytes.
const rssUnit = 1024

// oomScore makes the OOM killer choose the benchmark and not the daemon
// (proc_pid_oom_score_adj(5)).
const oomScore = 1000

func rlimValue(n int64) uint64 { return uint64(n) }

func (s *stage) systemSteps() []step {
	return []step{
		{stepGroup, s.joinGroup},
		{stepDescriptors, s.closeRest},
		{stepCounters, s.openEvents},
		{stepPriority, s.setPriority},
		{stepProcessors, s.setProcessors},
		{stepSignals, s.resetSignals},
		{stepAddresses, s.fixAddresses},
		{stepKeyrings, s.joinSessionKeyring},
	}
}

// noRandomize is ADDR_NO_RANDOMIZE, and current the argument of personality(2) that only asks
// (include/uapi/linux/personality.h).
const (
	noRandomize = 0x0040000
	current     = 0xffffffff
)

// fixAddresses switches the randomization of addresses off, which execve inherits.
func (s *stage) fixAddresses() error {
	if !s.request.Fixed {
		return nil
	}
	is, _, errno := unix.RawSyscall(unix.SYS_PERSONALITY, current, 0, 0)
	if errno == 0 {
		_, _, errno = unix.RawSyscall(unix.SYS_PERSONALITY, is|noRandomize, 0, 0)
	}
	if errno != 0 {
		return os.NewSyscallError("personality", errno)
	}
	return nil
}

// joinGroup enters the control group, or notes why it cannot.
func (s *stage) joinGroup() error {
	if len(s.request.Group) > 0 {
		if err := enterGroup(string(s.request.Group)); err != nil {
			s.noGroup = err.Error()
		}
	}
	return nil
}

// closeRest makes execve close everything but the benchmark's own descriptors.
func (s *stage) closeRest() error {
	first := 3 + s.n
	err := unix.CloseRange(uint(first), ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	return markEach(first) // Linux before 5.11 lacks the call or the flag
}

// openEvents opens the perf events of this thread, which becomes the benchmark's first one. A
// pinned event either has a hardware counter or fails.
func (s *stage) openEvents() error {
	for _, e := range s.request.Events {
		attr := unix.PerfEventAttr{
			Type: e.Type, Config: e.Config, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
			Bits: unix.PerfBitPinned, Read_format: unix.PERF_FORMAT_GROUP |
				unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
		}
		fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			return os.NewSyscallError("perf_event_open", err)
		}
		err = unix.Dup3(fd, firstFD+e.File, 0)
		_ = unix.Close(fd) // its duplicate stays open
		if err != nil {
			return os.NewSyscallError("dup3", err)
		}
	}
	return nil
}

// markEach does the same one descriptor at a time.
func markEach(first int) error {
	dir, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range dir {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= first {
			unix.CloseOnExec(fd) // a closed one (ReadDir's own) does not matter
		}
	}
	return nil
}

// setPriority puts the process under the ordinary scheduler with the wanted priority, unless it
// inherits both.
func (s *stage) setPriority() error {
	s.remark("oom_score_adj", os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(oomScore)), 0))
	if s.request.Inherit {
		return nil
	}
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return fmt.Errorf("read the scheduling policy: %w", err)
	}
	if attr.Policy != unix.SCHED_NORMAL {
		attr = &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
		if err := unix.SchedSetAttr(0, attr, 0); err != nil {
			return fmt.Errorf("set the scheduling policy SCHED_OTHER: %w", err)
		}
	}
	nice := s.request.Nice
	err = unix.Setpriority(unix.PRIO_PROCESS, 0, nice)
	if (errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)) && os.Geteuid() != 0 {
		s.remark(fmt.Sprintf("nice %d", nice), err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("nice %d: %w", nice, err)
	}
	if nice == 0 {
		return nil
	}
	// With autogrouping (sched(7)) the new session is a scheduling group of its own with nice 0.
	// The process's nice value only orders processes within the group; the group's value counts
	// against the rest of the machine.
	err = os.WriteFile("/proc/self/autogroup", []byte(strconv.Itoa(nice)), 0)
	if !errors.Is(err, os.ErrNotExist) {
		s.remark(fmt.Sprintf("autogroup nice %d", nice), err)
	}
	return nil
}

// setProcessors binds the process to the wanted processors and checks that the system accepted all
// of them.
func (s *stage) setProcessors() error {
	if len(s.request.CPUs) == 0 {
		return nil
	}
	if err := host.Bind(0, s.request.CPUs); err != nil {
		return err
	}
	want := slices.Sorted(slices.Values(s.request.CPUs))
	if got := Affinity(); !slices.Equal(slices.Compact(want), got) {
		return fmt.Errorf("the system allows only %v", got)
	}
	return nil
}

// Affinity returns the processors of this thread, nil when unknown (more than 1024 of them).
func Affinity() []int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil
	}
	var cpus []int
	for cpu := range len(set) * int(unsafe.Sizeof(set[0])) * 8 {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// sigaction is the kernel's struct sigaction (sigaction(2)) on 64-bit machines, with room to spare.
type sigaction struct {
	handler uintptr
	rest    [7]uint64
}

const (
	sigIgnore   = 1  // SIG_IGN
	sigSetBytes = 8  // sizeof(sigset_t) in the kernel
	signals     = 64 // numbered from 1
)

// resetSignals resets ignored signals to their default action (nohup and background jobs of a shell
// leave them ignored). execve resets those with a handler. What inherits from the caller keeps the
// ignored SIGHUP of nohup.
func (s *stage) resetSignals() error {
	for sig := uintptr(1); sig <= signals; sig++ {
		if sig == uintptr(unix.SIGHUP) && s.request.Inherit {
			continue
		}
		var is sigaction
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, 0, uintptr(unsafe.Pointer(&is)),
			sigSetBytes, 0, 0)
		if errno != 0 || is.handler != sigIgnore {
			continue
		}
		var ordinary sigaction
		_, _, errno = unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&ordinary)), 0,
			sigSetBytes, 0, 0)
		if errno != 0 {
			return fmt.Errorf("signal %d: %w", sig, errno)
		}
	}
	return nil
}

// dropPrivileges sets no_new_privs, so that no set-user-ID program grants privileges to a process
// that does not inherit that right, and makes the process end with the daemon.
func (s *stage) dropPrivileges() error {
	if !s.request.Inherit {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("forbid new privileges: %w", err)
		}
	}
	// This comes after the change of user, which would reset it.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("end with the daemon: %w", err)
	}
	if os.Getppid() != s.request.Parent {
		return errors.New("the daemon is gone")
	}
	return nil
}

// execBenchmark applies the memory limits, writes the stamp and executes the benchmark. Nothing
// here may allocate: under a small RLIMIT_DATA that kills the Go runtime. So it makes raw system
// calls, which the scheduler does not see. The offset of pwrite is passed as on 64-bit machines.
//
//go:norace
func (s *stage) execBenchmark(path *byte, args, env []*byte) {
	var (
		mask  uint64
		ts    unix.Timespec
		stamp int64
		late  [lateBytes]byte
		heap  = unix.Rlimit{Cur: uint64(s.request.Heap), Max: uint64(s.request.Heap)}
		stack = unix.Rlimit{Cur: uint64(s.request.Stack), Max: uint64(s.request.Stack)}
		errno syscall.Errno
	)
	late[0] = lateLimits
	_, _, errno = unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK,
		uintptr(unsafe.Pointer(&mask)), 0, sigSetBytes, 0, 0)
	if errno == 0 && stack.Cur != 0 {
		_, _, errno = unix.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_STACK,
			uintptr(unsafe.Pointer(&stack)), 0, 0, 0)
	}
	if errno == 0 && heap.Cur != 0 {
		_, _, errno = unix.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_DATA,
			uintptr(unsafe.Pointer(&heap)), 0, 0, 0)
	}
	if errno == 0 && s.request.Stamp {
		late[0] = lateStamp
		_, _, errno = unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC_RAW,
			uintptr(unsafe.Pointer(&ts)), 0)
		stamp = ts.Sec*1e9 + ts.Nsec
		if errno == 0 {
			_, _, errno = unix.RawSyscall6(unix.SYS_PWRITE64, uintptr(stampFD(s.n)),
				uintptr(unsafe.Pointer(&stamp)),
				unsafe.Sizeof(stamp), uintptr(s.request.StampOffset), 0, 0)
		}
	}
	if errno == 0 {
		late[0] = lateExec
		_, _, errno = unix.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(path)),
			uintptr(unsafe.Pointer(&args[0])), uintptr(unsafe.Pointer(&env[0])))
	}
	late[1], late[2] = byte(errno), byte(errno>>8)
	_, _, _ = unix.RawSyscall(unix.SYS_WRITE, uintptr(statusFD(s.n)), uintptr(unsafe.Pointer(&late)),
		lateBytes) // if this fails, nothing is left to report it
	for {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, stageFailed, 0, 0) //nolint:errcheck // it does not return
		runtime.KeepAlive(s)
	}
}

// readBackSystem reads what only this system has.
func readBackSystem(s *Seen) {
	if prio, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil {
		s.Nice = 20 - prio // the raw system call returns 1 to 40
	}
	if attr, err := unix.SchedGetAttr(0, 0); err == nil {
		s.Policy = policyName(attr.Policy)
	}
	s.CPUs = Affinity()
}

func policyName(policy uint32) string {
	switch policy {
	case unix.SCHED_NORMAL:
		return "SCHED_OTHER"
	case unix.SCHED_FIFO:
		return "SCHED_FIFO"
	case unix.SCHED_RR:
		return "SCHED_RR"
	case unix.SCHED_BATCH:
		return "SCHED_BATCH"
	case unix.SCHED_IDLE:
		return "SCHED_IDLE"
	}
	return strconv.FormatUint(uint64(policy), 10)
}

// joinSessionKeyring gives the benchmark a session keyring of its own. Otherwise it would share the
// daemon's, whose keys every holder may read and change. It is made as root, so that it does not
// count against the user's quota.
func (s *stage) joinSessionKeyring() error {
	if s.request.Own {
		_, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0) // no name: a new one
		s.remarkKeys("a session keyring of its own", err)
	}
	return nil
}

// clearKeyrings empties the keyrings in which the user's earlier processes may have left keys. The
// stage does it as that user, because root has no rights there. The persistent keyring outlives
// even the account.
func (s *stage) clearKeyrings() error {
	if !s.request.Own {
		return nil
	}
	persistent, err := unix.KeyctlInt(unix.KEYCTL_GET_PERSISTENT, -1, unix.KEY_SPEC_PROCESS_KEYRING, 0, 0)
	if errors.Is(err, unix.EOPNOTSUPP) { // a kernel may be built without it
		persistent, err = unix.KEY_SPEC_PROCESS_KEYRING, nil
	}
	for _, ring := range []int{persistent, unix.KEY_SPEC_USER_KEYRING, unix.KEY_SPEC_USER_SESSION_KEYRING} {
		if err == nil {
			_, err = unix.KeyctlInt(unix.KEYCTL_CLEAR, ring, 0, 0, 0)
		}
	}
	s.remarkKeys("clear the user's keyrings, where keys of the last execution stay "+
		"until the machine restarts", err)
	return nil
}

// remarkKeys is remark for a system that may have no keyrings (ENOSYS) or forbid them all (EPERM).
func (s *stage) remarkKeys(what string, err error) {
	if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) {
		s.remark(what, err)
	}
}
