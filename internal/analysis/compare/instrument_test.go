package compare

import (
	"testing"

	"krund/internal/analysis/dataset"
	"krund/rig/must"
)

// instrument marks the executions of an arm, or of all keys of the benchmark.
func instrument(d *dataset.Dataset, level string, of func(p *dataset.Pair) bool) {
	for i := range d.Pairs {
		if p := &d.Pairs[i]; of(p) {
			for k := range p.Executions {
				p.Executions[k].Instrument = level
			}
		}
	}
}

// TestInstrumentedApart: an instrumented key is not compared with a clean one, and does not change
// what is found for the others.
func TestInstrumentedApart(t *testing.T) {
	levels := map[string]float64{"a": 0.5, "b": 0.5, "c": 0.5}
	before := side(t, 1, 6, 0.001, levels)
	levels["a"], levels["b"] = 0.6, 0.6
	after := side(t, 2, 6, 0.001, levels)
	isA := func(p *dataset.Pair) bool { return p.Key.Benchmark == "a" }
	instrument(after.Data, "events", isA)
	mixed := mustCompare(t, before, analyzed(t, after.Data), Options{Splits: 20})
	a, b := mixed.Changes[0], mixed.Changes[1]
	if !a.Apart() || a.Verdict != CannotTell || a.Steady != nil || len(a.ExecutionsAfter) != 6 ||
		a.Reason != "before is not instrumented, after instrumented (events), which costs time; measure "+
			"both alike" {
		t.Errorf("%+v", a)
	}
	must.Be(t, !b.Apart() && b.Verdict == Worse && mixed.TestsSteady == 2 && mixed.Counts[CannotTell] == 1, b,
		mixed.Counts)
	instrument(before.Data, "events", isA)
	alike := mustCompare(t, analyzed(t, before.Data), analyzed(t, after.Data), Options{})
	a = alike.Changes[0]
	must.Be(t, !a.Apart() && a.Verdict == Worse && a.InstrumentBefore == "events", a)
	instrument(before.Data, "columns", isA)
	other := mustCompare(t, analyzed(t, before.Data), analyzed(t, after.Data), Options{})
	must.Be(t, other.Changes[0].Apart(), "columns with events", other.Changes[0])
}

// TestInstrumentedArms: arms that nothing else distinguishes have a verdict, the cost of
// instrumenting; other arms have none.
func TestInstrumentedArms(t *testing.T) {
	d := armsOf(t, 12, 1.03, 1)
	instrument(d, "events", func(p *dataset.Pair) bool { return p.Key.Arm == "new" })
	for _, c := range []struct {
		costOf []string
		want   Verdict
	}{{nil, CannotTell}, {[]string{"base"}, Worse}} {
		d.Arms = []dataset.Arm{{Name: "base"}, {Name: "new", CostOf: c.costOf}}
		of := analyzed(t, d)
		base, other := of, of
		base.Arm, other.Arm = "base", "new"
		r := mustCompare(t, base, other, Options{Paired: true})
		must.Equal(t, r.Counts[c.want], 3, "cost of", c.costOf, r.Counts, r.Changes[0].Reason)
		warned := len(r.Warnings) == 1 && r.Warnings[0].Code == "instrument_cost"
		must.Equal(t, warned, (c.costOf != nil), "cost of", c.costOf, r.Warnings)
		r = mustCompare(t, other, base, Options{Paired: true})
		must.Equal(t, r.Counts[mirror(c.want)], 3, "cost of", c.costOf, "exchanged", r.Counts)
	}
}
