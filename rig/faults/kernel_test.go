package faults

import (
	"slices"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig"
	"krund/rig/must"
)

// TestExperimentGoesOnAfterPanicsHangsAndWantOfMemory: each benchmark that crashes the machine is
// retried as often as the configuration allows, and recorded; the others are measured.
func TestExperimentGoesOnAfterPanicsHangsAndWantOfMemory(t *testing.T) {
	rig.Long(t, "nine boots, and waits for a watchdog")
	const name = "harm"
	m := machine(t, name, "executions = 1\nattempts = 2\norder = \"round-robin\"", "eats", "good", "hangs",
		"panics")
	ended := m.RunToEnd(rig.UnitOf(name), 12)
	must.Need(t, ended.Result == "success", "krund ended with", ended)
	m.WaitUp()
	m.Sh("krund run --reboot none " + rig.ExperimentHome + "/limited.toml; test $? = 4 && sync")
	ordinary(t, m, name)
	t.Run("eats, with a limit for its heap", func(t *testing.T) {
		r := m.For(t).Experiment(directoryOf("limited")).Records
		must.Be(t, len(r) == 1 && r[0].Outcome == results.Error && r[0].Process.OOMKills == 0 &&
			r[0].Process.Signal == "" && strings.Contains(r[0].Process.Stderr.Text, "MemoryError"), "records",
			r, "want one of a Python that was refused memory")
	})
	e := m.Experiment(directoryOf(name))
	e.Check(t)
	must.Be(t, e.Finished() && e.Count(schedule.Completed) == 1 && e.Count(schedule.Error) == 3, "slots",
		e.Slots, "want one completed, three with errors")
	for _, benchmark := range []string{"panics", "hangs"} {
		t.Run(benchmark, func(t *testing.T) { lostTwice(t, of(e, benchmark)) })
	}
	t.Run("eats", func(t *testing.T) {
		records := of(e, "eats")
		n := len(records)
		must.Need(t, n >= 1 && n <= 2, n, "records, want 1 or 2: as many as attempts are allowed at most")
		last := records[len(records)-1]
		must.Equal(t, last.Attempt, len(records), "the last record is of attempt")
		must.Be(t, last.Outcome == results.Error && last.Process.OOMKills != 0 &&
			last.Process.Signal == "SIGKILL" && last.BootID != "", last.Outcome, last.Process.OOMKills,
			"OOM kills, signal", last.Process.Signal, "reasons", last.Reasons,
			"want an error and an OOM kill")
		if !slices.ContainsFunc(last.Machine.KernelLog.Lines,
			func(line string) bool { return strings.Contains(line, "Out of memory") }) {
			t.Errorf("the kernel log of the record does not contain it: %d lines",
				len(last.Machine.KernelLog.Lines))
		}
	})
	t.Run("good", func(t *testing.T) {
		r := of(e, "good")
		must.Be(t, len(r) == 1 && r[0].Outcome == results.Completed && len(r[0].WallNS) == 2, r)
	})
	faults := map[string]int{}
	for _, line := range m.Console() {
		if what, ok := strings.CutPrefix(line.Text, "RIG-FAULT "); ok {
			faults[what]++
		}
	}
	if reason, ok := rig.Panic(m.Console()); !ok || faults["panic"] != 2 || faults["hang"] != 2 {
		t.Errorf("faults %v, panic %q; want two of each", faults, reason)
	}
}

// lostTwice requires two attempts that the machine did not survive, the second one being the last.
func lostTwice(t *testing.T, records []results.Record) {
	t.Helper()
	must.Need(t, len(records) == 2, len(records), "records, want 2")
	for i, want := range []struct {
		outcome results.Outcome
		reason  string
	}{{results.Rerun, "stopped in the middle of attempt 1"}, {results.Error, "all 2 attempts are used up"}} {
		r := records[i]
		must.Be(t, r.Outcome == want.outcome &&
			strings.Contains(strings.Join(r.Reasons, "; "), want.reason) && r.Attempt == i+1 &&
			r.BootID != "", "attempt", r.Attempt, "in boot", r.BootID, r.Outcome, r.Reasons, want.outcome,
			"with", want.reason)
	}
	must.Be(t, records[0].BootID != records[1].BootID, "both attempts have the same boot id")
}

// ordinary requires an experiment that no longer runs: the unit is disabled, and another boot is an
// ordinary one that stays up. The machine is off afterwards.
func ordinary(t *testing.T, m *rig.Machine, name string) {
	t.Helper()
	state, _ := m.Try("systemctl is-enabled " + rig.UnitOf(name))
	must.Equal(t, state, "disabled", "the unit is", "want disabled")
	m.Reboot()
	m.WaitRunning()
	out := m.Sh("journalctl -b -o cat -u " + rig.UnitOf(name))
	must.Be(t, !strings.Contains(out, "krund"), "krund ran in an ordinary boot", out)
	m.Shutdown()
}
