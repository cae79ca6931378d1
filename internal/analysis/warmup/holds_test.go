package warmup

import (
	"strings"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/steady"
	"krund/rig/must"
)

// decoded is a document as it is read from its file.
func decoded(t *testing.T, d *Document) *Document {
	t.Helper()
	text := must.Get(d.Encode())(t)
	again := must.Get(Decode(text))(t)
	return again
}

// TestStoredResultsHold: what an analysis stored is what it takes over, in both modes, for times
// and counts, with the performance and without.
func TestStoredResultsHold(t *testing.T) {
	d := experiment()
	for i := range d.Pairs {
		for k := range d.Pairs[i].Executions {
			e := &d.Pairs[i].Executions[k]
			if len(e.Columns) == 0 {
				continue
			}
			for core := range 2 {
				counts := make([]uint64, e.Columns[0].Len())
				for n := range counts {
					counts[n] = uint64(1 + 1000*((n/100+core)%2))
				}
				e.Columns = append(e.Columns,
					dataset.Column{Name: dataset.CoreCycles, Core: core, Counts: counts})
			}
		}
	}
	for _, mode := range []classify.Mode{classify.Paper, classify.Relative} {
		for _, column := range []string{dataset.Wall, dataset.CoreCycles, "none"} {
			for _, o := range []Options{{}, {NoPerformance: true}} {
				p := quick(mode)
				p.Column = column
				old := mustAnalyze(t, d, p, o)
				last := Progress{}
				o.Previous, o.Progress = decoded(t, old), func(p Progress) { last = p }
				o.Damaged = func(key string, why error) { t.Errorf("%v, %s: %s: %v", mode, column, key, why) }
				again := mustAnalyze(t, d, p, o)
				must.Be(t, marshal(t, again) == marshal(t, old) && last.Reused == last.Of, mode, column, last)
			}
		}
	}
}

// TestDamagedResultsAreReplaced: a result that cannot be that of the data is not used, and the
// caller learns why.
func TestDamagedResultsAreReplaced(t *testing.T) {
	d, p := experiment(), quick(classify.Relative)
	fresh := mustAnalyze(t, d, p, Options{})
	const huge = 1 << 62
	e := func(damage func(*Execution)) func(*Document) {
		return func(d *Document) { damage(&d.pair(t, "warm").Executions[1]) }
	}
	for name, c := range map[string]struct {
		damage func(*Document)
		why    string
	}{
		"range begins late":   {e(func(e *Execution) { e.Steady.Ranges[0].Start = huge }), "no stretch"},
		"range begins early":  {e(func(e *Execution) { e.Steady.Ranges[0].Start = -5 }), "no stretch"},
		"range ends late":     {e(func(e *Execution) { e.Steady.Ranges[0].End = 1_000_000 }), "no stretch"},
		"range ends at once":  {e(func(e *Execution) { e.Steady.Ranges[0].End = -1 }), "no stretch"},
		"two ranges":          {e(func(e *Execution) { e.Steady.Ranges = make([]steady.Range, 2) }), "begin"},
		"steady from segment": {e(func(e *Execution) { e.Steady.FirstSegment = -1 }), "begin in it"},
		"steady from":         {e(func(e *Execution) { e.Steady.Iteration = 401 }), "begin in it"},
		"outlier":             {e(func(e *Execution) { e.Outliers = []int{1_000_000} }), "outliers"},
		"outliers":            {e(func(e *Execution) { e.Outliers = []int{3, 3} }), "outliers"},
		"common outlier":      {e(func(e *Execution) { e.CommonOutliers = nil }), "outliers"},
		"segment":             {e(func(e *Execution) { e.Segments[1].Start = 7 }), "segment 2"},
		"no segment":          {e(func(e *Execution) { e.Segments = nil }), "changepoints"},
		"last segment":        {e(func(e *Execution) { e.Segments[1].End = 401 }), "segment 2"},
		"changepoint":         {e(func(e *Execution) { e.Changepoints[0]++ }), "changepoints"},
		"class":               {e(func(e *Execution) { e.Classification = "fast" }), "class"},
		"other class":         {e(func(e *Execution) { e.Classification = classify.Flat }), "sums"},
		"steady nowhere":      {e(func(e *Execution) { e.Steady = nil }), "class"},
		"status":              {e(func(e *Execution) { e.Status = Refused }), "has results"},
		"no status":           {e(func(e *Execution) { e.Status = "" }), "status"},
		"window":              {e(func(e *Execution) { e.Window = huge }), "window"},
		"no level":            {e(func(e *Execution) { e.Level = nil }), "no level"},
		"rule of the level":   {e(func(e *Execution) { e.Level.Rule = "x" }), "level"},
		"length":              {e(func(e *Execution) { e.Iterations = huge }), "another one"},
		"number":              {e(func(e *Execution) { e.Number = 7 }), "another one"},
		"main core": {e(func(e *Execution) { e.Cores = &Cores{Main: -2, Moves: []Migration{}} }),
			"main core"},
		"migration": {e(func(e *Execution) { e.Cores = &Cores{Moves: []Migration{{Iteration: 401}}} }),
			"migrations"},
		"an execution less": {func(d *Document) {
			p := d.pair(t, "mixed")
			p.Executions = p.Executions[1:]
		}, "7 executions"},
		"VM":               {func(d *Document) { d.pair(t, "flat").VM = "v\x1b" }, "names"},
		"counts":           {func(d *Document) { d.pair(t, "flat").Counts.Flat = huge }, "sums"},
		"levels":           {func(d *Document) { d.pair(t, "mixed").Levels = nil }, "sums"},
		"steady iteration": {func(d *Document) { d.pair(t, "warm").SteadyIteration.Median = -1 }, "sums"},
		"interval":         {func(d *Document) { d.pair(t, "warm").SteadyPerformance.Low = 9 }, "interval"},
		"interval of none": {func(d *Document) {
			d.pair(t, "late").SteadyPerformance = d.pair(t, "warm").SteadyPerformance
		}, "interval"},
	} {
		old := decoded(t, fresh)
		c.damage(old)
		var said []string
		again := mustAnalyze(t, d, p, Options{Previous: old,
			Damaged: func(key string, why error) { said = append(said, key+": "+why.Error()) }})
		must.Equal(t, marshal(t, again), marshal(t, fresh), name, "the damage is in the result")
		must.Be(t, len(said) == 1 && strings.Contains(said[0], c.why), name, said, c.why)
	}
}

// TestTooManyPairs: a file may have more keys than there is memory for their results.
func TestTooManyPairs(t *testing.T) {
	d := &dataset.Dataset{Pairs: make([]dataset.Pair, mostPairs+1)}
	must.Refused(Analyze(d, quick(classify.Paper), Options{}))(t, "50001 keys")
}
