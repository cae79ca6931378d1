package report

import (
	"testing"

	"krund/internal/analysis/enough"
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
