package similarity

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"krund/rig/must"
)

// level makes a series about a mean, with noise of 1%.
func level(seed uint64, n int, mean float64) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]float64, n)
	for i := range x {
		x[i] = mean * (1 + 0.01*r.NormFloat64())
	}
	return x
}

func of(t *testing.T, runs [][]float64) *Result {
	t.Helper()
	r := must.Get(Of(runs, nil, Options{}))(t)
	return r
}

func TestOutlierIsNamed(t *testing.T) {
	warm := func(seed uint64) []float64 {
		x := level(seed, 400, 1)
		for i := range 100 {
			x[i] *= 3
		}
		return x
	}
	r := of(t, [][]float64{warm(1), warm(2), level(3, 400, 4), warm(4)})
	if !slices.Equal(r.Outliers, []int{3}) || r.Verdict != Dissimilar || r.Rest != Similar ||
		r.Same.Verdict == Similar {
		t.Errorf("outliers %v of %s executions (%v), the rest %s", r.Outliers, r.Verdict, r.Averages, r.Rest)
	}
	two := of(t, [][]float64{level(1, 50, 1), level(2, 50, 9)})
	must.Be(t, len(two.Outliers) == 0 && two.Same.Clusters == 2 && two.Rest == NotApplicable,
		"of two executions neither is the outlier", two)
	three := of(t, [][]float64{level(1, 50, 9), level(2, 50, 1), level(3, 50, 1), level(4, 50, 90),
		level(5, 50, 90), level(6, 50, 90)})
	must.Be(t, len(three.Outliers) == 0 && three.Same.Clusters == 3, "half is no majority: outliers",
		three.Outliers, "clusters", three.Same.Cluster)
	most := of(t, [][]float64{level(1, 50, 9), level(3, 50, 1), level(4, 50, 90), level(5, 50, 90),
		level(6, 50, 90)})
	must.Be(t, slices.Equal(most.Outliers, []int{1, 2}) && most.Rest == Similar, "outliers", most.Outliers,
		"clusters", most.Same.Cluster, "the rest", most.Rest)
}

func TestDegenerate(t *testing.T) {
	r := of(t, nil)
	must.Be(t, r.Verdict == NotApplicable && r.Same == nil, "no execution", r)
	r = of(t, [][]float64{{1, 2}})
	must.Be(t, r.Verdict == NotApplicable && r.Same == nil && r.Used == 2, "one execution", r)
	zero := make([]float64, 10)
	r = of(t, [][]float64{zero, zero, zero})
	must.Be(t, r.Verdict == Similar && *r.Averages == (Measures{}) && r.Same.Verdict == Similar, "zeros", r)
	for _, big := range []float64{1e308, 5e-324, -1e300} {
		r := of(t, [][]float64{{big, big / 2, big}, {big, big / 2, big}})
		must.Be(t, r.Verdict == Similar && r.Same.Verdict == Similar, big, r.Averages, r.Same)
	}
	for _, runs := range [][][]float64{{{}}, {{1}, {}}, {{1, math.NaN()}}, {{1}, {math.Inf(1)}}} {
		_, err := Of(runs, nil, Options{})
		must.Fail(t, err, ErrData, runs)
	}
	for _, s := range []Options{{Threshold: 1}, {Threshold: math.NaN()}, {Frames: -1}, {Alphabet: 1},
		{Alphabet: 27}, {Merge: -1}} {
		_, err := Of([][]float64{{1}, {1}}, nil, s)
		must.Fail(t, err, ErrSettings, s)
	}
}

// TestUnequalLengths: the shorter decides, in each pair for itself.
func TestUnequalLengths(t *testing.T) {
	a, b, c := level(1, 500, 1), level(2, 450, 1.1), level(3, 700, 1.2)
	r := of(t, [][]float64{a, b, c})
	for _, p := range []struct {
		i, j int
		x, y []float64
	}{{0, 1, a[:450], b}, {0, 2, a, c[:500]}, {1, 2, b, c[:450]}} {
		want := of(t, [][]float64{p.x, p.y}).pair(0, 1)
		if !nearAll(want, r.pair(p.i, p.j)) {
			t.Errorf("%d and %d: %v, want %v", p.i, p.j, r.pair(p.i, p.j), want)
		}
	}
	must.Be(t, r.Used == 450 && slices.Equal(r.Lengths, []int{500, 450, 700}), "lengths", r.Lengths, r.Used,
		"used")
}

