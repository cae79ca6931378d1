package changepoint

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"krund/rig/must"
)

func ends(s *Segmentation) []int {
	var e []int
	for _, segment := range s.Segments {
		e = append(e, segment.End)
	}
	return e
}

func TestDetectRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		series []float64
		o      Options
		want   error
	}{
		{"nothing", nil, Options{}, ErrTooShort},
		{"three values", []float64{1, 2, 3}, Options{}, ErrTooShort},
		{"one value, mean", []float64{1}, Options{Cost: Mean}, ErrTooShort},
		{"nine values, segments of five", make([]float64, 9), Options{MinSegment: 5}, ErrTooShort},
		{"NaN", []float64{1, 2, math.NaN(), 3, 4}, Options{}, ErrNotFinite},
		{"infinity", []float64{1, 2, math.Inf(1), 3, 4}, Options{}, ErrNotFinite},
		{"squares overflow", []float64{1, 2, 1e200, 3, 4}, Options{}, ErrMagnitude},
		{"sum of squares overflows", slices.Repeat([]float64{1e154}, 20), Options{}, ErrMagnitude},
		{"variance overflows, stable", []float64{1e300, -1e300, 1e300, -1e300}, Options{Arithmetic: Stable},
			ErrMagnitude},
		{"segments of one value, variance", []float64{1, 2, 3, 4}, Options{MinSegment: 1}, ErrOptions},
		{"negative penalty", []float64{1, 2, 3, 4}, Options{Penalty: Manual(-1)}, ErrOptions},
		{"penalty not a number", []float64{1, 2, 3, 4}, Options{Penalty: LogN(math.NaN())}, ErrOptions},
		{"no quantiles", []float64{1, 2, 3, 4}, Options{Cost: EmpiricalDistribution, Quantiles: -1},
			ErrOptions},
		{"NaN, distribution", []float64{1, 2, math.NaN()}, Options{Cost: EmpiricalDistribution},
			ErrNotFinite},
	} {
		_, err := Detect(c.series, c.o)
		must.Fail(t, err, c.want, c.name)
	}
}

// TestDetectFindsAStep has every cost find where the mean doubles.
func TestDetectFindsAStep(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	series := make([]float64, 400)
	for i := range series {
		series[i] = 1 + 0.1*r.NormFloat64()
		if i >= 150 {
			series[i]++
		}
	}
	for _, o := range []Options{
		{Penalty: LogN(15)},
		{Penalty: LogN(15), Arithmetic: Stable},
		{Penalty: SIC}, {Penalty: MBIC}, {Penalty: LogN(2), Cost: Mean},
		{Penalty: LogN(15), Cost: EmpiricalDistribution},
		{Penalty: CROPS},
	} {
		found := must.Get(Detect(series, o))(t)
		if !slices.Contains(ends(found), 150) || ends(found)[len(found.Segments)-1] != 400 {
			t.Errorf("%+v: segments end at %v, want one at 150", o, ends(found))
		}
	}
}

// TestSegmentsCoverTheSeries checks what holds for every segmentation: the segments adjoin, and the
// cost is the sum of their costs and penalties.
func TestSegmentsCoverTheSeries(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, shape := range shapes {
		series := shape.make(r, 300)
		found := must.Get(Detect(series, Options{Penalty: LogN(4)}))(t)
		p := must.Get(newProblem(series, Options{}))(t)
		start, cost := 0, -found.Penalty
		for _, s := range found.Segments {
			must.Be(t, s.Start == start && s.End >= start+2 && s.Variance >= 0, shape.name, "segment", s,
				"after", start)
			cost += p.cost.segment(s.Start, s.End) + found.Penalty
			start = s.End
		}
		must.Be(t, start == 300 && math.Abs(cost-found.Cost) <= 1e-9*math.Abs(cost), shape.name,
			"segments end at", start, "and cost", cost, "F =", found.Cost)
	}
}

// TestStableIsScaleFree multiplies series by powers of two (exactly the same answer) and other
// factors (the same changepoints).
func TestStableIsScaleFree(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	o := Options{Penalty: LogN(15), Arithmetic: Stable}
	for round := range 20 {
		series := steps(r, 500, 4, 0.01)
		want := must.Get(Detect(series, o))(t)
		for _, by := range []float64{0x1p-300, 0x1p-20, 0x1p30, 1000, 1e-9} {
			scaled := make([]float64, len(series))
			for i, v := range series {
				scaled[i] = v * by
			}
			got := must.Get(Detect(scaled, o))(t)
			must.EqualList(t, ends(got), ends(want), "round", round, "times", by)
			if _, exp := math.Frexp(by); by == math.Ldexp(0.5, exp) && got.Cost != want.Cost {
				t.Errorf("round %d, times %g: cost %v, want %v", round, by, got.Cost, want.Cost)
			}
		}
	}
}

