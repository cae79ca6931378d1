package warmup

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"krund/internal/analysis/classify"
	"krund/rig/must"
)

// conclusion has n executions of each class in turn, whose means lie about mean.
func conclusion(mean float64, classes ...classify.Class) Conclusion {
	r := rand.New(rand.NewPCG(1, 9))
	var c Conclusion
	for i, class := range classes {
		means := make([]float64, 500)
		for k := range means {
			means[k] = mean + 0.01*r.NormFloat64()
		}
		c.Classes = append(c.Classes, class)
		c.Iterations = append(c.Iterations, float64(10+i))
		c.Means = append(c.Means, means)
	}
	return c
}

func repeated(class classify.Class, n int) []classify.Class {
	return slices.Repeat([]classify.Class{class}, n)
}

func TestIterations(t *testing.T) {
	full := []Conclusion{
		conclusion(1, repeated(classify.Warmup, 10)...),
		conclusion(2, repeated(classify.Warmup, 10)...),
		conclusion(3, repeated(classify.NoSteadyState, 10)...),
		{}, // no execution could be analyzed
	}
	shorter := map[int][]Conclusion{
		// as before; another performance; steady now; still nothing
		100: {full[0], conclusion(2.5, repeated(classify.Warmup, 10)...),
			conclusion(3, repeated(classify.NoSteadyState, 10)...), {}},
		// other classes; cannot be analyzed; a steady state where there was none
		50: {conclusion(1, repeated(classify.Flat, 10)...), {},
			conclusion(3, repeated(classify.Warmup, 10)...), {}},
	}
	var got []Point
	for _, n := range []int{100, 50} {
		got = append(got, agreeByIterations(full, shorter[n], n, 0.99))
	}
	share := func(same, compared int) Agreement {
		return Agreement{same, compared,
			100 * float64(same) / float64(compared)}
	}
	want := []Point{
		{100, share(3, 3), share(2, 2), share(1, 2), share(2, 3)},
		{50, share(0, 3), share(1, 2), share(1, 2), share(0, 3)},
	}
	must.EqualList(t, got, want)
}

// TestExecutions: a pair whose executions are alike is recognised from two of them; one with a rare
// class only from many.
func TestExecutions(t *testing.T) {
	alike := []Conclusion{conclusion(1, repeated(classify.Warmup, 30)...)}
	points := agreeByExecutions(alike, alike, []int{2, 10}, 200, 0.99, 1)
	for _, p := range points {
		must.Be(t, p.Classification.Percent == 100 && p.Classification.Compared == 200 &&
			p.SteadyPerformance.Percent == 100, "executions that are alike", p)
	}
	mixed := []Conclusion{conclusion(1, append(repeated(classify.Warmup, 15),
		repeated(classify.Slowdown, 15)...)...)}
	points = agreeByExecutions(mixed, mixed, []int{2, 6, 30}, 400, 0.99, 1)
	a, b, c := points[0].Overall.Percent, points[1].Overall.Percent, points[2].Overall.Percent
	must.Be(t, a <= b && b <= c && c > 99, "half and half", a, b, c, "% for 2, 6 and 30 executions")
	again := agreeByExecutions(mixed, mixed, []int{2, 6, 30}, 400, 0.99, 1)
	must.EqualList(t, again, points, "the same seed gave another result")
	none := agreeByExecutions([]Conclusion{{}}, []Conclusion{{}}, []int{2}, 10, 0.99, 1)
	must.Equal(t, none[0].Overall.Compared, 0, "nothing to compare")
}

// TestExecutionsOfCutOnes: samples of another experiment are compared with the whole one; a pair
// that could not be cut disagrees.
func TestExecutionsOfCutOnes(t *testing.T) {
	full := []Conclusion{
		conclusion(1, repeated(classify.Warmup, 20)...), conclusion(2,
			repeated(classify.Warmup, 20)...), conclusion(3, repeated(classify.Flat, 20)...),
	}
	cut := []Conclusion{full[0], {}, conclusion(4, repeated(classify.Flat, 20)...)}
	points := agreeByExecutions(full, cut, []int{5}, 10, 0.99, 1)
	if p := points[0]; p.Overall.Same != 10 || p.Overall.Compared != 30 || p.Classification.Same != 20 ||
		p.SteadyPerformance.Compared != 20 {
		t.Errorf("%+v", p)
	}
}

func TestLeast(t *testing.T) {
	enough, little := Agreement{Percent: 95}, Agreement{Percent: 94.9}
	s := Study{Both: []Shorter{{1000, 5, little}, {1500, 5, enough}, {1000, 7, enough}, {500, 20, enough}}}
	got, ok := s.Least()
	must.Be(t, ok && got == (Shorter{1000, 7, enough}), got, ok)
	got, ok = (&Study{Both: []Shorter{{1000, 5, little}}}).Least()
	must.Be(t, !ok, got, "is not enough")
}

// TestGridQuantiles compares with sorting the pooled means.
func TestGridQuantiles(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	means := make([][]float64, 5)
	for e := range means {
		for range 300 {
			means[e] = append(means[e], 10+float64(e)/10+0.05*r.NormFloat64())
		}
	}
	g := newGrid(means)
	for range 50 {
		chosen := []int{r.IntN(5), r.IntN(5), r.IntN(5)}
		pooled := slices.Sorted(slices.Values(slices.Concat(means[chosen[0]], means[chosen[1]],
			means[chosen[2]])))
		for _, q := range []float64{0.005, 0.25, 0.5, 0.995} {
			want := pooled[int(math.Ceil(q*float64(len(pooled))))-1]
			got := g.quantile(chosen, q)
			must.Be(t, math.Abs(got-want) <= g.step, "quantile", q, "of", chosen, got, "want", want)
		}
	}
	constant := newGrid([][]float64{{2, 2, 2}})
	must.Equal(t, constant.quantile([]int{0}, 0.99), 2, "constant means")
}
