package explain

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// Evidence is shifted by up to mostLag iterations, and by up to 1/lagPart of the shortest
	// series.
	mostLag = 100
	lagPart = 3
	earlier = 0.75 // share of its distance from the start by which an early iteration is moved there
	// leastExchange is the number of executions from which on evidence is exchanged between them:
	// 4! orders cannot show less than 1/24.
	leastExchange = 5
	// lagAlpha and exchangeAlpha are the shares of the error rate of the two comparisons, where
	// both are made.
	lagAlpha, exchangeAlpha = 0.8, 0.2
	// floor is added to the variance of the evidence over the lags, so that a single coincidence of
	// what happens once is not extraordinary: it is the variance of a target that is hit by half
	// the lags.
	floor = 0.25
)

// chance is what the evidence of a key is compared with.
type chance struct {
	lag    int       // shifts from -lag to lag iterations
	orders [][]int32 // the evidence that each execution gets; the first is its own; nil: no exchange
}

func chanceOf(runs []*run, p Parameters) chance {
	shortest := runs[0].n
	for _, r := range runs {
		shortest = min(shortest, r.n)
	}
	c := chance{lag: min(mostLag, shortest/lagPart)}
	if len(runs) < leastExchange {
		return c
	}
	random := rand.New(rand.NewPCG(p.Seed, uint64(len(runs))))
	c.orders = make([][]int32, p.Draws+1)
	for d := range c.orders {
		c.orders[d] = make([]int32, len(runs))
		for e := range runs {
			c.orders[d][e] = int32(e)
		}
		if order := c.orders[d]; d > 0 {
			random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
	}
	return c
}

// at returns the iteration that iteration i of a series of n is compared with when the evidence is
// shifted: by the whole lag, but an early iteration by a part of it that is proportional to i: to
// between a quarter of its distance from the start and twice that. So its largest shifts do not all
// lead to the first iteration, in which everything happens. Beyond the end the series is reflected.
func (c *chance) at(i, lag, n int) int {
	most := float64(i)
	if lag < 0 {
		most *= earlier
	}
	moved := float64(lag) * min(1, most/float64(max(1, c.lag)))
	at := i + int(math.Round(moved))
	if at >= n {
		at = 2*(n-1) - at
	}
	return at
}

// table has the evidence of one candidate, in fact and by chance. Evidence is the sum of the
// weights of hits: see test.probe.
type table struct {
	targets  int     // unexplained ones
	all      int     // all of the key
	places   float64 // iterations in which a target could be
	hits     int
	expected float64 // mean number of hits over all lags
	evidence float64
	mean     float64 // of the evidence over all lags
	// deviation is its standard deviation by chance, see the function
	deviation float64
	lags      []float64 // evidence by lag, from the smallest one
	// exchanged[e][x] is the evidence for the targets of execution e in execution x.
	exchanged [][]float64
}

// newTable counts the hits at the targets that no statement explains yet.
func newTable(t *test, runs []*run, c *chance, open targets) *table {
	tab := &table{lags: make([]float64, 2*c.lag+1)}
	for e, r := range runs {
		tab.all += len(r.targets[t.target])
		tab.places += float64(r.n)
		row := make([]float64, len(runs))
		for k, i := range r.targets[t.target] {
			if open[t.target][e][k] == unexplained {
				tab.add(t.probe(runs, e, k), e, i, r.n, c, row)
			}
		}
		tab.exchanged = append(tab.exchanged, row)
	}
	tab.evidence = tab.lags[c.lag]
	tab.deviation = deviation(tab.lags)
	return tab
}

// deviation is the standard deviation of the evidence, without the highest tenth: a cause that
// recurs matches several lags, and they must not count against it.
func deviation(lags []float64) float64 {
	const tenth = 10
	_, d := moments(slices.Sorted(slices.Values(lags))[:len(lags)-len(lags)/tenth])
	return d
}

// moments returns the mean of the evidence, and its standard deviation with the floor.
func moments(by []float64) (mean, deviation float64) {
	sum, squares := 0.0, 0.0
	for _, w := range by {
		sum += w
		squares += w * w
	}
	n := float64(len(by))
	return sum / n, math.Sqrt(floor + max(0, squares/n-sum/n*sum/n))
}

// add adds the target in iteration i of execution e, which has n, and to row its evidence in each
// execution.
func (t *table) add(weight func(x, i int) float64, e, i, n int, c *chance, row []float64) {
	t.targets++
	if weight(e, i) > 0 {
		t.hits++
	}
	for l := range t.lags {
		w := weight(e, c.at(i, l-c.lag, n))
		t.lags[l] += w
		t.mean += w / float64(len(t.lags))
		if w > 0 {
			t.expected += 1 / float64(len(t.lags))
		}
	}
	if c.orders != nil {
		for x := range row {
			row[x] += weight(x, i)
		}
	}
}

// byOrder returns the evidence in all exchanges.
func (t *table) byOrder(c *chance) []float64 {
	sums := make([]float64, len(c.orders))
	for d, order := range c.orders {
		for e, x := range order {
			sums[d] += t.exchanged[e][x]
		}
	}
	return sums
}

// family compares all candidates with one kind of chance.
type family struct {
	share   float64   // of the error rate
	highest []float64 // excess of any candidate
	excess  []float64 // of each candidate, in fact
	p       []float64 // of each candidate alone
	least   []float64 // smallest p that each candidate can have
}

// add compares a candidate with its evidence by chance, whose mean and standard deviation are
// given.
func (f *family) add(t *table, chance []float64, mean, deviation float64, p Parameters) {
	if f.highest == nil {
		f.highest = make([]float64, len(chance))
	}
	excess := func(evidence float64) float64 {
		if t.score(evidence, mean, p) == 0 {
			return 0
		}
		return (evidence - mean) / deviation
	}
	score, most := excess(t.evidence), slices.Max(chance)
	f.excess = append(f.excess, score)
	scores, best := make([]float64, len(chance)), 0
	last, lastScore := math.NaN(), 0.0
	for d, w := range chance {
		if w != last {
			last, lastScore = w, excess(w)
		}
		scores[d] = lastScore
		f.highest[d] = max(f.highest[d], lastScore)
		if w == most {
			best++
		}
	}
	f.p = append(f.p, shareAbove(scores, score))
	f.least = append(f.least, float64(best)/float64(len(chance)))
}

func shareAbove(values []float64, least float64) float64 {
	n := 0
	for _, v := range values {
		if v >= least {
			n++
		}
	}
	return float64(n) / float64(len(values))
}

// combined returns the p of a candidate from that of each family: the smallest one relative to the
// family's share of the error rate.
func combined(families []*family, of func(*family) float64) float64 {
	p := 1.0
	for _, f := range families {
		p = min(p, of(f)/f.share)
	}
	return p
}

// score measures evidence: the deviance of a Poisson count with the expected mean,
// 2(h log(h/m) - (h-m)), if it is more than expected and the effect is large enough to be named;
// else 0. It is comparable between candidates: it grows with the number of targets that are
// explained and with the rareness of the feature.
func (t *table) score(evidence, mean float64, p Parameters) float64 {
	if evidence <= mean || evidence-mean < p.Share*float64(t.all) ||
		t.odds(evidence, mean) < p.OddsRatio {
		return 0
	}
	return 2 * (evidence*math.Log(evidence/mean) - (evidence - mean))
}

// odds is the odds ratio of the feature at targets and elsewhere, with 0.5 added to each of the
// four counts (Haldane 1956, Anscombe 1956).
func (t *table) odds(hits, expected float64) float64 {
	const half = 0.5
	targets := float64(t.targets)
	with := expected / targets * t.places // iterations with the feature
	a, b := hits, targets-hits
	c := max(0, with-hits)
	d := max(0, t.places-targets-c)
	return (a + half) * (d + half) / ((b + half) * (c + half))
}

const (
	// besideFar is how many iterations before and after an outlier count as beside it, besideNear
	// how many of them its hits are compared with. Those count for the feature Around, too: more
	// find longer bursts and lose those of shortBurst.
	besideFar, besideNear = 10, 2
	// shortBurst is the number of iterations of the shortest burst that is told from a cause. Of
	// the hits at distances of at most besideNear from a place in such a burst, a share of 1/(1 +
	// 2*4/5 + 2*3/5) is at the place itself, and less in a longer one.
	shortBurst = 5
	// signAlpha is the error of the sign test. It is smaller than that of the shares, because a
	// candidate was chosen for its hits, which move the sign test in short series.
	signAlpha = 0.001
)

// beside compares what outliers have with what the iterations around them have.
type beside struct {
	at    int // outliers with the feature, of which an iteration around them lacks it
	only  int // outliers without the feature, but with an iteration around them that has it
	hits  int // outliers with the feature
	close int // iterations at distances of at most besideNear that have it
}

// beside counts at the targets that no statement explains yet. A long outlier is compared with as
// many successive iterations, next to it and without it.
func (s *study) beside(t *test) beside {
	var b beside
	s.eachOpen(t.target, func(e, k int) {
		r := s.runs[e]
		own, probe := r.targets[t.target][k], t.probe(s.runs, e, k)
		width := r.width(r.longer(t.source, e, own))
		with, without := 0, 0
		for d := 1; d <= besideFar; d++ {
			for _, i := range [2]int{own + d, own - width + 1 - d} {
				switch {
				case i < 0 || i+width > r.n:
				case probe(e, i) == 0:
					without++
				default:
					with++
					if d <= besideNear {
						b.close++
					}
				}
			}
		}
		switch hit := probe(e, own) > 0; {
		case hit:
			b.hits++
			if without > 0 {
				b.at++
			}
		case with > 0:
			b.only++
		}
	})
	return b
}

// inBursts reports whether the feature may be at outliers only because it comes at the same time:
// because something else brings both, for some iterations. It is in the very iteration if no
// outlier has it only beside it; if more have it than have it only beside them (sign test: in a
// common burst both are equally probable where half of the iterations have the feature); or if it
// is more frequent at outliers than a burst of shortBurst iterations could make it in comparison
// with the iterations next to them. The latter finds the cause of some outliers among others.
func (b beside) inBursts(alpha float64) bool {
	nearby := 0.0
	for d := 1; d <= besideNear; d++ {
		nearby += 2 * float64(shortBurst-d) / shortBurst
	}
	return b.only > 0 && atLeast(b.at, b.at+b.only, 0.5) > signAlpha &&
		atLeast(b.hits, b.hits+b.close, 1/(1+nearby)) > alpha
}

// atLeast is the probability of k or more of n, each with probability p.
func atLeast(k, n int, p float64) float64 {
	return distuv.Binomial{N: float64(n), P: p}.Survival(float64(k - 1))
}
