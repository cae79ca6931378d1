package command

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"krund/rig/must"
)

func TestRun(t *testing.T) {
	tests := []struct {
		name    string
		cmd     Cmd
		want    string
		wantErr string
	}{
		{"output of both streams", Cmd{Argv: []string{"sh", "-c", "echo out; echo err >&2"}}, "out\nerr\n",
			""},
		{"standard input", Cmd{Argv: []string{"cat"}, Stdin: "hello"}, "hello", ""},
		{"environment is exactly what was given", Cmd{Argv: []string{"/usr/bin/env"}, Env: []string{"A=b"}},
			"A=b\n", ""},
		{"exit status and last line", Cmd{Argv: []string{"sh", "-c", "echo first; echo last; exit 3"}},
			"first\nlast\n", "exit status 3: last"},
		{"no such program", Cmd{Argv: []string{"/nowhere/program"}}, "", "/nowhere/program"},
		{"no program", Cmd{}, "", "no program named"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Run(t.Context(), tt.cmd)
			must.Equal(t, got, tt.want, "output")
			must.Be(t, (err == nil) == (tt.wantErr == "") && (err == nil ||
				strings.Contains(err.Error(), tt.wantErr)), err, "want one with", tt.wantErr)
		})
	}
}

func TestRunKillsTheGroupAtTheDeadline(t *testing.T) {
	// The shell waits for a grandchild that would sleep for an hour: only killing the whole group
	// ends this test.
	out := ""
	for timeout := 200 * time.Millisecond; out == ""; timeout *= 2 { // a busy machine begins late
		var err error
		out, err = Run(t.Context(), Cmd{Argv: []string{"sh", "-c", "echo begun; sleep 3600 & wait"},
			Timeout: timeout})
		must.Need(t, errors.Is(err, ErrTimeout), "error", err, "want ErrTimeout")
	}
	must.Equal(t, out, "begun\n", "output", "want what was printed before the deadline")
}

func TestRunReturnsThoughALeftoverHoldsTheOutput(t *testing.T) {
	_, err := Run(t.Context(), Cmd{Argv: []string{"sh", "-c", "sleep 3600 & exit 0"}})
	must.Be(t, err == nil, "a program that ended well", err)
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, Cmd{Argv: []string{"sleep", "3600"}})
	must.Fail(t, err, context.Canceled, "error", "want context.Canceled")
}

func TestRunBoundsTheOutput(t *testing.T) {
	for name, tt := range map[string]struct {
		limit int
		only  bool
		want  int
	}{
		"as default": {0, false, defaultOutput}, "as asked": {1000, false, 1000},
		"of stdout": {1000, true, 1000},
	} {
		out, err := Run(t.Context(), Cmd{Argv: []string{"sh", "-c", "head -c 10000000 /dev/zero"},
			Output: tt.limit, StdoutOnly: tt.only})
		must.Be(t, err == nil && len(out) == tt.want, name, "kept", len(out), "bytes, error", err, tt.want,
			"and none")
	}
}

func TestRunInDirectory(t *testing.T) {
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	out, err := Run(t.Context(), Cmd{Argv: []string{"its name", "-c", "pwd; echo $0"}, Path: "/bin/sh",
		Dir: dir, Env: []string{}})
	must.Be(t, out == dir+"\nits name\n" && err == nil, out, err, dir)
}

// TestRunAndTheGroup: what a program leaves running in its group is killed, unless it is to be
// kept.
func TestRunAndTheGroup(t *testing.T) {
	for _, keep := range []bool{false, true} {
		fifo := filepath.Join(t.TempDir(), "fifo")
		must.Do(t, unix.Mkfifo(fifo, 0o600))
		reader := must.Get(unix.Open(fifo, unix.O_RDONLY|unix.O_NONBLOCK, 0))(t)
		defer unix.Close(reader)
		// Afterwards only sleep has the writing end.
		const line = `exec 3>"$0"; sleep 3600 >/dev/null 2>&1 & echo $!`
		out, err := Run(t.Context(), Cmd{Argv: []string{"sh", "-c", line, fifo}, KeepGroup: keep})
		pid, atoi := strconv.Atoi(strings.TrimSpace(out))
		must.Need(t, err == nil && atoi == nil, out, err)
		if keep {
			_, err := unix.Read(reader, make([]byte, 1))
			must.Fail(t, err, unix.EAGAIN, "process", pid, "was not kept")
			must.Do(t, unix.Kill(pid, unix.SIGKILL))
		}
		// This returns when sleep has ended, and with it the last writer.
		_, err = unix.Poll([]unix.PollFd{{Fd: int32(reader)}}, -1)
		must.Be(t, err == nil || errors.Is(err, unix.EINTR), err)
	}
}

