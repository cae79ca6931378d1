package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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

// lab simulates machines that measure one program every night: each key has a level of its own on
// each machine, nights and executions vary by 0.5 and 1 %, and from a night on effect, of a machine
// and a key, is added to the logarithm.
func lab(r *rand.Rand, machines, keys, nights, from int, effect func(machine, key int) float64) []Key {
	const night, execution, executions = 0.005, 0.01, 5
	var list []Key
	for m := range machines {
		for k := range keys {
			level := r.NormFloat64()
			key := Key{Name: fmt.Sprintf("k%d:vm:v", k), Machine: fmt.Sprintf("bench-%d", m)}
			for v := range nights {
				x := level + night*r.NormFloat64()
				if v >= from {
					x += effect(m, k)
				}
				var values []float64
				for range executions {
					values = append(values, math.Exp(x+execution*r.NormFloat64()))
				}
				key.Values = append(key.Values, values)
			}
			list = append(list, key)
		}
	}
	return list
}

// nightly returns versions of which each has a revision of its own, or all the same one.
func nightly(n int, revision func(int) string) []Version {
	list := make([]Version, n)
	for i := range list {
		list[i] = Version{Label: fmt.Sprint("n", i), Source: "revision", Revision: revision(i)}
	}
	return list
}

// TestToggles: a setting of one of three machines is changed in secret, which makes half of the
// keys up to 6 % slower: at least 19 of 20 are the machine's, and the setting is named. A change of
// the program that all three machines measure is the program's in 19 of 20.
func TestToggles(t *testing.T) {
	const keys, nights, from, most = 12, 45, 30, 0.06
	trials := must.Often(6, 20)
	var machine, named, program, wrong int
	for trial := range trials {
		r := rand.New(rand.NewPCG(uint64(trial), 41))
		sizes := make([]float64, keys)
		for k := range keys / 2 {
			sizes[k] = most * (0.5 + r.Float64()/2)
		}
		versions := nightly(nights, func(i int) string { return fmt.Sprint("rev", i) })
		toggled := trial % 3
		h := Of(versions, lab(r, 3, keys, nights, from, func(m, k int) float64 {
			return sizes[k] * float64(arith.One(m == toggled))
		}), Options{})
		h.Explain(func(m string, v int) map[string]string {
			thp := "madvise"
			if m == fmt.Sprint("bench-", toggled) && v >= from {
				thp = "always"
			}
			return map[string]string{"kernel.release": "6.12", "state.thp.enabled": thp}
		})
		for _, e := range h.Events {
			machine += arith.One(e.Verdict == ByMachine && e.Version == from)
			named += arith.One(slices.Equal(e.Differs,
				[]Difference{{"state.thp.enabled", "madvise", "always"}}))
			wrong += arith.One(e.Verdict == ByProgram)
		}
		h = Of(versions, lab(r, 3, keys, nights, from, func(_, k int) float64 { return sizes[k] }), Options{})
		by := map[Verdict]int{}
		for _, e := range h.Events {
			by[e.Verdict]++
		}
		program += arith.One(by[ByProgram] == 3)
		wrong += by[ByMachine]
	}
	t.Logf("of %d: machine %d, named %d; program on all three machines %d; wrong verdicts %d", trials,
		machine, named, program, wrong)
	must.Be(t, machine >= trials-1 && named >= trials-1 && program >= trials-1 && wrong <= 1, machine, named,
		program, wrong)
}

// TestBuild: one revision is measured every night, and one night its build is another: that is the
// build, unless something of the machine is recorded otherwise, too.
func TestBuild(t *testing.T) {
	const keys, nights, from = 8, 40, 25
	versions := nightly(nights, func(int) string { return "rev" })
	data := lab(rand.New(rand.NewPCG(43, 47)), 1, keys, nights, from, func(int, int) float64 { return 0.05 })
	state := func(kernel string) func(string, int) map[string]string {
		return func(_ string, v int) map[string]string {
			if v < from {
				return map[string]string{"kernel.release": "6.1", "program.benchmark.k": "aa"}
			}
			return map[string]string{"kernel.release": kernel, "program.benchmark.k": "bb"}
		}
	}
	for kernel, want := range map[string]Verdict{"6.1": ByBuild, "6.2": ByMachine} {
		h := Of(versions, data, Options{})
		must.Need(t, len(h.Events) == 1 && h.Events[0].Verdict == ByMachine, h.Events)
		h.Explain(func(string, int) map[string]string { return nil })
		must.Be(t, h.Events[0].Differs == nil && h.Events[0].Verdict == ByMachine, h.Events[0])
		h.Explain(state(kernel))
		e := h.Events[0]
		must.Equal(t, e.Verdict, want, e.Evidence)
		must.Equal(t, e.Differs[len(e.Differs)-1], Difference{"program.benchmark.k", "aa", "bb"})
	}
}

// TestDetectable: the slowdown that is promised to be found within five versions at even odds, in
// the five versions that follow, is found in about half of the keys, of young and of old ones.
func TestDetectable(t *testing.T) {
	const keys, next = 12, 5
	found, tried := 0, 0
	for trial := range must.Often(2, 30) {
		nights := []int{60, 20}[trial%2]
		r := rand.New(rand.NewPCG(uint64(trial), 53))
		data := lab(r, 1, keys, nights+next, 0, func(int, int) float64 { return 0 })
		past := slices.Clone(data)
		for k := range past {
			past[k].Values = slices.Clone(past[k].Values)[:nights]
		}
		promised := Of(nightly(nights, func(i int) string { return fmt.Sprint(i) }), past, Options{})
		for k := range data {
			size := promised.Keys[k].Detectable
			if size == 0 {
				continue
			}
			slower := slices.Clone(data)
			slower[k].Values = slices.Clone(data[k].Values)
			for v := nights; v < nights+next; v++ {
				slower[k].Values[v] = slices.Clone(data[k].Values[v])
				for i := range slower[k].Values[v] {
					slower[k].Values[v][i] *= 1 + size
				}
			}
			all := nightly(nights+next, func(i int) string { return fmt.Sprint(i) })
			h, _ := changes(all, slower, Options{})
			tried++
			found += arith.One(slices.ContainsFunc(h.Keys[k].Changes, func(c Change) bool {
				return c.Found >= nights
			}))
		}
	}
	share := float64(found) / float64(tried)
	t.Logf("found %d of %d: %.3f", found, tried, share)
	sure := 3 * math.Sqrt(0.25/float64(tried))
	must.Be(t, tried >= 20 && math.Abs(share-0.5) < 0.05+sure, share, tried)
}

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
