package report

import (
	"strings"
	"testing"

	"krund/internal/analysis/enough"
	"krund/internal/analysis/warmup"
	"krund/rig/must"
)

// TestMeasuredIsEnough: the answer says so if no key needs more executions than it has.
func TestMeasuredIsEnough(t *testing.T) {
	d := enough.Document{Level: 0.01, Assurance: 0.9, Keys: []enough.Key{
		{Executions: 5, ForLevel: enough.Needed{About: 3, TwoStages: 5, Sure: 6}}}}
	must.Contain(t, enoughAnswer(&d), "In two stages 5 are enough, those that were measured; 0 s in all.")
	d.Keys[0].ForLevel.TwoStages = 8
	must.Contain(t, enoughAnswer(&d), "In two stages 8 are enough; ")
}

// TestHowLongNothing: without classes there is no table of dashes.
func TestHowLongNothing(t *testing.T) {
	var b strings.Builder
	HowLongText(&b, &warmup.Study{Iterations: make([]warmup.Point, 10)})
	must.Equal(t, b.String(), "Would a shorter experiment have led to the same classification?\n"+
		"Nothing could be judged: no execution has a class.\n", "text")
}
