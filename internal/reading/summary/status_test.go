package summary_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/boot/doctor"
	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/reading/experiment"
	"krund/internal/reading/summary"
	"krund/internal/schedule"
	"krund/rig/must"
)

const text = `[experiment]
executions = 2
iterations = 1
reboot = "none"
account = "caller"
[wait]
startup = "3m"
sync = "30s"
[temperature]
base_wait = "1m"
[vms.C]
runner = "c"
variants = ["v"]
[variants.v]
entry = "bench.so"
[benchmarks]
nbody = { parameter = 10 }
`

// TestStatusAndPlan follows an experiment of two slots.
func TestStatusAndPlan(t *testing.T) {
	toml := filepath.Join(t.TempDir(), "test.toml")
	must.Do(t, os.WriteFile(toml, []byte(text), 0o644))
	cfg := must.Get(config.Parse(toml, []byte(text), "bencher7", doctor.Settings()))(t)
	plan := func() summary.Plan {
		t.Helper()
		return must.Get(summary.PlanOf(t.Context(), durable.OS(), cfg, toml))(t)
	}
	if p := plan(); p.SlotsTotal != 2 || p.Finished != 0 || len(p.Keys) != 1 || p.ETA.RemainingNS != nil ||
		!strings.HasPrefix(p.ETA.String(), "unknown") {
		t.Errorf("before: %+v, %s", p, p.ETA)
	}
	d := must.Get(directory.Create(durable.OS(), directory.For(toml)))(t)
	must.Do(t, durable.WriteFile(durable.OS(), d.ConfigCopy(), []byte(text), 0o644))
	e := cfg.Experiment
	h := schedule.Header{ConfigHash: cfg.Hash, Created: "2026-11-21T09:00:00Z", Order: e.Order, Seed: e.Seed}
	slots := schedule.Plan(cfg.Keys(), cfg.Executions, e.Order, e.Seed)
	must.Do(t, schedule.Create(durable.OS(), d.Schedule(), h, cfg.Slots(), slots))
	s := must.Get(schedule.Open(durable.OS(), d.Schedule(), true))(t)
	defer s.Close()
	check := func(state string, finished int, eta string) {
		t.Helper()
		st := must.Get(summary.StatusOf(experiment.Experiment{Directory: d}, "bencher7"))(t)
		p := plan()
		must.Be(t, st.State == state && st.Slots.Finished == finished && p.Finished == finished &&
			len(st.Findings) == 0 && strings.HasPrefix(st.ETA.String(), eta) &&
			p.ETA.String() == st.ETA.String(), st, p)
	}
	check(summary.StateNew, 0, "unknown")
	for n, want := range []string{"4m 0s, of which 3m 30s", "nothing is left"} {
		slot := must.Get(s.Begin())(t)
		r := record(results.Completed, 0, 1, 2, 3)
		r.Key, r.Slot, r.Attempt, r.Pexec, r.Iterations = slot.Key, slot.Index, slot.Attempts, slot.Pexec, 1
		r.Experiment, r.Host, r.Reasons, r.Reboot = "test", "bencher7", []string{}, results.RebootNone
		r.StartNS = nil
		r.Process.WallNS = 30e9
		must.Do(t, results.NewAppender(durable.OS(), d.Results()).Append(r))
		must.Do(t, s.Finish(slot, schedule.Completed))
		check([]string{summary.StateUnfinished, summary.StateFinished}[n], n+1, want)
	}
	parsed := func(text string) *config.Config {
		return must.Get(config.Parse(toml, []byte(text), "bencher7", doctor.Settings()))(t)
	}
	cfg = parsed("# a comment\n" + text)
	if p := plan(); p.Finished != 2 || len(p.Notes) != 0 {
		t.Errorf("with a comment: %+v", p)
	}
	cfg = parsed(strings.Replace(text, "executions = 2", "executions = 5", 1) +
		"fasta = { parameter = 1 }\n")
	if p := plan(); p.Finished != 2 || p.SlotsTotal != 10 || len(p.Keys) != 2 || len(p.Notes) != 1 ||
		!strings.Contains(p.Notes[0], "the experiment grows by 8 slots, from 2 to 10: experiment.exec") ||
		!strings.HasPrefix(p.ETA.String(), "at least 29m 30s") {
		t.Errorf("of a larger configuration: %+v, %s", p, p.ETA)
	}
	cfg = parsed(text + "fasta = { parameter = 1 }\n")
	if p := plan(); len(p.Notes) != 2 || !strings.HasPrefix(p.Notes[1], "what is new would be measured") {
		t.Errorf("with a new key: %q", p.Notes)
	}
	cfg = parsed(strings.Replace(text, "parameter = 10", "parameter = 11", 1))
	if p := plan(); p.Finished != 0 || len(p.Notes) != 1 ||
		!strings.Contains(p.Notes[0], "benchmarks.nbody.parameter was 10 and is 11") ||
		p.Keys[0].MeanWallNS == nil ||
		*p.Keys[0].MeanWallNS != 30e9 {
		t.Errorf("of another configuration: %+v", p)
	}
}

func TestFirstProblem(t *testing.T) {
	_, err := config.Parse("x.toml", []byte("[experiment]\nfoo = 1\nbar = 2\n"), "host", doctor.Settings())
	must.Contain(t, summary.FirstProblem(err), "more mistakes")
	must.Equal(t, summary.FirstProblem(errors.New("one")), "one")
}
