package faults

import (
	"testing"

	"krund/internal/schedule"
	"krund/rig"
	"krund/rig/must"
)

// TestBenchmarkThatAlwaysCrashesTheMachineDoesNotKeepItRebooting: after the allowed attempts the
// experiment ends, the errors are recorded, and the machine boots as if krund were not installed.
func TestBenchmarkThatAlwaysCrashesTheMachineDoesNotKeepItRebooting(t *testing.T) {
	rig.Long(t, "six boots")
	const name = "loop"
	m := machine(t, name, "executions = 2\nattempts = 2", "panics")
	ended := m.RunToEnd(rig.UnitOf(name), 6)
	must.Need(t, ended.Result == "success", "krund ended with", ended)
	m.WaitUp()
	ordinary(t, m, name)
	e := m.Experiment(directoryOf(name))
	e.Check(t)
	must.Be(t, e.Count(schedule.Error) == 2 && len(e.Records) == 4, e.Count(schedule.Error),
		"slots with errors", len(e.Records), "records; want 2 and 4")
	for slot := range 2 {
		lostTwice(t, e.Records[2*slot:2*slot+2])
	}
	must.Equal(t, m.Starts(), 7, "starts: one for the schedule, two attempts of two executions, one to find "+
		"out, and the ordinary one")
}

// TestRebootsAreBounded: an experiment that has used all its reboots stops, even if nothing else is
// wrong.
func TestRebootsAreBounded(t *testing.T) {
	rig.Long(t, "four boots")
	const name = "bounded"
	m := machine(t, name, "executions = 5\nmax_reboots = 2", "good")
	if ended := m.RunToEnd(rig.UnitOf(name), 2); ended.Result != "exit-code" || ended.Status != 1 {
		t.Fatalf("krund ended with %+v, want exit status 1", ended)
	}
	m.WaitUp()
	must.Contain(t, m.Log(name), "the limit of reboots is reached: 2 of 2 (experiment.max_reboots)",
		"the journal does not say why")
	ordinary(t, m, name)
	e := m.Experiment(directoryOf(name))
	e.Check(t)
	must.Be(t, e.Count(schedule.Completed) == 2 && len(e.Records) == 2 &&
		e.Count(schedule.Outstanding) == 3 && e.Header.Reboots == 2, e.Header.Reboots, "reboots, slots",
		e.Slots, "want two of each, and three slots outstanding")
	must.Equal(t, m.Starts(), 4, "starts, want 4: one for the schedule, two executions, and the ordinary one")
}
