package execution

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	libkrun "krund/cgo"
	"krund/internal/execution/child"
	"krund/internal/execution/switches"
	"krund/internal/execution/verdict"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/machine/sysroot"
	"krund/internal/msr"
	"krund/runners/external"
)

// stamp converts libkrun's "not taken" (0) to nil.
func stamp(ns int64) *int64 {
	if ns == 0 {
		return nil
	}
	return &ns
}

func stateName(s libkrun.State) string {
	switch s {
	case libkrun.StateDone:
		return "done"
	case libkrun.StateReady:
		return "ready"
	}
	return "new"
}

// columns converts libkrun's columns. The deltas of a counter are counts; user columns keep their
// sign and their missing values.
func columns(from []libkrun.ColumnData) []results.Column {
	to := make([]results.Column, 0, len(from))
	for _, c := range from {
		r := results.Column{Name: c.Name, Unit: c.Unit, Empty: c.Empty}
		if c.Core != libkrun.NoCore {
			core := c.Core
			r.Core = &core
		}
		if c.Kind == libkrun.KindCounter {
			r.Kind, r.Counts = results.KindCounter, make([]uint64, len(c.Values))
			for i, v := range c.Values {
				r.Counts[i] = uint64(v) //nolint:gosec // two's complement is what the counter's register held
			}
		} else {
			r.Kind, r.Values = results.KindUser, c.Values
		}
		to = append(to, r)
	}
	return to
}

// totals converts the counters of the whole execution; nil if there are none.
func totals(from []libkrun.Total) []results.Total {
	var to []results.Total
	for _, t := range from {
		r := results.Total{Name: t.Name, Unit: t.Unit}
		if t.Core != libkrun.NoCore {
			core := t.Core
			r.Core = &core
		}
		if t.Value != libkrun.Missing {
			value := uint64(t.Value) //nolint:gosec // two's complement is what the counter's register held
			r.Value = &value
		}
		to = append(to, r)
	}
	return to
}

// events converts the events, in the order of their times; nil if there are none.
func events(from []libkrun.Event) []results.Event {
	var to []results.Event
	for _, e := range from {
		r := results.Event{Kind: e.Kind.String(), TimeNS: e.TimeNS, DurationNS: e.DurationNS, Name: e.Name}
		if e.Argument != libkrun.Missing {
			r.Argument = &e.Argument
		}
		to = append(to, r)
	}
	slices.SortStableFunc(to, func(a, b results.Event) int { return cmp.Compare(a.TimeNS, b.TimeNS) })
	return to
}

// externalColumns names the counts of an external suite as libkrun would.
func externalColumns(r external.Result) []results.Column {
	var to []results.Column
	for core := range r.Cores() {
		for _, c := range []struct {
			name   string
			counts [][]uint64
		}{{"cycles", r.CoreCycles}, {"aperf", r.APERF}, {"mperf", r.MPERF}} {
			if core < len(c.counts) {
				to = append(to, results.Column{Name: c.name, Kind: results.KindCounter, Core: &core,
					Counts: c.counts[core]})
			}
		}
	}
	return to
}

// limits converts the limits that were in effect: processes is child.Run.Processes.
func limits(l child.Limits, processes int64) results.Limits {
	positive := func(n int64) *int64 {
		if n == 0 {
			return nil
		}
		return &n
	}
	return results.Limits{
		HeapBytes: positive(l.Heap), StackBytes: positive(l.Stack),
		TimeoutNS: positive(l.Timeout.Nanoseconds()), OutputBytes: positive(l.Output),
		Processes: positive(processes),
	}
}

// ErrNoCounters is the error if no wanted counter source works and the clock alone ("none") is not
// wanted.
var ErrNoCounters = errors.New("no processor counters")

// open opens the processor's counters for one execution, and returns the source and the reason for
// its choice. The error is ErrNoCounters.
func (e Executor) open(ctx context.Context, j Job) (counterSet, string, error) {
	c, reason := msr.Open(ctx, e.Root, msr.Want{Sources: j.Counters.Sources, Scope: j.Counters.Scope,
		Cores: e.cores, Usage: slices.Contains(j.Counters.Kernel, config.KernelUsage),
		Interrupts: slices.Contains(j.Counters.Kernel, config.KernelInterrupts)})
	if c == nil {
		return nil, "", fmt.Errorf("%w: %s; fix that, or add \"none\" to counters.sources to measure with "+
			"the clock alone", ErrNoCounters, reason)
	}
	return c, reason.String(), nil
}

