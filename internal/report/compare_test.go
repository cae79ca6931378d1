package report

import (
	"bytes"
	"strings"
	"testing"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/quantile"
	"krund/internal/analysis/warmup"
)

// comparison is one of every verdict, with a hostile name.
func comparison() *compare.Result {
	spread := func(m float64) *quantile.Spread {
		return &quantile.Spread{Median: m, P5: m * 0.9,
			P95: m * 1.1}
	}
	none := compare.Interval{Verdict: compare.CannotTell}
	flat := compare.Interval{Before: spread(1), After: spread(1), Verdict: compare.Same}
	return &compare.Result{
		Before: warmup.Source{Name: "old.krun"}, After: warmup.Source{Name: "new_1.krun"}, Unit: "s",
		Confidence: 0.99, Tests: 2, Level: 0.995, Margin: 0.01,
		Counts: map[compare.Verdict]int{compare.Better: 1, compare.Worse: 1, compare.CannotTell: 1},
		Changes: []compare.Change{
			{Key: "fasta:PyPy:x", Before: "warmup", After: "flat", Classification: compare.CannotTell,
				SteadyIteration: compare.Interval{Before: spread(40), After: spread(1),
					Verdict: compare.Better},
				SteadySeconds: flat, Performance: flat, Ratio: compare.Ratio{Ratio: 0.9, Low: 0.88,
					High: 0.92, Effect: -1, Resamples: 10000, Verdict: compare.Better},
				Verdict: compare.Better},
			{Key: "nbody:PyPy:x", Before: "flat", After: "no steady state", Classification: compare.Worse,
				SteadyIteration: compare.Interval{Before: spread(1), Verdict: compare.CannotTell},
				SteadySeconds:   none, Performance: none, Ratio: compare.Ratio{Verdict: compare.CannotTell,
					Reason: "no steady state"}, Verdict: compare.Worse,
				Warnings: []warmup.Warning{{Code: "ratio", Text: "no steady state"}}},
			{Key: hostile + ":PyPy:x", After: "flat", OnlyIn: "after", Classification: compare.CannotTell,
				SteadyIteration: none, SteadySeconds: none, Performance: none,
				Ratio: compare.Ratio{Verdict: compare.CannotTell}, Verdict: compare.CannotTell,
				Warnings: []warmup.Warning{{Code: "only_one", Text: "only after has this key"}}},
		},
		Warnings: []warmup.Warning{{Code: "machines",
			Text: "before was measured on \"a\" and after on \"b\""}},
	}
}

func TestCompareGoldens(t *testing.T) {
	r := comparison()
	for _, f := range Formats {
		t.Run(string(f), func(t *testing.T) {
			var b bytes.Buffer
			var err error
			table := CompareTable(r)
			switch f {
			case CSV:
				err = CompareCSV(&b, r)
			case JSON:
				err = CompareJSON(&b, r)
			default:
				err = table.Write(&b, f)
			}
			if err != nil {
				t.Fatal(err)
			}
			if f == HTML && strings.Contains(b.String(), "<script") {
				t.Error("a name became code")
			}
			golden(t, "compare."+string(f), b.String())
		})
	}
}
