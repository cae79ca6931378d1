package steady

import (
	"fmt"
	"slices"
	"testing"

	"krund/internal/analysis/changepoint"
	"krund/internal/analysis/classify"
	"krund/rig/must"
)

// ten iterations of 10, 10, 10, 1, 1, ... seconds in three segments, of which the last two are
// equivalent.
var (
	values   = []float64{10, 10, 10, 1, 1, 1, 1, 1, 1, 1}
	segments = []changepoint.Segment{{End: 3, Mean: 10}, {End: 6, Mean: 1.25}, {End: 10, Mean: 1.75}}
)

func TestOf(t *testing.T) {
	rule := classify.Rule{Delta: classify.Delta{Value: 1}, Steady: 4}
	for _, c := range []struct {
		name     string
		mode     classify.Mode
		segments []changepoint.Segment
		class    classify.Class
		raw      bool
		want     string
	}{
		{"the study counts from the changepoint", classify.Paper, segments, classify.Warmup, false,
			"{1 3 20 1.5 [{3 6} {5 10}]} true"},
		{"relative counts from the first steady iteration", classify.Relative, segments, classify.Warmup,
			false,
			"{1 4 30 1.5 [{3 6} {6 10}]} true"},
		{"one segment", classify.Paper, segments[2:], classify.Flat, false, "{0 1 0 1.75 [{0 10}]} true"},
		{"flat in spite of changepoints", classify.Paper, segments[1:], classify.Flat, false,
			"{0 1 0 1.5 [{0 6} {5 10}]} true"},
		{"no steady state", classify.Paper, segments, classify.NoSteadyState, false, "{0 0 0 0 []} false"},
		{"nothing", classify.Paper, nil, classify.Flat, false, "{0 0 0 0 []} false"},
		// The class, without the variance, is warmup; the steady state, with it, begins with the
		// first segment: the study takes the last changepoint.
		{"raw", classify.Paper, []changepoint.Segment{{End: 6, Mean: 3, Variance: 2},
			{End: 10, Mean: 1, Variance: 5}},
			classify.Warmup, true, "{0 6 32 2 [{0 6} {5 10}]} true"},
	} {
		rule.Mode, rule.Raw = c.mode, c.raw
		s, ok := Of(values, c.segments, c.class, rule)
		must.Equal(t, fmt.Sprint(s, ok), c.want, c.name)
	}
}

func TestValuesLeavesOutliersOut(t *testing.T) {
	numbers := []float64{0, 1, 2, 3, 4, 5, 6, 7}
	got := Values(numbers, []int{1, 3, 6}, []Range{{0, 3}, {2, 8}})
	want := [][]float64{{0, 2}, {2, 4, 5, 7}}
	must.Be(t, slices.EqualFunc(got, want, slices.Equal[[]float64]), got, want)
}

// TestLevelOf: the numbers are computed by hand.
func TestLevelOf(t *testing.T) {
	for _, c := range []struct {
		name     string
		values   []float64
		outliers []int
		ranges   []Range
		want     Level
	}{
		// A long segment of 1 and a short one of 7: each iteration counts once, (6*1+2*7)/8. The
		// mean of the two segments' means would be 4.
		{"segments of different lengths", []float64{9, 1, 1, 1, 1, 1, 1, 7, 7}, nil, []Range{{1, 7}, {7, 9}},
			Level{2.5, SteadyState}},
		{"without outliers", []float64{9, 1, 50, 3, 2}, []int{0, 2}, []Range{{1, 5}}, Level{2, SteadyState}},
		// The second half is 50, 1, 2, 3, 4: one value is trimmed at each end.
		{"no steady state", []float64{9, 9, 9, 9, 50, 1, 2, 3, 4}, nil, nil, Level{3, SecondHalf}},
		{"one iteration", []float64{5}, nil, nil, Level{5, SecondHalf}},
	} {
		must.Equal(t, LevelOf(c.values, c.outliers, c.ranges), c.want, c.name)
	}
}