// counterSet is what an execution needs from open counters; *msr.Counters implements it.
type counterSet interface {
	Source() string
	Files() []*os.File
	Self() []msr.Self
	Apply(spec libkrun.Spec, first int) (libkrun.Spec, error)
	Counted() (time.Duration, bool)
	Close() error
}

// handOver adds the counters to a command, which takes over their files.
func handOver(c *child.Command, counters counterSet) {
	first := len(c.Files)
	c.Files = append(c.Files, counters.Files()...)
	for _, e := range counters.Self() {
		c.Events = append(c.Events, child.PerfEvent{File: first + e.File, Type: e.Type, Config: e.Config})
	}
}

// judgeCounters adds the counters' verdict on the frequency and on themselves.
func (m *Measured) judgeCounters(j Job) {
	before := m.Record
	before.Frequencies = j.Frequencies
	run, ok := verdict.RunOf(before)
	if !ok {
		return
	}
	m.Frequencies = run.Expect(j.Frequencies)
	limits := verdict.CounterLimits{Tolerance: j.Verdict.RatioTolerance,
		BusyThreshold: j.Verdict.BusyThreshold}
	found := verdict.JudgeCounters(run, limits)
	m.Execution.Unsound = append(m.Execution.Unsound, found.Unsound...)
	m.Execution.Disturbed = append(m.Execution.Disturbed, found.Disturbed...)
	for _, reason := range []string{verdict.JudgeSMI(run),
		verdict.JudgeCycles(run, j.Frequencies, j.Verdict.RatioTolerance)} {
		if reason != "" {
			m.Execution.Disturbed = append(m.Execution.Disturbed, reason)
		}
	}
}

// energy measures what the machine uses until the returned function is called. The result is nil if
// the machine does not report it; zones that cannot be read are omitted.
func energy(root sysroot.Root, now func() time.Time) func() []results.Energy {
	before, _ := msr.ReadEnergy(root)
	power := msr.OpenPower(root)
	begin := now()
	return func() []results.Energy {
		took := now().Sub(begin)
		after, _ := msr.ReadEnergy(root)
		return power.Complete(msr.EnergyUsed(before, after, took))
	}
}

// kindSwitch is the kind of the events of other tasks: enum krun_event_kind in krun.h.
const kindSwitch = "switch"

// mostSwitches is how many of these events a record has, mostTasks how many tasks it names.
const (
	mostSwitches = 1 << 16
	mostTasks    = 10
)

// recording is the recording of context switches of one execution; zero if it is not wanted.
type recording struct {
	watch  *switches.Watch
	reason string // why there is none, though it is wanted
}

// record begins to record who runs on the processors of the job.
func (e Executor) record(j Job) recording {
	if !slices.Contains(j.Counters.Kernel, config.KernelSwitches) {
		return recording{}
	}
	watch, err := switches.Open(e.Root, j.CPUs)
	if err != nil {
		return recording{reason: msr.Remedy(e.Root, err)}
	}
	return recording{watch: watch}
}

// wanted reports whether the record says something about it.
func (r recording) wanted() bool { return r != recording{} }

// stop ends the recording. It must be called once.
func (r recording) stop() (switches.Log, string) {
	if r.watch == nil {
		return switches.Log{}, r.reason
	}
	log, err := r.watch.Stop()
	if err != nil { // what there is, is right
		return log, "incomplete: " + err.Error()
	}
	return log, ""
}

// takeSwitches stores who took a processor from the benchmark from the exec until the runner was
// done.
func (m *Measured) takeSwitches(log switches.Log, reason string, s libkrun.Series, run child.Run) {
	s.DoneNS = cmp.Or(s.DoneNS, libkrun.Now())
	others, more := log.Others([]int{run.PID, s.Pid}, s.ExecNS, s.DoneNS, mostSwitches)
	m.Switches = &results.Switches{Reason: reason, CPUs: log.CPUs, FullNS: stamp(log.Full),
		Tasks: []results.SwitchTask{}}
	m.EventsLost += more
	for _, o := range others {
		pid := int64(o.PID)
		m.Events = append(m.Events, results.Event{Kind: kindSwitch, TimeNS: o.Start, DurationNS: o.Duration,
			Argument: &pid, Name: o.Name})
	}
	slices.SortStableFunc(m.Events, func(a, b results.Event) int { return cmp.Compare(a.TimeNS, b.TimeNS) })
	tasks := switches.Sum(others)
	for _, t := range tasks[:min(len(tasks), mostTasks)] {
		m.Switches.Tasks = append(m.Switches.Tasks, results.SwitchTask{Name: t.Name, PID: t.PID,
			Activity: results.Activity{CPUNS: t.NS, Runs: t.Runs}})
	}
}
