package sequential

import (
	"math"
	"math/rand/v2"
	"testing"

	"krund/rig/must"
)

// simulation bisects artificial versions.
type simulation struct {
	versions int
	effect   float64 // in standard deviations of a block
	between  float64 // the same, of versions without a change
	tails    bool    // Student's t with 3 degrees of freedom
}

const (
	sd      = 0.02 // of a block
	perStep = 5    // blocks
)

// run returns how often the culprit, or no change, was named rightly, and the mean numbers of
// blocks and of steps.
func (s simulation) run(n int, seed uint64) (right, blocks, steps float64) {
	r := rand.New(rand.NewPCG(seed, 3))
	for range n {
		culprit := 1 + r.IntN(s.versions-1)
		levels := make([]float64, s.versions)
		for v := 1; v < s.versions; v++ {
			levels[v] = sd * s.between * r.NormFloat64()
			if v >= culprit {
				levels[v] += sd * s.effect
			}
		}
		q := BisectQuestion{Versions: s.versions, Delta: 0.05, Most: 60}
		versions := make([]BisectVersion, s.versions)
		d := Bisect(q, versions)
		for d.Action == Measure && d.Blocks < 1000 {
			for range perStep {
				z := r.NormFloat64()
				if s.tails {
					c := 0.0
					for range 3 {
						x := r.NormFloat64()
						c += x * x
					}
					z /= math.Sqrt(c)
				}
				v := &versions[d.Version]
				v.Differences = append(v.Differences, levels[d.Version]+sd*z)
			}
			steps++
			d = Bisect(q, versions)
		}
		if d.Action == Found && d.First <= culprit && culprit <= d.Last && s.effect != 0 ||
			d.Action == Same && s.effect == 0 {
			right++
		}
		blocks += float64(d.Blocks)
	}
	return right / float64(n), blocks / float64(n), steps / float64(n)
}

// TestRight: the culprit is the right one with a probability of 0.95, with about as many blocks as
// ordinary bisection needs that knows the size of the change and the variance before, or fewer.
func TestRight(t *testing.T) {
	for _, s := range []simulation{
		{versions: 64, effect: 0},
		{versions: 64, effect: 1},
		{versions: 64, effect: 2},
		{versions: 64, effect: 5},
		{versions: 1000, effect: 2},
		{versions: 64, effect: 2, tails: true},
		{versions: 64, effect: 2, between: 0.3},
		{versions: 64, effect: 2, between: 0.7},
		{versions: 64, effect: 5, between: 1},
	} {
		simulated := must.Often(200, 5000)
		right, blocks, steps := s.run(simulated, 1)
		t.Logf("%+v: right %.3f, %.1f blocks in %.1f steps; repeated %.0f blocks", s, right, blocks, steps,
			s.repeated())
		must.Be(t, right >= 0.95-3*math.Sqrt(0.05*0.95/float64(simulated)) || s.between != 0, s, "right",
			right)
		must.Be(t, s.effect <= 0 || s.between != 0 || blocks <= 1.05*s.repeated(), s, blocks, "blocks")
	}
}

// repeated is the number of blocks of ordinary bisection, of which each step decides at half the
// effect with the error that keeps that of all steps together below 5 %, for normal values.
func (s simulation) repeated() float64 {
	steps := math.Ceil(math.Log2(float64(s.versions-1))) + 1
	if s.effect == 0 {
		return math.Inf(1)
	}
	low, high := 0.0, 10.0
	for range 60 {
		z := (low + high) / 2
		if math.Erfc(z/math.Sqrt2)/2 > 0.05/steps {
			low = z
		} else {
			high = z
		}
	}
	n := math.Ceil(math.Pow(2*high/s.effect, 2))
	return steps * math.Max(n, perStep)
}

// TestSkip: a culprit next to versions that cannot be built is a range.
func TestSkip(t *testing.T) {
	q := BisectQuestion{Versions: 6, Delta: 0.05, Most: 60}
	versions := make([]BisectVersion, 6)
	versions[3].Skip, versions[4].Skip = true, true
	r := rand.New(rand.NewPCG(1, 1))
	d := Bisect(q, versions)
	for d.Action == Measure {
		must.Need(t, !versions[d.Version].Skip && d.Version != 0, "measure", d.Version)
		for range perStep {
			x := 0.001 * r.NormFloat64()
			if d.Version >= 4 {
				x += 0.1
			}
			versions[d.Version].Differences = append(versions[d.Version].Differences, x)
		}
		d = Bisect(q, versions)
	}
	must.Be(t, d.Action == Found && d.First == 3 && d.Last == 5 && d.Change >= 1.1 && d.Change <= 1.11, d)
}

// TestExact: differences without noise are decided, too, and equal ones are no change.
func TestExact(t *testing.T) {
	for _, change := range []float64{0, 0.5} {
		q := BisectQuestion{Versions: 5, Delta: 0.05, Most: 20}
		versions := make([]BisectVersion, 5)
		d := Bisect(q, versions)
		for steps := 0; d.Action == Measure && steps < 50; steps++ {
			x := 0.0
			if d.Version >= 2 {
				x = change
			}
			versions[d.Version].Differences = append(versions[d.Version].Differences, x)
			d = Bisect(q, versions)
		}
		must.Be(t, (change != 0 || d.Action == Same) && (change <= 0 || d.Action == Found && d.Version == 2),
			"change", change, d)
	}
}
