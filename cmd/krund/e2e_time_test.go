//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"krund/internal/trial"
	"krund/rig/must"
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

// builtControl returns the path of krunctl, beside an installed krund.
func builtControl(t *testing.T) string {
	t.Helper()
	runnertest.Compiler(t)
	must.Do(t, install())
	return must.Get(installControl())(t, krunctl)
}

// timed runs `krunctl time` in an empty directory, and returns what it printed and its exit status.
func timed(t *testing.T, args ...string) (stdout, stderr, dir string, status int) {
	t.Helper()
	krunctl := builtControl(t)
	var out, messages strings.Builder
	c := exec.CommandContext(t.Context(), krunctl, append([]string{"time"}, args...)...)
	c.Dir, c.Stdout, c.Stderr = t.TempDir(), &out, &messages
	c.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	_ = c.Run() // its status is returned
	left, _ := os.ReadDir(c.Env[len(c.Env)-1][len("TMPDIR="):])
	must.Be(t, len(left) == 0, "left behind", left)
	return out.String(), messages.String(), c.Dir, c.ProcessState.ExitCode()
}

// TestTimeCommands: two commands of which one sleeps twenty times as long.
func TestTimeCommands(t *testing.T) {
	out, messages, dir, status := timed(t, "--runs", "2", "--save", "x", "--export-markdown", "x.md",
		"-L", "s", "0.02,0.4", "sleep {s}")
	told := regexp.MustCompile(`sleep-0.02 is .* faster than sleep-0.4|sleep-0.02 and sleep-0.4 cannot be told apart`)
	must.Be(t, told.MatchString(out), out) // on a busy machine two runs tell nothing
	must.Contain(t, out, "The start of the shell, ")
	must.Need(t, status == 0 && !strings.Contains(out, "\x1b") && messages == "", "status", status, out,
		messages)
	for _, file := range []string{"x.toml", "x.krun/schedule", "x.md"} {
		must.Get(os.Stat(filepath.Join(dir, file)))(t)
	}
}

// TestTimeFile: a benchmark file, in JSON.
func TestTimeFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench.py")
	must.Do(t, os.WriteFile(file, []byte("def run_iter(n):\n    sum(range(n))\n"), 0o644))
	out, messages, _, status := timed(t, "--runs", "2", "--iterations", "20", "--parameter", "1000", "--json",
		file)
	var a trial.Answer
	err := json.Unmarshal([]byte(out), &a)
	must.Need(t, err == nil && status == 0, "status", status, err, out, messages)
	r := a.Subjects[0]
	must.Be(t, !r.Command && r.Executions == 2 && len(r.Times) == 40 && r.Mean > 0, r)
}

// callersVariables are those that decide how commands run. Tests pass them on to `krunctl time`.
var callersVariables = []string{"LANG=de_DE.UTF-8", "LC_ALL=C", "PYTHONPATH=/opt/modules",
	"NODE_OPTIONS=--max-old-space-size=64", "LD_LIBRARY_PATH=/opt/lib", "HOME=/nonexistent/home",
	"TZ=Asia/Kathmandu", "JAVA_HOME=/opt/java", "JAVA_TOOL_OPTIONS=-Xint", "VIRTUAL_ENV=/opt/venv",
	"MALLOC_ARENA_MAX=1", "OMP_NUM_THREADS=3", "SHELL=/bin/zsh", "USER=ann",
	"ODD= a 'b' ü\xff ", "EMPTY="}

// surroundings prints what a process has: environment, directory, umask, limits, priority, ignored
// and blocked signals, standard input. glibc's posix_spawn ignores the signals 32 and 33. The shell
// reads its status itself: while it starts another program, it blocks all signals.
const surroundings = `#!/bin/sh
{
	tr '\0' '\n' </proc/$$/environ | LC_ALL=C sort | grep -v '^_='
	pwd; umask; ulimit -S -n; ulimit -H -n; ulimit -S -s; ulimit -S -c; ulimit -S -d
	nice
	while read -r name value; do
		case $name in NoNewPrivs: | SigBlk: | SigIgn:) echo "$name ${value#?????????}" ;; esac
	done </proc/$$/status
	readlink /proc/$$/fd/0
} >"$0.out"
`

