package analysis_test

import (
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/analysis/changepoint"
	"krund/internal/analysis/classify"
	"krund/internal/analysis/outlier"
	"krund/internal/analysis/steady"
	"krund/internal/experiment/fixtures"
	"krund/rig/must"
)

// number is a float in a fixture, where NaN and the infinities are strings.
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	switch strings.Trim(string(b), `"`) {
	case "NaN":
		*n = number(math.NaN())
	case "Inf":
		*n = number(math.Inf(1))
	case "-Inf":
		*n = number(math.Inf(-1))
	default:
		return json.Unmarshal(b, (*float64)(n))
	}
	return nil
}

// caseFile is a series with what the study's tools say of it.
type caseFile struct {
	ID       string
	Values   []number
	Window   int
	Delta    string
	Steady   int
	Outliers []int
	R        struct {
		Penalty   float64
		Cpts      []int
		Mean, Var []float64
		Cost      float64
		Error     string
	}
	Truth *struct {
		Changepoints   []int
		CptsAll        []int `json:"cpts_all"`
		Classification classify.Class
		Variants       []struct {
			Delta          string
			Steady         int
			Raw            bool
			Classification classify.Class
		}
		Summary *struct {
			SteadyIter      int      `json:"steady_iter"`
			TimeToSteady    float64  `json:"time_to_steady"`
			SteadyMean      float64  `json:"steady_mean"`
			FirstSegment    int      `json:"first_steady_segment"`
			BootstrapRanges [][2]int `json:"bootstrap_ranges"`
			BootstrapN      int      `json:"bootstrap_n"`
		}
	}
}

func (c *caseFile) values() []float64 {
	v := make([]float64, len(c.Values))
	for i, x := range c.Values {
		v[i] = float64(x)
	}
	return v
}

func syntheticCases(t *testing.T) []caseFile {
	t.Helper()
	var cases []caseFile
	fixtures.JSON(t, "testdata/synthetic.json.gz", &cases)
	return cases
}

// near is equality of sums that are added up in another order.
func near(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-12*max(math.Abs(a), math.Abs(b))
}

// compareSeries runs the pipeline on a series and compares every number.
func compareSeries(t *testing.T, c *caseFile) {
	t.Helper()
	values := c.values()
	outliers, err := outlier.Find(values, c.Window)
	if c.Outliers == nil {
		must.Be(t, err != nil, c.ID, "outliers of a series that is not finite were not refused")
		outliers = nil
	} else if !slices.Equal(outliers, c.Outliers) {
		t.Errorf("%s: outliers %v, want %v", c.ID, outliers, c.Outliers)
	}
	kept, index := outlier.Remove(values, outliers)
	found, err := changepoint.Detect(kept, changepoint.Options{Penalty: changepoint.LogN(15)})
	if c.R.Error != "" {
		must.Be(t, err != nil, c.ID, "not refused; R says", c.R.Error)
		return
	}
	if err != nil {
		t.Errorf("%s: %v", c.ID, err)
		return
	}
	compareSegments(t, c, found)
	compareSteady(t, c, values, found.At(index))
}

func compareSegments(t *testing.T, c *caseFile, found *changepoint.Segmentation) {
	t.Helper()
	var ends []int
	var means, variances []float64
	for _, s := range found.Segments {
		ends = append(ends, s.End)
		means = append(means, s.Mean)
		variances = append(variances, s.Variance)
	}
	must.EqualList(t, ends, c.R.Cpts, c.ID, "changepoints")
	if !slices.Equal(means, c.R.Mean) || !slices.Equal(variances, c.R.Var) { // to the bit
		t.Errorf("%s: means %v variances %v, want %v and %v", c.ID, means, variances, c.R.Mean, c.R.Var)
	}
	must.Be(t, near(found.Penalty, c.R.Penalty) && near(found.Cost, c.R.Cost), c.ID, "penalty", found.Penalty,
		"cost", found.Cost, "want", c.R.Penalty, "and", c.R.Cost)
}

func compareSteady(t *testing.T, c *caseFile, values []float64, segments []changepoint.Segment) {
	t.Helper()
	var ends []int
	for _, s := range segments {
		ends = append(ends, s.End-1)
	}
	must.EqualList(t, ends, c.Truth.CptsAll, c.ID, "segments end at")
	rule := newRule(t, c.Delta, c.Steady, false)
	class := rule.Classify(segments, len(values))
	must.Equal(t, class, c.Truth.Classification, c.ID)
	for _, v := range c.Truth.Variants {
		must.Equal(t, newRule(t, v.Delta, v.Steady, v.Raw).Classify(segments, len(values)), v.Classification,
			c.ID, "delta", v.Delta, "steady", v.Steady, "raw", v.Raw)
	}
	s, ok := steady.Of(values, segments, class, rule)
	want := c.Truth.Summary
	must.Equal(t, ok, (want != nil), c.ID, "steady state", "want", want != nil)
	if !ok || want == nil {
		return
	}
	n := 0
	var ranges [][2]int
	for _, r := range slices.Backward(s.Ranges) {
		ranges = append(ranges, [2]int{r.Start, r.End})
		for i := r.Start; i < r.End; i++ {
			if _, out := slices.BinarySearch(c.Outliers, i); !out {
				n++
			}
		}
	}
	if s.Iteration != want.SteadyIter || !near(s.ToReach, want.TimeToSteady) ||
		!near(s.Mean, want.SteadyMean) ||
		s.FirstSegment != want.FirstSegment || !slices.Equal(ranges, want.BootstrapRanges) ||
		n != want.BootstrapN {
		t.Errorf("%s: steady state %+v of %d values, want %+v", c.ID, s, n, *want)
	}
}

func newRule(t *testing.T, delta string, steady int, raw bool) classify.Rule {
	t.Helper()
	d := must.Get(classify.ParseDelta(delta))(t)
	return classify.Rule{Mode: classify.Paper, Delta: d, Steady: steady, Raw: raw}
}

func TestSyntheticSeriesAsInR(t *testing.T) {
	cases := syntheticCases(t)
	for i := range cases {
		compareSeries(t, &cases[i])
	}
	t.Logf("%d synthetic series compared with R and warmup_stats", len(cases))
}

func TestFixtureSeriesAsInR(t *testing.T) {
	names, err := filepath.Glob(fixtures.Path(t, "changepoint", "[rs]*.json"))
	must.Need(t, err == nil && len(names) != 0, "no series", err)
	for _, name := range names {
		var c caseFile
		fixtures.JSON(t, name, &c)
		compareSeries(t, &c)
	}
	t.Logf("%d series of %s compared with R and warmup_stats", len(names), filepath.Dir(names[0]))
}
