package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"krund/internal/boot/doctor"
	"krund/internal/control"
	"krund/internal/control/machines"
	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/machine/sysroot"
	"krund/internal/schedule"
	"krund/rig/must"
)

var update = flag.Bool("update", false, "write the golden files")

// testTime is now in all tests.
var testTime = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// experimentText is the configuration of most tests: 3 keys, 2 executions each.
const experimentText = `[experiment]
executions = 2
iterations = 4
reboot = "none"
account = "caller"
[wait]
startup = "1m"
sync = "10s"
[temperature]
base_wait = "30s"
[vms.C]
runner = "c"
variants = ["default-c"]
[vms.CPython]
runner = "python"
path = "python3"
iterations = 3
variants = ["default-python"]
[variants.default-c]
entry = "bench.so"
[variants.default-python]
entry = "bench.py"
[benchmarks]
nbody = { parameter = 10 }
fasta = { parameter = 7 }
[experiment_end]
`

// builder makes an experiment with given outcomes, as krund would.
type builder struct {
	t         *testing.T
	toml      string // path of the configuration
	cfg       *config.Config
	directory directory.Directory
	sched     *schedule.Schedule
	runs      int
}

// newExperiment makes the directory of an experiment that was started and has run
// nothing.
func newExperiment(t *testing.T) *builder { return newExperimentOf(t, experimentText) }

func newExperimentOf(t *testing.T, text string) *builder {
	t.Helper()
	text = strings.ReplaceAll(text, "[experiment_end]\n", "")
	toml := filepath.Join(t.TempDir(), "test.toml")
	must.Do(t, os.WriteFile(toml, []byte(text), 0o644))
	return newExperimentAt(t, toml, text)
}

// newExperimentAt is newExperimentOf of a configuration file that exists, with this text.
func newExperimentAt(t *testing.T, toml, text string) *builder {
	t.Helper()
	b := &builder{t: t, toml: toml}
	cfg, err := config.Parse(b.toml, []byte(text), "bencher7", doctor.Settings())
	b.must(err)
	b.cfg = cfg
	b.directory, err = directory.Create(lax(), directory.For(b.toml))
	b.must(err)
	b.must(durable.WriteFile(lax(), b.directory.ConfigCopy(), []byte(text), 0o644))
	h := schedule.Header{ConfigHash: cfg.Hash, Created: "2026-11-21T09:00:00Z", Order: cfg.Experiment.Order,
		Seed: cfg.Experiment.Seed}
	slots := schedule.Plan(cfg.Keys(), cfg.Executions, cfg.Experiment.Order, cfg.Experiment.Seed)
	b.must(schedule.Create(lax(), b.directory.Schedule(), h, cfg.Slots(), slots))
	b.sched, err = schedule.Open(lax(), b.directory.Schedule(), true)
	b.must(err)
	t.Cleanup(func() { _ = b.sched.Close() })
	return b
}

func (b *builder) must(err error) {
	b.t.Helper()
	must.Do(b.t, err)
}

func (b *builder) dir() string { return b.directory.Dir() }

// run begins the next slot, and gives it a record with the outcome and the
// reasons. A rerun leaves the slot outstanding.
func (b *builder) run(o results.Outcome, reasons ...string) results.Record {
	b.t.Helper()
	slot, err := b.sched.Begin()
	b.must(err)
	rec := b.record(slot, o, reasons...)
	b.append(rec)
	flag := map[results.Outcome]schedule.Flag{
		results.Completed: schedule.Completed, results.Error: schedule.Error,
		results.Timeout: schedule.Timeout, results.Rerun: schedule.Outstanding,
	}[o]
	b.must(b.sched.Finish(slot, flag))
	return rec
}

func (b *builder) append(rec results.Record) {
	b.t.Helper()
	b.must(results.NewAppender(lax(), b.directory.Results()).Append(rec))
}

// joules is some energy, in microjoules.
func joules(n int64) *uint64 {
	uj := uint64(412_345_678 + n)
	return &uj
}

