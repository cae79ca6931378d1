package outlier

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"krund/internal/analysis/arith"
	"krund/rig/must"
)

// findBySorting is the rule as it is written down: sort every window.
func findBySorting(series []float64, window int) []int {
	found := []int{}
	for i, v := range series {
		lo, hi := max(0, i-window/2), min(len(series), i+window/2)
		if lo == 0 && hi < window {
			continue
		}
		sorted := slices.Sorted(slices.Values(series[lo:hi]))
		width := 3 * (arith.Percentile(sorted, 90) - arith.Percentile(sorted, 10))
		median := arith.Median(sorted)
		if v > median+width || v < median-width {
			found = append(found, i)
		}
	}
	return found
}

// kinds are the kinds of series that Find is compared on: a value by its index.
var kinds = []func(r *rand.Rand, i int) float64{
	func(r *rand.Rand, _ int) float64 { return r.NormFloat64() },
	func(r *rand.Rand, _ int) float64 { return math.Round(2 * r.NormFloat64()) }, // ties, 0 and -0
	func(r *rand.Rand, _ int) float64 { return math.Round(20*r.NormFloat64()) * 1e-9 },
	func(r *rand.Rand, _ int) float64 { return 0.1 + 0.001*math.Exp(3*r.NormFloat64()) },
	func(r *rand.Rand, i int) float64 { return float64(i/30%3) + 0.1*r.Float64() },
	func(r *rand.Rand, i int) float64 { return 1 + float64(i) + r.Float64() }, // ever larger
	func(r *rand.Rand, i int) float64 { return -float64(i) },                  // ever smaller
	func(r *rand.Rand, _ int) float64 { return 0.1 },
	func(r *rand.Rand, _ int) float64 { return float64(r.IntN(2)) },
	func(r *rand.Rand, i int) float64 { return float64(i % 7) },
	func(r *rand.Rand, _ int) float64 { return math.Ldexp(r.NormFloat64(), r.IntN(2000)-1000) },
	func(r *rand.Rand, _ int) float64 { return 5e-324 * float64(r.IntN(9)) },
}

func made(r *rand.Rand, kind func(*rand.Rand, int) float64, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = kind(r, i)
		if r.IntN(40) == 0 {
			x[i] *= 50
		}
	}
	return x
}

func TestFindSortsEveryWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for k, kind := range kinds {
		found := 0
		compare := func(series []float64, window int) {
			t.Helper()
			got := must.Get(Find(series, window))(t)
			if want := findBySorting(series, window); !slices.Equal(got, want) {
				t.Fatalf("kind %d, %d values, window %d: %v, want %v", k, len(series), window, got, want)
			}
			found += len(got)
		}
		for range 300 {
			compare(made(r, kind, r.IntN(300)), 2+r.IntN(1+r.IntN(250)))
		}
		compare(made(r, kind, 3*shortestStretch), 50) // several stretches
		compare(made(r, kind, 700), 400)
		must.Be(t, found != 0, "kind", k, "no series had an outlier")
	}
}

func TestFindAtTheEnds(t *testing.T) {
	flat := func(n int, spikes ...int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = 1 + float64(i%7)/1000
		}
		for _, s := range spikes {
			x[s] = 9
		}
		return x
	}
	for _, c := range []struct {
		name   string
		series []float64
		window int
		want   []int
	}{
		{"nothing", nil, 200, []int{}},
		{"one value", flat(1), 200, []int{}},
		{"the first half window is never judged", flat(500, 0, 99), 200, []int{}},
		{"the iteration after it is", flat(500, 100), 200, []int{100}},
		{"the last iteration has half a window", flat(500, 499), 200, []int{499}},
		{"a series shorter than the window: later half judged", flat(150, 100, 101), 200, []int{101}},
		{"an odd window is cut to an even one, and skips one more", flat(100, 20, 60), 41, []int{60}},
		{"a spike in a constant series", append(slices.Repeat([]float64{2}, 300), 2.5), 200, []int{300}},
	} {
		got, err := Find(c.series, c.window)
		must.Be(t, err == nil && slices.Equal(got, c.want), c.name, got, err, c.want)
	}
}

func TestFindRefuses(t *testing.T) {
	for _, c := range []struct {
		series []float64
		window int
		want   error
	}{
		{[]float64{1, 2, 3}, 1, ErrWindow},
		{[]float64{1, 2, 3}, -5, ErrWindow},
		{[]float64{1, math.NaN(), 3}, 200, ErrNotFinite},
		{[]float64{1, 2, math.Inf(-1)}, 200, ErrNotFinite},
	} {
		_, err := Find(c.series, c.window)
		must.Fail(t, err, c.want, "Find", c.series, c.window)
	}
}

