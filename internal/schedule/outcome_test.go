package schedule_test

import (
	"testing"

	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig/must"
)

func TestFlagOf(t *testing.T) {
	for outcome, want := range map[results.Outcome]schedule.Flag{
		results.Completed: schedule.Completed, results.Error: schedule.Error,
		results.Timeout: schedule.Timeout,
		results.Rerun:   schedule.Outstanding, "of a later version": schedule.Outstanding,
	} {
		must.Equal(t, schedule.FlagOf(outcome), want)
	}
}
