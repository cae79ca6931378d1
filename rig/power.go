package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// The reasons why a machine is off.
const (
	// the guest reset it: reboot(2), or a panic with panic=1; Panic tells these apart
	OffRebooted = "guest-reset"
	OffShutdown = "guest-shutdown" // the guest powered it off
	OffCut      = "cut"            // PowerCut
	OffPort     = "cut-port"       // the guest wrote to CutPort; Off.Code is the value
	OffBroken   = "broken"         // QEMU ended by itself; Off.Detail is its message
)

// Off is how one start of the machine ended.
type Off struct {
	Reason string        // one of the constants, or another reason of QEMU's SHUTDOWN event
	Code   int           // OffPort only
	Detail string        // OffBroken only
	CPU    time.Duration // processor time that this start used on the host
}

// power is one start of the machine: the QEMU process with its three channels.
type power struct {
	cmd    *exec.Cmd
	qmp    *qmpClient
	agent  *agent
	stderr bytes.Buffer
	cut    chan struct{} // closed before the rig kills it
	off    chan struct{} // closed when it has ended and all its output was read
	how    Off           // valid after off
	up     *Up           // the guest's message when it came up; nil until a wait for it
	known  bool          // the test knows that it is off
	told   bool          // its figures were collected
}

// startPower runs QEMU with args and copies its console to out. The machine is stopped before its
// first instruction; the caller lets it run.
func startPower(ctx context.Context, args []string, out io.Writer) (*power, error) {
	var ours [3]net.Conn
	var theirs [3]*os.File
	for i, name := range []string{"qmp", "console", "agent"} {
		var err error
		if ours[i], theirs[i], err = socketPair(name); err != nil {
			return nil, fmt.Errorf("start the machine: %w", errors.Join(err, closeAll(ours[:i]),
				closeAll(theirs[:i])))
		}
	}
	p := &power{cut: make(chan struct{}), off: make(chan struct{}), qmp: newQMP(ours[0]),
		agent: &agent{conn: ours[2]}}
	// Not bound to ctx: the machine runs until PowerCut, its own end, or the end of this process.
	p.cmd = exec.CommandContext(context.WithoutCancel(ctx), "nice",
		append([]string{"-n", niceness(), "qemu-system-x86_64"}, args...)...)
	p.cmd.Stderr = &p.stderr
	p.cmd.ExtraFiles = theirs[:]
	dieWithParent(p.cmd)
	started := make(chan error)
	go p.live(started, ours[1], out)
	err := errors.Join(<-started, closeAll(theirs[:]))
	if err != nil {
		return nil, fmt.Errorf("start the machine: %w", errors.Join(err, closeAll(ours[:])))
	}
	if err := p.qmp.execute(ctx, "qmp_capabilities", nil, nil); err != nil {
		_ = p.cmd.Process.Kill() // fails only if it has ended
		<-p.off
		return nil, fmt.Errorf("start the machine: %w: %s", err, strings.TrimSpace(p.stderr.String()))
	}
	return p, nil
}

// niceness returns the niceness of the machines on a busy host, where users have priority.
func niceness() string {
	if n := os.Getenv(envNice); n != "" {
		return n
	}
	return "5"
}

func closeAll[C io.Closer](all []C) error {
	var errs []error
	for _, c := range all {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// live starts the process and then waits for its end. It occupies its operating system thread
// meanwhile, because the kernel kills the machine when the thread that started it ends.
func (p *power) live(started chan<- error, consoleConn io.Reader, out io.Writer) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	read := make(chan struct{})
	go func() {
		_, _ = io.Copy(out, consoleConn) // ends with the machine
		close(read)
	}()
	err = p.cmd.Wait()
	<-read
	<-p.qmp.ended
	p.how = p.classify(err)
	_ = p.agent.conn.Close()
	_ = p.qmp.conn.Close()
	close(p.off)
}

// kill cuts the power and waits until all output is read.
func (p *power) kill() {
	close(p.cut)
	_ = p.cmd.Process.Kill() // fails only if it has ended
	<-p.off
}

// classify determines why the process ended; err is the result of Wait.
func (p *power) classify(err error) Off {
	off := Off{CPU: p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()}
	var exit *exec.ExitError
	code := -1
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	select {
	case <-p.cut:
		off.Reason = OffCut
		return off
	default:
	}
	switch {
	case p.qmp.reason != "":
		off.Reason = p.qmp.reason
	case code >= 3 && code%2 == 1: // isa-debug-exit ends with 2v+1; QEMU's own failures with 1
		off.Reason, off.Code = OffPort, code/2
	default:
		off.Reason, off.Detail = OffBroken, fmt.Sprintf("%v: %s", err, strings.TrimSpace(p.stderr.String()))
	}
	return off
}

// socketPair returns a connection and the file of its other end, which a child process inherits.
func socketPair(name string) (net.Conn, *os.File, error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("%s channel: %w", name, err)
	}
	ours := os.NewFile(uintptr(fds[0]), name)
	defer func() { _ = ours.Close() }()
	theirs := os.NewFile(uintptr(fds[1]), name)
	conn, err := net.FileConn(ours)
	if err != nil {
		_ = theirs.Close()
		return nil, nil, fmt.Errorf("%s channel: %w", name, err)
	}
	return conn, theirs, nil
}

// copyDisk copies a disk image and preserves its holes.
func copyDisk(ctx context.Context, from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("copy the disk: %w", err)
	}
	out, err := exec.CommandContext(ctx, "cp", "--reflink=auto", "--sparse=auto", from, to).CombinedOutput()
	if err != nil {
		return fmt.Errorf("copy the disk: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}
