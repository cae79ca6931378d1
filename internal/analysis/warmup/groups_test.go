package warmup

import (
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
