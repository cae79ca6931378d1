package results_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"krund/internal/durable"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

var (
	seed   = flag.Uint64("seed", 1, "of the random tests")
	update = flag.Bool("update", false, "write the golden files of this version")
)

func ptr[T any](v T) *T { return &v }

// full is a record in which every field has a distinct value.
func full() results.Record {
	return results.Record{
		Key:   key.Key{Benchmark: "nbody", VM: "CPython", Variant: "default-python"},
		Krund: "1.0.0", Experiment: "warmup",
		ConfigHash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", Host: "bencher7",
		Slot: 17, Attempt: 2, Pexec: 3, Edition: 4, Parameter: -15, Iterations: 3,
		Instrument: "events", Watcher: watched(),
		Outcome: results.Completed, Reasons: []string{"cpu3: a core <was> slower & hotter"},
		Reboot: results.RebootHardware, BootID: "0b3f1a52-5f6e-4c3b-9f21-2d2f6f5f8a11",
		Started: time.Date(2026, 11, 21, 9, 30, 1, 123456789, time.UTC),
		Clock:   "CLOCK_MONOTONIC_RAW", CounterSource: "perf", CounterReason: "first choice",
		Startup: results.Startup{ExecNS: ptr[int64](1000), InitNS: ptr[int64](51000),
			FirstNS: ptr[int64](61000), DoneNS: ptr[int64](4061000)},
		StartNS: []int64{61000, 1061000, 2061000},
		WallNS:  []int64{999000, 998000, math.MaxInt64},
		Columns: []results.Column{
			{Name: "aperf", Unit: "cycles", Kind: results.KindCounter, Core: ptr(0),
				Counts: []uint64{0, 1<<53 + 1, math.MaxUint64}},
			{Name: "instructions", Kind: results.KindCounter, Counts: []uint64{1, 2, 3}},
			{Name: "gc_time", Unit: "ns", Kind: results.KindUser, Values: []int64{-7, results.Missing,
				math.MaxInt64}},
			{Name: "jit_time", Unit: "ns", Kind: results.KindUser, Values: []int64{0, 1, 2}},
		},
		Totals: []results.Total{
			{Name: "cycles", Unit: "cycles", Core: ptr(1), Value: ptr[uint64](1<<63 + 1)},
			{Name: "smi", Unit: "", Core: nil, Value: nil},
		},
		Events: []results.Event{
			{Kind: "gc", TimeNS: 51500, DurationNS: 700, Argument: ptr[int64](1<<53 + 1)},
			{Kind: "compile", TimeNS: 1061500, Name: `run "iter" <init>`},
		},
		EventsLost: 5,
		Switches: &results.Switches{Reason: "incomplete", CPUs: []int{2}, FullNS: ptr[int64](3061000),
			Tasks: []results.SwitchTask{{Name: "cc1", PID: 99, Activity: results.Activity{CPUNS: 4000,
				Runs: 2}}}},
		Energy: []results.Energy{
			{Zone: "intel-rapl:0", Name: "package-0", UJ: ptr[uint64](1<<53 + 1)},
			{Zone: "intel-rapl:0:0", Name: "core", Reason: "it went round"},
		},
		Frequencies: []results.Frequency{{Core: ptr(1), Expected: ptr(0.753), HeldKHz: ptr[int64](2400000),
			MPERFHz: ptr(3.187e9), Source: results.MeasuredRate, MeasuredHz: ptr(2.4e9)}, {}},
		Library: &results.Library{State: "done", Error: "KRUN_EORDER", BegunNS: ptr[int64](2061000),
			Findings: []string{"odd"}},
		Process: fullProcess(),
		Machine: fullMachine(),
		Daemon: results.Daemon{
			CPUNS: 410000, VoluntarySwitches: 4, InvoluntarySwitches: 1, WakeUps: ptr[int64](6),
			CPUs: []int{0}, RSSBeforeBytes: 9 << 20, RSSBytes: 8 << 20,
			KernelThreads: &results.KernelThreads{
				All:       results.Activity{CPUNS: 70000, Runs: 12},
				Benchmark: results.Activity{CPUNS: 40000, Runs: 7},
				Busiest: []results.KernelThread{{Name: "ksoftirqd/3", CPU: 3,
					Activity: results.Activity{CPUNS: 40000, Runs: 7}}},
			},
		},
	}
}

