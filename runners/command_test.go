package runners

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	libkrun "krund/cgo"
	"krund/rig/must"
)

// command is a run of the runner for whole commands.
func command(iterations int, args ...string) run {
	return run{argv: append([]string{filepath.Join(built, "runners", "command", "runner")}, args...),
		iterations: iterations, env: []string{"PATH=/usr/bin:/bin"}}
}

func TestCommandRunner(t *testing.T) {
	needBuilt(t)
	tests := []struct {
		name string
		run  run
		want expect
	}{
		{"measures", command(3, "true"), expect{0, 3, libkrun.StateDone, "", ""}},
		{"absolute path", command(1, "--", "/bin/true"), expect{0, 1, libkrun.StateDone, "", ""}},
		{"its output is discarded, its messages are kept", command(2, "sh", "-c", "echo out; echo err >&2"),
			expect{0, 2, libkrun.StateDone, "", "err\nerr\n"}},
		{"standard input is empty", command(1, "sh", "-c", `! read line`),
			expect{0, 1, libkrun.StateDone, "", ""}},
		{"does not find the buffer", command(1, "sh", "-c", `[ -z "$KRUN_BUFFER_FD$KRUN_LIBRARY" ]`),
			expect{0, 1, libkrun.StateDone, "", ""}},
		{"fails", command(5, "sh", "-c", "exit 3"), expect{ExitCommand, 1, libkrun.StateReady, "",
			"runner: the command ended with exit status 3"}},
		{"killed", command(5, "sh", "-c", "kill -SEGV $$"), expect{ExitCommand, 1, libkrun.StateReady, "",
			"runner: the command was ended by signal 11"}},
		{"a failure is ignored", command(2, "--ignore-failure", "false"),
			expect{0, 2, libkrun.StateDone, "", ""}},
		{"prepare fails", command(2, "--prepare", "exit 4", "true"), expect{ExitCommand, 0,
			libkrun.StateReady, "",
			"runner: the command before each run (--prepare) ended with exit status 4"}},
		{"no such program", command(2, "krund-no-such-program"), expect{ExitBenchmark, 0,
			libkrun.StateReady, "", "cannot start krund-no-such-program: No such file or directory"}},
		{"no such directory", command(2, "--directory", "/nonexistent", "true"), expect{ExitBenchmark, 0,
			libkrun.StateReady, "", "runner: cannot enter /nonexistent: No such file or directory"}},
		{"no program", command(2, "--warmup", "3"), expect{ExitUsage, 0, libkrun.StateNew, "", "usage: "}},
		{"no such option", command(2, "--times", "3", "true"), expect{ExitUsage, 0, libkrun.StateNew, "",
			"usage: "}},
		{"no number", command(2, "--warmup", "x", "true"), expect{ExitUsage, 0, libkrun.StateNew, "",
			"usage: "}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run.do(t).check(t, test.want)
		})
	}
}

// TestCommandAround: the order of the commands around two iterations after a warm-up of one.
func TestCommandAround(t *testing.T) {
	needBuilt(t)
	dir := t.TempDir()
	r := command(2, "--directory", dir, "--setup", "echo setup >> log", "--prepare", "echo prepare >> log",
		"--conclude", "echo conclude >> log", "--cleanup", "echo cleanup >> log", "--warmup", "1",
		"sh", "-c", "echo run >> log")
	r.do(t).check(t, expect{0, 2, libkrun.StateDone, "", ""})
	log := must.Get(os.ReadFile(filepath.Join(dir, "log")))(t)
	const round = "prepare run conclude "
	got, want := strings.Join(strings.Fields(string(log)), " "), "setup "+strings.Repeat(round, 3)+"cleanup"
	must.Equal(t, got, want, "order")
}

// TestCommandColumns: the processor time, memory and exit status of each run.
func TestCommandColumns(t *testing.T) {
	needBuilt(t)
	e := command(2, "--ignore-failure", "sh", "-c", "kill -TERM $$").do(t)
	e.check(t, expect{0, 2, libkrun.StateDone, "", ""})
	names := []string{"user", "system", "maxrss", "exit"}
	must.Need(t, len(e.series.Columns) == len(names), "columns", e.series.Columns)
	for i, c := range e.series.Columns {
		v := c.Values[1]
		if c.Name != names[i] || v < 0 || c.Name == "maxrss" && v < 1<<16 || c.Name == "exit" && v != 128+15 {
			t.Errorf("%+v", c)
		}
	}
}
