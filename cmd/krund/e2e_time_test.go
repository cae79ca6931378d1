//go:build linux

package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"krund/internal/trial"
	"krund/runners/runnertest"
)

// installControl builds krunctl beside krund.
var installControl = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "prefix", "bin", "krunctl")
	out, err := goBuild(path, "../krunctl").CombinedOutput()
	if err != nil {
		return string(out), err
	}
	return path, nil
})

// timed runs `krunctl time` in an empty directory, and returns what it printed and its exit status.
func timed(t *testing.T, args ...string) (stdout, stderr, dir string, status int) {
	t.Helper()
	runnertest.Compiler(t)
	if err := install(); err != nil {
		t.Fatal(err)
	}
	krunctl, err := installControl()
	if err != nil {
		t.Fatalf("%v\n%s", err, krunctl)
	}
	var out, messages strings.Builder
	c := exec.CommandContext(t.Context(), krunctl, append([]string{"time"}, args...)...)
	c.Dir, c.Stdout, c.Stderr = t.TempDir(), &out, &messages
	c.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	_ = c.Run() // its status is returned
	if left, _ := os.ReadDir(c.Env[len(c.Env)-1][len("TMPDIR="):]); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	return out.String(), messages.String(), c.Dir, c.ProcessState.ExitCode()
}

// TestTimeCommands: two commands of which one sleeps twenty times as long.
func TestTimeCommands(t *testing.T) {
	out, messages, dir, status := timed(t, "--runs", "4", "--save", "x", "--export-markdown", "x.md",
		"-L", "s", "0.002,0.04", "sleep {s}")
	for _, want := range []string{"sleep-0.002 is ", " faster than sleep-0.04", "The start of the shell, "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q", want)
		}
	}
	if status != 0 || strings.Contains(out, "\x1b") || messages != "" {
		t.Fatalf("status %d\n%s%s", status, out, messages)
	}
	for _, file := range []string{"x.toml", "x.krun/schedule", "x.md"} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Error(err)
		}
	}
}

// TestTimeFile: a benchmark file, in JSON.
func TestTimeFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench.py")
	if err := os.WriteFile(file, []byte("def run_iter(n):\n    sum(range(n))\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, messages, _, status := timed(t, "--runs", "2", "--iterations", "20", "--parameter", "1000", "--json",
		file)
	var a trial.Answer
	if err := json.Unmarshal([]byte(out), &a); err != nil || status != 0 {
		t.Fatalf("status %d, %v\n%s%s", status, err, out, messages)
	}
	if r := a.Subjects[0]; r.Command || r.Executions != 2 || len(r.Times) != 40 || !(r.Mean > 0) {
		t.Errorf("%+v", r)
	}
}

// TestTimeFailures: what goes wrong is said, with the status of a failure.
func TestTimeFailures(t *testing.T) {
	for _, test := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"a command fails", []string{"true", "exit 3"}, 1, "exit 3: "},
		{"with its status", []string{"exit 3"}, 1, "exit 3: the command ended with exit status 3"},
		{"with its message", []string{"echo no such luck >&2; false"}, 1, "\n    no such luck\n"},
		{"no such program", []string{"-N", "krund-no-such"}, 1,
			"cannot start krund-no-such"},
		{"prepare fails", []string{"--prepare", "exit 4", "true"}, 1,
			"true: the command before each run (--prepare) ended with exit status 4"},
		{"too long", []string{"--timeout", "300ms", "--runs", "1", "sleep 60"}, 1,
			"killed at the time limit"},
		{"no command", nil, 2, "time needs commands or benchmark files"},
		{"a quote", []string{"-N", "'a"}, 2, "a quote is not closed"},
		{"a scan", []string{"-P", "n", "5", "1", "true"}, 2, "--parameter-scan n: from 5 to 1"},
		{"a list", []string{"-L", "n", "", "true"}, 2, "--parameter-list needs VAR A,B,C"},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, messages, _, status := timed(t, test.args...)
			if status != test.status || !strings.Contains(out+messages, test.want) {
				t.Errorf("status %d, want %d and %q\n%s%s", status, test.status, test.want, out, messages)
			}
		})
	}
}

// TestTimeIsKilled: when krunctl is killed, krund ends the command that it runs.
func TestTimeIsKilled(t *testing.T) {
	runnertest.Compiler(t)
	if err := install(); err != nil {
		t.Fatal(err)
	}
	krunctl, err := installControl()
	if err != nil {
		t.Fatalf("%v\n%s", err, krunctl)
	}
	dir := t.TempDir()
	began, ended := filepath.Join(dir, "began"), filepath.Join(dir, "ended")
	for _, fifo := range []string{began, ended} {
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The shell has the writing end of the second FIFO for as long as it lives.
	c := exec.CommandContext(t.Context(), krunctl, "time", "--runs", "1",
		"exec 3>"+ended+"; echo >"+began+"; sleep 1000")
	c.Env = append(os.Environ(), "TMPDIR="+dir)
	var messages strings.Builder
	c.Stdout, c.Stderr = &messages, &messages
	end, err := os.OpenFile(ended, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(began); err != nil {
		t.Fatal(err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()                                                   // it was killed
	if text, err := io.ReadAll(end); err != nil || len(text) > 0 { // ends when the shell and sleep have ended
		t.Errorf("%q, %v", text, err)
	}
}
