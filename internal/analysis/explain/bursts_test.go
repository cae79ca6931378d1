package explain

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/parallel"
	"krund/internal/analysis/warmup"
	"krund/rig/must"
)

// relation is what the first of four columns has to do with the outliers. All of them and the
// outliers come in bursts, in which each iteration has them with probability 1/2.
type relation string

const (
	independent relation = "independent" // other bursts
	shared      relation = "shared"      // the same bursts, but each iteration for itself
	cause       relation = "cause"       // the same iterations
)

// bursty is a key whose executions have six bursts of so many iterations.
type bursty struct {
	relation
	n, executions, length int
}

// bursts draws the iterations of the bursts of an execution.
func (v bursty) bursts(random *rand.Rand) []int {
	in := make([]bool, v.n)
	for range 6 {
		at := random.IntN(v.n - v.length + 1)
		for i := range v.length {
			in[at+i] = true
		}
	}
	var list []int
	for i, is := range in {
		if is {
			list = append(list, i)
		}
	}
	return list
}

// half draws half of the iterations.
func half(random *rand.Rand, of []int) []int {
	var list []int
	for _, i := range of {
		if random.IntN(2) == 0 {
			list = append(list, i)
		}
	}
	return list
}

func (v bursty) key(random *rand.Rand) Key {
	return several(v.executions, func(int) (dataset.Execution, warmup.Execution) {
		bursts := v.bursts(random)
		slow := half(random, bursts)
		first := slow
		switch v.relation {
		case independent:
			first = half(random, v.bursts(random))
		case shared:
			first = half(random, bursts)
		}
		e, a := made(v.n, slow, nil)
		counts(&e, "minor_faults", 1, first)
		for _, name := range []string{"voluntary_switches", "involuntary_switches", "device_interrupts"} {
			counts(&e, name, 1, half(random, v.bursts(random)))
		}
		return e, a
	})
}

// simulate returns of how many keys the first column is named as a cause, of how many only as in
// the same bursts, and of how many another column is named.
func (v bursty) simulate(keys int) (named, inBursts, others int) {
	found := make([][3]int, keys)
	parallel.Each(keys, 2, func(c int) {
		k := v.key(rand.New(rand.NewPCG(uint64(1000*v.n+10*v.length+v.executions), uint64(c))))
		for i := range k.Statements {
			switch s := &k.Statements[i]; {
			case s.Cause != Faults:
				found[c][2] = 1
			case s.SameBursts:
				found[c][1] = 1
			default:
				found[c][0] = 1
			}
		}
	})
	for _, f := range found {
		named, inBursts, others = named+f[0], inBursts+max(0, f[1]-f[0]), others+f[2]
	}
	return named, inBursts, others
}

// TestCommonBursts: what has nothing to do with outliers is not named; what only shares their
// bursts is not named as a cause, and what is in the same iterations is. `make explain-bench` has
// the table of docs/explain.md.
func TestCommonBursts(t *testing.T) {
	unrelated, mistaken := 0, 0
	for _, v := range burstyKeys {
		named, inBursts, others := v.simulate(v.keys)
		t.Logf("%-11s %2d executions of %4d, bursts of %3d: %4d keys, cause %.3f, same bursts %.3f, others "+
			"%.3f", v.relation, v.executions, v.n, v.length, v.keys, share(named, v.keys),
			share(inBursts, v.keys), share(others, v.keys))
		wrong, of, limit := 0, 1, 0.0
		switch v.relation {
		case independent:
			unrelated, mistaken = unrelated+v.keys, mistaken+min(v.keys, named+inBursts+others)
		case shared: // bursts of 5, of 1, 3 and 10 executions, are in the sentence of docs/explain.md
			wrong, of, limit = named, named+inBursts, 0.05
			must.Be(t, v.length != 5 || v.n < 1000 && v.executions == 1 ||
				share(inBursts, v.keys) >= 0.95, v, "the same bursts in", inBursts, "of", v.keys)
		case cause:
			wrong, of, limit = v.keys-named, v.keys, 0.11
		}
		low, _ := compare.Binomial(wrong, of, 0.99)
		must.Be(t, low <= limit, v, "wrong in", wrong, "of", of, "keys")
	}
	low, _ := compare.Binomial(mistaken, unrelated, 0.99)
	must.Be(t, low <= 0.013, mistaken, "of", unrelated, "keys have statements about unrelated columns")
}

func share(n, of int) float64 { return float64(n) / float64(max(of, 1)) }

// TestSameBursts: what only shares bursts with outliers is no cause, in any field.
func TestSameBursts(t *testing.T) {
	k := bursty{shared, 1000, 3, 5}.key(rand.New(rand.NewPCG(1, 1)))
	must.Need(t, len(k.Statements) == 1 && k.Statements[0].SameBursts, k.Statements)
	s := k.Statements[0]
	must.Equal(t, s.Text, fmt.Sprintf("%d of %d outliers are in the same bursts as page faults; both may "+
		"have another cause", s.Hits, s.Targets))
	must.Equal(t, k.Outliers, Coverage{Total: s.Targets})
	with := 0
	for _, x := range k.Executions {
		for _, f := range x.Outliers {
			must.Equal(t, f.Cause, "")
			if f.Statement == 0 {
				with++
				must.Be(t, strings.HasSuffix(f.Text,
					"no cause is established; it is in the same bursts as page faults"), f.Text)
			}
		}
	}
	must.Equal(t, with, s.Hits)
}

// TestBeside: the tails are those of the binomial distribution: 1/8 for three of three, 22/64 for
// four of six.
func TestBeside(t *testing.T) {
	must.Be(t, near64(atLeast(3, 3, 0.5), 0.125) && near64(atLeast(4, 6, 0.5), 22.0/64) &&
		near64(atLeast(0, 9, 0.2), 1))
	for _, c := range []struct {
		beside
		inBursts bool
	}{
		{beside{at: 2, hits: 2}, false},                           // nothing beside them
		{beside{at: 8, only: 7, hits: 8, close: 14}, true},        // half and half
		{beside{at: 30, only: 3, hits: 30, close: 60}, false},     // sign test
		{beside{at: 40, only: 33, hits: 40, close: 20}, false},    // one of several causes: 40 of 60
		{beside{at: 0, only: 5, hits: 5, close: 20}, true},        // always in all iterations around
		{beside{at: 280, only: 275, hits: 280, close: 950}, true}, // long bursts
	} {
		must.Equal(t, c.beside.inBursts(0.05), c.inBursts, c.beside)
	}
}