// TestMeanOverItsNoise: Stable arithmetic makes the penalty of Mean mean the same in every unit.
func TestMeanOverItsNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, unit := range []float64{1e-9, 1, 1e6} {
		series := make([]float64, 600)
		for i := range series {
			series[i] = unit * (1 + 0.01*r.NormFloat64() + 0.03*float64(i/200%2))
		}
		found, err := Detect(series, Options{Cost: Mean, Arithmetic: Stable, Penalty: SIC})
		if err != nil || len(found.Segments) != 3 || found.Segments[0].End < 198 ||
			found.Segments[0].End > 202 {
			t.Errorf("unit %g: %+v, %v; want changes at 200 and 400", unit, found, err)
		}
	}
	if found, err := Detect(slices.Repeat([]float64{0.1}, 50),
		Options{Cost: Mean, Arithmetic: Stable, Penalty: SIC}); err != nil || len(found.Segments) != 1 {
		t.Errorf("constant: %v, %v", found, err)
	}
}

// TestStableSeesNoChangeInConstants: R finds dozens in 0.1 repeated.
func TestStableSeesNoChangeInConstants(t *testing.T) {
	for _, v := range []float64{0, 0.1, 1e-9, 1e300, -7} {
		found, err := Detect(slices.Repeat([]float64{v}, 1000),
			Options{Penalty: LogN(15), Arithmetic: Stable})
		must.Be(t, err == nil && len(found.Segments) == 1, v, "repeated", found, err)
	}
}

// TestEmpiricalCost checks one segment by the formula: of 1..8 below and above quantile q, F log F
// + (1-F) log(1-F).
func TestEmpiricalCost(t *testing.T) {
	series := []float64{3, 1, 4, 1, 5, 9, 2, 6}
	c := must.Get(newEmpirical(series, 1))(t)
	// One quantile: the median position of sorted 1 1 2 3 4 5 6 9 is the 4th, 3.
	f := (2 + 0.5) / 4 // of 3 1 4 1: two below 3, one equal
	want := -2 * math.Log(15) * 4 * (f*math.Log(f) + (1-f)*math.Log(1-f))
	got := c.segment(0, 4)
	must.Be(t, math.Abs(got-want) <= 1e-12*want, "cost", got, "want", want)
	must.Equal(t, c.segment(4, 6), 0, "cost of values all above the quantile", "want 0")
}

// TestQuantilesAreThoseOfR: computed by R 4.2.2 with the lines of changepoint.np that choose them.
func TestQuantilesAreThoseOfR(t *testing.T) {
	for n, want := range map[int][]int{
		2:    {0, 0},
		3:    {0, 1, 1},
		5:    {0, 1, 2, 2, 3},
		13:   {0, 1, 2, 3, 5, 6, 8, 10, 10, 11},
		25:   {0, 1, 3, 5, 9, 14, 18, 21, 22, 23},
		41:   {0, 1, 3, 8, 15, 24, 31, 36, 38, 39},
		61:   {0, 2, 4, 11, 22, 37, 48, 55, 57, 59},
		145:  {0, 2, 8, 22, 52, 91, 121, 136, 141, 143},
		1013: {1, 4, 22, 93, 322, 689, 918, 990, 1007, 1010},
	} {
		var got []int
		for k := range want {
			got = append(got, quantileIndex(k, len(want), n))
		}
		must.EqualList(t, got, want, n, "values: quantiles at", "R")
	}
}

func TestParsePenalty(t *testing.T) {
	for _, c := range []struct {
		text    string
		want    Penalty
		penalty float64 // for 100 values, MeanVariance
	}{
		{"120", Manual(120), 120},
		{"15logn", LogN(15), 15 * math.Log(100)},
		{" 4 * log n", LogN(4), 4 * math.Log(100)},
		{"SIC", SIC, 3 * math.Log(100)},
		{"bic", SIC, 3 * math.Log(100)},
		{"mbic", MBIC, 4 * math.Log(100)},
		{"aic", AIC, 6},
		{"hannan-quinn", HannanQuinn, 6 * math.Log(math.Log(100))},
	} {
		got, err := ParsePenalty(c.text)
		must.Be(t, err == nil && got == c.want, c.text, got, err)
		penalty, err := got.penalty(100, MeanVariance)
		must.Be(t, err == nil && math.Abs(penalty-c.penalty) <= 1e-12*c.penalty, c.text, "costs", penalty,
			err, "want", c.penalty)
		again, err := ParsePenalty(got.String())
		must.Be(t, err == nil && again == got, c.text, "is written", got, "which reads", again, err)
	}
	for _, text := range []string{"", "x", "-1", "NaN", "Inf", "log", "15 log m"} {
		p, err := ParsePenalty(text)
		must.Be(t, err != nil, text, "was taken for", p)
	}
}

func TestParseCost(t *testing.T) {
	for _, c := range []Cost{MeanVariance, Mean, EmpiricalDistribution} {
		got, err := ParseCost(c.String())
		must.Be(t, err == nil && got == c, c, got, err)
	}
	must.Refused(ParseCost("variance"))(t, "", "unknown cost was not refused")
}

