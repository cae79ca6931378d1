package execution

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	libkrun "krund/cgo"
	"krund/internal/execution/child"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// fake is a runner that starts no process: it acts as the benchmark of the given command and
// returns run.
type fake struct {
	run  child.Run
	err  error
	play func(child.Command)
	seen *child.Command
}

func (f fake) Run(_ context.Context, c child.Command) (child.Run, error) {
	if f.seen != nil {
		*f.seen = c
	}
	if f.play != nil {
		f.play(c)
	}
	return f.run, f.err
}

func exited(status int) child.Run {
	return child.Run{Process: results.Process{PID: 4711, Exit: &status}}
}

func execute(t *testing.T, name string, f fake) Measured {
	t.Helper()
	return must.Get(Executor{Runner: f, Installed: installed}.Execute(t.Context(), job(t, name)))(t)
}

func wantSeries(t *testing.T, m Measured, done int, doubts ...string) {
	t.Helper()
	must.Be(t, m.Execution.Done == done && len(m.WallNS) == done, m.Execution.Done, "iterations with",
		len(m.WallNS), "times", done)
	said := slices.Concat(m.Execution.Series, m.Execution.Unsound)
	text := strings.Join(said, "\n")
	for _, doubt := range doubts {
		must.Contain(t, text, doubt, "no doubt", said)
	}
	must.Be(t, len(doubts) != 0 || len(said) == 0, "doubts", said, "want none")
}

// TestEndExplainsMissingSeries: the way in which a process ended explains why there is no series.
func TestEndExplainsMissingSeries(t *testing.T) {
	m := execute(t, "nbody:C:so", fake{run: exited(66)})
	wantSeries(t, m, 0)
	must.Be(t, m.Execution.ExitText == "the benchmark file cannot be loaded" && m.Execution.Planned == 7,
		"execution", m.Execution)
	m = execute(t, "nbody:C:so", fake{run: child.Run{Process: results.Process{PID: 1, Signal: "SIGSEGV"}}})
	wantSeries(t, m, 0)
	must.Be(t, m.Execution.Signal == "SIGSEGV" && m.Process.Signal == "SIGSEGV" && m.Process.Exit == nil,
		"execution", m.Execution)
}

func TestNotStarted(t *testing.T) {
	run := child.Run{Process: results.Process{NotStarted: &results.StartFailure{Step: "exec",
		Errno: "EACCES", Text: "execute it: permission denied"}}}
	for _, name := range []string{"nbody:C:so", "nbody:Suite:none"} {
		m := execute(t, name, fake{run: run})
		wantSeries(t, m, 0)
		if m.Execution.NotStarted != "execute it: permission denied" ||
			*m.Process.NotStarted != (results.StartFailure{Step: "exec", Errno: "EACCES",
				Text: "execute it: permission denied"}) {
			t.Errorf("%s: %+v", name, m.Process.NotStarted)
		}
	}
}

// TestNoCounters: unless "none" is listed, there is no measurement without counters.
func TestNoCounters(t *testing.T) {
	j := job(t, "nbody:C:so")
	j.Counters = config.Counters{Sources: []string{"msr"}, Scope: "per-core"}
	e := Executor{Runner: fake{err: errors.New("must not be called")}, Root: sysroot.New(t.TempDir())}
	_, err := e.Execute(t.Context(), j)
	must.Be(t, errors.Is(err, ErrNoCounters) && strings.Contains(err.Error(), "msr: not available: ") &&
		strings.Contains(err.Error(), `add "none" to counters.sources`), err)
	j.Counters.Sources = []string{"msr", "none"}
	e.Runner = fake{run: exited(0)}
	if m, err := e.Execute(t.Context(), j); err != nil || m.CounterSource != "none" ||
		!strings.Contains(m.CounterReason, "msr: not available: ") {
		t.Errorf("with none: source %q, reason %q, error %v", m.CounterSource, m.CounterReason, err)
	}
}

// TestCommandFails: the reason is what happened to the command, and not a status of the runner.
func TestCommandFails(t *testing.T) {
	run := exited(72)
	run.Stderr.Text = "sh: 1: nosuch: not found\nrunner: the command ended with exit status 127\n"
	j := job(t, "nbody:C:so")
	for _, test := range []struct{ runner, failed, last string }{
		{config.RunnerCommand, "the command ended with exit status 127", ""},
		{config.RunnerC, "", "runner: the command ended with exit status 127"},
	} {
		j.VM.Runner = test.runner
		e := fromRun(j, run, installed).Execution
		must.Be(t, e.Failed == test.failed && e.LastWords == test.last, test.runner, e.Failed, e.LastWords)
	}
}

