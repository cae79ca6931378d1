package changepoint

import (
	"math"
	"math/rand/v2"
	"testing"

	"krund/rig/must"
)

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
