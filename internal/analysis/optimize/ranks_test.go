package optimize

import (
	"math"
	"testing"

	"krund/rig/must"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(1, math.Abs(b)) }

// small has ties within and between samples.
var small = [][]float64{{1.2, 0.4, 3.1, 0.4, 2.2, 5.0}, {0.1, 0.4, 0.3, 0.2, 1.2},
	{4.0, 3.1, 6.5, 7.7, 5.0, 9.1, 2.2}}

// ozone is R's airquality$Ozone by month.
var ozone = [][]float64{
	{41, 36, 12, 18, 28, 23, 19, 8, 7, 16, 11, 14, 18, 14, 34, 6, 30, 11, 1, 11, 4, 32, 23, 45, 115, 37},
	{29, 71, 39, 23, 21, 37, 20, 12, 13},
	{135, 49, 32, 64, 40, 77, 97, 97, 85, 10, 27, 7, 48, 35, 61, 79, 63, 16, 80, 108, 20, 52, 82, 50, 64, 59},
	{39, 9, 16, 78, 35, 66, 122, 89, 110, 44, 28, 65, 22, 59, 23, 31, 44, 21, 9, 45, 168, 73, 76, 118, 84,
		85},
	{96, 78, 73, 91, 47, 32, 20, 23, 21, 24, 44, 21, 28, 9, 13, 46, 18, 13, 24, 16, 13, 23, 36, 7, 14, 30, 14,
		18, 20},
}

// TestKruskalWallis: kruskal.test of R 4.2.2.
func TestKruskalWallis(t *testing.T) {
	for _, c := range []struct {
		samples [][]float64
		h       float64
		freedom int
		p       float64
	}{
		{small, 11.5493186660721, 2, 0.00310525533638894},
		{ozone, 29.2665763061169, 4, 6.90071411854678e-06},
	} {
		if got, _ := kruskalWallisOf(c.samples); !near(got.H, c.h) || got.Freedom != c.freedom || !near(got.P, c.p) {
			t.Errorf("%+v, want %v, %v, %v", got, c.h, c.freedom, c.p)
		}
	}
	if got, _ := kruskalWallisOf([][]float64{{1, 1}, {1}}); !math.IsNaN(got.P) {
		t.Errorf("equal values: %+v", got)
	}
	if got, pairs := kruskalWallisOf([][]float64{{1, 2}, {}}); !math.IsNaN(got.P) || !math.IsNaN(pairs[0].Delta) {
		t.Errorf("one sample: %+v, %+v", got, pairs)
	}
}

// TestPairs: the formula of dunn.test (two-sided) and that of effsize's cliff.delta, in R 4.2.2.
func TestPairs(t *testing.T) {
	_, pairs := kruskalWallisOf(small)
	for i, want := range []rankPair{
		{0, 1, 1.59456238689131, 0.110810129303226, 0.766666666666667},
		{0, 2, -1.81923952292887, 0.0688748954898969, -0.738095238095238},
		{1, 2, -3.37754339946826, 0.000731364110140154, -1},
	} {
		got := pairs[i]
		if got.A != want.A || got.B != want.B || !near(got.Z, want.Z) || !near(got.P, want.P) ||
			!near(got.Delta, want.Delta) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for delta, want := range map[float64]string{0: "negligible", -0.146: "negligible", 0.147: "small",
		-0.33: "medium", 0.474: "large", -1: "large", math.NaN(): ""} {
		must.Equal(t, cliffsSize(delta), want)
	}
}
