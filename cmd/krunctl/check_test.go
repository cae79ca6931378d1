package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"krund/internal/boot/doctor"
	"krund/internal/control"
	"krund/internal/control/machines"
	"krund/internal/machine/host"
	"krund/internal/machine/noise"
	"krund/internal/machine/probe"
	"krund/internal/machine/sysroot"
	"krund/internal/msr"
	"krund/rig/must"
)

// noCounters is a machine without any.
func noCounters(_ context.Context, _ sysroot.Root, want msr.Want) []msr.SourceFinding {
	var list []msr.SourceFinding
	for _, source := range want.Sources {
		list = append(list, msr.SourceFinding{Source: source, Why: "the processor has none",
			Notes: []string{"a note"}})
	}
	return list
}

// doctorOn runs doctor over a copy of a machine.
func doctorOn(t *testing.T, tree string, args ...string) ran {
	t.Helper()
	a := testApp(t)
	a.machine = func(ctx context.Context) *control.Machine {
		return control.NewMachine(ctx, sysroot.New(machines.New(t, tree)))
	}
	return runApp(a, append([]string{"check"}, args...)...)
}

func TestDoctor(t *testing.T) {
	for n, tree := range machines.Names() {
		t.Run(tree, func(t *testing.T) {
			r := doctorOn(t, tree, "--json")
			var doc doctorJSON
			must.Do(t, json.Unmarshal([]byte(r.stdout), &doc), r.text())
			must.Be(t, doc.Format == 1 && len(doc.Findings) >= 20 && doc.Fit == (r.code == exitOK) &&
				doc.Proof == nil, "exit", r.code, doc)
			if n%must.Often(5, 1) != 0 {
				return
			}
			text := doctorOn(t, tree)
			for _, f := range doc.Findings {
				must.Contain(t, text.stdout, f.Name, "the table")
			}
			must.Equal(t, strings.Contains(text.stdout, `With reboot = "none"`), !doc.Fit, text.stdout)
		})
	}
}

// errCtrlC makes a measurement be interrupted by a signal.
var errCtrlC = errors.New("Ctrl-C")

// proving is krunctl as root on a copy of a machine whose governor differs from the wanted one,
// with a configuration of two settings. measure is called with the current governor.
func proving(t *testing.T, demands string, measure func(n int, governor string) error) (ran,
	map[string]string, map[string]string) {
	t.Helper()
	return provingOn(t, sysroot.OS{}, demands, measure)
}

// provingOn is proving with a given kernel.
func provingOn(t *testing.T, kernel sysroot.Access, demands string,
	measure func(n int, governor string) error) (ran, map[string]string, map[string]string) {
	t.Helper()
	tree := machines.New(t, "intel-acpi-cpufreq")
	toml := filepath.Join(t.TempDir(), "test.toml")
	must.Write(t, toml, strings.ReplaceAll(experimentText, "[experiment_end]", "[controls]\n"+demands))
	before := contents(t, tree)
	n, a := 0, testApp(t)
	a.uid, a.state = 0, t.TempDir()
	a.machine = func(context.Context) *control.Machine {
		return &control.Machine{Host: host.Host{Root: sysroot.New(tree).With(kernel)}, Boot: "this",
			Swap: noSwap{}}
	}
	a.measure = func(ctx context.Context, h host.Host, _ host.CPUs, _ time.Duration) (probe.Proof, error) {
		n++
		err := measure(n, must.Get(h.Root.Read("/proc/sys/kernel/randomize_va_space"))(t))
		if errors.Is(err, errCtrlC) {
			err = syscall.Kill(os.Getpid(), syscall.SIGINT)
			<-ctx.Done()
		}
		return probe.Proof{Switches: float64(100 * n)}, err
	}
	r := runApp(a, "check", "--prove", "--time", "1ms", toml)
	pending, err := control.ReadJournal(a.fsys, filepath.Join(a.state, doctor.Directory, "journal"))
	must.Be(t, err == nil && len(pending) == 0, "the journal still has", pending, err)
	return r, before, contents(t, tree)
}

func TestProveRestoresAfterTrouble(t *testing.T) {
	const demand = "aslr = { policy = \"require\", value = 1 }\n"
	for name, measure := range map[string]func(n int, aslr string) error{
		"an error before": func(int, string) error { return errors.New("no such processor") },
		"an error with the settings": func(n int, _ string) error {
			if n == 2 {
				return errors.New("no such processor")
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, before, after := proving(t, demand, measure)
			must.Be(t, r.code == exitError && strings.Contains(r.stderr, "no such processor"), r.text())
			must.Be(t, maps.Equal(before, after), "the machine was not restored")
		})
	}
	r, before, after := proving(t, "turbo = \"require\"\nswap = \"require\"\n", func(n int, _ string) error {
		must.Be(t, n != 2, "measured although a required setting is not available")
		return nil
	})
	must.Be(t, r.code == exitError && maps.Equal(before, after), r.text())
}

// noSwap is a kernel that refuses to disable its swap areas.
type noSwap struct{}

func (noSwap) Off(string) error     { return syscall.EPERM }
func (noSwap) On(string, int) error { return syscall.EPERM }

// obstinate is a kernel that refuses or forgets settings, named by the end of their paths.
type obstinate struct {
	sysroot.OS
	refuses string // a write is an error
	forgets string // a write is taken, and changes nothing
}