func TestKrundsOwnFailure(t *testing.T) {
	own := errors.New("no processes")
	for _, name := range []string{"nbody:C:so", "nbody:Suite:none"} {
		_, err := (Executor{Runner: fake{err: own}}).Execute(t.Context(), job(t, name))
		must.Be(t, errors.Is(err, own), name, err)
	}
	j := job(t, "nbody:C:so")
	j.Iterations = 0
	must.Refused((Executor{Runner: fake{}}).Execute(t.Context(), j))(t, "0 iterations", "no buffer: error")
}

// TestNoDescriptorIsLeft: descriptors must not leak, because an experiment has thousands of
// executions.
func TestNoDescriptorIsLeft(t *testing.T) {
	count := func() int {
		entries, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(entries)
	}
	before := count()
	for range 20 {
		execute(t, "nbody:C:so", fake{run: exited(0)})
		_, err := (Executor{Runner: fake{err: errors.New("x")}}).Execute(t.Context(), job(t, "nbody:C:so"))
		must.Need(t, err != nil, "no error")
	}
	after := count()
	must.Be(t, after <= before+2, after, "descriptors, before it were", before)
}

func TestProcessIsTranslated(t *testing.T) {
	run := exited(3)
	run.Interrupted, run.WallNS, run.UID, run.OOMKills = true, 4e9, 900, 1
	run.Stderr, run.Processes = results.Output{Text: "first\nlast words\n\n", Bytes: 18}, 99
	run.Daemon.RSSBytes = 11
	m := execute(t, "nbody:C:so", fake{run: run})
	p := m.Process
	must.Be(t, p.UID == 900 && p.WallNS == 4e9 && p.PID == 4711 && *p.Exit == 3, "process", p)
	must.Be(t, p.Account == "ann" && !p.FreshHome &&
		slices.Equal(p.Argv, job(t, "nbody:C:so").argv(installed)) && p.Findings != nil, "account", p.Account,
		"argv", p.Argv, "findings", p.Findings)
	must.Be(t, *p.Limits.HeapBytes == 1<<30 && *p.Limits.StackBytes == 8<<20 &&
		*p.Limits.TimeoutNS == 90e9 && *p.Limits.OutputBytes == 64<<10 && *p.Limits.Processes == 99,
		"limits", p.Limits)
	e := m.Execution
	must.Be(t, m.Interrupted && e.OOMKills == 1 && e.LastWords == "last words" &&
		e.Timeout == 90*time.Second && e.ExitText == "", "execution", e)
	must.Equal(t, m.Daemon.RSSBytes, 11, "daemon")
}

