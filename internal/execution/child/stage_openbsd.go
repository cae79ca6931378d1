package child

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
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
