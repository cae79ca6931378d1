package history

import (
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"krund/internal/experiment/fixtures"
	"krund/rig/must"
)

func studentTail(t, freedom float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: freedom}.Survival(t)
}

type otavaCases struct {
	Series []float64
	Cases  []struct {
		Window    int     `json:"window_len"`
		Level     float64 `json:"max_pvalue"`
		Magnitude float64 `json:"min_magnitude"`
		Indexes   []int
	}
}

// TestRival: the implementation of otava's method finds what otava finds.
func TestRival(t *testing.T) {
	var o otavaCases
	fixtures.JSON(t, fixtures.Path(t, "history/otava/tigerbeetle.json"), &o)
	for _, c := range o.Cases {
		must.EqualList(t, otava(o.Series, c.Window, c.Level, c.Magnitude), c.Indexes, "p", c.Level,
			"magnitude", c.Magnitude)
	}
	t.Logf("%d cases", len(o.Cases))
}

// TestTigerBeetle: of the history with which otava is tested, which has one value per version, each
// change of 5 % that otava finds is found.
func TestTigerBeetle(t *testing.T) {
	var o otavaCases
	fixtures.JSON(t, fixtures.Path(t, "history/otava/tigerbeetle.json"), &o)
	values := make([][]float64, len(o.Series))
	for i, v := range o.Series {
		values[i] = []float64{v}
	}
	h := Of(labels(len(values)), []Key{{Name: "tigerbeetle", Values: values}}, Options{}).Keys[0]
	for _, c := range h.Changes {
		t.Logf("%d (%d to %d), found with %d: %+.1f %% (%.1f, %.1f)", c.Version, c.First, c.Last, c.Found,
			100*(c.Ratio-1), 100*(c.Low-1), 100*(c.High-1))
	}
	for _, want := range o.Cases[0].Indexes {
		must.Be(t, slices.ContainsFunc(h.Changes, func(c Change) bool {
			return c.First <= want &&
				c.Last >= want
		}), "no change at", want)
	}
}
