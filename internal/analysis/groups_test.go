package analysis_test

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/bootstrap"
	"krund/internal/analysis/changepoint"
	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/outlier"
	"krund/internal/analysis/steady"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/fixtures"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// groupFile is a pair's executions with warmup_stats' summary of them.
type groupFile struct {
	ID             string
	Window, Steady int
	Delta          string
	Values         [][]float64
	CommonOutliers [][]int `json:"common_outliers"`
	UniqueOutliers [][]int `json:"unique_outliers"`
	Pexecs         []struct {
		Outliers, Cpts, Changepoints []int
		Means, Variances             []float64
		Classification               classify.Class
	}
	Summary struct {
		Classification classify.PairClass
		Detailed       map[classify.Class]int `json:"detailed_classification"`
		Iteration      *float64               `json:"steady_state_iteration"`
		IterationIQR   [2]float64             `json:"steady_state_iteration_iqr"`
		IterationList  []int                  `json:"steady_state_iteration_list"`
		Secs           *float64               `json:"steady_state_time_to_reach_secs"`
		SecsIQR        [2]float64             `json:"steady_state_time_to_reach_secs_iqr"`
		SecsList       []float64              `json:"steady_state_time_to_reach_secs_list"`
		Means          []float64              `json:"steady_state_time_list"`
		Bootstrap      *struct {
			Iterations int
			Indexes    [2]int  `json:"ci_indices"`
			MedianMean float64 `json:"median_mean"`
			MedianSD   float64 `json:"median_sd"`
			CIMean     float64 `json:"ci_mean"`
			CISD       float64 `json:"ci_sd"`
			Total      int     `json:"total_values"`
		}
	}
}

// pair is what the pipeline makes of a group.
type pair struct {
	classes   []classify.Class
	outliers  [][]int
	iteration []int
	seconds   []float64
	means     []float64
	steady    [][][]float64 // values by execution and steady segment
}

func analyse(t *testing.T, g *groupFile) pair {
	t.Helper()
	var p pair
	rule := newRule(t, g.Delta, g.Steady, false)
	for i, values := range g.Values {
		outliers := must.Get(outlier.Find(values, g.Window))(t)
		kept, index := outlier.Remove(values, outliers)
		found := must.Get(changepoint.Detect(kept, changepoint.Options{Penalty: changepoint.LogN(15)}))(t)
		segments := found.At(index)
		class := rule.Classify(segments, len(values))
		p.classes = append(p.classes, class)
		p.outliers = append(p.outliers, outliers)
		compareExecution(t, g, i, found, segments, class, outliers)
		s, ok := steady.Of(values, segments, class, rule)
		if !ok {
			continue
		}
		p.iteration = append(p.iteration, s.Iteration)
		p.seconds = append(p.seconds, s.ToReach)
		p.means = append(p.means, s.Mean)
		p.steady = append(p.steady, steady.Values(values, outliers, s.Ranges))
	}
	return p
}

func compareExecution(t *testing.T, g *groupFile, i int, found *changepoint.Segmentation,
	segments []changepoint.Segment, class classify.Class, outliers []int) {
	t.Helper()
	want := g.Pexecs[i]
	var cpts, changepoints []int
	var means, variances []float64
	for k, s := range found.Segments {
		cpts = append(cpts, s.End)
		means = append(means, s.Mean)
		variances = append(variances, s.Variance)
		if k < len(segments)-1 {
			changepoints = append(changepoints, segments[k].End-1)
		}
	}
	if !slices.Equal(outliers, want.Outliers) || !slices.Equal(cpts, want.Cpts) ||
		!slices.Equal(changepoints, want.Changepoints) ||
		!slices.Equal(means, want.Means) || !slices.Equal(variances, want.Variances) ||
		class != want.Classification {
		t.Errorf("%s execution %d: %q with %v, want %q with %v", g.ID, i, class, cpts, want.Classification,
			want.Cpts)
	}
}

func compareSummary(t *testing.T, g *groupFile, p pair) {
	t.Helper()
	common, unique := outlier.Split(p.outliers, 1)
	equal := func(a, b [][]int) bool { return slices.EqualFunc(a, b, slices.Equal[[]int]) }
	must.Be(t, equal(common, g.CommonOutliers) && equal(unique, g.UniqueOutliers), g.ID, "common outliers",
		common, "unique", unique)
	counts, want := classify.Count(p.classes), &g.Summary
	must.Equal(t, counts.Class(), want.Classification, g.ID)
	for _, class := range classify.Classes {
		must.Equal(t, counts.Of(class), want.Detailed[class], g.ID, class)
	}
	if !slices.Equal(p.iteration, want.IterationList) || !slices.EqualFunc(p.seconds, want.SecsList, near) ||
		!slices.EqualFunc(p.means, want.Means, near) {
		t.Errorf("%s: steady from %v after %v at %v", g.ID, p.iteration, p.seconds, p.means)
	}
	if want.Iteration != nil {
		iterations := make([]float64, len(p.iteration))
		for i, v := range p.iteration {
			iterations[i] = float64(v)
		}
		compareSpread(t, g.ID, arith.SpreadOf(iterations), *want.Iteration, want.IterationIQR)
		compareSpread(t, g.ID, arith.SpreadOf(p.seconds), *want.Secs, want.SecsIQR)
	}
}

