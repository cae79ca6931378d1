package pexec

import (
	"context"
	"os"
	"slices"
	"time"

	libkrun "krund/cgo"
	"krund/internal/msr"
	"krund/internal/results"
	"krund/internal/verdict"
)

// open opens the processor's counters for one execution, and says which source it is and why.
func (e Executor) open(ctx context.Context, j Job) (counterSet, string) {
	c, reason := msr.Open(ctx, e.Root, msr.Want{Sources: j.Counters.Sources, Scope: j.Counters.Scope})
	if c == nil {
		return clockOnly{}, reason.String()
	}
	return c, reason.String()
}

// counterSet is what an execution needs of open counters; *msr.Counters is one.
type counterSet interface {
	Source() string
	Files() []*os.File
	Apply(spec libkrun.Spec, first int) (libkrun.Spec, error)
	Close() error
}

// clockOnly stands for counters where there are none, though the configuration asks for some: the record says why.
type clockOnly struct{}

func (clockOnly) Source() string                                    { return msr.None }
func (clockOnly) Files() []*os.File                                 { return nil }
func (clockOnly) Apply(s libkrun.Spec, _ int) (libkrun.Spec, error) { return s, nil }
func (clockOnly) Close() error                                      { return nil }

// judgeCounters adds to the disturbances what the counters tell about the frequency.
func (m *Measured) judgeCounters(j Job) {
	run, ok := counterRun(m)
	if !ok {
		return
	}
	limits := verdict.CounterLimits{Tolerance: j.Verdict.RatioTolerance, BusyThreshold: j.Verdict.BusyThreshold}
	m.Execution.Disturbed = append(m.Execution.Disturbed, verdict.JudgeCounters(run, limits).Reasons...)
}

// counterRun collects the per-core counters; ok is false when there is nothing to judge.
func counterRun(m *Measured) (run verdict.CounterRun, ok bool) {
	cores := map[int]*verdict.CoreCounts{}
	var order []int
	put := func(core *int, name string, counts []uint64) {
		if core == nil || !slices.Contains([]string{"aperf", "mperf", "cycles"}, name) {
			return
		}
		c := cores[*core]
		if c == nil {
			c = &verdict.CoreCounts{Core: *core}
			cores[*core], order = c, append(order, *core)
		}
		switch name {
		case "aperf":
			c.APERF = counts
		case "mperf":
			c.MPERF = counts
		case "cycles":
			c.Cycles = counts
		}
	}
	for _, c := range m.Columns {
		if c.Kind == results.KindCounter {
			put(c.Core, c.Name, c.Counts)
		}
	}
	run = verdict.CounterRun{StartNS: m.StartNS, WallNS: m.WallNS}
	if len(order) == 0 && len(m.Totals) > 0 && m.Startup.FirstNS != nil && m.Startup.DoneNS != nil {
		for _, t := range m.Totals {
			value := results.MissingCount
			if t.Value != nil {
				value = *t.Value
			}
			put(t.Core, t.Name, []uint64{value})
		}
		whole := time.Duration(*m.Startup.DoneNS - *m.Startup.FirstNS)
		run = verdict.CounterRun{StartNS: []int64{*m.Startup.FirstNS}, WallNS: []int64{whole.Nanoseconds()}, Whole: true}
	}
	for _, core := range order {
		run.Cores = append(run.Cores, *cores[core])
	}
	return run, len(run.Cores) > 0 && len(run.WallNS) > 0
}