// record makes up what was measured: iteration i of run n takes (n+1) ms and
// i us; a failed run comes as far as its first iteration.
func (b *builder) record(slot schedule.Slot, o results.Outcome, reasons ...string) results.Record {
	const begin, ms = 5_000_000, 1_000_000
	iterations := b.cfg.Iterations(slot.Key)
	done := iterations
	if o == results.Error || o == results.Timeout {
		done = 1
	}
	if reasons == nil {
		reasons = []string{}
	}
	n := int64(b.runs)
	b.runs++
	rec := results.Record{
		Key: slot.Key, Krund: "1.0.0", Experiment: b.cfg.Experiment.Name, ConfigHash: b.cfg.Hash,
		Host: "bencher7",
		Slot: slot.Index, Attempt: slot.Attempts, Pexec: slot.Pexec, Parameter: 10, Iterations: iterations,
		Outcome: o, Reasons: reasons, Reboot: results.RebootNone,
		BootID:  "0b3f1a52-5f6e-4c3b-9f21-2d2f6f5f8a11",
		Started: testTime.Add(-time.Hour + time.Duration(n)*time.Minute),
		Clock:   "CLOCK_MONOTONIC_RAW", CounterSource: "none", CounterReason: "a virtual machine",
		Startup: results.Startup{ExecNS: at(begin), InitNS: at(begin + 2*ms), FirstNS: at(begin + 3*ms),
			DoneNS: at(begin + 40*ms)},
		Columns: []results.Column{
			{Name: "aperf", Unit: "cycles", Kind: results.KindCounter, Core: new(int)},
			{Name: "gc_time", Unit: "ns", Kind: results.KindUser},
		},
		Library: &results.Library{State: "done", Findings: []string{}},
		Process: results.Process{
			Argv: []string{"/usr/bin/runner", "bench.so", fmt.Sprint(iterations), "10"}, Dir: "/tmp",
			Env: []string{"PATH=/usr/bin"}, EnvBytes: 14,
			Account: "tester", UID: 1000, GID: 1000, CgroupReason: "not root", PID: 4711, Exit: new(int),
			Findings: []string{},
			WallNS:   (n + 20) * 1e9, UTimeNS: 4e9, STimeNS: 1e8, MaxRSSBytes: 30 << 20,
			Stdout: results.Output{Text: "hello\n", Bytes: 6},
		},
		Machine: results.MachineState{Controls: []results.Control{},
			KernelLog: results.KernelLog{Lines: []string{}}},
		Totals: []results.Total{{Name: "smi"}, {Name: "mperf", Core: new(int), Value: joules(1<<53 + n)}},
		Energy: []results.Energy{
			{Zone: "intel-rapl:0", Name: "package-0", UJ: joules(n)}, {Zone: "intel-rapl:0:1", Name: "dram",
				Reason: "the counter may have wrapped around"},
		},
		Daemon: results.Daemon{
			CPUNS: 400_000 + n, VoluntarySwitches: 4, WakeUps: at(5 + n), CPUs: []int{0}, RSSBytes: 8 << 20,
			KernelThreads: &results.KernelThreads{
				All:       results.Activity{CPUNS: 90_000 + n, Runs: 30},
				Benchmark: results.Activity{CPUNS: 20_000 + n, Runs: 3},
				Busiest: []results.KernelThread{{Name: "rcu_preempt", CPU: 1,
					Activity: results.Activity{CPUNS: 20_000 + n, Runs: 3}}},
			},
		},
	}
	start := int64(begin + 3*ms)
	for i := range int64(done) {
		wall := (n+1)*ms + i*1000
		rec.StartNS, rec.WallNS = append(rec.StartNS, start), append(rec.WallNS, wall)
		rec.Columns[0].Counts = append(rec.Columns[0].Counts, 1<<53+1+uint64(i))
		gc := i
		if i == 1 {
			gc = results.Missing
		}
		rec.Columns[1].Values = append(rec.Columns[1].Values, gc)
		start += wall + 10
	}
	return rec
}

