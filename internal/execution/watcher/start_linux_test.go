package watcher

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"krund/internal/durable/trust"
	"krund/rig/must"
)

// TestMain becomes a krund that starts a watcher and is killed, for TestDiesWithKrund.
func TestMain(m *testing.M) {
	if program := os.Getenv("WATCHER_TEST_PROGRAM"); program != "" {
		p, err := Start(Options{Program: program, CPU: someCPU(), Buffer: os.Stdin, Iterations: 1})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(p.cmd.Process.Pid)
		for {
			_ = unix.Pause() // an empty select is a deadlock, which ends the process
		}
	}
	os.Exit(m.Run())
}

// someCPU returns a processor that this process may use.
func someCPU() int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		panic(err)
	}
	for cpu := range 1024 {
		if set.IsSet(cpu) {
			return cpu
		}
	}
	panic("no processor")
}

// script writes a program that stands for krunctl. Its directory is open to all users.
func script(t *testing.T, text string) string {
	t.Helper()
	dir := must.Get(os.MkdirTemp("/tmp", "watcher"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	name := filepath.Join(dir, "krunctl")
	must.Do(t, os.Chmod(dir, 0o755))
	must.Do(t, os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o755))
	return name
}

func start(t *testing.T, text string) (*Process, error) {
	t.Helper()
	return Start(Options{Program: script(t, text), CPU: someCPU(), Buffer: os.Stdin, Iterations: 100})
}

const begun = "echo '{\"threshold\":0.5}'\n"

// TestEnd: what krund knows when a watcher ends in order, too early, or after its decision.
func TestEnd(t *testing.T) {
	for name, test := range map[string]struct {
		text, problem string
		asked         bool
	}{
		"in order":  {begun + "cat; echo '{\"final\":true}'", "", false},
		"too early": {begun + "exit 3", "it ended before the execution: exit status 3", false},
		"killed":    {begun + "kill -KILL $$", "it ended before the execution: signal: killed", false},
		"killed after its decision": {begun +
			"echo '{\"warmup\":2,\"stop_at\":4,\"asked_at\":5}'; kill -KILL $$",
			"it ended before the execution: signal: killed", true},
	} {
		t.Run(name, func(t *testing.T) {
			p := must.Get(start(t, test.text))(t)
			r := p.End()
			must.Be(t, r.Problem == test.problem && (r.AskedAt != nil) == test.asked, r, test.problem)
		})
	}
}

// TestEndOfStopped: a watcher that was stopped ends in order and without a delay.
func TestEndOfStopped(t *testing.T) {
	p := must.Get(start(t, begun+"cat; echo '{\"final\":true}'"))(t)
	must.Do(t, p.cmd.Process.Signal(unix.SIGSTOP))
	r := p.End()
	must.Be(t, r.Final && r.Problem == "", r)
}

// TestScript: root starts no script in the place of krunctl, and says so.
func TestScript(t *testing.T) {
	must.Root(t, "only root judges the program")
	_, err := Start(Options{Program: script(t, begun+"cat"), CPU: someCPU(), Buffer: os.Stdin,
		Trust: func(trust.Verdict) error { return nil }})
	must.Refuse(t, err, "it is a script; install krunctl itself")
}

// TestStartFails: a watcher that cannot begin.
func TestStartFails(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"it ends":    {"exit 2", "exit status 2"},
		"it refuses": {"echo '{\"problem\":\"no buffer\",\"final\":true}'", "no buffer"},
		"nonsense":   {"echo hello", "another version"},
	} {
		t.Run(name, func(t *testing.T) {
			must.Refused(start(t, test.text))(t, test.want)
		})
	}
	o := Options{Program: "/nonexistent/krunctl", CPU: someCPU(), Buffer: os.Stdin}
	must.Refused(Start(o))(t, "", "a program that does not exist was started")
}

// TestPlace: the watcher has its processor and user, and the descriptors.
func TestPlace(t *testing.T) {
	cpu := someCPU()
	p := must.Get(start(t, begun+`test -e /proc/self/fd/3 && test -e /proc/self/fd/4 || exit 9
grep Cpus_allowed_list /proc/self/status | grep -qw `+fmt.Sprint(cpu)+` || exit 8
test "$(id -u)" = `+fmt.Sprint(userOf())+" || exit 7\ncat; echo '{\"final\":true}'"))(t)
	r := p.End()
	must.Be(t, r.Problem == "" && p.UID == userOf(), r, "user", p.UID)
}

func userOf() int {
	if os.Geteuid() == 0 {
		return unprivileged
	}
	return os.Geteuid()
}

// TestDiesWithKrund: a killed krund leaves no watcher, not even one that does not read its input.
func TestDiesWithKrund(t *testing.T) {
	krund := exec.Command("/proc/self/exe")
	krund.Env = append(os.Environ(), "WATCHER_TEST_PROGRAM="+script(t, begun+"exec sleep 1000"))
	out := must.Get(krund.StdoutPipe())(t)
	must.Do(t, krund.Start())
	defer krund.Wait()
	line, err := bufio.NewReader(out).ReadString('\n')
	var pid int
	_, scanErr := fmt.Sscan(line, &pid)
	must.Need(t, scanErr == nil, line, err, krund.Process.Kill())
	fd := must.Get(unix.PidfdOpen(pid, 0))(t, krund.Process.Kill())
	defer unix.Close(fd)
	must.Do(t, krund.Process.Kill())
	ended := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	const most = 300_000 // milliseconds; it takes less than one
	n, err := unix.Poll(ended, most)
	for errors.Is(err, unix.EINTR) { // by the signal that krund has ended
		n, err = unix.Poll(ended, most)
	}
	if n != 1 {
		t.Errorf("the watcher still runs: %v, %v", err, unix.Kill(pid, unix.SIGKILL))
	}
}