// unusual runs a program with an umask, limits and a priority that are not the usual ones, and as
// nohup does.
const unusual = `trap '' HUP; umask 027; ulimit -S -n 211; ulimit -S -s 4096; ulimit -S -c 64; exec nice -n 3 "$@" </dev/null`

// TestTimeTurns: commands that need no process of their own run in turns; nothing is stored, and
// an execution costs what its process costs.
func TestTimeTurns(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	out, messages, _, status := timed(t, "-N", "--runs", "12", "--json", "sh -c 'echo a >>"+log+"'",
		"sh -c 'sleep 0.05; echo b >>"+log+"'")
	var a trial.Answer
	err := json.Unmarshal([]byte(out), &a)
	must.Need(t, err == nil && status == 0, "status", status, err, out, messages)
	for _, r := range a.Subjects {
		must.Be(t, r.Executions == 12 && len(r.Times) == 12 && *r.MaxRSS > 1<<16, r)
	}
	must.Be(t, a.Fastest == a.Subjects[0].Name && a.Compared[0].Told, a.Fastest, a.Compared)
	order := strings.Join(strings.Fields(string(must.Get(os.ReadFile(log))(t))), "")
	must.Be(t, len(order) == 24 && strings.Count(order, "a") == 12 && order != strings.Repeat("ab", 12) &&
		order != strings.Repeat("ba", 12), "order", order)
	for i := 0; i < len(order); i += 2 {
		must.Be(t, order[i] != order[i+1], "a round has each once", order)
	}
	// the time decides: at least 10 runs
	out, messages, _, status = timed(t, "-N", "--json", "sleep 0.3")
	must.Do(t, json.Unmarshal([]byte(out), &a), messages)
	must.Be(t, status == 0 && len(a.Subjects[0].Times) >= 10, status, a.Subjects)
}

// TestTimeSurroundings: a command finds what it would find without krunctl, with and without a
// shell; also where the directory has one that is called like krund's benchmark. --clean replaces
// the environment, and says so.
func TestTimeSurroundings(t *testing.T) {
	krunctl := builtControl(t)
	dir, script := t.TempDir(), filepath.Join(t.TempDir(), "script")
	must.Do(t, errors.Join(os.WriteFile(script, []byte(surroundings), 0o755),
		os.Mkdir(filepath.Join(dir, "time"), 0o755)))
	found := func(argv ...string) (printed string, lines []string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-c", unusual, "sh"}, argv...)...)
		c.Dir, c.Env = dir, append([]string{"PATH=/usr/bin:/bin", "TMPDIR=" + os.TempDir(), "PWD=" + dir},
			callersVariables...)
		out, err := c.CombinedOutput()
		must.Do(t, err, argv, string(out))
		text, err := os.ReadFile(script + ".out")
		if err = errors.Join(err, os.Remove(script+".out")); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out), strings.Split(string(text), "\n")
	}
	_, want := found(script)
	for _, variable := range callersVariables {
		must.Need(t, slices.Contains(want, variable), variable, "is not in what is to be compared", want)
	}
	for _, args := range [][]string{{"-N"}, {"-S", "sh"}} {
		args = append([]string{krunctl, "time", "--runs", "1"}, append(args, script)...)
		if out, got := found(args...); !slices.Equal(got, want) || strings.Contains(out, "environment") {
			t.Errorf("%q: differs: %s\n%s", args[1:], difference(got, want), out)
		}
	}
	out, got := found(krunctl, "time", "--runs", "1", "-N", "--clean", "--env", "LC_ALL", "--env", "NEW=1",
		script)
	for _, line := range []string{"LC_ALL=C", "NEW=1", "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "0022"} {
		must.Be(t, slices.Contains(got, line), "clean", line, got)
	}
	must.Be(t, !slices.Contains(got, "PYTHONPATH=/opt/modules") &&
		strings.Contains(out, "Clean environment, not yours"), "clean", got, out)
}

