package warmup

import (
	"math"
	"strings"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/steady"
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

// rounds is a document of one key with a level per round; those marked are not flat.
func rounds(levels []float64, unsteady ...int) *Document {
	p := Pair{Key: "nbody:C:default-c"}
	for i, level := range levels {
		e := Execution{Number: i + 1, Status: Analysed, Classification: classify.Flat,
			Level: &steady.Level{Value: level}}
		for _, n := range unsteady {
			if n == i+1 {
				e.Classification = classify.Slowdown
			}
		}
		p.Executions = append(p.Executions, e)
	}
	return &Document{Pairs: []Pair{p, {Key: "fasta:CPython:default-python", Executions: []Execution{
		{Number: 1, Status: Analysed, Classification: classify.Warmup}}}}}
}

// TestControlWarnings: the logarithms of 1.00, 1.01, 0.99, 1.02, 0.98 have a MAD of about 0.01, so
// a round is named from about 5 % (3.5 / 0.6745 * 0.01) on. The median of eight rounds is 1.005.
func TestControlWarnings(t *testing.T) {
	usual := []float64{1, 1.01, 0.99, 1.02, 0.98, 1, 1.01}
	for name, test := range map[string]struct {
		doc  *Document
		want []string // part of each warning
	}{
		"nothing":      {rounds(usual), nil},
		"4 % is usual": {rounds(append([]float64{1.04}, usual...)), nil},
		"10 % in one": {rounds(append([]float64{1.1}, usual...)),
			[]string{"round 1 (+9.5 %); the machine"}},
		"a slowdown":     {rounds(usual, 3), []string{"was not flat: round 3 (slowdown)"}},
		"too few rounds": {rounds([]float64{1, 1, 2, 1}), nil},
		"no deviation":   {rounds([]float64{1, 1, 1, 1, 1, 1}), nil},
		"both": {rounds(append([]float64{0.8}, usual...), 1, 2), []string{"round 1 (slowdown), 2 (slowdown)",
			"round 1 (-20 %)"}},
	} {
		list := controlWarnings(test.doc, []string{"nbody:C:default-c"})
		if len(list) != len(test.want) {
			t.Errorf("%s: %+v, want %q", name, list, test.want)
			continue
		}
		for i, w := range list {
			must.Be(t, w.Code == warnControl && strings.Contains(w.Text, test.want[i]), name, w.Text, "want",
				test.want[i])
		}
	}
	list := controlWarnings(rounds(append([]float64{1.1}, usual...), 3), nil)
	must.Equal(t, len(list), 0, "without a control", list)
}
