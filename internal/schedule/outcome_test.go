package schedule_test

import (
	"testing"

	"krund/internal/experiment/results"
	"krund/internal/schedule"
)

func TestFlagOf(t *testing.T) {
	for outcome, want := range map[results.Outcome]schedule.Flag{
		results.Completed: schedule.Completed, results.Error: schedule.Error,
		results.Timeout: schedule.Timeout,
		results.Rerun:   schedule.Outstanding, "of a later version": schedule.Outstanding,
	} {
		if got := schedule.FlagOf(outcome); got != want {
			t.Errorf("%s: %s, want %s", outcome, got, want)
		}
	}
}