func fullProcess() results.Process {
	return results.Process{
		Argv: []string{"/usr/bin/python3", "runner.py", "nbody/bench.py", "3", "15"}, Dir: "/home/krun",
		Env: []string{"PATH=/usr/bin", "LC_ALL=C", "TOKEN"}, EnvInherited: "6b86b273",
		EnvBytes: 23, Account: "krun", UID: 998, GID: 997, FreshHome: true, Nice: -20, Policy: "SCHED_OTHER",
		Cgroup: "/system.slice/krund.service/bench", CgroupReason: "-", Affinity: []int{1, 2, 3},
		Limits: results.Limits{HeapBytes: ptr[int64](2 << 30), StackBytes: ptr[int64](8 << 20),
			TimeoutNS: ptr[int64](60e9), OutputBytes: ptr[int64](1 << 20), Processes: ptr[int64](4096)},
		PID: 4711, NotStarted: &results.StartFailure{Step: "exec", Errno: "ENOENT", Text: "no such file"},
		Exit: ptr(0), Signal: "SIGSEGV",
		TimedOut: true, Interrupted: true, WallNS: 5e9, UTimeNS: 4e9, STimeNS: 1e8, GroupNS: 43e8,
		MaxRSSBytes: 30 << 20, MaxRSSFloorBytes: 9 << 20,
		MinorFaults: 1234, MajorFaults: 5, VoluntarySwitches: 6, InvoluntarySwitches: 7,
		Stdout: results.Output{Text: "grüße\n\x00", Bytes: 9, Truncated: true},
		Stderr: results.Output{Text: "warning\n", Bytes: 8},
		Strays: 2, OOMKills: 1, Findings: []string{"nice -20 was refused"},
	}
}

func fullMachine() results.MachineState {
	return results.MachineState{
		Controls: []results.Control{{Name: "turbo", Policy: "require", Status: "set", Wanted: "off",
			Found: "on", Detail: "no_turbo=1", After: "off"}},
		Temperatures: results.Temperatures{
			Base:   []results.Temperature{{Sensor: "coretemp/Package id 0", MilliC: 45000}},
			Before: []results.Temperature{{Sensor: "coretemp/Package id 0", MilliC: 46000}},
			After:  []results.Temperature{{Sensor: "coretemp/Package id 0", MilliC: -1}},
		},
		Throttle: results.Throttle{
			Before: []results.Count{{Name: "cpu0/core", Count: 7}},
			After:  []results.Count{{Name: "cpu0/core", Count: math.MaxUint64}},
		},
		PowerLimits: []results.PowerLimit{{Zone: "intel-rapl:0", Name: "package-0", Limit: "long_term",
			UW: 65_000_000, WindowUS: 27_983_872, Enabled: true}},
		KernelLog:   results.KernelLog{Lines: []string{"mce: [Hardware Error]"}, Lost: 3},
		Fingerprint: map[string]string{"kernel": "6.1.0-42-amd64", "cpu": "AMD EPYC"},
		TSCKHz:      2_595_124,
		SuspendedNS: new(int64(20_000_000_000)),
		Settle: &results.Settle{WaitedNS: 20_000_000_000, Quiet: true,
			Busy: []string{"systemd is at work on apt-daily.service"}},
		Load: &results.Load{WindowNS: 5_100_000_000, LoadMilli: new(int64(1760)),
			BusyNS: new(int64(9_000_000_000)), OthersNS: new(int64(4_850_000_000)),
			StealNS:  new(int64(10_000_000)),
			Pressure: []results.Pressure{{Resource: "cpu", SomeNS: 4_000_000_000}},
			Programs: []results.Program{{Name: "cc1", PID: 99, CPUNS: 4_800_000_000}}, Krunds: []int{77},
			Counts: []results.Count{{Name: "idle.C6", Count: 12}},
			Interrupts: []results.Interrupt{{Kind: "interrupt", Name: "LOC Local timer interrupts",
				Count: 1300}}},
		Waits: &results.Waits{StartupNS: 180_000_000_000, SyncNS: 30_000_000_000},
	}
}

