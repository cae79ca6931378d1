package report

import (
	"bytes"
	"strings"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/warmup"
)

// comparison is one of every verdict, with a hostile name.
func comparison() *compare.Result {
	effect := func(ratio, width, p float64) *compare.Effect {
		return &compare.Effect{
			BeforeExecutions: 10, AfterExecutions: 10, Before: 1, After: warmup.Real(ratio),
			Ratio: &compare.Interval{
				Estimate: warmup.Real(ratio), Low: warmup.Real(ratio - 2*width),
				High: warmup.Real(ratio + 2*width), AloneLow: warmup.Real(ratio - width),
				AloneHigh: warmup.Real(ratio + width),
			},
			P: p / 4, Corrected: p, SameP: 0.5, SameCorrected: 1, Test: compare.ModeratedT, Freedom: 20.5,
			SD: 0.016, Detectable: 0.031,
		}
	}
	executions := []compare.Execution{{Number: 1, Value: 1, Rule: compare.OfSteady, Class: "warmup"},
		{Number: 2, Value: 1.01, Rule: compare.OfSecondHalf, Class: "no steady state"}}
	return &compare.Result{
		Before: compare.Party{Source: warmup.Source{Name: "old.krun"}},
		After:  compare.Party{Source: warmup.Source{Name: "new_1.krun"}}, Unit: "s",
		Rules:      warmup.Default(classify.Relative),
		Confidence: 0.95, Margin: 0.01, Power: 0.8, Correction: compare.Holm,
		Tests: 8, TestsSteady: 4, TestsClass: 4, SteadyShare: 0.75, Level: 0.990625, Paired: true,
		Prior: compare.Prior{Freedom: 2.5, Variance: 0.0003, Keys: 12}, FirstIterations: 100,
		Counts: map[compare.Verdict]int{compare.Better: 1, compare.Worse: 1, compare.CannotTell: 2,
			compare.Changed: 1},
		NullArm: &compare.NullArm{Party: compare.Party{Source: warmup.Source{Name: "old.krun"}, Arm: "base2"},
			Differs: []string{"nbody:PyPy:x"}},
		Calibration: &compare.Calibration{Splits: 1000, False: 31, Rate: 0.031, Low: 0.0212, High: 0.0438,
			Keys: 4, Histogram: []int{205, 195, 200, 200}},
		Changes: []compare.Change{
			{Key: "fasta:PyPy:x", Before: "warmup", After: "flat", ExecutionsBefore: executions,
				ExecutionsAfter: executions, Steady: effect(0.9, 0.01, 0.00001),
				Class:      &compare.Class{P: 0.2, Corrected: 1, Verdict: compare.CannotTell},
				SteadyMean: effect(0.91, 0.02, 0.01), First: effect(1, 0.1, 1), FirstTotal: effect(0.95,
					0.1, 0.5),
				Null: effect(1.001, 0.01, 0.9), Verdict: compare.Better},
			{Key: "nbody:PyPy:x", Before: "flat", After: "no steady state", Steady: effect(1.2, 0.01, 0.0001),
				Class: &compare.Class{P: 0.00001, Corrected: 0.0001, Verdict: compare.Worse},
				Null:  effect(1.02, 0.01, 0.1), Verdict: compare.Worse,
				Warnings: []warmup.Warning{{Code: "few_executions", Text: "before: few executions"}}},
			{Key: "spectral:PyPy:x", Before: "flat", After: "warmup", Steady: effect(1, 0.01, 1),
				Class: &compare.Class{P: 0.00001, Corrected: 0.0001, Verdict: compare.Changed},
				Null:  effect(1.001, 0.01, 0.9), Verdict: compare.Changed,
				Reason: "other classes than before, neither better nor worse"},
			{Key: "richards:PyPy:x", Before: "flat", After: "flat", Steady: effect(1.02, 0.02, 0.3),
				Null: effect(1.001, 0.01, 0.9), Verdict: compare.CannotTell,
				Reason: "10 executions would have shown a change of 3.1 %; 6 more blocks would show 2 %",
				Help:   &compare.Help{Executions: 6, Shows: 0.02}},
			{Key: hostile + ":PyPy:x", After: "flat", OnlyIn: "after", Verdict: compare.CannotTell,
				Reason: "only after has this key"},
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
