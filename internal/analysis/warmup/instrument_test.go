package warmup

import (
	"strings"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestInstrumentedIsMarked: an instrumented key has its level and a warning, another hash than the
// same data without, and executions that were instrumented differently do not count in it.
func TestInstrumentedIsMarked(t *testing.T) {
	analyze := func(levels ...string) *Pair {
		d := &dataset.Dataset{}
		for _, level := range levels {
			d.Add(key.Key{Benchmark: "b", VM: "v", Variant: "x"}, dataset.Execution{
				Outcome: results.Completed, Instrument: level, Columns: []dataset.Column{{Name: dataset.Wall,
					Unit: dataset.Seconds, Core: dataset.NoCore, Reals: []float64{1, 2, 1, 2, 1, 2, 1, 2}}}})
		}
		doc := must.Get(Analyze(d, Default(classify.Relative), Options{NoPerformance: true}))(t)
		return &doc.Pairs[0]
	}
	marked := func(p *Pair) bool {
		return len(p.Warnings) > 0 && p.Warnings[0].Code == warnInstrument &&
			strings.Contains(p.Warnings[0].Text, "instrumented ("+p.Instrument+")")
	}
	clean, events, mixed := analyze("", ""), analyze("events", "events"), analyze("events", "", "events")
	must.Be(t, clean.Instrument == "" && !marked(clean) && clean.InputHash != events.InputHash, "clean",
		clean.Warnings)
	must.Be(t, events.Instrument == "events" && marked(events) && events.Status.Analysed == 2, "events",
		events)
	if mixed.Status != (StatusCounts{Analysed: 2, Refused: 1}) || mixed.Executions[1].Problem !=
		"it was not instrumented and the first execution was instrumented (events); they are not mixed" {
		t.Errorf("mixed: %+v, %q", mixed.Status, mixed.Executions[1].Problem)
	}
}