// watched is what a watcher found in the execution of full.
func watched() *results.Watcher {
	return &results.Watcher{CPU: 7, UID: 65534, Shows: true, Problem: "it ended: signal: killed",
		Stop: &results.WatcherStop{Criterion: "cv", Profile: "recommended", Threshold: 0.01, Step: "1s",
			WarmupMin: 5, WarmupMax: 50, Measure: 10, Seed: 42, DryRun: true, Warmup: ptr(1), Stable: true,
			Value: ptr(0.07569994007128844), StopAt: ptr(2), AskedAt: ptr(3), Measured: 2}}
}

// crashed is the record of a process that died early: many fields are missing.
func crashed() results.Record {
	return results.Record{
		Key:  key.Key{Benchmark: "fannkuch_redux", VM: "C", Variant: "default-c"},
		Slot: 0, Attempt: 1, Pexec: 1, Iterations: 2000, Outcome: results.Error,
		Reasons: []string{"ended by SIGSEGV"},
		Reboot:  results.RebootNone, Started: time.Date(2026, 11, 21, 9, 30, 1, 0, time.UTC),
		Clock: "CLOCK_MONOTONIC_RAW", CounterSource: "none",
		Startup: results.Startup{ExecNS: ptr[int64](0)},
		WallNS:  []int64{}, StartNS: []int64{}, Columns: []results.Column{},
		Process: results.Process{Signal: "SIGSEGV", Findings: []string{}},
		Machine: results.MachineState{Throttle: results.Throttle{Before: []results.Count{}},
			Fingerprint: map[string]string{}},
	}
}

// sized is the record of an ordinary benchmark with the given dimensions.
func sized(iterations, cores int) results.Record {
	r := full()
	r.Iterations, r.StartNS, r.WallNS, r.Columns = iterations, nil, nil, nil
	at := int64(3_600_000_000_000)
	for i := range int64(iterations) {
		wall := 400_000_000 + i*7919%1_000_003
		r.StartNS = append(r.StartNS, at)
		r.WallNS = append(r.WallNS, wall)
		at += wall + 1_000_000
	}
	for core := range cores {
		for _, name := range []string{"cycles", "aperf", "mperf"} {
			counts := make([]uint64, iterations)
			for i := range counts {
				counts[i] = uint64(r.WallNS[i])*3 + uint64(i*core)
			}
			r.Columns = append(r.Columns, results.Column{Name: name, Kind: results.KindCounter, Core: &core,
				Counts: counts})
		}
	}
	return r
}

// BenchmarkAppend adds a record of 2000 iterations and 4 cores to directories that already contain
// records: the cost should not depend on their number.
func BenchmarkAppend(b *testing.B) {
	for _, existing := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("existing=%d", existing), func(b *testing.B) {
			dir := b.TempDir()
			for slot := range existing {
				name := results.Name{Slot: slot, Attempt: 1}.String()
				must.Do(b, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
			}
			a := results.NewAppender(durable.OS(), dir)
			r := sized(2000, 4)
			r.Slot = existing
			for b.Loop() {
				r.Slot++
				must.Do(b, a.Append(r))
			}
		})
	}
}

// BenchmarkCodec does not access the disk.
func BenchmarkCodec(b *testing.B) {
	for _, cores := range []int{0, 4, 64} {
		r := sized(2000, cores)
		packed := pack(b, r)
		b.Run(fmt.Sprintf("encode/cores=%d", cores), func(b *testing.B) {
			b.ReportAllocs()
			b.ReportMetric(float64(len(packed)), "file-bytes")
			for b.Loop() {
				pack(b, r)
			}
		})
		b.Run(fmt.Sprintf("decode/cores=%d", cores), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must.Get(results.Decode(packed))(b)
			}
		})
	}
}
