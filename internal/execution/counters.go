package execution

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	libkrun "krund/cgo"
	"krund/internal/execution/child"
	"krund/internal/execution/verdict"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/machine/sysroot"
	"krund/internal/msr"
)

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
	run, ok := verdict.RunOf(results.Record{StartNS: m.StartNS, WallNS: m.WallNS, Columns: m.Columns,
		Totals: m.Totals, Startup: m.Startup, Frequencies: j.Frequencies})
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
