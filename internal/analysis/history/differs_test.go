package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"krund/internal/analysis/arith"
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
