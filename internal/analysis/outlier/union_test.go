package outlier

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"krund/rig/must"
)

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
