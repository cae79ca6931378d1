package faults

import (
	"testing"

	"krund/internal/schedule"
	"krund/rig"
)

// TestBenchmarkThatAlwaysCrashesTheMachineDoesNotKeepItRebooting: after the allowed attempts the experiment is over, with the errors recorded, and the
// machine boots as if there were no krund.
func TestBenchmarkThatAlwaysCrashesTheMachineDoesNotKeepItRebooting(t *testing.T) {
	if testing.Short() {
		t.Skip("six boots")
	}
	const name = "loop"
	m := machine(t, name, "executions = 2\nattempts = 2", "panics")
	if ended := m.RunToEnd(rig.UnitOf(name), 6); ended.Result != "success" {
		t.Fatalf("krund ended with %+v", ended)
	}
	m.WaitUp()
	ordinary(t, m, name)
	e := m.Experiment(folderOf(name))
	for _, problem := range e.Problems() {
		t.Error(problem)
	}
	if e.Count(schedule.Error) != 2 || len(e.Records) != 4 {
		t.Errorf("%d slots with errors, %d records; want 2 and 4", e.Count(schedule.Error), len(e.Records))
	}
	for slot := range 2 {
		lostTwice(t, e.Records[2*slot:2*slot+2])
	}
	if starts := m.Starts(); starts != 7 {
		t.Errorf("%d starts, want 7: one for the schedule, two attempts of two executions, one to find out, and the ordinary one", starts)
	}
}
