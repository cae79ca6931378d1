package classify

import (
	"testing"

	"krund/internal/analysis/changepoint"
	"krund/rig/must"
)

// segments makes segments of the last index, the mean and the variance of each.
func segments(values ...float64) []changepoint.Segment {
	var s []changepoint.Segment
	for i := 0; i+2 < len(values); i += 3 {
		s = append(s, changepoint.Segment{End: int(values[i]) + 1, Mean: values[i+1], Variance: values[i+2]})
	}
	return s
}

func TestClassify(t *testing.T) {
	paper := Rule{Mode: Paper, Delta: PaperDelta, Steady: 500}
	relative := Rule{Mode: Relative, Delta: RelativeDelta, Steady: 500}
	for _, c := range []struct {
		name            string
		segments        []changepoint.Segment // last index, mean, variance
		n               int
		paper, relative Class
	}{
		{"one segment", segments(1999, 1, 0), 2000, Flat, Flat},
		{"slower first", segments(99, 2, 0, 1999, 1, 0), 2000, Warmup, Warmup},
		{"faster first", segments(99, 0.5, 0, 1999, 1, 0), 2000, Slowdown, Slowdown},
		{"slower first, faster before", segments(9, 0.5, 0, 99, 2, 0, 1999, 1, 0), 2000, Slowdown, Slowdown},
		{"slow in the middle, equal at both ends", segments(99, 1, 0, 999, 2, 0, 1999, 1, 0), 2000, Warmup,
			Warmup},
		{"a change in the last iterations", segments(1800, 2, 0, 1999, 1, 0), 2000, NoSteadyState,
			NoSteadyState},
		{"the last 500 iterations", segments(1499, 2, 0, 1999, 1, 0), 2000, Warmup, Warmup},
		{"the last 499 iterations", segments(1500, 2, 0, 1999, 1, 0), 2000, Warmup, NoSteadyState},
		{"the last 498 iterations", segments(1501, 2, 0, 1999, 1, 0), 2000, NoSteadyState, NoSteadyState},
		{"a late equivalent segment", segments(1800, 1.0009, 0, 1999, 1, 0), 2000, Flat, Flat},
		{"the first that is not equivalent decides", segments(50, 9, 0, 1800, 1, 0, 1999, 1, 0), 2000, Warmup,
			Warmup},
		{"0.2% apart, milliseconds", segments(99, 1.002, 0, 1999, 1, 0), 2000, Warmup, Flat},
		{"twice as long, microseconds", segments(99, 2e-6, 0, 1999, 1e-6, 0), 2000, Flat, Warmup},
		{"a variance of seconds", segments(99, 14, 2, 1999, 10, 3), 2000, Flat, Warmup},
		{"a standard deviation apart", segments(99, 1.04, 0, 1999, 1, 0.0025), 2000, Warmup, Flat},
		{"its own variance", segments(99, 14, 4, 1999, 10, 0), 2000, Flat, Warmup},
	} {
		must.Equal(t, paper.Classify(c.segments, c.n), c.paper, c.name, "paper")
		must.Equal(t, relative.Classify(c.segments, c.n), c.relative, c.name, "relative")
	}
}

// TestRelativeIsScaleFree classifies the same segments in other units.
func TestRelativeIsScaleFree(t *testing.T) {
	rule := Rule{Mode: Relative, Delta: RelativeDelta, Steady: 25}
	for _, s := range [][]changepoint.Segment{
		segments(9, 1.2, 0.1, 99, 1, 0.02), segments(9, 0.8, 0.1, 99, 1, 0.001),
		segments(9, 1.2, 0.1, 80, 0.9, 0.001, 99, 1, 0.001), segments(9, 1.02, 0, 99, 1, 0),
	} {
		want := rule.Classify(s, 100)
		for _, by := range []float64{0x1p-30, 0x1p40} {
			scaled := make([]changepoint.Segment, len(s))
			for i, x := range s {
				scaled[i] = changepoint.Segment{End: x.End, Mean: x.Mean * by, Variance: x.Variance * by * by}
			}
			must.Equal(t, rule.Classify(scaled, 100), want, s, "times", by)
		}
	}
}

func TestBounds(t *testing.T) {
	s := segments(9, 8, 1, 99, 10, 4)
	for _, c := range []struct {
		name string
		rule Rule
		want Bounds
	}{
		{"paper, variance", Rule{Delta: Delta{Value: 1}}, Bounds{6, 14}},
		{"paper, delta", Rule{Delta: Delta{Value: 5}}, Bounds{5, 15}},
		{"paper, raw", Rule{Delta: Delta{Value: 1}, Raw: true}, Bounds{9, 11}},
		{"paper, percent of the fastest", Rule{Delta: Delta{Value: 25, Percent: true}, Raw: true},
			Bounds{8, 12}},
		{"relative, standard deviation", Rule{Mode: Relative, Delta: Delta{Value: 1}}, Bounds{8, 12}},
		{"relative, percent of the last", Rule{Mode: Relative, Delta: Delta{Value: 50, Percent: true}},
			Bounds{5, 15}},
		{"relative, raw", Rule{Mode: Relative, Delta: Delta{Value: 10, Percent: true}, Raw: true},
			Bounds{9, 11}},
	} {
		must.Equal(t, c.rule.Bounds(s), c.want, c.name)
	}
}

func TestPairs(t *testing.T) {
	for _, c := range []struct {
		classes []Class
		want    PairClass
		symbol  string
	}{
		{nil, None, ""},
		{[]Class{Flat, Flat}, "flat", "-"},
		{[]Class{Warmup}, "warmup", `\`},
		{[]Class{Slowdown, Slowdown}, "slowdown", "/"},
		{[]Class{NoSteadyState}, "no steady state", "~"},
		{[]Class{Flat, Warmup}, GoodInconsistent, "="},
		{[]Class{Flat, Slowdown}, BadInconsistent, "x"},
		{[]Class{Warmup, NoSteadyState}, BadInconsistent, "x"},
		{[]Class{Slowdown, NoSteadyState}, BadInconsistent, "x"},
	} {
		counts := Count(c.classes)
		if got := counts.Class(); got != c.want || got.Symbol() != c.symbol ||
			counts.Total() != len(c.classes) {
			t.Errorf("%v: %q (%s), want %q (%s)", c.classes, got, got.Symbol(), c.want, c.symbol)
		}
	}
	counts := Count([]Class{Flat, "crashed", Warmup, Warmup})
	must.Equal(t, counts, (Counts{Flat: 1, Warmup: 2}), "counts")
	must.Be(t, counts.Of(Warmup) == 2 && counts.Of("crashed") == 0, counts)
}

func TestParse(t *testing.T) {
	for _, text := range []string{"0.001", "0", "1%", "2.5%"} {
		d, err := ParseDelta(text)
		must.Be(t, err == nil && d.String() == text, "delta", text, d, err)
	}
	for text, want := range map[string]string{"0.001": "1 ms", "0.0000025": "2.5 µs", "2.5%": "2.5%"} {
		if d, err := ParseDelta(text); err != nil || d.In("s") != want {
			t.Errorf("delta %q: %q, want %q, %v", text, d.In("s"), want, err)
		}
	}
	for _, text := range []string{"", "%", "-1", "1s", "NaN", "Inf%"} {
		d, err := ParseDelta(text)
		must.Be(t, err != nil, "delta", text, "was taken for", d)
	}
	for _, m := range []Mode{Paper, Relative} {
		got, err := ParseMode(m.String())
		must.Be(t, err == nil && got == m, "mode", m, got, err)
	}
	must.Refused(ParseMode("study"))(t, "", "unknown mode was not refused")
}
