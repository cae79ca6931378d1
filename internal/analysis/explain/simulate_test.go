//go:build slow

package explain

import (
	"math/rand/v2"
	"testing"
)

// TestSimulations measures how well injected causes are named, and how often shifted evidence
// explains anything. The seeds are not those with which the thresholds were chosen.
func TestSimulations(t *testing.T) {
	seed := uint64(1)
	for _, v := range []nature{{300, 1, false, 0}, {300, 3, false, 0.005}, {300, 10, true, 0.01}, {2000, 1,
		true, 0.005},
		{2000, 5, true, 0.005}} {
		var all score
		for i := range injections {
			var s score
			in := &injections[i]
			for c := range 20 {
				random := rand.New(rand.NewPCG(seed+uint64(10*i), uint64(c)))
				g := v.generate(random, in)
				k := g.explained(Default())
				s.add(g.score(&k, in))
			}
			t.Logf("%+v %s %s: %+v", v, in.cause, in.target, s)
			all.add(s)
		}
		t.Logf("%+v: precision %.3f, recall %.3f of found", v,
			float64(all.right)/float64(all.right+all.wrong+all.elsewhere),
			float64(all.right)/float64(all.found))
		any, cases := 0, 0
		for i := range injections {
			for c := range 40 {
				random := rand.New(rand.NewPCG(seed+uint64(10*i)+1, uint64(c)))
				g := v.generate(random, &injections[i])
				g.shifted(random)
				k := g.explained(Default())
				cases++
				if len(k.Statements) > 0 {
					any++
				}
			}
		}
		t.Logf("%+v shifted: %d of %d with a statement", v, any, cases)
	}
}