func (k obstinate) WriteFile(path string, data []byte) error {
	switch {
	case k.refuses != "" && strings.HasSuffix(path, k.refuses):
		return syscall.EINVAL
	case k.forgets != "" && strings.HasSuffix(path, k.forgets):
		return nil
	}
	return k.OS.WriteFile(path, data)
}

// TestProveSeveralSettings: whatever happens to one of the settings, or to the proof itself, all
// others are restored, and the journal is empty.
func TestProveSeveralSettings(t *testing.T) {
	const (
		aslr     = "aslr = { policy = \"require\", value = 1 }\n"
		interval = "stat_interval = { policy = \"%s\", seconds = 37 }\n"
		numa     = "numa_balancing = \"require\"\n"
		file     = "vm/stat_interval"
	)
	wanted := func(policy string) string { return aslr + strings.ReplaceAll(interval, "%s", policy) + numa }
	for _, tt := range []struct {
		name        string
		kernel      obstinate
		demands     string
		interrupted int // the measurement that is interrupted, from 1
		measured    []string
		says        string
	}{
		{"all are applied", obstinate{}, wanted("require"), 0, []string{"2", "1"}, "100 context switches/s"},
		{"one is refused", obstinate{refuses: file}, wanted("require"), 0, []string{"2"}, "invalid argument"},
		{"an optional one is refused", obstinate{refuses: file}, wanted("apply"), 0, []string{"2", "1"},
			"200 context switches/s"},
		{"one does not stick", obstinate{forgets: file}, wanted("require"), 0, []string{"2"}, "37"},
		{"interrupted with one that does not stick", obstinate{forgets: file}, wanted("apply"), 2,
			[]string{"2", "1"}, "interrupted"},
		{"interrupted before", obstinate{}, wanted("require"), 1, []string{"2"}, "interrupted"},
		{"interrupted with the settings", obstinate{}, wanted("require"), 2, []string{"2", "1"},
			"interrupted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var seen []string
			r, before, after := provingOn(t, tt.kernel, tt.demands, func(n int, aslr string) error {
				seen = append(seen, aslr)
				if n == tt.interrupted {
					return errCtrlC
				}
				return nil
			})
			must.Be(t, slices.Equal(seen, tt.measured) && strings.Contains(r.stdout+r.stderr, tt.says),
				"randomize_va_space while measured", seen, "want", tt.measured, "and", tt.says, "in",
				r.text())
			for path, text := range before {
				must.Equal(t, after[path], text)
			}
		})
	}
}

func TestNoiseRefuses(t *testing.T) {
	for _, c := range []struct {
		o    checkOptions
		part string // of the error
	}{{checkOptions{executions: 2}, "--executions"}, {checkOptions{executions: 12, prove: true}, "sudo"}} {
		must.Refuse(t, (&app{uid: 1000}).noise(t.Context(), c.o), c.part)
	}
}

// TestNoiseBesideAnExperiment: neither a certificate nor a proof disturbs a krund that measures.
func TestNoiseBesideAnExperiment(t *testing.T) {
	for _, flag := range []string{"--noise", "--prove"} {
		a := &app{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{},
			running: func() []int { return []int{812} }}
		c := checkCommand(a)
		c.SetArgs([]string{flag})
		c.SilenceErrors, c.SilenceUsage = true, true
		must.Refuse(t, c.Execute(), "process 812")
	}
}

func TestPrintCertificate(t *testing.T) {
	var out bytes.Buffer
	a := &app{stdout: &out}
	half := noise.Measurement{
		Census: noise.Census{Seconds: 10, ThresholdNS: 5000, CPUs: []noise.CPU{{CPU: 1, TimeNS: 10e9,
			LostNS: 16e8, LongestNS: 5e6, Gaps: 900, Preempted: 400, PeriodNS: 25e6, Sources: []noise.Source{
				{Kind: "thread", Name: "planted (812)", Count: 400, NS: 16e8},
				{Kind: "interrupt", Name: "LOC Local timer interrupts", Count: 2500}}}}},
		Floor: &noise.Floor{Benchmark: "nbody:C", Executions: 10, Iterations: 200, MeanNS: 2.5e6,
			SDLog: 0.008, Detectable: []noise.Detectable{{Executions: 5, Percent: 1.63, High: 4.2}},
			Differ: 0.0012, DifferLow: 0.0005, DifferHigh: 0.0021, Strays: []int{3}, StraysLow: 0.003,
			StraysHigh: 0.445, LevelsNS: []float64{2.5e6, 2.5e6, 2.5e6, 3e6}},
	}
	c := noise.Certificate{Date: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC), Host: "lab", Krund: "1",
		Virtual: "kvm", Plain: half}
	a.console().Certificate(c)
	half.Census.CPUs = []noise.CPU{{CPU: 1, TimeNS: 10e9, LostNS: 1e6, Gaps: 9, LongestNS: 2e5}}
	c.Virtual, c.Controlled, c.Applied, c.NotApplied = "", &half, []string{"thp"}, []string{"turbo"}
	c.Effect = &noise.Effect{Pairs: 4, Ratio: 0.99, Low: 0.98, High: 0.995}
	a.console().Certificate(c)
	golden(t, "noise", out.String())
}