// difference lists the lines that only one of two outputs has.
func difference(got, want []string) string {
	var b strings.Builder
	for _, line := range got {
		if !slices.Contains(want, line) {
			fmt.Fprintf(&b, "\ngot only  %q", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			fmt.Fprintf(&b, "\nwant also %q", line)
		}
	}
	return b.String()
}

// TestTimeFileSurroundings: a benchmark file runs with the caller's environment, too, beside the
// variables of krund, and a command beside it in the caller's directory.
func TestTimeFileSurroundings(t *testing.T) {
	krunctl := builtControl(t)
	dir, files := t.TempDir(), t.TempDir()
	bench := filepath.Join(files, "bench.py")
	const text = `import os
def run_iter(n):
    with open("bench.out", "wb") as f:
        f.write(b"\0".join(k + b"=" + v for k, v in os.environb.items()))
`
	must.Do(t, os.WriteFile(bench, []byte(text), 0o644))
	c := exec.CommandContext(t.Context(), krunctl, "time", "--runs", "1", "--iterations", "1", "--json",
		bench, "pwd >command.out")
	// NODE_OPTIONS and others are read by other VMs; LC_ALL is read by Python
	c.Dir, c.Env = dir, append([]string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir()},
		callersVariables...)
	out, err := c.Output()
	must.Do(t, err, string(out))
	got := must.Get(os.ReadFile(filepath.Join(files, "bench.out")))(t)
	var a trial.Answer
	must.Do(t, json.Unmarshal(out, &a))
	for _, variable := range callersVariables {
		must.Be(t, slices.Contains(strings.Split(string(got), "\x00"), variable), variable, got)
		name, _, _ := strings.Cut(variable, "=")
		must.Be(t, slices.Contains(a.Environment.Inherited, name), name, a.Environment)
	}
	pwd, err := os.ReadFile(filepath.Join(dir, "command.out"))
	must.Be(t, err == nil && string(pwd) == dir+"\n" && a.Environment.Directory == dir &&
		a.Environment.Of == "caller", "the command ran in", pwd, err, a.Environment)
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
		{"without quotes", []string{"sleep", "0.01"}, 2, "krunctl time 'sleep 0.01'"},
		{"no number", []string{"-r", "x", "true"}, 2, `--runs needs a whole number, not "x"`},
		{"no command", nil, 2, "time needs commands or benchmark files"},
		{"a quote", []string{"-N", "'a"}, 2, "a quote is not closed"},
		{"a scan", []string{"-P", "n", "5", "1", "true"}, 2, "--parameter-scan n: from 5 to 1"},
		{"a list", []string{"-L", "n", "", "true"}, 2, "--parameter-list needs VAR A,B,C"},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, messages, _, status := timed(t, test.args...)
			must.Be(t, status == test.status && strings.Contains(out+messages, test.want), "status", status,
				test.status, test.want, out, messages)
		})
	}
}

// TestTimeIsKilled: when krunctl is killed, krund ends the command that it runs, also where SIGHUP
// is ignored.
func TestTimeIsKilled(t *testing.T) {
	krunctl := builtControl(t)
	for _, start := range []string{"exec", "trap '' HUP; exec"} {
		dir := t.TempDir()
		began, ended := filepath.Join(dir, "began"), filepath.Join(dir, "ended")
		for _, fifo := range []string{began, ended} {
			must.Do(t, syscall.Mkfifo(fifo, 0o600))
		}
		// The shell has the writing end of the second FIFO for as long as it lives.
		c := exec.CommandContext(t.Context(), "sh", "-c", start+` "$0" time --runs 1 "$1"`, krunctl,
			"exec 3>"+ended+"; echo >"+began+"; sleep 1000")
		c.Env = append(os.Environ(), "TMPDIR="+dir)
		end := must.Get(os.OpenFile(ended, os.O_RDONLY|syscall.O_NONBLOCK, 0))(t)
		defer end.Close()
		must.Do(t, c.Start())
		must.Get(os.ReadFile(began))(t)
		must.Do(t, c.Process.Kill())
		_ = c.Wait()                 // it was killed
		text, err := io.ReadAll(end) // ends when the shell and sleep have ended
		must.Be(t, err == nil && len(text) == 0, start, text, err)
	}
}

