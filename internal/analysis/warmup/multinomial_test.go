package warmup

import (
	"math"
	"testing"

	"krund/rig/must"
)

// TestSisonGlaz has the intervals that the published procedure gives when it is programmed in R
// with ppois and factorial moments, as Sison and Glaz write it.
func TestSisonGlaz(t *testing.T) {
	for _, c := range []struct {
		counts     []int
		confidence float64
		want       []interval
	}{
		{[]int{23, 12, 44}, 0.95, []interval{
			{0.1898734177215, 0.410670296140}, {0.0506329113924, 0.271429789811}, {0.4556962025316,
				0.676493080950}}},
		// Accidents on seven weekdays, the example of Glaz and Sison (1999).
		{[]int{56, 72, 73, 59, 62, 87, 58}, 0.95, []interval{
			{0.0792291220557, 0.164355734040}, {0.1134903640257, 0.198616976010}, {0.1156316916488,
				0.200758303633},
			{0.0856531049251, 0.170779716910}, {0.0920770877944, 0.177203699779}, {0.1456102783726,
				0.230736890357},
			{0.0835117773019, 0.168638389286}}},
		{[]int{30, 0, 0, 0}, 0.99, []interval{{1, 1}, {0, 0.0558023068782}, {0, 0.0558023068782},
			{0, 0.0558023068782}}},
		{[]int{22, 8, 0, 0}, 0.99, []interval{
			{0.566666666667, 0.919946739022}, {0.1, 0.453280072356}, {0, 0.186613405689}, {0,
				0.186613405689}}},
		{[]int{1, 1}, 0.99, []interval{{0, 1}, {0, 1}}},
	} {
		got, err := sisonGlaz(c.counts, c.confidence)
		if err != nil {
			t.Errorf("%v: %v", c.counts, err)
			continue
		}
		for i := range c.want {
			if math.Abs(got[i].Low-c.want[i].Low) > 1e-9 || math.Abs(got[i].High-c.want[i].High) > 1e-9 {
				t.Errorf("%v, class %d: %v, want %v", c.counts, i, got[i], c.want[i])
			}
		}
	}
}

func TestSisonGlazRefuses(t *testing.T) {
	for _, c := range []struct {
		counts     []int
		confidence float64
	}{
		{nil, 0.99}, {[]int{0, 0}, 0.99}, {[]int{3, -1}, 0.99}, {[]int{3}, 0}, {[]int{3}, 1}, {[]int{3},
			math.NaN()},
	} {
		_, err := sisonGlaz(c.counts, c.confidence)
		must.Fail(t, err, errCounts, c.counts, "with", c.confidence, "want errCounts")
	}
}

// TestSisonGlazHoldsTheProportions: intervals contain the observed proportions, stay within 0 to 1
// and widen with the confidence.
func TestSisonGlazHoldsTheProportions(t *testing.T) {
	for _, counts := range [][]int{{1}, {5}, {3, 7}, {10, 10, 10}, {1, 0, 0, 29}, {300, 200, 100, 50}} {
		n := 0
		for _, c := range counts {
			n += c
		}
		narrow := must.Get(sisonGlaz(counts, 0.9))(t)
		wide := must.Get(sisonGlaz(counts, 0.99))(t)
		for i, c := range counts {
			p := float64(c) / float64(n)
			w, v := wide[i], narrow[i]
			if w.Low < 0 || w.High > 1 || v.Low > p || v.High < p-1e-12 || w.Low > v.Low+1e-12 ||
				w.High < v.High-1e-12 {
				t.Errorf("%v: %v at 90%%, %v at 99%%, observed %v", counts, v, w, p)
			}
		}
	}
}

func TestOverlaps(t *testing.T) {
	a, b, c := interval{0, 0.5}, interval{0.5, 1}, interval{0.6, 1}
	must.Be(t, a.Overlaps(b) && b.Overlaps(a) && !a.Overlaps(c) && !c.Overlaps(a),
		"touching intervals overlap, apart ones do not")
}