// TestProgramThatStartsAService: rcctl ends when the service has begun, which may continue to write
// to where rcctl wrote. That is no failure, and no reason to wait for the service or to end it.
func TestProgramThatStartsAService(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "starts"), []byte("#!/bin/sh\nsleep 5 &\necho started\n"),
		0o755))
	// the first is no directory
	p := System{Dirs: []string{filepath.Join(dir, "starts"), dir, "/usr/bin", "/bin"}}
	out, err := p.Output(t.Context(), "starts")
	must.Be(t, err == nil && string(out) == "started\n", string(out), err)
	_, err = p.Output(t.Context(), "none")
	must.Be(t, err != nil && !errors.Is(err, exec.ErrNotFound), err, "a directory could not be looked into")
}

func TestSystem(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string, mode os.FileMode) {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), mode))
	}
	script("good", "echo \"$1 $LC_ALL $HOME\"", 0o755)
	script("bad", "echo one >&2; echo two >&2; exit 3", 0o755)
	script("hangs", "sleep 3600 & wait", 0o755)
	script("plain", "echo", 0o644)
	p := System{Dirs: []string{dir, "/usr/bin", "/bin"}, Timeout: 5 * time.Minute}
	out, err := p.Output(t.Context(), "good", "a b")
	must.Be(t, err == nil && string(out) == "a b C \n", string(out), err)
	_, err = p.Output(t.Context(), "bad")
	must.Be(t, err != nil && err.Error() == "run bad: exit status 3: two", err)
	for _, name := range []string{"none", "plain"} {
		_, err := p.Output(t.Context(), name)
		must.Fail(t, err, exec.ErrNotFound, name)
	}
	p.Timeout = 50 * time.Millisecond
	must.Refused(p.Output(t.Context(), "hangs"))(t, "deadline")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	must.Refused(p.Output(ended, "good"))(t, "", "ran with an ended context")
}

func set(t *testing.T) (Hooks, string) {
	t.Helper()
	return Hooks{Log: slog.New(slog.DiscardHandler)}, filepath.Join(t.TempDir(), "trace")
}

func trace(word, file string) []string { return []string{"sh", "-c", "echo " + word + " >>" + file} }

func TestBeforeStopsAtTheFirstFailure(t *testing.T) {
	s, file := set(t)
	s.BeforeArgv = [][]string{trace("one", file), {"sh", "-c", "echo no network; exit 4"},
		trace("three", file)}
	err := s.Before(t.Context(), nil)
	must.Be(t, err != nil && strings.Contains(err.Error(), "hook 2 before") &&
		strings.Contains(err.Error(), "no network"), err, "want one that names hook 2 and its last line")
	got, _ := os.ReadFile(file)
	must.Equal(t, string(got), "one\n", "ran", got, "want only the first")
}

func TestAfterRunsAllAndJoinsErrors(t *testing.T) {
	s, file := set(t)
	s.AfterArgv = [][]string{{"false"}, trace("two", file), {"/nowhere/program"}, trace("four", file)}
	err := s.After(t.Context(), nil)
	must.Be(t, err != nil && strings.Contains(err.Error(), "hook 1 after") &&
		strings.Contains(err.Error(), "hook 3 after"), err, "want hooks 1 and 3")
	got, _ := os.ReadFile(file)
	must.Equal(t, string(got), "two\nfour\n", "ran", got, "want both good ones")
}

func TestTheEnvironmentIsFixed(t *testing.T) {
	t.Setenv("KRUND_STRAY", "from the shell that started krund")
	s, file := set(t)
	s.Environ = []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}
	s.BeforeArgv = [][]string{{"/bin/sh", "-c", "/usr/bin/env >" + file}}
	must.Do(t, s.Before(t.Context(), nil))
	got, _ := os.ReadFile(file)
	must.Be(t, strings.Contains(string(got), "PATH=/usr/bin:/bin\n") &&
		!strings.Contains(string(got), "KRUND_STRAY"), "a hook saw", got)
}
