package bootstrap

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"krund/rig/must"
)

func normal(r *rand.Rand, n int, mean, sd float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = mean + sd*r.NormFloat64()
	}
	return x
}

func TestMeanOfOneExecution(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	values := normal(r, 400, 10, 1)
	sum, squares := 0.0, 0.0
	for _, v := range values {
		sum += v
	}
	mean := sum / 400
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	got := must.Get(Mean([][][]float64{{values}}, Options{Seed: 7}))(t)
	// The resampled means are normal about the mean; 2.5758 is the 99.5% quantile, and quantiles of
	// 100,000 draws are within a percent or so.
	half := 2.5758 * math.Sqrt(squares/400) / math.Sqrt(400)
	must.Be(t, math.Abs(got.Mean-mean) <= 0.01*half && math.Abs(got.Half-half) <= 0.03*half, got,
		"want about", mean, "±", half)
	must.Equal(t, got.Resamples, 100001, "resamples, want 100001")
}

// TestSegmentsAreNotMixed resamples two constant segments: whatever is drawn, the mean is the same.
func TestSegmentsAreNotMixed(t *testing.T) {
	segments := [][]float64{slices.Repeat([]float64{1}, 7), slices.Repeat([]float64{3}, 21)}
	got, err := Mean([][][]float64{segments}, Options{Resamples: 100})
	want := (7*1.0 + 21*3.0) / 28
	must.Be(t, err == nil && got.Low == want && got.High == want, got, err, want, "throughout")
}

func TestSameForAnyNumberOfWorkers(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	executions := [][][]float64{
		{normal(r, 100, 1, 0.1), normal(r, 3, 1, 0.1)}, {normal(r, 5, 1.2, 0.1)}, {normal(r, 64, 0.9, 0.2)},
	}
	for _, scheme := range []Scheme{Pooled, Nested} {
		o := Options{Seed: 3, Resamples: 5000, Scheme: scheme}
		want := must.Get(Mean(executions, o))(t)
		for _, o.Workers = range []int{1, 2, 3, 16} {
			got, err := Mean(executions, o)
			must.Be(t, err == nil && got == want, scheme, o.Workers, "workers", got, err, "want", want)
		}
		o.Seed++
		got, _ := Mean(executions, o)
		must.Be(t, got != want, scheme, "another seed gives the same interval")
	}
}

// TestSchemes: executions far apart make the pooled interval as wide as the distance, the nested
// one that over the root of their number.
func TestSchemes(t *testing.T) {
	var executions [][][]float64
	for e := range 25 {
		executions = append(executions, [][]float64{{float64(e), float64(e)}})
	}
	pooled, err := Mean(executions, Options{Resamples: 20000})
	must.Be(t, err == nil && pooled.Low == 0 && pooled.High == 24 && pooled.Mean == 12, "pooled", pooled, err,
		"want 12 from 0 to 24")
	nested, err := Mean(executions, Options{Resamples: 20000, Scheme: Nested})
	half := 2.5758 * math.Sqrt((25.0*25-1)/12) / 5
	must.Be(t, err == nil && math.Abs(nested.Half-half) <= 0.1*half && math.Abs(nested.Mean-12) <= 0.2,
		"nested", nested, err, "want about 12 ±", half)
}

func TestRefused(t *testing.T) {
	one := [][][]float64{{{1, 2}}}
	for _, c := range []struct {
		name       string
		executions [][][]float64
		o          Options
		want       error
	}{
		{"no execution", nil, Options{}, ErrEmpty},
		{"no segment", [][][]float64{{{1}}, {}}, Options{}, ErrEmpty},
		{"no value", [][][]float64{{{1}, {}}}, Options{}, ErrEmpty},
		{"certainty", one, Options{Confidence: 1}, ErrOptions},
		{"negative confidence", one, Options{Confidence: -0.5}, ErrOptions},
		{"negative resamples", one, Options{Resamples: -1}, ErrOptions},
	} {
		_, err := Mean(c.executions, c.o)
		must.Fail(t, err, c.want, c.name)
	}
}

// TestIndexes has the numbers of resamples at which the study's rounding (Python's
// Decimal.quantize('1.0'), then int) differs from rounding up.
func TestIndexes(t *testing.T) {
	for _, c := range []struct {
		n                   int
		lower, paper, exact int
	}{
		{100010, 500, 99510, 99510}, // 99509.95
		{100020, 500, 99519, 99520}, // 99519.9
		{100002, 500, 99502, 99502}, // 99501.99
		{100000, 500, 99500, 99500},
		{2, 0, 2, 2},
		{1, 0, 1, 1},
	} {
		lower, paper := indexes(c.n, Options{})
		_, exact := indexes(c.n, Options{Exact: true})
		must.Be(t, lower == c.lower && paper == c.paper && exact == c.exact, c.n, "means", lower, paper,
			"exact", exact, c.lower, c.paper, c.exact)
	}
}

// TestDrawsAreUniform counts pairs of neighboring draws of segments of several lengths, also of
// ones too long for batches; chi-squared with that many cells is close to normal.
func TestDrawsAreUniform(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 7, 16, 100} {
		counts := make([]float64, n*n)
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(i)
		}
		d := newDrawer(values)
		s := newStream(1, uint64(n))
		const words = 200000
		for range words {
			i, j, k, l := d.four(&s, d.n)
			counts[int(i)*n+int(j)]++
			counts[int(k)*n+int(l)]++
		}
		expectUniform(t, n, counts, 2*words)
	}
	counts := make([]float64, 50)
	s := newStream(9)
	const n = longestBatched*4 + 50
	for range 200000 {
		counts[s.index(n)%50]++
	}
	expectUniform(t, n, counts, 200000)
}

func expectUniform(t *testing.T, n int, counts []float64, draws float64) {
	t.Helper()
	chi2, want := 0.0, draws/float64(len(counts))
	for _, c := range counts {
		chi2 += (c - want) * (c - want) / want
	}
	freedom := float64(len(counts) - 1)
	must.Be(t, freedom <= 0 || math.Abs(chi2-freedom) <= 5*math.Sqrt(2*freedom)+5, "length", n, "chi-squared",
		chi2, "with", freedom, "degrees of freedom")
}

// TestLongSegments takes the way without batches.
func TestLongSegments(t *testing.T) {
	values := make([]float64, longestBatched+1)
	for i := range values {
		values[i] = float64(i)
	}
	got, err := Mean([][][]float64{{values}}, Options{Resamples: 200})
	sd := float64(len(values)) / math.Sqrt(12) / math.Sqrt(float64(len(values)))
	must.Be(t, err == nil && math.Abs(got.Mean-longestBatched/2) <= sd && got.Half <= 4*sd && got.Half >= sd,
		got, err, "want about", longestBatched/2, "with a standard error of", sd)
}

// BenchmarkStudy is 30 executions of 1000 values, 100,000 resamples in all.
func BenchmarkStudy(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	executions := make([][][]float64, 30)
	for e := range executions {
		executions[e] = [][]float64{normal(r, 1000, 1, 0.01)}
	}
	for b.Loop() {
		must.Get(Mean(executions, Options{}))(b)
	}
}