func TestLastWords(t *testing.T) {
	long := strings.Repeat("é", 200)
	for _, test := range []struct{ name, stdout, stderr, want string }{
		{"silence", "", "", ""},
		{"blank lines", " \n\t\n", "\n", ""},
		{"stderr first", "out\n", "warning\nerror: x\n \n", "error: x"},
		{"stdout when stderr is blank", "checksum 1 != 2", "\n\n", "checksum 1 != 2"},
		{"cut between letters", "", long, strings.Repeat("é", 150) + "..."},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := lastWords(child.Run{Process: results.Process{Stdout: results.Output{Text: test.stdout},
				Stderr: results.Output{Text: test.stderr}}}); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestColumns(t *testing.T) {
	got := columns([]libkrun.ColumnData{
		{Kind: libkrun.KindCounter, Column: libkrun.Column{Name: "aperf", Unit: "cycles", Core: 1},
			Values: []int64{3, -1, libkrun.Missing}},
		{Kind: libkrun.KindUser, Column: libkrun.Column{Name: "gc", Unit: "ns", Core: libkrun.NoCore},
			Values: []int64{-2, libkrun.Missing, 0}},
	})
	must.Be(t, len(got) == 2 && got[0].Kind == results.KindCounter && *got[0].Core == 1 &&
		slices.Equal(got[0].Counts, []uint64{3, 1<<64 - 1, 1 << 63}), "counter", got)
	if got[1].Kind != results.KindUser || got[1].Core != nil || got[1].Unit != "ns" ||
		!slices.Equal(got[1].Values, []int64{-2, libkrun.Missing, 0}) {
		t.Errorf("user column %+v", got[1])
	}
}

const suiteOutput = `{"wallclock_times": [1, 2, 3, 4, 5, 6, 0.000000001], "core_cycle_counts": [[1, 2, 3, 4, 5, 6, 7], [7, 6, 5, 4, 3, 2, 1]],
 "aperf_counts": [], "mperf_counts": []}`

func TestExternalSuite(t *testing.T) {
	say := func(status int, stdout string) Measured {
		return execute(t, "nbody:Suite:none", suite(exited(status), stdout))
	}
	m := say(0, suiteOutput)
	wantSeries(t, m, 7)
	if m.Clock != "external" || m.Library != nil || m.StartNS != nil || m.Startup != (results.Startup{}) {
		t.Errorf("clock %s, library %v, starts %v, startup %+v", m.Clock, m.Library, m.StartNS, m.Startup)
	}
	must.Be(t, len(m.Columns) == 2 && m.Columns[1].Name == "cycles" && *m.Columns[1].Core == 1 &&
		m.Columns[1].Counts[0] == 7, "columns", m.Columns)
	wantSeries(t, say(0, "hello"), 0, "the suite's output")
	wantSeries(t, say(0, ""), 0, "the suite's output")
	m = say(65, suiteOutput) // the output of a failed suite is ignored
	wantSeries(t, m, 0)
	must.Equal(t, m.Execution.ExitText, "", "a suite's status explained as a runner's")
	timedOut := child.Run{Process: results.Process{PID: 1, Signal: "SIGKILL", TimedOut: true}}
	wantSeries(t, execute(t, "nbody:Suite:none", suite(timedOut, suiteOutput)), 0)
}

// suite is a runner that acts as a suite that prints a text.
func suite(run child.Run, stdout string) fake {
	run.Stdout = results.Output{Text: stdout, Bytes: int64(len(stdout))}
	return fake{run: run, play: func(c child.Command) { _, _ = c.Stdout.Write([]byte(stdout)) }}
}

// TestOutputIsKeptOnce: the times of an external suite are columns, regardless of how much of its
// output is kept.
func TestOutputIsKeptOnce(t *testing.T) {
	run := suite(exited(0), suiteOutput)
	run.run.Stdout = results.Output{Text: "{\"wall\n[9 bytes left out]\n", Bytes: 1 << 30, Truncated: true}
	m := execute(t, "nbody:Suite:none", run)
	wantSeries(t, m, 7)
	for name, o := range map[string]results.Output{
		"a suite's": m.Process.Stdout, "a benchmark's": execute(t, "nbody:C:so",
			fake{run: run.run}).Process.Stdout,
	} {
		must.Equal(t, o, run.run.Stdout, name)
	}
}

// machine creates a directory that replaces the root of a machine.
func machine(t *testing.T, files map[string]string) sysroot.Root {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, dir, name, text)
	}
	return sysroot.New(dir)
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	must.Write(t, filepath.Join(dir, name), text)
}

// TestFrequencies: what is known about the cores goes into the verdict and into the record. The
// efficient core 4 is held at 2.4 GHz while MPERF counts at 3.187 GHz (Linux 6.12,
// drivers/cpufreq/intel_pstate.c:949-953), core 0 is throttled.
func TestFrequencies(t *testing.T) {
	zero, four := 0, 4
	rate, held0, held4 := 3.187e9, int64(3200000), int64(2400000)
	counter := func(name string, core *int, n uint64) results.Column {
		return results.Column{Name: name, Kind: results.KindCounter, Core: core, Counts: []uint64{n}}
	}
	m := Measured{Record: results.Record{StartNS: []int64{0}, WallNS: []int64{1e9}, Columns: []results.Column{
		counter("aperf", &zero, 2.9e9), counter("mperf", &zero, 3.187e9), counter("smi", &zero, 2),
		counter("aperf", &four, 2.4e9), counter("mperf", &four, 3.187e9), counter("smi", &four, 2),
	}}}
	m.judgeCounters(Job{Verdict: config.Verdict{RatioTolerance: 0.03}, Frequencies: []results.Frequency{
		{Core: &zero, HeldKHz: &held0, MPERFHz: &rate}, {Core: &four, HeldKHz: &held4, MPERFHz: &rate},
	}})
	got := strings.Join(m.Execution.Disturbed, "\n")
	must.Be(t, len(m.Execution.Disturbed) == 2 &&
		strings.Contains(got, "core 0 ran below its set frequency") && strings.Contains(got, "2 times (SMI)"),
		"disturbed", m.Execution.Disturbed)
	must.Be(t, len(m.Frequencies) == 2 && *m.Frequencies[1].Core == 4 &&
		*m.Frequencies[1].Expected <= 0.754 && *m.Frequencies[1].Expected >= 0.752 &&
		m.Frequencies[1].Source == results.MeasuredRate, m.Frequencies)
}
