package report

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
	"krund/rig/must"
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
		must.Do(t, ComparePage(&page, r, "test"))
		got := strings.ReplaceAll(machinesText(r), "\u202f", "")
		got = strings.ReplaceAll(got, " %", "%")
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") ||
			!strings.Contains(page.String(), machinesText(r)) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestMachineEffect: the front page and the text of an analysis have the machine effect, with the
// machines' names as text; with one machine they have nothing of it.
func TestMachineEffect(t *testing.T) {
	for _, machines := range []int{1, 2} {
		d := &dataset.Dataset{}
		for i := range 10 {
			e := execution(levels(uint64(i), 400, 0.2*(1+0.5*float64(i%machines)+0.01*float64(i/2))))
			e.Machine = "<lab\x1b" + string(rune('1'+i%machines))
			d.Add(key.Key{Benchmark: "b", VM: "v", Variant: "x"}, e)
		}
		doc := analysed(t, d)
		index := string(write(t, Material{Document: doc, Data: d})["index.html"].text)
		var text bytes.Buffer
		MachineText(&text, compare.LevelsOf(d, doc, MachineConfidence, MachineKeys))
		if machines == 1 {
			must.Be(t, !strings.Contains(index, "Machine effect") && text.Len() <= 0, "one machine",
				text.String())
			continue
		}
		const want = "in b:v:x; 1 of 1 key differs"
		must.Be(t, strings.Contains(text.String(), want) && strings.Contains(text.String(), "2 +2"),
			text.String())
		if !strings.Contains(index, "Machine effect: the machines differ by up to") ||
			!strings.Contains(index, want) || !strings.Contains(index, "&lt;lab") {
			t.Errorf("%s", index)
		}
		must.Be(t, !strings.Contains(index+text.String(), "\x1b"),
			"the name of a machine is not shown as text")
	}
}