func compareSpread(t *testing.T, id string, got arith.Spread, median float64, iqr [2]float64) {
	t.Helper()
	must.Be(t, near(got.Median, median) && near(got.P5, iqr[0]) && near(got.P95, iqr[1]), id, got, median,
		iqr)
}

// compareBootstrap allows six standard deviations of what other seeds give.
func compareBootstrap(t *testing.T, g *groupFile, p pair) {
	t.Helper()
	want := g.Summary.Bootstrap
	if want == nil {
		return
	}
	total := 0
	for _, execution := range p.steady {
		for _, segment := range execution {
			total += len(segment)
		}
	}
	got := must.Get(bootstrap.Mean(p.steady, bootstrap.Options{Seed: 1}))(t)
	if total != want.Total || got.Resamples != want.Iterations ||
		math.Abs(got.Mean-want.MedianMean) > 6*want.MedianSD || math.Abs(got.Half-want.CIMean) > 6*want.CISD {
		t.Errorf("%s: %+v of %d values, want %+v", g.ID, got, total, *want)
	}
}

func TestFixtureGroupsAsInWarmupStats(t *testing.T) {
	names, err := filepath.Glob(fixtures.Path(t, "changepoint", "g*.json"))
	must.Need(t, err == nil && len(names) != 0, "no groups", err)
	executions := 0
	for _, name := range names {
		var g groupFile
		fixtures.JSON(t, name, &g)
		p := analyse(t, &g)
		compareSummary(t, &g, p)
		compareBootstrap(t, &g, p)
		executions += len(g.Values)
	}
	t.Logf("%d groups with %d executions compared with warmup_stats", len(names), executions)
}

// asDataset makes a pair of a group, as a reader would.
func asDataset(g *groupFile) *dataset.Dataset {
	d := &dataset.Dataset{}
	for _, values := range g.Values {
		d.Add(key.Key{Benchmark: g.ID, VM: "vm", Variant: "v"}, dataset.Execution{
			Outcome: results.Completed,
			Columns: []dataset.Column{{Name: dataset.Wall, Unit: dataset.Seconds, Core: dataset.NoCore,
				Reals: values}},
		})
	}
	return d
}

// TestFixtureGroupsInADocument compares what the whole analysis says, with its percentages for
// window and steady state, which are 200 and 500 of 2000.
func TestFixtureGroupsInADocument(t *testing.T) {
	names, err := filepath.Glob(fixtures.Path(t, "changepoint", "g*.json"))
	must.Need(t, err == nil && len(names) != 0, "no groups", err)
	for _, name := range names {
		var g groupFile
		fixtures.JSON(t, name, &g)
		doc := must.Get(
			warmup.Analyze(asDataset(&g), warmup.Default(classify.Paper), warmup.Options{Workers: 2}))(t)
		compareDocument(t, &g, doc)
	}
	t.Logf("%d groups compared with warmup_stats", len(names))
}

func compareDocument(t *testing.T, g *groupFile, doc *warmup.Document) {
	t.Helper()
	pair, want := &doc.Pairs[0], &g.Summary
	if pair.Classification != want.Classification || pair.Executions[0].Window != g.Window ||
		pair.Executions[0].SteadyLength != g.Steady {
		t.Errorf("%s: %q with window %d and steady length %d, want %q, %d, %d", g.ID, pair.Classification,
			pair.Executions[0].Window, pair.Executions[0].SteadyLength, want.Classification, g.Window,
			g.Steady)
	}
	for i, e := range pair.Executions {
		if !slices.Equal(e.Outliers, g.Pexecs[i].Outliers) ||
			!slices.Equal(e.CommonOutliers, g.CommonOutliers[i]) ||
			!slices.Equal(e.Changepoints, g.Pexecs[i].Changepoints) ||
			e.Classification != g.Pexecs[i].Classification {
			t.Errorf("%s execution %d: %+v", g.ID, i, e)
		}
	}
	if (pair.SteadyIteration != nil) != (want.Iteration != nil) ||
		(pair.SteadyPerformance != nil) != (want.Bootstrap != nil) {
		t.Errorf("%s: steady iteration %v, performance %v", g.ID, pair.SteadyIteration,
			pair.SteadyPerformance)
		return
	}
	if want.Iteration != nil {
		compareSpread(t, g.ID, *pair.SteadyIteration, *want.Iteration, want.IterationIQR)
		compareSpread(t, g.ID, *pair.SteadySeconds, *want.Secs, want.SecsIQR)
	}
	if b := want.Bootstrap; b != nil {
		p := pair.SteadyPerformance
		if math.Abs(p.Mean-b.MedianMean) > 6*b.MedianSD || math.Abs(p.Half-b.CIMean) > 6*b.CISD ||
			p.Resamples != b.Iterations {
			t.Errorf("%s: performance %+v, want %+v", g.ID, *p, *b)
		}
	}
}
