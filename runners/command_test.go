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
		must.Be(t, c.Name == names[i] && v >= 0 && (c.Name != "maxrss" || v >= 1<<16) &&
			(c.Name != "exit" || v == 128+15), c)
	}
}

// TestCommandTurns: several programs run in turns. Each round has each as often as its --runs say,
// in an order of its own; what belongs to a program stays with it.
func TestCommandTurns(t *testing.T) {
	needBuilt(t)
	one, two := t.TempDir(), t.TempDir()
	e := command(12, "--seed", "7", "--directory", one, "--prepare", "echo prepare >>log", "--runs", "2",
		"--also", "3", "sh", "-c", "echo first >>log", "--directory", two, "--label", "another",
		"--", "sh", "-c", "echo second >>log").do(t)
	e.check(t, expect{0, 12, libkrun.StateDone, "", ""})
	column := e.series.Columns[len(e.series.Columns)-1]
	must.Need(t, column.Name == "command", e.series.Columns)
	orders := map[string]bool{}
	for round := range 4 {
		var order strings.Builder
		for _, v := range column.Values[3*round : 3*round+3] {
			order.WriteByte(byte('0' + v))
		}
		must.Be(t, strings.Count(order.String(), "0") == 2 && strings.Count(order.String(), "1") == 1, order)
		orders[order.String()] = true
	}
	must.Be(t, len(orders) > 1, "every round has the order", orders)
	for dir, want := range map[string]string{one: strings.Repeat("prepare first ", 8),
		two: strings.Repeat("second ", 4)} {
		log := must.Get(os.ReadFile(filepath.Join(dir, "log")))(t)
		must.Equal(t, strings.Join(strings.Fields(string(log)), " ")+" ", want)
	}
	command(2, "--label", "a", "--also", "1", "true", "--label", "b", "false").do(t).check(t,
		expect{ExitCommand, 2, libkrun.StateReady, "", "runner: b: the command ended with exit status 1"})
	for _, wrong := range [][]string{
		{"--also", "2", "true"}, {"--also", "1", "true"}, {"--runs", "0", "true"},
		{"--also", "x", "true", "true"}} {
		command(1, wrong...).do(t).check(t, expect{ExitUsage, 0, libkrun.StateNew, "", "usage: "})
	}
}

// TestCommandFiles: what the programs read and where they write.
func TestCommandFiles(t *testing.T) {
	needBuilt(t)
	dir := t.TempDir()
	in, out, messages := filepath.Join(dir, "in"), filepath.Join(dir, "out"), filepath.Join(dir, "messages")
	must.Do(t, os.WriteFile(in, []byte("some\n"), 0o600))
	command(2, "--input", in, "--output", out, "--messages", messages, "sh", "-c", "cat; echo err >&2").do(t).
		check(t, expect{0, 2, libkrun.StateDone, "", ""})
	for path, want := range map[string]string{out: "some\n", messages: "err\n"} {
		must.Equal(t, string(must.Get(os.ReadFile(path))(t)), want)
	}
	// a silent program after it does not empty the file
	command(4, "--output", out, "--also", "2", "echo", "kept", "--silent", "1", "true").do(t).
		check(t, expect{0, 4, libkrun.StateDone, "", ""})
	must.Equal(t, string(must.Get(os.ReadFile(out))(t)), "kept\n")
	// more than a pipe holds
	command(2, "--output", "pipe", "sh", "-c", "test -p /dev/stdout && head -c 1000000 /dev/zero").do(t).
		check(t, expect{0, 2, libkrun.StateDone, "", ""})
}
