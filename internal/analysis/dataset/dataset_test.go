package dataset

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

func TestFloats(t *testing.T) {
	for _, c := range []struct {
		name   string
		column Column
		want   []float64
		unit   string
	}{
		{"seconds", Column{Unit: Seconds, Reals: []float64{0.5, 2}}, []float64{0.5, 2}, "s"},
		{"nanoseconds", Column{Unit: Nanoseconds, Ints: []int64{1, 1500000000}}, []float64{1e-9, 1.5}, "s"},
		{"nanoseconds as reals", Column{Unit: Nanoseconds, Reals: []float64{250}}, []float64{2.5e-7}, "s"},
		{"counts", Column{Unit: "cycles", Counts: []uint64{1 << 60}}, []float64{1 << 60}, "cycles"},
		{"a value that is missing", Column{Ints: []int64{3, MissingInt}}, []float64{3, math.NaN()}, ""},
		{"nothing", Column{Unit: Nanoseconds}, []float64{}, "s"},
	} {
		got, unit := c.column.Floats()
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		must.Be(t, slices.EqualFunc(got, c.want, same) && unit == c.unit && c.column.Len() == len(c.want),
			c.name, got, unit, c.want, c.unit)
	}
}

func TestExecution(t *testing.T) {
	e := Execution{Number: 3, Columns: []Column{
		{Name: Wall, Unit: Seconds, Core: NoCore, Reals: []float64{1, 2}},
		{Name: CoreCycles, Core: 2, Counts: []uint64{5, 6}},
		{Name: CoreCycles, Core: 0, Counts: []uint64{7, 8}},
	}}
	must.Do(t, e.Check())
	c, ok := e.Column(CoreCycles, 2)
	must.Be(t, ok && c.Counts[0] == 5, "column of core 2", c, ok)
	_, ok = e.Column(CoreCycles, 1)
	must.Be(t, !ok, "core 1 has no column")
	cores := e.Cores(CoreCycles)
	must.Be(t, len(cores) == 2 && cores[0].Core == 0 && cores[1].Core == 2, "cores", cores)
	short := e
	short.Columns = append(slices.Clone(e.Columns), Column{Name: "gc", Core: NoCore, Ints: []int64{1}})
	must.Refuse(t, short.Check(), "gc has 1", "unequal lengths")
	twice := e
	twice.Columns = append(slices.Clone(e.Columns), e.Columns[1])
	must.Refuse(t, twice.Check(), "cycles of core 2 occurs twice", "a column twice")
}

func TestAdd(t *testing.T) {
	var d Dataset
	a, b := key.Key{Benchmark: "a"}, key.Key{Benchmark: "b"}
	d.Add(a, Execution{Columns: []Column{{Name: Wall}, {Name: "gc"}}})
	d.Add(b, Execution{})
	d.Add(a, Execution{})
	d.Add(a, Execution{Number: 9})
	got := d.Find(a).Executions
	must.Be(t, len(got) == 3 && got[0].Number == 1 && got[1].Number == 2 && got[2].Number == 9,
		"executions of a", got)
	must.Be(t, d.Find(key.Key{Benchmark: "c"}) == nil, "found a key that was never added")
}

func TestValues(t *testing.T) {
	e := &Execution{Columns: []Column{
		{Name: Wall, Unit: Nanoseconds, Core: NoCore, Ints: []int64{2e9, 3e9}},
		{Name: "empty", Unit: Seconds, Core: NoCore},
		{Name: APERF, Unit: "cycles", Core: 1, Counts: []uint64{10, 20, 30}},
		{Name: APERF, Unit: "cycles", Core: 0, Counts: []uint64{1, 2}},
	}}
	for name, want := range map[string]string{Wall: "[2 3] s", "empty": "[] s", APERF: "[11 22 NaN] cycles",
		"other": "[] "} {
		values, unit := e.Values(name)
		if got := fmt.Sprintf("%v %s", values, unit); got != want || (values == nil) != (name == "other") {
			t.Errorf("%s: %s, want %s; nil %t", name, got, want, values == nil)
		}
	}
}

// TestMissing: a value that is missing is NaN, whatever the column holds.
func TestMissing(t *testing.T) {
	for _, c := range []Column{{Counts: []uint64{3, results.MissingCount}}, {Ints: []int64{3, MissingInt}},
		{Reals: []float64{3, math.NaN()}}} {
		values, _ := c.Floats()
		must.Be(t, len(values) == 2 && values[0] == 3 && math.IsNaN(values[1]), c, values)
	}
}
