package console

import (
	"math"
	"strings"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/warmup"
	"krund/internal/trial"
	"krund/rig/must"
)

func TestPlot(t *testing.T) {
	levels := []rune("_-=#")
	long := make([]float64, 600)
	for i := range long {
		long[i] = 1
	}
	long[0] = 100 // a tenth of the first column
	for _, test := range []struct {
		values []float64
		want   string
	}{
		{[]float64{0, 1, 2, 3}, "_-=#"},
		{[]float64{5, 5, 5}, "___"},
		{[]float64{7}, "_"},
		{long, "#" + strings.Repeat("_", plotWidth-1)},
	} {
		must.Equal(t, plot(test.values, levels), test.want)
	}
}

func TestSentences(t *testing.T) {
	flat, warm := classify.PairClass(classify.Flat), classify.PairClass(classify.Warmup)
	answer := trial.Answer{Fastest: "b", Base: "b", Subjects: []trial.Timing{
		{Name: "a", Command: true, Class: flat, Outliers: 2},
		{Name: "b", Command: true, Class: flat, Outliers: 1},
		{Name: "c", Class: warm, Steady: 117}, {Name: "d", Class: classify.PairClass(classify.Slowdown)}},
		Compared: []trial.Versus{
			{Name: "a", Ratio: 1.31, Low: 1.29, High: 1.33, Told: true},
			{Name: "c", Ratio: 1.01, Low: 0.9, High: 1.12},
			{Name: "d", Ratio: 2, Low: warmup.Real(math.NaN()), High: warmup.Real(math.NaN())}}}
	want := []string{
		"b is 1.310 ± 0.020 times faster than a",
		"b and c cannot be told apart: the ratio is 1.01 ± 0.11; a change of 11 % would have " +
			"been seen",
		"d takes 2.00 times as long as b, in a single execution",
	}
	must.EqualList(t, sentences(answer), want)

	// a wide interval, symmetric for logarithms, has its ends: ± would reach below 1
	answer.Compared = []trial.Versus{{Name: "a", Ratio: 32.36, Low: 8.73, High: 120, Told: true}}
	must.EqualList(t, sentences(answer), []string{
		"b is 32.36 (8.73 to 120.00) times faster than a"})
}

func TestTimeMarkdown(t *testing.T) {
	answer := trial.Answer{Fastest: "b", Base: "b", Subjects: []trial.Timing{
		{Name: "a", Text: "a | x", Command: true, Mean: 0.0131, SD: 0.0002, Min: 0.013, Max: 0.014,
			Times: make([]float64, 3)},
		{Name: "b", Text: "b", Command: true, Mean: 0.01, SD: warmup.Real(math.NaN()),
			Times: make([]float64, 1)}, {Name: "c", Text: "c", Mean: warmup.Real(math.NaN())},
		{Name: "d", Text: "d", Mean: warmup.Real(math.NaN()), TooShort: true}},
		Compared: []trial.Versus{{Name: "a", Ratio: 1.31, Low: 1.11, High: 1.51}}}
	wants := []string{"| `a \\| x` | 13.100 ± 0.200 | 13.000 | 14.000 | 1.31 ± 0.20 | 3 runs |",
		"| `b` | 10.000 | 0.000 | 0.000 | 1.00 | 1 run |", "| `c` | failed |", "| `d` | too short to tell |",
		"Mean [ms]"}
	var out strings.Builder
	must.Do(t, Markdown(&out, answer))
	for _, want := range wants {
		must.Contain(t, out.String(), want)
	}
	// one unit for all, that of the shortest
	answer.Subjects[1].Mean, answer.Subjects[0].Max = 966.3e-6, 2
	must.Do(t, Markdown(&out, answer))
	for _, want := range []string{"Mean [µs]", "| 13100.000 ± 200.000 | 13000.000 | 2000000.000 |",
		"| 966.300 |"} {
		must.Contain(t, out.String(), want)
	}
}

// TestTimeLines: the lines of a result have one unit, and no time that is not known.
func TestTimeLines(t *testing.T) {
	nan := warmup.Real(math.NaN())
	user, system := 0.0021, 0.0
	answer := trial.Answer{
		Environment: trial.Environment{Of: "clean", Set: []string{"PATH=/bin", "TOKEN=secret"}},
		Shell:       &trial.Shell{Estimate: trial.Estimate{Mean: 0.00098}, Slow: 0.0013},
		Subjects: []trial.Timing{
			{Name: "a", Text: "a", Command: true, Runs: 2, Mean: 966.3e-6, SD: 2.211e-3, Min: 1e-6,
				Max: 0.0312, User: &user, System: &system, Times: []float64{1, 2}},
			{Name: "b", Text: "b", Command: true, Runs: 2, Mean: nan, SD: nan, Min: nan, Max: nan,
				TooShort: true},
			{Name: "c", Text: "c", Command: true, Runs: 1, Mean: 2, SD: nan, Min: 2, Max: 2,
				Times: []float64{2}},
		}}
	var out strings.Builder
	New(&out, &out).Answer(answer)
	const want = `a
  966.3 µs ± 2211 µs   1.000 µs … 31200 µs   user 2100 µs, system 0 µs
  _@
  2 runs
b
  too short to tell: it takes less time than the start of its shell varies, which is usually ` +
		`980.0 µs, and in one of ten runs above 1300 µs; use -N, which starts it without a shell
c
  2.000 s
  _
  1 run
The start of the shell, 980.0 µs, is subtracted.
Clean environment, not yours: only the variables HOME, USER, LOGNAME, SHELL, LANG, PATH, TOKEN; umask ` +
		`022, no core files, no set-user-ID programs, and for root the highest priority.
`
	must.Equal(t, out.String(), want)
	out.Reset()
	answer.Environment.Of, answer.Subjects = "caller", answer.Subjects[1:2]
	New(&out, &out).Answer(answer)
	text := out.String()
	must.Be(t, strings.HasPrefix(text, "b\n  too short") && strings.Count(text, "\n") == 2, "got", text)
}

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
