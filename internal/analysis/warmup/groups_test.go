package warmup

import (
	"math"
	"strings"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/rig/must"
)

// TestGroupsAreReported: a key says that its executions fall into two groups, how far apart, and
// how many are in each; not of several machines, whose levels differ.
func TestGroupsAreReported(t *testing.T) {
	for _, c := range []struct {
		name     string
		factor   float64
		slow, of int
		machines bool
		want     bool
	}{
		{"10 % slower", 1.1, 3, 10, false, true}, {"0.5 % slower", 1.005, 3, 10, false, false},
		{"a single one", 1.1, 1, 10, false, false}, {"few", 1.1, 3, 6, false, false},
		{"several machines", 1.1, 3, 10, true, false},
	} {
		d := &dataset.Dataset{}
		for i := range c.of {
			level := 0.5 * (1 + 1e-4*float64(i*7%c.of))
			if i < c.slow {
				level *= c.factor
			}
			values := make([]float64, 100)
			for j := range values {
				values[j] = level * (1 + 1e-3*float64(j*37%100)/100)
			}
			e := completed(wall(values))
			if e.Number = i + 1; c.machines {
				e.Machine = string(rune('a' + i%2))
			}
			d.Add(key.Key{Benchmark: "b", VM: "v", Variant: "x"}, e)
		}
		text := ""
		for _, w := range mustAnalyze(t, d, quick(classify.Relative), Options{}).pair(t, "b").Warnings {
			if w.Code == WarnGroups {
				text = w.Text
			}
		}
		must.Be(t, (text != "") == c.want, c.name, text)
		must.Be(t, !c.want || strings.Contains(text, "3 of 10 take 9.99 % longer"), text)
	}
}

// TestGroupsOfFew: one of four executions that is far away is named, and a little noise is not.
func TestGroupsOfFew(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{[]float64{371, 540, 541, 539}, "3 of 4 take 45.6 % longer"},
		{[]float64{371, 372, 370.5, 373}, ""},
		{[]float64{371, 540, 541}, ""}, // too few
		{[]float64{500, 540, 541, 539}, ""},
	} {
		levels := make([]float64, len(c.values))
		for i, v := range c.values {
			levels[i] = math.Log(v)
		}
		got := GroupsText(levels, 4)
		must.Be(t, (got == "") == (c.want == "") && strings.Contains(got, c.want), c.values, got)
	}
}
