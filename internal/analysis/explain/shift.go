package explain

import (
	"math"
	"math/rand/v2"
)

// localShare and localRadius are how many iterations around a shift are compared with it: for
// outliers a share of the series. Causes and slow iterations are often both frequent at the
// beginning: a hit counts only as far as it is more frequent than hits with slightly shifted
// events.
const (
	localShare  = 0.1
	localRadius = 25
	// localAlpha is the probability below which hits at changepoints must be as rare as that among
	// slight shifts.
	localAlpha = 0.02
)

// table has the hits of one candidate for each shift of each execution.
type table struct {
	targets  int     // unexplained ones
	all      int     // all of the key
	nearby   bool    // local is compared by itself, too
	places   float64 // iterations in which a target could be
	expected float64 // mean number of hits over all shifts
	// hits[e][s] are the targets of execution e that have the feature when the source is shifted by
	// s iterations; local[e][s] is the mean over shifts near s.
	hits  [][]float32
	local [][]float32
}

// newTable counts the hits at the targets that no statement explains yet.
func newTable(t *test, runs []*run, open targets) *table {
	tab := &table{hits: make([][]float32, len(runs)), local: make([][]float32, len(runs))}
	for e, r := range runs {
		hits := make([]float32, r.n)
		tab.all += len(r.targets[t.target])
		for k := range r.targets[t.target] {
			if open[t.target][e][k] != unexplained {
				continue
			}
			tab.targets++
			head, tail := t.row(runs, e, k)
			for s, hit := range head {
				hits[s] += float32(hit)
			}
			for s, hit := range tail {
				hits[len(head)+s] += float32(hit)
			}
		}
		tab.places += float64(r.n)
		sum := 0.0
		for _, h := range hits {
			sum += float64(h)
		}
		tab.expected += sum / float64(r.n)
		radius := 0
		switch {
		case t.target == Outliers:
			radius = int(localShare * float64(r.n))
		case t.feature != Shift: // which compares with its surroundings itself
			radius = min(localRadius, r.n/8)
			tab.nearby = true
		}
		tab.hits[e], tab.local[e] = hits, around(hits, radius)
	}
	return tab
}

// around returns the mean of each value's neighbors up to radius, around the end; those up to near
// do not count, because a feature often spans as many iterations.
func around(values []float32, radius int) []float32 {
	n := len(values)
	means := make([]float32, n)
	if radius <= near || 2*radius >= n {
		return means
	}
	sums := make([]float64, 3*n+1)
	for i := range 3 * n {
		sums[i+1] = sums[i] + float64(values[i%n])
	}
	for i := range means {
		at := n + i
		wide := sums[at+radius+1] - sums[at-radius]
		means[i] = float32((wide - (sums[at+near+1] - sums[at-near])) / float64(2*(radius-near)))
	}
	return means
}

// score measures the evidence of a number of hits: the deviance of a Poisson count with the
// expected mean, 2(h log(h/m) - (h-m)), if there are more than expected and the effect is large
// enough to be named; else 0. It is comparable between candidates: it grows with the number of
// targets that are explained and with the rareness of the feature.
func (t *table) score(hits, local float64, p Parameters) float64 {
	mean := max(t.expected, local)
	if t.nearby && tail(hits, local) > localAlpha {
		return 0
	}
	if hits <= mean || hits-mean < p.Share*float64(t.all) || t.odds(hits) < p.OddsRatio {
		return 0
	}
	return 2 * (hits*math.Log(hits/mean) - (hits - mean))
}

// tail is the probability of at least so many hits if they are Poisson with the given mean.
func tail(hits, mean float64) float64 {
	term, below := math.Exp(-mean), 0.0
	for k := 0.0; k < hits; k++ {
		below += term
		term *= mean / (k + 1)
	}
	return max(0, 1-below)
}

// odds is the odds ratio of the feature at targets and elsewhere, with 0.5 added to each of the
// four counts (Haldane 1956, Anscombe 1956).
func (t *table) odds(hits float64) float64 {
	const half = 0.5
	targets := float64(t.targets)
	with := t.expected / targets * t.places // iterations with the feature
	a, b := hits, targets-hits
	c := max(0, with-hits)
	d := max(0, t.places-targets-c)
	return (a + half) * (d + half) / ((b + half) * (c + half))
}

// at sums hits and local means over the executions, for one shift of each.
func (t *table) at(shifts []int32) (hits, local float64) {
	for e, s := range shifts {
		hits += float64(t.hits[e][s])
		local += float64(t.local[e][s])
	}
	return hits, local
}

// shiftsOf returns the shifts to compare with, the first of which is none: all shifts of a single
// execution, else random ones, one for each execution.
func shiftsOf(runs []*run, p Parameters) [][]int32 {
	if len(runs) == 1 {
		all := make([][]int32, runs[0].n)
		for s := range all {
			all[s] = []int32{int32(s)}
		}
		return all
	}
	random := rand.New(rand.NewPCG(p.Seed, uint64(len(runs))))
	draws := make([][]int32, p.Draws+1)
	for d := range draws {
		draws[d] = make([]int32, len(runs))
		for e, r := range runs {
			if d > 0 {
				draws[d][e] = int32(random.IntN(r.n))
			}
		}
	}
	return draws
}

// row reports for each shift, in two parts, whether target k of execution e has the feature.
func (t *test) row(runs []*run, e, k int) (head, tail []uint8) {
	r := runs[e]
	i := r.targets[t.target][k]
	if t.target == Outliers {
		return t.exposed(r, e, i)
	}
	if t.feature != Shift {
		return t.surrounded(r, e, i)
	}
	if t.shifts == nil {
		t.shifts = make([][][]uint8, len(runs))
	}
	if t.shifts[e] == nil {
		l := t.source.levelsIn(e, r)
		for _, c := range r.targets[t.target] {
			t.shifts[e] = append(t.shifts[e], r.shifts(l, c))
		}
	}
	return t.shifts[e][k], nil
}

// hit reports whether target k of execution e has the feature.
func (t *test) hit(runs []*run, e, k int) bool {
	head, tail := t.row(runs, e, k)
	return len(head) > 0 && head[0] == 1 || len(head) == 0 && tail[0] == 1
}