func at(ns int64) *int64 { return &ns }

// mixed is an experiment with every outcome: two completed, an error, a rerun
// that completes with its second attempt, a timeout; the slot after is running.
func mixed(t *testing.T) *builder {
	b := newExperiment(t)
	b.run(results.Completed)
	b.run(results.Completed)
	b.run(results.Error, "exit status 1: the checksum is wrong", "a second reason")
	b.run(results.Rerun, "the processor throttled")
	b.run(results.Completed)
	b.run(results.Timeout, "killed after 1m0s")
	_, err := b.sched.Begin()
	b.must(err)
	return b
}

// complete is an experiment that has finished.
func complete(t *testing.T) *builder {
	b := newExperiment(t)
	for range b.cfg.Slots() {
		b.run(results.Completed)
	}
	return b
}

// ran is the outcome of a krunctl run in-process.
type ran struct {
	code           int
	stdout, stderr string
}

// says reports a command that ended with another status, or without a part of its output and its
// messages; "" is in every text.
func (r ran) says(t *testing.T, code int, stdout, stderr string, about ...any) {
	t.Helper()
	must.Be(t, r.code == code && strings.Contains(r.stdout, stdout) && strings.Contains(r.stderr, stderr),
		append(about, r.text())...)
}

// works ends the test if a command failed, and returns what it printed.
func (r ran) works(t *testing.T) ran {
	t.Helper()
	must.Need(t, r.code == exitOK, r.text())
	return r
}

// testApp is krunctl as a user of a machine, at testTime, without a hub and without a terminal.
func testApp(t *testing.T) *app {
	t.Helper()
	a := &app{stdin: strings.NewReader(""), now: func() time.Time { return testTime }, host: "bencher7",
		fsys: lax(), uid: 1000, counters: noCounters, ask: func(string) (string, bool) { return "", false },
		env: func(string) string { return "" }, hubFile: filepath.Join(t.TempDir(), "hub.toml"),
		machine: func(ctx context.Context) *control.Machine {
			return control.NewMachine(ctx, sysroot.New(machines.New(t, "intel-pstate-active")))
		}}
	a.krund = func(args []string, _ bool) error { // instead of becoming it
		a.print("krund %s\n", strings.Join(args, " "))
		return nil
	}
	return a
}

// runApp runs a command.
func runApp(a *app, args ...string) ran {
	var out, messages bytes.Buffer
	a.stderr = &messages
	code := runIn(a, args, &out)
	return ran{code, out.String(), messages.String()}
}

// krunctl runs a command by testApp.
func krunctl(t *testing.T, args ...string) ran {
	t.Helper()
	return runApp(testApp(t), args...)
}

// in replaces the directory that the experiment is in by TMP.
func (r ran) in(b *builder) ran {
	tmp := filepath.Dir(b.toml)
	r.stdout, r.stderr = strings.ReplaceAll(r.stdout, tmp, "TMP"), strings.ReplaceAll(r.stderr, tmp, "TMP")
	return r
}

func (r ran) text() string {
	text := r.stdout
	if r.stderr != "" {
		text += "--- stderr\n" + r.stderr
	}
	return text + fmt.Sprintf("--- exit %d\n", r.code)
}

// golden compares text with the file testdata/name.
func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		must.Do(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want := must.Get(os.ReadFile(file))(t)
	must.Equal(t, text, string(want), file, "differs (run with -update and read the difference):\n---", "---")
}

// repack replaces text in a packed document.
func repack(t *testing.T, packed []byte, from, to string) []byte {
	t.Helper()
	z := must.Get(gzip.NewReader(bytes.NewReader(packed)))(t)
	text, err := io.ReadAll(z)
	must.Need(t, err == nil && bytes.Contains(text, []byte(from)), from, text, err)
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	must.Get(w.Write(bytes.Replace(text, []byte(from), []byte(to), 1)))(t)
	must.Do(t, w.Close())
	return out.Bytes()
}