func TestRules(t *testing.T) {
	series := make([]float64, 400)
	for i := range series {
		series[i] = 0.1 + float64(i%7)/1e4
	}
	series[300] = 0.1025 // outside the band of 10% to 90%, in that of 1% to 99% with the spikes in it
	series[310], series[320], series[330] = 0.11, 0.11, 0.11
	for _, r := range []Rule{Study, Traini} {
		got, err := r.Find(series, 100)
		want, _ := Find(series, 100)
		if r == Traini {
			want, _ = FindUnion(series, 100)
		}
		must.Be(t, err == nil && slices.Equal(got, want) && len(got) != 0, r, got, err, want)
		again, err := ParseRule(r.String())
		must.Be(t, err == nil && again == r, r, "is read as", again, err)
	}
	must.Refused(ParseRule("tukey"))(t, "", "an unknown rule was not refused")
}

func TestRemove(t *testing.T) {
	kept, index := Remove([]float64{10, 11, 12, 13}, []int{0, 2})
	must.Be(t, slices.Equal(kept, []float64{11, 13}) && slices.Equal(index, []int{1, 3}), "kept", kept, index)
}

func TestSplit(t *testing.T) {
	all := [][]int{{5, 9}, {5}, {}, {9, 7, 5}}
	common, unique := Split(all, 1)
	must.Equal(t, fmt.Sprint(common, unique), "[[5 9] [5] [] [9 5]] [[] [] [] [7]]", "threshold 1: common",
		"unique")
	common, unique = Split(all, 2)
	must.Equal(t, fmt.Sprint(common, unique), "[[5] [5] [] [5]] [[9] [] [] [9 7]]", "threshold 2: common",
		"unique")
}

// BenchmarkFind takes turns with many series, so that no processor learns the branches of one.
func BenchmarkFind(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct{ n, window int }{{2000, 200}, {100000, 200}, {100000, 10000}} {
		all := make([][]float64, max(1, 100000/c.n))
		for k := range all {
			all[k] = make([]float64, c.n)
			for i := range all[k] {
				all[k][i] = 1 + 0.01*r.NormFloat64()
			}
		}
		b.Run(fmt.Sprintf("%d by %d", c.n, c.window), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				must.Get(Find(all[i%len(all)], c.window))(b)
			}
		})
	}
}

// FuzzFind checks Find against sorting every window, with many ties.
func FuzzFind(f *testing.F) {
	f.Add([]byte{1, 2, 1, 2, 1, 90, 1, 2, 1, 2, 1}, uint8(5), uint8(7))
	f.Fuzz(func(t *testing.T, data []byte, window, divisor uint8) {
		series := make([]float64, min(len(data), 500))
		for i := range series {
			series[i] = float64(data[i]) / (1 + float64(divisor))
		}
		got, err := Find(series, int(window))
		if err != nil {
			must.Be(t, window < 2, "window", window, "was refused", err)
			return
		}
		must.EqualList(t, got, findBySorting(series, int(window)))
	})
}

// numpyQuantile is numpy.quantile(sorted, q).
func numpyQuantile(sorted []float64, q float64) float64 {
	at := float64(len(sorted)-1) * q
	lo := int(at)
	if lo+1 == len(sorted) {
		return sorted[lo]
	}
	return sorted[lo] + (sorted[lo+1]-sorted[lo])*(at-float64(lo))
}

// unionBySorting asks every window.
func unionBySorting(series []float64, window, skip int) []int {
	marked := map[int]bool{}
	for from := skip; from+window <= len(series); from++ {
		sorted := slices.Sorted(slices.Values(series[from : from+window]))
		median := numpyQuantile(sorted, 0.5)
		width := 3 * (numpyQuantile(sorted, 0.99) - numpyQuantile(sorted, 0.01))
		for i := from; i < from+window; i++ {
			if series[i] > median+width || series[i] < median-width {
				marked[i] = true
			}
		}
	}
	found := []int{}
	for i := range series {
		if marked[i] {
			found = append(found, i)
		}
	}
	return found
}

func TestFindUnionAsksEveryWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	marks := 0
	for range 25 {
		series := make([]float64, 200+r.IntN(200))
		for i := range series {
			series[i] = 0.1 + 0.001*r.Float64()
			if r.IntN(150) == 0 {
				series[i] += 0.05 * r.Float64()
			}
		}
		window := 20 + r.IntN(60)
		got := must.Get(FindUnion(series, window))(t)
		mean := 0.0
		for _, v := range series {
			mean += v / float64(len(series))
		}
		skip := int(math.Ceil(float64(window) / math.Log1p(math.Ceil(0.1/mean))))
		want := unionBySorting(series, window, skip)
		must.Need(t, slices.Equal(got, want), "window", window, got, "want", want)
		marks += len(got)
	}
	must.Be(t, marks != 0, "no series had an outlier: nothing was compared")
}

func TestFindUnionOfShortSeries(t *testing.T) {
	for _, series := range [][]float64{nil, {1}, make([]float64, 300), {1, 2, 3}} {
		got, err := FindUnion(series, 200)
		must.Be(t, err == nil && len(got) == 0, len(series), "values", got, err)
	}
	must.Refused(FindUnion([]float64{math.NaN()}, 200))(t, "", "NaN was not refused")
}
