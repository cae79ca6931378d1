package watcher

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	libkrun "krund/cgo"
	"krund/internal/durable/trust"
	"krund/internal/machine/command"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

// Process is a running watcher.
type Process struct {
	UID int // its user

	cmd     *exec.Cmd
	word    *os.File // its standard input; the end of this pipe ends it
	reports int      // its standard output, a blocking descriptor, which never wakes krund
	text    []byte   // what was read of it
	planned int
}

// Start starts the watcher and returns when it has mapped the buffer. The caller's thread must live
// as long as the watcher shall: the kernel kills the watcher with it.
func Start(o Options) (*Process, error) {
	p := &Process{UID: os.Geteuid(), planned: o.Iterations, reports: -1}
	if err := p.start(o); err != nil {
		return nil, errors.Join(fmt.Errorf("start the watcher %s: %w", o.Program, err), p.close())
	}
	p.read(startTime, func() bool { return bytes.Contains(p.text, []byte("\n")) })
	r, ok := lastReport(p.text, p.planned)
	if ok && r.Problem == "" {
		return p, nil
	}
	why := r.Problem
	if !ok && len(p.text) > 0 {
		why = "it does not say what it found; is it another version of krunctl?"
	}
	if _, end := p.kill(); why == "" {
		why = end
	}
	return nil, fmt.Errorf("start the watcher %s: %s", o.Program, why)
}

func (p *Process) start(o Options) error {
	order, err := json.Marshal(o.Order)
	if err != nil {
		return err
	}
	program, file, err := open(o.Program, o.Trust)
	if err != nil {
		return err
	}
	if file != nil {
		defer file.Close() //nolint:errcheck // it was only read
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close() //nolint:errcheck // nothing was written
	terminal := null
	if o.Terminal != nil {
		terminal = o.Terminal
	}
	hears, word, err := os.Pipe()
	if err != nil {
		return err
	}
	defer hears.Close() //nolint:errcheck // it is the watcher's
	p.word = word
	fds := make([]int, 2)
	if err := unix.Pipe2(fds, unix.O_CLOEXEC); err != nil {
		return os.NewSyscallError("pipe2", err)
	}
	p.reports = fds[0]
	says := os.NewFile(uintptr(fds[1]), "reports")
	defer says.Close() //nolint:errcheck // it is the watcher's
	p.cmd = exec.CommandContext(context.Background(), program, Command, string(order))
	p.cmd.Args[0] = o.Program
	p.cmd.Dir, p.cmd.Env = "/", []string{"LC_ALL=C", "GOMAXPROCS=1"}
	p.cmd.Stdin, p.cmd.Stdout = hears, says
	p.cmd.ExtraFiles = []*os.File{o.Buffer, terminal}
	// A session of its own: Ctrl-C is for krund, and a line may be written from the background.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 {
		p.UID = unprivileged
		p.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: unprivileged, Gid: unprivileged}
	}
	if err := bound(o.CPU, p.cmd.Start); err != nil {
		p.cmd = nil
		return err
	}
	command.Expendable(p.cmd.Process.Pid)
	return nil
}

// open returns the path to execute. For root it judges the program and opens it once, so that the
// file judged is the file executed; the file must stay open until then.
func open(program string, judge func(trust.Verdict) error) (string, *os.File, error) {
	if os.Geteuid() != 0 || judge == nil {
		return program, nil, nil
	}
	file, verdict, err := trust.Open(program)
	if err != nil {
		return "", nil, err
	}
	var mark [2]byte
	if _, err = file.ReadAt(mark[:], 0); err == nil && string(mark[:]) == "#!" {
		err = errors.New("it is a script; install krunctl itself beside krund")
	}
	if err = errors.Join(judge(verdict), err); err != nil {
		return "", nil, errors.Join(err, file.Close())
	}
	return fmt.Sprintf("/proc/self/fd/%d", file.Fd()), file, nil
}

// bound calls start while this thread is bound to a processor, which the new process inherits.
func bound(cpu int, start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	unbind, err := host.BindThread(cpu)
	if err != nil {
		return fmt.Errorf("CPU %d: %w", cpu, err)
	}
	defer unbind()
	return start()
}

// End ends the watcher when the benchmark has ended, and returns its last report. A watcher that
// someone has stopped (SIGSTOP) continues, so that it can end.
func (p *Process) End() Report {
	_ = p.word.Close()                        // nothing was written
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // it may have ended
	inTime := p.read(endTime, func() bool { return false })
	r, end := p.kill()
	switch {
	case r.Final || r.Problem != "":
	case inTime:
		r.Problem = "it ended before the execution: " + end
	default:
		r.Problem = fmt.Sprintf("it was killed because it did not end within %s of the execution", endTime)
	}
	return r
}

// kill ends the watcher, if it still runs, and returns its last report and how it ended.
func (p *Process) kill() (Report, string) {
	_ = p.cmd.Process.Kill() // it may have ended
	err := p.cmd.Wait()
	p.read(0, func() bool { return false })
	_ = p.close() // nothing was written
	r, _ := lastReport(p.text, p.planned)
	end := "it ended"
	if err != nil {
		end = err.Error()
	}
	return r, end
}

// read reads reports until enough returns true, they end, they are too long, or the time is over.
// It reports whether the time was enough.
func (p *Process) read(most time.Duration, enough func() bool) bool {
	clock := sysroot.RealClock{}
	from := clock.Now()
	buf := make([]byte, 4096)
	for !enough() && len(p.text) < maxReports {
		left := max(most-clock.Now().Sub(from), 0)
		fds := []unix.PollFd{{Fd: int32(p.reports), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(left.Milliseconds()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return false
		}
		if n, err = unix.Read(p.reports, buf); err != nil || n <= 0 {
			return true
		}
		p.text = append(p.text, buf[:n]...)
	}
	return true
}

func (p *Process) close() error {
	var errs []error
	if p.word != nil {
		if err := p.word.Close(); !errors.Is(err, os.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if p.reports >= 0 {
		errs = append(errs, unix.Close(p.reports))
		p.reports = -1
	}
	return errors.Join(errs...)
}

// Harden keeps other processes of the watcher's user from its memory and descriptors.
func Harden() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) } // cannot fail

// IterationsOf returns the numbers of complete and planned iterations of the process
// execution that krund pid is running; ok is false if there is none, or if this user may not look.
// It maps krund's own shared buffer and only reads: that pulls one cache line from the benchmark.
func IterationsOf(pid int) (done, planned int, ok bool) {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return 0, 0, false
	}
	for _, entry := range list {
		name := filepath.Join(fmt.Sprintf("/proc/%d/fd", pid), entry.Name())
		if to, err := os.Readlink(name); err != nil || !strings.HasPrefix(to, libkrun.BufferLink) {
			continue
		}
		// the process may be another user's, and the file anything: not one that blocks or shrinks
		f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			return 0, 0, false
		}
		defer f.Close() //nolint:errcheck // it was only read
		seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
		if err != nil || seals&unix.F_SEAL_SHRINK == 0 {
			return 0, 0, false
		}
		view, err := libkrun.NewView(f, false)
		if err != nil {
			return 0, 0, false
		}
		defer view.Close() //nolint:errcheck // it was only read
		return view.Done(), view.Iterations(), true
	}
	return 0, 0, false
}
