package sequential

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/results"
	"krund/internal/experiment/stop"
	"krund/rig/must"
)

// side returns the arm of a table as compare reads it: each execution has four equal iterations.
func side(groups []Group, arm int) compare.Side {
	s := compare.Side{Data: &dataset.Dataset{}, Doc: &warmup.Document{Unit: dataset.Seconds}}
	s.Doc.Parameters.Column = dataset.Wall
	for _, g := range groups {
		k := g[arm].Name
		k.Arm = ""
		pair := dataset.Pair{Key: k}
		for _, e := range g[arm].Executions {
			v := e.Value
			wall := dataset.Column{Name: dataset.Wall, Unit: dataset.Seconds, Core: dataset.NoCore,
				Reals: []float64{v, v, v, v}}
			pair.Executions = append(pair.Executions, dataset.Execution{Number: e.Number,
				Outcome: results.Completed, Columns: []dataset.Column{wall}})
		}
		s.Data.Pairs = append(s.Data.Pairs, pair)
		s.Doc.Pairs = append(s.Doc.Pairs, warmup.Pair{Key: k.String(),
			Executions: make([]warmup.Execution, len(pair.Executions))})
	}
	return s
}

// TestCombined: tables of 20 keys of identical code, two arms in up to 30 blocks, each key finished
// by [stop] as soon as its question is answered, then compared as krunctl compare does. A false
// verdict of any kind is in at most 5 % + 5 % of the tables (docs/stopping.md).
func TestCombined(t *testing.T) {
	const keys = 20
	tables := must.Often(20, 1000)
	for _, rule := range []stop.Rule{stop.Verdict, stop.HalfWidth} {
		p := Policy{Rules: []stop.Rule{rule}, Minimum: firstLook, Alpha: alpha, HalfWidth: 0.02, Margin: 0.01}
		r := rand.New(rand.NewPCG(5, 6))
		stopped, compared, either, saved := 0, 0, 0, 0
		for range tables {
			var groups []Group
			wrong := false
			for k := range keys {
				// 0.2 to 10 % between the executions.
				sd := 0.002 * math.Pow(50, r.Float64())
				log := func(int) float64 { return sd * r.NormFloat64() }
				g := Group{observe("base", log), observe("new", log)}
				for i := range g {
					g[i].Name.Benchmark = fmt.Sprint("b", k)
				}
				at := g
				for n := firstLook; n < lastLook; n++ {
					if d := p.Decide(g.first(n), keys); d.Finish {
						at = g.first(n)
						q := d.Questions[0]
						wrong = wrong || rule == stop.Verdict && (*q.Low > 1 || *q.High < 1)
						break
					}
				}
				saved += lastLook - at.fewest()
				groups = append(groups, at)
			}
			result := must.Get(compare.Of(side(groups, 0), side(groups, 1), compare.Options{Paired: true}))(t)
			n := result.Counts
			found := n[compare.Better]+n[compare.Worse]+n[compare.Changed] > 0
			for i, is := range []bool{wrong, found, wrong || found} {
				if is {
					*[]*int{&stopped, &compared, &either}[i]++
				}
			}
		}
		share := func(n int) float64 { return float64(n) / float64(tables) }
		t.Logf("%s: false verdict of [stop] %.4f, of compare %.4f, either %.4f of %d tables; saved %.3f",
			rule, share(stopped), share(compared), share(either), tables,
			float64(saved)/float64(tables*keys*lastLook))
		low, _ := compare.Binomial(either, tables, 0.99)
		must.Be(t, low <= 2*alpha, rule, either, "of", tables, "tables have a false verdict")
	}
}

// TestCompareStates: a comparison names the keys that [stop] finished, with the reason.
func TestCompareStates(t *testing.T) {
	g := Group{observe("base", func(n int) float64 { return float64(n) / 1000 }),
		observe("new", func(n int) float64 { return float64(n%3) / 1000 })}
	before, after := side([]Group{g}, 0), side([]Group{g}, 1)
	for _, s := range []*compare.Side{&before, &after} {
		s.Data.Stopped = []dataset.Stopped{{Keys: []string{"b:v:x"}, Executions: 7, Reason: "new: same"}}
	}
	r, err := compare.Of(before, after, compare.Options{Paired: true})
	must.Need(t, err == nil && len(r.Changes) == 1 && len(r.Changes[0].Warnings) == 1 && len(r.Warnings) == 1,
		r, err)
	const want = "it was finished by [stop] after 7 executions: new: same"
	if got := r.Changes[0].Warnings[0]; got.Code != "stopped_early" || got.Text != want ||
		!strings.Contains(r.Warnings[0].Text, "1 of 1 keys were finished by [stop]") {
		t.Errorf("%+v, %+v", got, r.Warnings)
	}
}
