package warmup

import (
	"strings"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/steady"
	"krund/rig/must"
)

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
