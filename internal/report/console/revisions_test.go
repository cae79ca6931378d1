package console

import (
	"math"
	"testing"

	"krund/internal/analysis/warmup"
	"krund/internal/trial"
	"krund/rig/must"
)

// TestRevisions: one sentence for each revision, with what would have been seen, and the null arm.
func TestRevisions(t *testing.T) {
	nan := warmup.Real(math.NaN())
	answer := trial.Answer{Base: "a", Null: "n", Subjects: []trial.Timing{{Name: "a", Text: "main"},
		{Name: "n", Text: "main, a second copy"}, {Name: "b", Text: "HEAD"}}}
	for _, test := range []struct {
		null, change trial.Versus
		want         []string
	}{
		{trial.Versus{Ratio: 1.001, Low: 0.99, High: 1.012}, trial.Versus{Ratio: 1.05, Low: 1.04, High: 1.06,
			Told: true}, []string{"HEAD is slower than main by 5 % ± 1 %; " +
			"a change of 1 % would have been seen",
			"null arm: main and a second copy of it differ by 0.1 % ± 1.1 %, as they may"}},
		{trial.Versus{Ratio: 1.03, Low: 1.02, High: 1.04, Told: true},
			trial.Versus{Ratio: 0.9, Low: 0.88, High: 0.92, Told: true}, []string{
				"HEAD is faster than main by 10 % ± 2 %; a change of 2 % would have been seen",
				"null arm: main and a second copy of it differ by 3 % ± 1 %, though they are the " +
					"same program: differences of that size are not due to the programs"}},
		{trial.Versus{Ratio: 1, Low: nan, High: nan}, trial.Versus{Ratio: 1, Low: nan, High: nan}, []string{
			"cannot tell HEAD from main: too few runs",
		}},
		{trial.Versus{Ratio: 1, Low: 0.98, High: 1.02}, trial.Versus{Ratio: 1.002, Low: 0.996, High: 1.008,
			Same: true, Margin: 0.01}, []string{
			"HEAD is as fast as main, within 1 %: they differ by 0.2 % ± 0.6 %; a change of " +
				"0.6 % would have been seen",
			"null arm: main and a second copy of it differ by 0 % ± 2 %, as they may"}},
		{trial.Versus{Ratio: 1, Low: 0.98, High: 1.02}, trial.Versus{Ratio: 1.02, Low: 0.98, High: 1.06},
			[]string{"cannot tell HEAD from main; a change of 4 % would have been seen",
				"null arm: main and a second copy of it differ by 0 % ± 2 %, as they may"}},
		{trial.Versus{Ratio: 1, Low: 0.98, High: 1.02},
			trial.Versus{Ratio: 2.114, Low: 1.6, High: 2.76, Told: true}, []string{
				"HEAD is slower than main by 111 % ± 58 %; a change of 58 % would have been seen",
				"null arm: main and a second copy of it differ by 0 % ± 2 %, as they may"}},
	} {
		test.null.Name, test.change.Name = "n", "b"
		answer.Compared = []trial.Versus{test.null, test.change}
		must.EqualList(t, sentences(answer), test.want)
	}
}
