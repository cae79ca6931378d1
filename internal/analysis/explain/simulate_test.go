//go:build slow

package explain

import (
	"math"
	"math/rand/v2"
	"testing"

	"krund/internal/analysis/parallel"
	"krund/rig/must"
)

// heldOut is added to the seeds, so that they are not those with which the thresholds were chosen
// (0).
const heldOut = 3000

// simulated are the natures that are simulated, with the number of keys of each cause.
var simulated = []struct {
	nature
	keys int
}{
	{nature{n: 300, executions: 1}, 30},
	{nature{n: 300, executions: 3, odd: 0.005}, 30},
	{nature{n: 300, executions: 10, warm: true, odd: 0.01}, 10},
	{nature{n: 2000, executions: 1, warm: true, odd: 0.005}, 12},
	{nature{n: 2000, executions: 5, warm: true, odd: 0.005}, 6},
	{nature{n: 2000, executions: 30, warm: true, odd: 0.005}, 2},
	{nature{n: 300, executions: 4, odd: 0.005, same: true}, 20},
	{nature{n: 300, executions: 10, warm: true, odd: 0.01, same: true}, 10},
}

// TestInjections measures how well injected causes are named, and how often evidence that was
// shifted at random explains anything.
func TestInjections(t *testing.T) {
	for n, v := range simulated {
		t.Logf("%d executions of %d iterations, in the same iterations: %v", v.executions, v.n, v.same)
		var all score
		shifted, nulls := 0, 0
		for i := range injections {
			in := &injections[i]
			var s score
			for c := range v.keys {
				random := rand.New(rand.NewPCG(uint64(heldOut+100*n+i), uint64(c)))
				g := v.generate(random, in)
				k := g.explained(Default())
				s.add(g.score(&k, in))
				g.shifted(random)
				k = g.explained(Default())
				shifted += explains(&k)
				nulls++
			}
			t.Logf("  %-10s of %-12s injected %5d, found %5d, right %5d, wrong %3d, elsewhere %3d", in.cause,
				in.target, s.injected, s.found, s.right, s.wrong, s.elsewhere)
			all.add(s)
		}
		t.Logf("  precision %.3f, recall %.3f of the %d found of %d injected",
			float64(all.right)/float64(all.right+all.wrong+all.elsewhere),
			float64(all.right)/float64(all.found), all.found, all.injected)
		report(t, "shifted evidence", shifted, nulls)
	}
}

// TestNothingInjected measures how often the evidence of a VM explains anything in which nothing
// was injected, but whose events, changepoints and slow iterations crowd at the beginning.
func TestNothingInjected(t *testing.T) {
	for _, v := range []struct {
		what string
		nature
	}{
		{"events crowd at the beginning", nature{warm: true, odd: 0.02}},
		{"changepoints, too", nature{crowd: true, odd: 0.02}},
		{"changepoints, too, and all executions are alike", nature{crowd: true, odd: 0.02, copies: true}},
	} {
		for _, size := range []struct{ n, executions, keys int }{
			{300, 1, 200}, {300, 3, 200}, {300, 10, 100}, {300, 30, 60},
			{2000, 1, 60}, {2000, 3, 60}, {2000, 10, 30}, {2000, 30, 15},
		} {
			v.n, v.executions = size.n, size.executions
			explained := make([]int, size.keys)
			parallel.Each(size.keys, 2, func(c int) {
				g := v.generate(rand.New(rand.NewPCG(heldOut+uint64(v.n+v.executions), uint64(c))), nil)
				k := g.explained(Default())
				explained[c] = explains(&k)
			})
			sum := 0
			for _, e := range explained {
				sum += e
			}
			t.Logf("%s, %d executions of %d iterations:", v.what, v.executions, v.n)
			report(t, v.what, sum, size.keys)
		}
	}
}

// explains returns 1 if there is any statement.
func explains(k *Key) int { return min(1, len(k.Statements)) }

// report prints the share of keys with any explanation with its 95 % interval (Wilson 1927), and
// fails if the interval lies above 5 %.
func report(t *testing.T, what string, with, of int) {
	const z = 1.96
	n, p := float64(of), float64(with)/float64(of)
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	t.Logf("  %s: %d of %d keys with any explanation, %.1f %% (%.1f to %.1f)", what, with, of, 100*p,
		100*(middle-half), 100*(middle+half))
	must.Be(t, middle-half <= 0.05, what, "more than 5 %")
}

func (s *score) add(t score) {
	s.injected += t.injected
	s.found += t.found
	s.right += t.right
	s.wrong += t.wrong
	s.elsewhere += t.elsewhere
}
