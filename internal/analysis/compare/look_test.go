package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
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
			r := mustCompare(t, armOf(of, "base"), armOf(of, "new"), Options{Paired: test.paired})
			must.Be(t, math.Abs(r.Confidence-test.confidence) < 1e-12, "confidence", r.Confidence)
			said := ""
			for _, w := range r.Warnings {
				said += w.Text
			}
			must.Equal(t, strings.Contains(said, "stages, because"), test.confidence != 0.95, said)
			must.Equal(t, strings.Contains(r.Changes[0].Reason, "at different times"), test.blocks == 0, said)
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
			full += arith.One(count(decide(rows, false, o), o) > 0)
			var result Result
			o = result.look(rows, o)
			late += arith.One(count(decide(rows, false, o), o) > 0)
		}
		share := func(n int) float64 { return float64(n) / float64(tables) }
		t.Logf("%d keys: %.3f at the first look, %.3f at either one; %.3f if both had all of the error", keys,
			share(early), share(early+late), share(early+full))
		limit := 0.075
		limit += 2.5 * math.Sqrt(limit*(1-limit)/float64(tables))
		must.Be(t, share(early+late) <= limit, keys, "keys:", share(early+late), "want at most", limit)
	}
}

// TestAnAddedVM: the machine becomes slower by 1.8 when 10 executions of C were measured; then D, a
// copy of C, is added with more executions of both. Only executions of one time are compared.
func TestAnAddedVM(t *testing.T) {
	added := "they were measured at different times"
	for name, test := range map[string]struct {
		c, d       [3]int // executions in each stage
		n, m, left int    // compared, and not compared
		look       int
		reason     string
	}{
		"only D":              {[3]int{10}, [3]int{0, 10}, 0, 0, 0, 1, added},
		"one execution":       {[3]int{10, 1}, [3]int{0, 11}, 0, 0, 0, 1, added},
		"two executions":      {[3]int{10, 2}, [3]int{0, 12}, 2, 12, 10, 1, ""},
		"ten executions":      {[3]int{10, 10}, [3]int{0, 20}, 10, 20, 10, 1, ""},
		"then more of both":   {[3]int{10, 5, 9}, [3]int{0, 15, 9}, 9, 9, 30, 2, ""},
		"both had been there": {[3]int{10, 6}, [3]int{10, 6}, 16, 16, 0, 2, ""},
		"one more of both":    {[3]int{10, 1}, [3]int{10, 1}, 11, 11, 0, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := &dataset.Dataset{Info: dataset.Info{Source: "x.krun", Machine: "lab1"}}
			r := rand.New(rand.NewPCG(6, 7))
			for vm, stages := range map[string][3]int{"C": test.c, "D": test.d} {
				number := 0
				for stage, n := range stages {
					for range n {
						number++
						e := execution(number, steadily(r, 60, 1+0.8*float64(min(stage, 1))))
						e.Stage = stage
						d.Add(key.Key{Benchmark: "b", VM: vm, Variant: "v"}, e)
					}
				}
			}
			slices.SortFunc(d.Pairs, func(a, b dataset.Pair) int {
				return strings.Compare(a.Key.VM, b.Key.VM)
			})
			result := compared(t, Choice{By: ByVM}, analyzed(t, d))
			c := result.Changes[0]
			must.Be(t, strings.Contains(c.Reason, test.reason) && (test.reason == "") == !c.Apart(), c.Reason)
			must.Be(t, c.Verdict == CannotTell || c.Verdict == Same, c.Verdict, "of a copy")
			must.Equal(t, c.OtherTime, test.left, "not compared")
			if test.reason == "" {
				must.Be(t, c.Steady != nil && c.Steady.BeforeExecutions == test.n &&
					c.Steady.AfterExecutions == test.m, c.Steady)
				must.Be(t, math.Abs(float64(c.Steady.Ratio.Estimate)-1) < 0.005, c.Steady.Ratio)
			}
			look := slices.ContainsFunc(result.Warnings, func(w warmup.Warning) bool {
				return w.Code == "extended" && strings.Contains(w.Text, "look 2")
			})
			must.Equal(t, look, test.look == 2, "look 2")
			want := map[int]float64{1: 0.95, 2: 0.975}[test.look]
			must.Be(t, math.Abs(result.Confidence-want) < 1e-12, result.Confidence, "want", want)
		})
	}
}
