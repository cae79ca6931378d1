package schedule_test

import (
	"fmt"
	"testing"
	"time"

	"krund/internal/durable/crashfs"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig/must"
)

var planned = schedule.Slot{Index: 3, Flag: schedule.Outstanding, Pexec: 2, Key: key.Key{Benchmark: "nbody",
	VM: "C", Variant: "v"}}

func TestState(t *testing.T) {
	brief := func(attempt int, o results.Outcome) schedule.Brief {
		return schedule.Brief{Name: results.Name{Slot: 3, Attempt: attempt}, Key: planned.Key.String(),
			Pexec: 2, Outcome: o}
	}
	other := brief(1, results.Completed)
	other.Pexec = 1
	for _, test := range []struct {
		name    string
		history schedule.History
		want    schedule.Flag
	}{
		{"no record", schedule.History{}, schedule.Outstanding},
		{"a rerun", schedule.History{Records: []schedule.Brief{brief(1, results.Rerun)}, Highest: 1},
			schedule.Outstanding},
		{"a rerun, then completed", schedule.History{Records: []schedule.Brief{brief(1, results.Rerun),
			brief(2, results.Completed)}, Highest: 2}, schedule.Completed},
		{"the completed one counts", schedule.History{Records: []schedule.Brief{brief(1, results.Completed),
			brief(2, results.Error)}, Highest: 2}, schedule.Completed},
		{"the last one else", schedule.History{Records: []schedule.Brief{brief(1, results.Error),
			brief(2, results.Timeout), brief(3, results.Rerun)}, Highest: 3}, schedule.Timeout},
		{"a damaged record", schedule.History{Highest: 1}, schedule.Outstanding},
		{"a record of something else", schedule.History{Records: []schedule.Brief{other}, Highest: 1},
			schedule.Outstanding},
	} {
		got := test.history.State(planned)
		want := planned
		want.Flag, want.Attempts = test.want, test.history.Highest
		must.Equal(t, got, want, test.name)
	}
}

func TestReadOneSlot(t *testing.T) {
	fsys := crashfs.New("/x")
	add := results.NewAppender(fsys, "/x")
	for _, attempt := range []int{1, 3} {
		must.Do(t, add.Append(results.Record{Key: planned.Key, Slot: 3, Attempt: attempt, Pexec: 2,
			Outcome: results.Rerun, Reasons: []string{}}))
	}
	h, err := schedule.ReadHistory(results.NewReader(fsys, "/x"), 3, config.MaxAttempts)
	must.Be(t, err == nil && h.Highest == 3 && len(h.Records) == 2 && h.Records[1].Name.Attempt == 3, h,
		"error", err)
	h, err = schedule.ReadHistory(results.NewReader(fsys, "/x"), 4, config.MaxAttempts)
	must.Be(t, err == nil && h.Highest == 0 && h.Records == nil, "of a slot without records", h, "error", err)
}

func TestHeader(t *testing.T) {
	const text = `[experiment]
reboot = %q
[notify]
max_mails = 7
[vms.C]
runner = "c"
variants = ["v"]
[variants.v]
entry = "bench.so"
[benchmarks]
nbody = { parameter = 1 }
`
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	facts := schedule.Facts{First: now.Add(-time.Hour), Attempts: 12,
		Base: []results.Temperature{{Sensor: "s", MilliC: 40000}}}
	for _, test := range []struct {
		reboot  string
		facts   schedule.Facts
		created string
		reboots int
		base    string
	}{
		{config.RebootHardware, facts, "2026-11-21T08:00:00Z", 12, "[{s 40000}]"},
		{config.RebootNone, facts, "2026-11-21T08:00:00Z", 0, "[{s 40000}]"},
		{config.RebootHardware, schedule.Facts{}, "2026-11-21T09:00:00Z", 0, "[]"},
	} {
		cfg := must.Get(config.Parse("/x/test.toml", fmt.Appendf(nil, text, test.reboot), "lab1", nil))(t)
		h := schedule.NewHeader(cfg, test.facts, now)
		must.Be(t, h.Created == test.created && h.Reboots == test.reboots && h.Mails == 7 &&
			h.ConfigHash == cfg.Hash && fmt.Sprint(h.BaseTemperatures) == test.base, test.reboot, h)
	}
}
