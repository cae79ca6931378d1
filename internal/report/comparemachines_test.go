package report

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/warmup"
)

// TestMachinesText: the page of a comparison says how much the machines differ, also if they do not
// differ significantly.
func TestMachinesText(t *testing.T) {
	of := func(spread, share float64) *compare.MachineEffect {
		return &compare.MachineEffect{Machines: 3, Spread: warmup.Real(spread), Share: warmup.Real(share),
			Corrected: 0.25}
	}
	const one = "2% in a:C:v, 30% of the variance between executions, p 0.25"
	for _, c := range []struct {
		name    string
		effects []*compare.MachineEffect
		want    string
	}{
		{"one machine", []*compare.MachineEffect{nil}, ""},
		{"one key", []*compare.MachineEffect{of(0.02, 0.3), nil}, "3 machines, which cancels, because " +
			"the comparison is within machines: " + one},
		{"two keys", []*compare.MachineEffect{of(0.02, 0.3), of(0.01, 0)},
			"within machines: 1.5% in the median of 2 keys, at most " + one},
		{"one that is not known", []*compare.MachineEffect{of(0.02, 0.3), of(math.NaN(), math.NaN())},
			"within machines: " + one},
	} {
		r := &compare.Result{}
		for i, effect := range c.effects {
			r.Changes = append(r.Changes, compare.Change{Key: "ab"[i:i+1] + ":C:v", Machines: effect})
		}
		var page bytes.Buffer
		if err := ComparePage(&page, r, "test"); err != nil {
			t.Fatal(err)
		}
		got := strings.ReplaceAll(machinesText(r), "\u202f", "")
		got = strings.ReplaceAll(got, " %", "%")
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") ||
			!strings.Contains(page.String(), machinesText(r)) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
