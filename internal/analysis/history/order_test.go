package history

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"testing"

	"krund/rig/must"
)

func pointsAt(x ...float64) []point {
	list := make([]point, len(x))
	for i, v := range x {
		list[i] = point{x: v, weight: 1}
	}
	return list
}

// TestOrder: twice the one-sided p-values of Fisher's exact test by hand.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		name   string
		points []point
		at     int
		want   float64 // p
	}{
		{"separated", pointsAt(0, 0, 0, 0, 1, 1, 1), 4, 2. / 35},
		{"downwards", pointsAt(1, 1, 1, 1, 0, 0, 0), 4, 2. / 35},
		{"one before", pointsAt(0, 1, 0, 0, 1, 1, 1), 4, 2 * 4. / 35},
		{"one after is not", pointsAt(0, 0, 0, 0, 1, 1, 0), 4, 2 * 3. / 21},
		{"no difference", pointsAt(0, 1, 0, 1), 2, 2 * 5. / 6},
	} {
		got := math.Exp(-order(c.points, c.at, 0.5))
		must.Be(t, math.Abs(got-c.want) <= 1e-12, c.name, got, "want", c.want)
	}
}

// TestNeighbors: the sum over steps of the ranks 1 2 3 4 5 is 4, that of the squares 10; the
// variance is Bartels' (1982), 4(n-2)(5n²-2n-9)/(5n(n+1)(n-1)²) of twice the correlation.
func TestNeighbors(t *testing.T) {
	rising := neighbors{}.with(pointsAt(1, 2, 4, 8, 16))
	want := 25 * 3 * (5*25 - 10 - 9) / (5. * 5 * 6 * 16)
	must.Be(t, math.Abs(rising.sum-5*0.8) <= 1e-12 && math.Abs(rising.variance-want) <= 1e-12 &&
		rising.n == 5, rising, want)
	s := (neighbors{}).with(pointsAt(1, 2, 3, 4)).with(pointsAt(2, 2, 2, 2, 2))
	must.Be(t, s.n == 0 && s.correlation(cautious) == 0, "few or equal versions", s)
	two := rising.with(pointsAt(1, 2, 4, 8, 16))
	got := two.correlation(certain)
	must.Be(t, math.Abs(got-0.8) <= 1e-12, "two levels", got)
	s = (neighbors{}).with(pointsAt(1, 5, 2, 4, 3))
	must.Equal(t, s.correlation(cautious), 0, "alternating", s)
}

// TestStatesAndDrift: versions of a second state are no change, and belong to the level; a key that
// drifts is reported to.
func TestStatesAndDrift(t *testing.T) {
	bimodal, drifts := kinds[8], kinds[13]
	const n = 200
	h := Of(labels(n), []Key{{Name: "b", Values: bimodal.values(source(6), n, n, 1)},
		{Name: "d", Values: drifts.values(source(6), n, n, 1)}}, Options{})
	b, d := h.Keys[0], h.Keys[1]
	must.Be(t, len(b.Changes) == 0 && b.Autocorrelation == 0 &&
		math.Abs(math.Log(b.Levels[0].Value)-0.03) <= 0.015, "two states", b.Levels, b.Changes)
	must.Be(t, d.Autocorrelation >= 0.15, "drift", d.Autocorrelation)
}

// TestManyVersions: a version is added without a look at all others, which took hours here.
func TestManyVersions(t *testing.T) {
	v := Values{Keys: []Key{{Name: "k"}}}
	for i := range 500_000 {
		v.Versions = append(v.Versions, Version{Label: strconv.Itoa(i)})
		v.Keys[0].Values = append(v.Keys[0].Values, []float64{1})
	}
	c := NewCollector(nil)
	must.Do(t, c.AddSeries(v))
	versions, _, _ := c.Collected()
	must.Equal(t, versions[len(versions)-1].Label, "499999")
}

// TestStates: two states are named where both come and go, with their shares; a step, a step and
// back, a coarse clock and noise are none.
func TestStates(t *testing.T) {
	fast, slow, odd := []float64{1, 1.001, 1.002}, []float64{1.05, 1.051, 1.052}, []float64{1, 1.051, 1.002}
	of := func(n int, nights ...[]float64) [][]float64 { return slices.Repeat(nights, n) }
	for _, c := range []struct {
		name   string
		values [][]float64
		states States // none: zero
	}{
		{"within nights", of(3, odd), States{1.001, 1.051, 6, 3}},
		{"between nights", of(4, fast, slow, slow), States{1.001, 1.051, 12, 24}},
		{"rare", slices.Concat(of(2, fast), of(1, slow), of(6, fast), of(1, slow), of(7, fast)),
			States{1.001, 1.051, 44, 6}},
		{"a night not measured", of(3, odd, nil), States{1.001, 1.051, 6, 3}},
		{"a step", slices.Concat(of(6, fast), of(2, slow)), States{}},
		{"a step and back", slices.Concat(of(6, fast), of(2, slow), of(6, fast)), States{}},
		{"a coarse clock", of(9, []float64{1, 1.05, 1.1}), States{}},
		{"too few", of(2, odd), States{}},
		{"constant", of(9, []float64{1}), States{}},
		{"1 percent is the least", of(9, []float64{1, 1.009}), States{}},
		{"two nights", of(1, fast, slow), States{}},
		{"extreme", of(9, []float64{1e-300, 1e300}), States{}}, // two values: a coarse clock
	} {
		h := Of(labels(len(c.values)), []Key{{Name: "k", Values: c.values}}, Options{})
		must.Get(json.Marshal(h))(t)
		got := h.Keys[0].States
		if c.states == (States{}) {
			must.Be(t, got == nil, c.name, got)
			continue
		}
		must.Need(t, got != nil, c.name, h.Keys[0])
		for _, p := range []*float64{&got.Low, &got.High} { // of the geometric mean, the third digit
			for _, want := range []float64{c.states.Low, c.states.High} {
				if *p/want > 0.999 && *p/want < 1.001 {
					*p = want
				}
			}
		}
		must.Equal(t, *got, c.states, c.name)
	}
}
