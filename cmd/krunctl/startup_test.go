package main

import (
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig/must"
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

func TestStartup(t *testing.T) {
	b := started(t)
	golden(t, "startup", krunctl(t, "show", "--startup", b.dir()).in(b).text())
	golden(t, "startup-json", krunctl(t, "show", "--startup", "--format", "json", "--by", "key",
		b.toml).in(b).text())
}

func TestStartupRefuses(t *testing.T) {
	b := newExperiment(t)
	r := krunctl(t, "show", "--startup", b.dir())
	must.Be(t, r.code == exitError && strings.Contains(r.stderr, "no record counts") && r.stdout == "",
		r.text())
	for _, args := range [][]string{{"--by", "x"}, {"--key", "x"}} {
		r := krunctl(t, append([]string{"show", "--startup", b.dir()}, args...)...)
		must.Be(t, r.code == exitUsage && r.stdout == "", args, r.text())
	}
}
