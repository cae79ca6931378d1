package main

import (
	"testing"

	"krund/internal/experiment/results"
	"krund/internal/schedule"
)

// started is an experiment whose n-th execution takes longer to start than the
// one before, and whose error has no say.
func started(t *testing.T) *builder {
	b := newExperiment(t)
	for i := range b.cfg.Slots() {
		slot, err := b.sched.Begin()
		b.must(err)
		outcome := results.Completed
		if i == 4 {
			outcome = results.Error
		}
		rec := b.record(slot, outcome)
		late := int64(i) * 100_000
		*rec.Startup.InitNS += late
		*rec.Startup.FirstNS += 2 * late
		for j := range rec.StartNS {
			rec.StartNS[j] += 2 * late
		}
		b.append(rec)
		flag := schedule.Completed
		if outcome == results.Error {
			flag = schedule.Error
		}
		b.must(b.sched.Finish(slot, flag))
	}
	return b
}
