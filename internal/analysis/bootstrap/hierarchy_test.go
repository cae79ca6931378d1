package bootstrap

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"krund/rig/must"
)

func TestHierarchyOfOneIterationIsTheMeanOfResamples(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	values := normal(r, 400, 10, 1)
	h := must.Get(NewHierarchy([][][]float64{{values}}, Uniform, nil))(t)
	means := make([]float64, 20000)
	h.Fill(means, 1, 1)
	low, high := Quantiles(means, 0.99)
	half := 2.5758 * sdOf(values) / 20
	must.Be(t, math.Abs(high-low-2*half) <= 0.06*half && math.Abs((low+high)/2-h.Metric) <= 0.03*half, low,
		"to", high, "want about", h.Metric, "±", half)
}

func sdOf(x []float64) float64 {
	mean, squares := MeanOf(x), 0.0
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares / float64(len(x)))
}

func TestHierarchyIsTheSameForAnyNumberOfWorkers(t *testing.T) {
	values := [][][]float64{{{1, 2, 3}, {4, 5}}, {{6}}, {{7, 8, 9, 10}}}
	for _, index := range []Index{Uniform, PA} {
		h := must.Get(NewHierarchy(values, index, Tables{}))(t)
		want := make([]float64, 3000)
		h.Fill(want, 5, 1)
		for _, workers := range []int{2, 3, 16} {
			got := make([]float64, 3000)
			h.Fill(got, 5, workers)
			must.EqualList(t, got, want, index, workers, "workers: other means")
		}
		if low, high := slices.Min(want), slices.Max(want); low < 1 || high > 10 {
			t.Errorf("%v: means from %v to %v", index, low, high)
		}
	}
}

// TestPAWeights has the chances of pa 0.1's draws, from 10 million of them.
func TestPAWeights(t *testing.T) {
	for n, want := range map[int][]float64{1: {1}, 2: {0.76, 0.24}, 5: {0.26, 0.26, 0.24, 0.16, 0.07}} {
		got := paWeights(n)
		sum := 0.0
		for i := range got {
			sum += got[i]
			must.Be(t, math.Abs(got[i]-want[i]) <= 0.006, "index", i, "of", n, got[i], "want", want[i])
		}
		must.Be(t, math.Abs(sum-1) <= 1e-12, "the chances of", n, "indexes add up to", sum)
	}
}

func TestWeightedDraws(t *testing.T) {
	for _, weights := range [][]float64{{1}, {0, 3}, {1, 2, 3, 0, 4}, {1e-9, 1, 1}, paWeights(7)} {
		table, counts, sum := NewWeighted(weights), make([]float64, len(weights)), 0.0
		for _, w := range weights {
			sum += w
		}
		const draws = 200000
		random := newStream(1, uint64(len(weights)))
		for range draws {
			counts[table.draw(&random)]++
		}
		for i, n := range counts {
			want := weights[i] / sum
			must.Be(t, math.Abs(n/draws-want) <= 5*math.Sqrt(want*(1-want)/draws), weights, "index", i,
				"was drawn", n, "times, want", draws*want)
		}
	}
}

func TestHierarchyRefusesEmptyLevels(t *testing.T) {
	for _, values := range [][][][]float64{nil, {{}}, {{{1}}, {}}, {{{1}, {}}}} {
		_, err := NewHierarchy(values, Uniform, nil)
		must.Fail(t, err, ErrEmpty, values)
	}
	must.Refused(ParseIndex("x"))(t, "", "x was read")
}

func TestQuantiles(t *testing.T) {
	for n, want := range map[int][2]float64{1000: {5, 995}, 10000: {50, 9950}, 1: {0, 0}, 2: {1, 1}} {
		means := make([]float64, n)
		for i := range means {
			means[i] = float64(n - 1 - i)
		}
		low, high := Quantiles(means, 0.99)
		must.Be(t, low == want[0] && high == want[1], n, "means", low, "to", high, "want", want)
	}
}

// BenchmarkHierarchy is the interval of a checkpoint: 1000 invocations, 1000 resamples.
func BenchmarkHierarchy(b *testing.B) {
	values := [][][]float64{{normal(rand.New(rand.NewPCG(1, 1)), 1000, 1, 0.01)}}
	means := make([]float64, 1000)
	for _, index := range []Index{Uniform, PA} {
		b.Run(index.String(), func(b *testing.B) {
			h := must.Get(NewHierarchy(values, index, Tables{}))(b)
			b.ReportAllocs()
			for b.Loop() {
				h.Fill(means, 1, 1)
			}
		})
	}
}