// pair returns the measures of two executions, by index.
func (r *Result) pair(i, j int) []float64 {
	for _, p := range r.Pairs {
		if p.A == min(i, j)+1 && p.B == max(i, j)+1 {
			list := p.List()
			return list[:]
		}
	}
	return nil
}

// names of the measures, in their order.
var names = [5]string{"correlation", "compression", "Fourier", "cosine", "Kolmogorov-Smirnov"}

// TestLaws: a series is like itself, the unit and the order of the executions do not matter, and
// M1, M3, M4 and M5 are symmetric.
func TestLaws(t *testing.T) {
	runs := [][]float64{level(1, 300, 1), level(2, 300, 1.3), level(3, 300, 1), level(4, 300, 2)}
	r := of(t, runs)
	var scaled, reversed [][]float64
	for _, x := range runs {
		y := make([]float64, len(x))
		for i, v := range x {
			y[i] = v * 0x1p-30
		}
		scaled = append(scaled, y)
	}
	for _, x := range slices.Backward(runs) {
		reversed = append(reversed, x)
	}
	other := of(t, scaled)
	must.Be(t, reflect.DeepEqual(other, r), "another unit gives another result")
	back := of(t, reversed)
	for i := range runs {
		for j := range i {
			m, w := r.pair(i, j), back.pair(3-i, 3-j)
			for _, k := range []int{0, 2, 3, 4} {
				must.Be(t, near(m[k], w[k]), names[k], "of", i, "and", j, m[k], "and", w[k])
			}
		}
		m := of(t, [][]float64{runs[i], runs[i]}).Averages
		must.Be(t, m.Above(0.15) <= 0, m, "of a series with itself")
	}
	must.Be(t, r.Same.LastMerge == back.Same.LastMerge && r.Same.Clusters == back.Same.Clusters,
		"the order of the executions changes the clusters")
}

// FuzzOf checks that no values panic, and that measures stay between 0 and 1.
func FuzzOf(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\xe0\x7f\x01\x00\x00\x00\x00\x00\x00\x00"),
		uint8(2), uint8(3), uint8(4))
	f.Add([]byte("some iterations of some length, and then others, which are not alike"), uint8(3), uint8(30),
		uint8(26))
	f.Fuzz(func(t *testing.T, data []byte, count, frames, letters uint8) {
		var values []float64
		for ; count%2 == 0 && len(data) >= 8; data = data[8:] {
			values = append(values, math.Float64frombits(binary.LittleEndian.Uint64(data)))
		}
		for _, c := range data {
			values = append(values, float64(c)/64)
		}
		var runs [][]float64
		for n := int(count%5) + 1; n > 0; n-- {
			at := len(values) / n
			runs = append(runs, values[:at])
			values = values[at:]
		}
		r, err := Of(runs, nil, Options{Frames: int(frames), Alphabet: int(letters)})
		if err != nil {
			must.Need(t, errors.Is(err, ErrData) || errors.Is(err, ErrSettings), err)
			return
		}
		for _, m := range r.Pairs {
			for k, v := range m.List() {
				must.Need(t, v >= 0 && v <= 1, names[k], v, "for", runs)
			}
		}
		if r.Same != nil && (math.IsNaN(r.Same.LastMerge) || r.Same.Clusters < 1 ||
			len(r.Outliers) >= len(runs)) {
			t.Fatalf("%+v of %v", r.Same, runs)
		}
	})
}

// BenchmarkOf is a key of the study: 30 executions of 2000 iterations, 435 pairs.
func BenchmarkOf(b *testing.B) {
	var runs [][]float64
	for e := range 30 {
		runs = append(runs, level(uint64(e), 2000, 1))
	}
	b.ReportAllocs()
	for b.Loop() {
		must.Get(Of(runs, nil, Options{}))(b)
	}
}
