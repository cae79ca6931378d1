package sequential

import (
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/fixtures"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// jmhGroups reads 21 JMH benchmarks of 10 forks (KRUND_FIXTURES) as an experiment.
func jmhGroups(t *testing.T) []Group {
	t.Helper()
	d := &dataset.Dataset{}
	for _, name := range fixtures.Glob(t, "jmh", "series", "*.gz") {
		var series struct {
			ID    string
			Forks [][]float64
		}
		fixtures.JSON(t, name, &series)
		for i, values := range series.Forks {
			wall := dataset.Column{Name: dataset.Wall, Unit: dataset.Seconds, Core: dataset.NoCore}
			wall.Reals = values
			d.Add(key.Key{Benchmark: series.ID, VM: "jmh", Variant: "x"}, dataset.Execution{Number: i + 1,
				Outcome: results.Completed, Columns: []dataset.Column{wall}})
		}
	}
	doc := must.Get(warmup.Analyze(d, warmup.Default(classify.Relative),
		warmup.Options{NoPerformance: true, Workers: 2}))(t)
	return GroupsOf(d, doc, true)
}

// TestJMH: with a half width of 5 %, at least half of the executions are saved, and 95 % of the
// conclusions of all 10 forks are kept; no level changes by more than 1 %. Tables of identical code
// have false verdicts as rarely as they should. It logs the curve of docs/stopping.md.
func TestJMH(t *testing.T) {
	groups := jmhGroups(t)
	replay := func(name string, minimum int, half float64) *Replay {
		policy := must.Get(ParseReplayable(name))(t)
		r := ReplayOf(groups, policy, Policy{Minimum: minimum, Alpha: 0.05, HalfWidth: half, Margin: 0.01})
		t.Logf("%-18s minimum %d, ± %2.0f %%: saved %.3f, level %.3f, class %.3f, alike %.3f, within 1, 2, "+
			"3 %%: %v", name, minimum, 100*half, r.Executions.Share(), r.Level.Share(), r.Class.Share(),
			r.Similar.Share(), r.Within)
		return r
	}
	for _, half := range []float64{0.01, 0.02, 0.03, 0.05, 0.10} {
		r := replay("halfwidth", 3, half)
		if half != 0.05 {
			continue
		}
		saved := r.Executions.Share()
		must.Be(t, saved >= 0.5, "saved", saved, "of the executions")
		for what, kept := range map[string]Kept{"levels": r.Level, "classes": r.Class,
			"similarities": r.Similar, "levels within 1 %": r.Within[0]} {
			must.Be(t, kept.Of == len(groups) && kept.Share() >= 0.95, what, kept)
		}
	}
	replay("similar", 5, 0.05)
	replay("minimum", 3, 0.05)
	identical := IdenticalOf(groups, Policy{Minimum: 3, Alpha: 0.05, Margin: 0.01}, 1000, 1)
	t.Logf("%d keys, %d tables of identical code: %d false", len(groups), identical.Tables, identical.False)
	must.Be(t, identical.Low <= 0.05, identical)
}
