package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/classify"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// again measures the keys of an event in 20 blocks of two revisions and a copy of the first.
// Executions differ by 1 %, and blocks drift by 0.5 %.
func again(t *testing.T, r *rand.Rand, e *Event, effect func(name string) float64) (*compare.Result, int) {
	t.Helper()
	d := &dataset.Dataset{Info: dataset.Info{Blocked: true, Arms: []dataset.Arm{
		{Name: "good"}, {Name: "candidate"},
		{Name: "again", Null: true}}}}
	executions := 0
	for _, k := range e.Keys {
		name := must.Get(key.Parse(k.Name))(t)
		for b := range 20 {
			block := 0.005 * r.NormFloat64()
			for _, arm := range d.Arms {
				level := math.Exp(block + 0.01*r.NormFloat64())
				if arm.Name == "candidate" {
					level *= math.Exp(effect(k.Name))
				}
				values := make([]float64, 30)
				for i := range values {
					values[i] = level * math.Exp(0.002*r.NormFloat64())
				}
				name.Arm = arm.Name
				executions++
				d.Add(name, dataset.Execution{Number: b + 1, Outcome: results.Completed,
					Columns: []dataset.Column{{Name: dataset.Wall, Unit: dataset.Seconds,
						Core: dataset.NoCore, Reals: values}}})
			}
		}
	}
	p := warmup.Default(classify.Relative)
	p.Resamples = 10
	doc := must.Get(warmup.Analyze(d, p, warmup.Options{}))(t)
	g := must.Get(compare.Choice{By: compare.ByArm}.Groups(compare.Side{Doc: doc, Data: d}))(t)
	return must.Get(compare.OfGroups(g, compare.Options{}))(t), executions
}

// TestConfirm: after both revisions were measured again, events that the machine caused send no
// notice, and those that the program caused send one.
func TestConfirm(t *testing.T) {
	const keys, nights, from = 8, 45, 30
	trials := must.Often(3, 20)
	told, asked, machine, executions := [2]int{}, [2]int{}, 0, 0
	for trial := range trials {
		for real := range 2 {
			r := rand.New(rand.NewPCG(uint64(trial), uint64(59+real)))
			sizes := map[string]float64{}
			for k := range keys / 2 {
				sizes[fmt.Sprintf("k%d:vm:v", k)] = 0.06 * (0.5 + r.Float64()/2)
			}
			effect := func(_, k int) float64 { return sizes[fmt.Sprintf("k%d:vm:v", k)] }
			versions := nightly(nights, func(i int) string { return fmt.Sprint("rev", i) })
			h := Of(versions, lab(r, 1, keys, nights, from, effect), Options{})
			for i := range h.Events {
				e := &h.Events[i]
				before, after, ok := h.Asks(e)
				if !ok {
					continue
				}
				asked[real]++
				must.Be(t, before < "rev30" && after >= "rev30", before, after)
				result, n := again(t, r, e, func(name string) float64 { return float64(real) * sizes[name] })
				executions += n
				e.Confirm("confirm.krun", result)
				told[real] += arith.One(e.Told() && e.Verdict == ByProgram)
				machine += arith.One(real == 0 && e.Verdict == ByMachine)
			}
		}
	}
	t.Logf("of %d: told of %d that the machine made (asked for %d, now the machine's %d) and %d that the "+
		"program made (asked for %d); %d executions", trials, told[0], asked[0], machine, told[1], asked[1],
		executions)
	must.Be(t, told[0] <= 1 && told[1] >= trials-trials/10 && asked[0] >= trials, told, asked)
}

// TestAnchor: the anchor's keys are controls of the version that was measured beside them. When
// they move, it is the machine; not, if the anchor was built anew.
func TestAnchor(t *testing.T) {
	c := NewCollector(nil)
	r := rand.New(rand.NewPCG(61, 61))
	const nights, from = 30, 20
	for v := range nights {
		d := &dataset.Dataset{Info: dataset.Info{Arms: []dataset.Arm{
			{Name: "new", Revision: fmt.Sprint("rev", v)}, {Name: "anchor", Anchor: true}}}}
		for k := range 5 {
			for _, arm := range d.Arms {
				level := math.Exp(0.04*float64(arith.One(v >= from)) + 0.002*r.NormFloat64())
				d.Add(key.Key{Benchmark: fmt.Sprint("b", k), VM: "vm", Variant: "v", Arm: arm.Name},
					dataset.Execution{Number: 1, Outcome: results.Completed, Columns: []dataset.Column{{
						Name: dataset.Wall, Unit: dataset.Seconds, Core: dataset.NoCore,
						Reals: []float64{level, level, level, level, level, level}}}})
			}
		}
		p := warmup.Default(classify.Relative)
		p.Resamples = 10
		c.Add(Measured{d, must.Get(warmup.Analyze(d, p, warmup.Options{}))(t)}, fmt.Sprint("night", v))
	}
	versions, keys, _ := c.Collected()
	h := Of(versions, keys, Options{})
	must.Need(t, len(versions) == nights && len(h.Events) == 1 && h.Events[0].Version == from, h.Events)
	e := &h.Events[0]
	must.Be(t, e.Verdict == ByMachine && strings.Contains(e.Evidence, "5 of 5 keys moved"), e)
	for i, k := range keys {
		must.Be(t, k.Control == strings.HasSuffix(k.Name, "@anchor"), k.Name, i)
	}
	h.Explain(func(_ string, v int) map[string]string {
		return map[string]string{"program.vm.vm@anchor": fmt.Sprint(v >= from)}
	})
	must.Equal(t, e.Verdict, Undecided, e.Evidence)
}
