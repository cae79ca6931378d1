package pexec

import (
	"context"
	"os"

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
	run, ok := verdict.RunOf(results.Record{StartNS: m.StartNS, WallNS: m.WallNS, Columns: m.Columns, Totals: m.Totals, Startup: m.Startup})
	if !ok {
		return
	}
	limits := verdict.CounterLimits{Tolerance: j.Verdict.RatioTolerance, BusyThreshold: j.Verdict.BusyThreshold}
	m.Execution.Disturbed = append(m.Execution.Disturbed, verdict.JudgeCounters(run, limits).Reasons...)
}