func curveOf(t *testing.T, series []float64, from, to float64) []PenaltyPoint {
	t.Helper()
	p := must.Get(newProblem(series, Options{}))(t)
	return p.crops(from, to)
}

// TestCropsIsWhatPELTGives runs PELT between the points of the curve: the number of changepoints
// there is the one the curve says.
func TestCropsIsWhatPELTGives(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	for round := range 10 {
		series := steps(r, 300, 6, 0.02)
		logN := math.Log(300)
		points := curveOf(t, series, 4*logN, 1000*logN)
		must.Equal(t, points[0].Penalty, 4*logN, "round", round, "the curve begins at")
		for i, p := range points {
			until := 1000 * logN
			if i+1 < len(points) {
				until = points[i+1].Penalty
				must.Be(t, points[i+1].Changepoints < p.Changepoints && until > p.Penalty, "round", round, p,
					"is followed by", points[i+1])
			}
			found := must.Get(Detect(series, Options{Penalty: Manual((p.Penalty + until) / 2)}))(t)
			must.Equal(t, len(found.Segments)-1, p.Changepoints, "round", round, "penalty",
				(p.Penalty+until)/2, "changepoints, the curve")
		}
	}
}

func TestCropsWithoutChanges(t *testing.T) {
	points := curveOf(t, []float64{1, 1.1, 0.9, 1, 1.05, 0.95}, 100, 1000)
	must.EqualList(t, points, []PenaltyPoint{{100, 0}}, "points")
	found, err := Detect([]float64{1, 1.1, 0.9, 1, 1.05, 0.95}, Options{Penalty: CROPS})
	must.Be(t, err == nil && math.Abs(found.Penalty-4*math.Log(6)) <= 1e-12,
		"a curve of one point has penalty", found.Penalty, err, "want 4 log n")
}

func TestKnee(t *testing.T) {
	for _, c := range []struct {
		name   string
		points []PenaltyPoint
		want   float64
		ok     bool
	}{
		{"none", nil, 0, false},
		{"one point", []PenaltyPoint{{10, 3}}, 0, false},
		// Two points lie on the diagonal: the difference curve is flat, so its first maximum is the
		// dearest point, where kneed stops.
		{"two points", []PenaltyPoint{{10, 3}, {50, 0}}, 0, false},
		// Normalised, dearest first: x = 1, .2, .1, 0; y' = 1, 1-1/20, 1-2/20, 0; d = 0, .75, .8,
		// 0. The maximum .8 is at penalty 20; the next d, 0, is below .8 less the mean step 1/3.
		{"an elbow", []PenaltyPoint{{10, 20}, {20, 2}, {30, 1}, {110, 0}}, 20, true},
		// d falls from the first point on: kneed stops there.
		{"concave", []PenaltyPoint{{10, 20}, {90, 19}, {100, 18}, {110, 0}}, 0, false},
		// y' = 1, 17/20, 16/20, 0; x = 1, .5, .1, 0; d = 0, .35, .7, 0.
		{"a maximum next to the cheapest", []PenaltyPoint{{10, 20}, {20, 4}, {60, 3}, {110, 0}}, 20, true},
	} {
		got, ok := Knee(c.points)
		must.Be(t, got == c.want && ok == c.ok, c.name, got, ok, c.want, c.ok)
	}
}

// fuzzSeries takes eight bytes as a double or, when scale is not 0, a byte as a multiple of
// 1/scale, which makes ties.
func fuzzSeries(data []byte, scale uint8) []float64 {
	var x []float64
	if scale == 0 {
		for ; len(data) >= 8; data = data[8:] {
			x = append(x, math.Float64frombits(binary.LittleEndian.Uint64(data)))
		}
		return x
	}
	for _, b := range data {
		x = append(x, float64(b)/float64(scale))
	}
	return x
}

// FuzzDetect checks that no series makes Detect panic, and that the grouped and the plain recursion
// agree on it.
func FuzzDetect(f *testing.F) {
	f.Add([]byte{1, 1, 1, 1, 9, 9, 9, 9, 9, 1, 1, 1, 1, 1, 7, 7, 7, 7}, uint8(3), uint8(2))
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, uint8(0), uint8(15))
	f.Fuzz(func(t *testing.T, data []byte, scale, penalty uint8) {
		x := fuzzSeries(data[:min(len(data), 2000)], scale)
		for _, o := range peltOptionsOf(LogN(float64(penalty) / 4)) {
			found, err := Detect(x, o)
			if err != nil {
				continue
			}
			must.Equal(t, found.Segments[len(found.Segments)-1].End, len(x), o, "the last segment ends at")
			must.Do(t, samePELT(x, o), o)
		}
	})
}

// FuzzParsePenalty checks that what is accepted can be written and read again.
func FuzzParsePenalty(f *testing.F) {
	for _, text := range []string{"15logn", "4 * log n", "1e3", "mbic", "crops"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePenalty(text)
		if err != nil {
			return
		}
		again, err := ParsePenalty(p.String())
		must.Be(t, err == nil && again == p, text, p, "and then", again, err)
	})
}
