package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"krund/rig/must"
)

// TestStages: blocks are of one stage, and a later look has less of the error.
func TestStages(t *testing.T) {
	for name, test := range map[string]struct {
		stage      func(arm string, number int) int
		blocks     int
		confidence float64
		paired     bool
	}{
		"one stage":                   {func(string, int) int { return 0 }, 12, 0.95, true},
		"more executions":             {func(_ string, n int) int { return n / 7 }, 12, 0.975, true},
		"twice":                       {func(_ string, n int) int { return n / 5 }, 12, 0.9875, true},
		"more executions, not paired": {func(_ string, n int) int { return n / 7 }, 12, 0.975, false},
		"an arm that was added": {func(arm string, n int) int {
			return map[bool]int{true: 1}[arm == "new"]
		}, 0, 0.95, true},
		"and executions of all": {func(arm string, n int) int {
			return map[bool]int{true: 2}[n > 6] + map[bool]int{true: 1}[arm == "new" && n <= 6]
		}, 6, 0.95, true},
	} {
		t.Run(name, func(t *testing.T) {
			data := armsOf(t, 12, 1.03, 1)
			for i := range data.Pairs {
				p := &data.Pairs[i]
				for k := range p.Executions {
					p.Executions[k].Stage = test.stage(p.Key.Arm, p.Executions[k].Number)
				}
			}
			of := analyzed(t, data)
			side := func(arm string) Side { return Side{Doc: of.Doc, Data: of.Data, Arm: arm} }
			r := mustCompare(t, side("base"), side("new"), Options{Paired: test.paired})
			must.Be(t, math.Abs(r.Confidence-test.confidence) < 1e-12, "confidence", r.Confidence)
			said := ""
			for _, w := range r.Warnings {
				said += w.Text
			}
			must.Equal(t, strings.Contains(said, "stages, because"), test.confidence != 0.95, said)
			must.Equal(t, strings.Contains(said, "measured at another time"), test.blocks == 0, said)
			got := 0
			if e := r.Changes[0].Steady; e != nil {
				got = e.BeforeExecutions
			}
			must.Equal(t, got, test.blocks, "compared", r.Changes[0].Reason)
		})
	}
}

// TestLooks: tables of identical keys that are extended when they cannot tell, by fewer executions
// the larger the measured changes are, have a verdict at either look in at most 7.5 %.
func TestLooks(t *testing.T) {
	tables := 1500
	if testing.Short() {
		tables = 300
	}
	r := rand.New(rand.NewPCG(5, 6))
	for _, keys := range []int{1, 10} {
		p := normalPilot(slices.Repeat([]float64{0.05}, keys))
		early, late, full := 0, 0, 0
		for range tables {
			rows := make([]row, keys)
			for k := range rows {
				rows[k] = row{before: p.side(r, k, 5, 0), after: p.side(r, k, 5, 0)}
			}
			o := Options{}.withDefaults()
			f := decide(rows, false, o)
			if count(f, o) > 0 {
				early++
				continue
			}
			least := 1.0
			for i := range f.rows {
				least = min(least, f.rows[i].p)
			}
			more := 5 + int(90*least) // as the advice
			for k := range rows {
				for _, list := range []*[]reduced{&rows[k].before, &rows[k].after} {
					for _, e := range p.side(r, k, more, 0) {
						e.Stage = 1
						*list = append(*list, e)
					}
				}
			}
			full += number(count(decide(rows, false, o), o) > 0)
			var result Result
			o = result.look(rows, o)
			late += number(count(decide(rows, false, o), o) > 0)
		}
		share := func(n int) float64 { return float64(n) / float64(tables) }
		t.Logf("%d keys: %.3f at the first look, %.3f at either one; %.3f if both had all of the error", keys,
			share(early), share(early+late), share(early+full))
		limit := 0.075
		limit += 2.5 * math.Sqrt(limit*(1-limit)/float64(tables))
		must.Be(t, share(early+late) <= limit, keys, "keys:", share(early+late), "want at most", limit)
	}
}