// repository makes a git repository with two commits of files that name returns for them.
func repository(t *testing.T, files func(commit string) map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	git := func(args ...string) {
		c := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a",
			"-c", "user.email=a@example.org"}, args...)...)
		out, err := c.CombinedOutput()
		must.Do(t, err, args, string(out))
	}
	git("init", "-q", "-b", "main")
	for _, commit := range []string{"old", "new"} {
		for name, text := range files(commit) {
			must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
		git("add", "-A")
		git("commit", "-q", "-m", commit)
		git("tag", commit)
	}
	return dir
}

// TestTimeRevisions: two revisions are built in worktrees and timed in turns, in C and in a Go
// benchmark; the one that does ten times the work takes longer, and the null arm stands beside it.
// No worktree is left.
func TestTimeRevisions(t *testing.T) {
	krunctl := builtControl(t)
	steps := map[string]string{"old": "1", "new": "10"}
	c := repository(t, func(commit string) map[string]string {
		return map[string]string{"Makefile": "bench: bench.c\n\tcc -O1 -o $@ bench.c\n",
			"bench.c": "int main(void) { for (volatile long i = 0; i < " + steps[commit] +
				"L * 1000000; i++) ; return 0; }\n"}
	})
	goModule := repository(t, func(commit string) map[string]string {
		return map[string]string{"go.mod": "module x\n", "x_test.go": "package x\n\nimport \"testing\"\n\n" +
			"func BenchmarkX(b *testing.B) {\n\tfor i := 0; i < b.N; i++ {\n\t\tn := 0\n\t\tfor j := 0; " +
			"j < " + steps[commit] + "*1000; j++ {\n\t\t\tn += j ^ i\n\t\t}\n\t\tif n == 1 {\n" +
			"\t\t\tb.Fatal()\n\t\t}\n\t}\n}\n"}
	})
	for dir, args := range map[string][]string{
		c:        {"--build", "make -s bench", "-N", "./bench"},
		goModule: {"--go", "BenchmarkX", "."},
	} {
		args = append([]string{"time", "--json", "--runs", "6", "--revisions", "old,new"}, args...)
		run := exec.CommandContext(t.Context(), krunctl, args...)
		run.Dir = dir
		out, err := run.Output()
		var a trial.Answer
		must.Do(t, errors.Join(err, json.Unmarshal(out, &a)), args, string(out))
		must.Need(t, len(a.Compared) == 2 && a.Null == a.Compared[0].Name && a.Base == a.Subjects[0].Name, a)
		null, change := a.Compared[0], a.Compared[1]
		t.Logf("%s: null %.4f (%.4f to %.4f), change %.4f (%.4f to %.4f), %d runs", args[4], null.Ratio,
			null.Low, null.High, change.Ratio, change.Low, change.High, len(a.Subjects[0].Times))
		must.Be(t, null.Ratio > 0 && change.Ratio > max(1, null.Ratio), "null arm", null, "change", change)
		left, err := exec.CommandContext(t.Context(), "git", "-C", dir, "worktree", "list").Output()
		must.Be(t, err == nil && strings.Count(string(left), "\n") == 1, "worktrees", string(left))
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--revisions", "old,nosuch", "./bench"}, `git knows no revision "nosuch"`},
		{[]string{"--revisions", "old,new", "--build", "echo broken; false", "./bench"}, "broken"},
		{[]string{"--revisions", "old", "./bench"}, "needs two or more"},
		{[]string{"--revisions", "old,new", "a", "b c"}, "times one command"},
	} {
		run := exec.CommandContext(t.Context(), krunctl, append([]string{"time"}, test.args...)...)
		run.Dir = c
		out, err := run.CombinedOutput()
		must.Be(t, err != nil && strings.Contains(string(out), test.want), test.args, string(out))
	}
}
