package warmup

import (
	"math"
	"math/rand/v2"
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/classify"
)

// Conclusion is the result of the analysis for the executions of one pair. The slices are parallel.
type Conclusion struct {
	Classes    []classify.Class
	Iterations []float64   // steady iteration of each; unused without steady state
	Means      [][]float64 // bootstrapped means of each; unused without steady state
}

// Agreement is the share of comparisons in which two conclusions agreed.
type Agreement struct {
	Same     int     `json:"same"`
	Compared int     `json:"compared"`
	Percent  float64 `json:"percent"` // 0 when nothing was compared
}

func (s *Agreement) add(same bool) {
	s.Compared++
	if same {
		s.Same++
	}
	s.Percent = 100 * float64(s.Same) / float64(s.Compared)
}

// Point is the agreement between experiments of one length and the full experiment.
type Point struct {
	N                 int       `json:"n"` // number of iterations, or of executions
	Classification    Agreement `json:"classification"`
	SteadyIteration   Agreement `json:"steady_iteration"`
	SteadyPerformance Agreement `json:"steady_performance"`
	Overall           Agreement `json:"overall"` // all compared characteristics agree
}

// Study is the agreement against the number of iterations, of executions, and of both.
type Study struct {
	Confidence float64   `json:"confidence"`
	Samples    int       `json:"samples"` // per pair and number of executions
	Iterations []Point   `json:"iterations"`
	Executions []Point   `json:"executions"`
	Both       []Shorter `json:"both"`
}

// Shorter is an experiment reduced in both: samples of a number of executions, each truncated to a
// number of iterations.
type Shorter struct {
	Iterations int       `json:"iterations"`
	Executions int       `json:"executions"`
	Overall    Agreement `json:"overall"`
}

// Sufficient is the share of agreeing conclusions, in percent, from which a shorter experiment is
// considered sufficient.
const Sufficient = 95

// Least returns the sufficient entry of Both with the least work (iterations times executions). ok
// is false when there is none.
func (s *Study) Least() (least Shorter, ok bool) {
	for _, b := range s.Both {
		if b.Overall.Percent >= Sufficient &&
			(!ok || b.Iterations*b.Executions < least.Iterations*least.Executions) {
			least, ok = b, true
		}
	}
	return least, ok
}

// agreeByIterations compares, pair by pair, the conclusions from executions truncated to n
// iterations with those of the full executions. A pair with executions that could not be truncated
// disagrees in every characteristic.
func agreeByIterations(full, short []Conclusion, n int, confidence float64) Point {
	p, point := newProportions(confidence), Point{N: n}
	for i := range full {
		whole := p.whole(full[i])
		if len(short[i].Classes) != len(full[i].Classes) {
			point.add(agreement{classCompared: true, steadyCompared: whole.steady})
			continue
		}
		point.add(whole.compare(p.whole(short[i])))
	}
	return point
}

// agreeByExecutions compares, pair by pair, the conclusions from samples of each number of
// executions of from, drawn with replacement, with those from all executions of full. from is full
// itself, or the same pairs truncated to fewer iterations; a pair without usable executions in it
// counts as disagreement. The result depends only on the seed and the data.
func agreeByExecutions(full, from []Conclusion, sizes []int, samples int, confidence float64,
	seed uint64) []Point {
	p := newProportions(confidence)
	points := make([]Point, len(sizes))
	for k, n := range sizes {
		points[k].N = n
	}
	for i, c := range full {
		if len(c.Classes) == 0 {
			continue
		}
		whole := p.whole(c)
		g := newGrid(from[i].Means)
		for k, n := range sizes {
			random := rand.New(rand.NewPCG(seed, uint64(i)<<32|uint64(n)))
			for range samples {
				points[k].add(whole.compare(p.sample(g, from[i], n, random)))
			}
		}
	}
	return points
}

// sample summarizes n executions of c, drawn with replacement.
func (p proportions) sample(g grid, c Conclusion, n int, random *rand.Rand) summary {
	if len(c.Classes) == 0 {
		return summary{}
	}
	chosen := make([]int, n)
	for j := range chosen {
		chosen[j] = random.IntN(len(c.Classes))
	}
	return p.summarize(g, c, chosen)
}

// agreement is the result of one comparison.
type agreement struct {
	class, iteration, performance bool
	classCompared, steadyCompared bool
}

func (p *Point) add(a agreement) {
	overall := true
	if a.classCompared {
		p.Classification.add(a.class)
		overall = a.class
	}
	if a.steadyCompared {
		p.SteadyIteration.add(a.iteration)
		p.SteadyPerformance.add(a.performance)
		overall = overall && a.iteration && a.performance
	}
	if a.classCompared {
		p.Overall.add(overall)
	}
}

// summary is a conclusion as intervals.
type summary struct {
	classes     []interval // nil when there is no execution
	steady      bool       // every execution has a steady state
	iteration   interval
	performance interval
}

func (s summary) compare(o summary) agreement {
	a := agreement{classCompared: s.classes != nil, steadyCompared: s.steady && o.steady}
	a.class = o.classes != nil
	for i := range min(len(s.classes), len(o.classes)) {
		a.class = a.class && s.classes[i].Overlaps(o.classes[i])
	}
	a.iteration = s.iteration.Overlaps(o.iteration)
	a.performance = s.performance.Overlaps(o.performance)
	return a
}

// proportions caches the intervals of class counts, because samples repeat them.
type proportions struct {
	confidence float64
	known      map[[4]int][]interval
}

func newProportions(confidence float64) proportions {
	return proportions{confidence, map[[4]int][]interval{}}
}

// of returns the intervals of the classes' proportions, or nil when there are none.
func (p proportions) of(c classify.Counts) []interval {
	counts := [4]int{c.Flat, c.Warmup, c.Slowdown, c.NoSteadyState}
	intervals, ok := p.known[counts]
	if !ok {
		var err error
		if intervals, err = sisonGlaz(counts[:], p.confidence); err != nil {
			intervals = nil // no execution has a class
		}
		p.known[counts] = intervals
	}
	return intervals
}

// whole summarizes all executions of c.
func (p proportions) whole(c Conclusion) summary {
	all := make([]int, len(c.Classes))
	for i := range all {
		all[i] = i
	}
	return p.summarize(newGrid(c.Means), c, all)
}

// summarize returns the intervals of the chosen executions of c, whose means are in g.
func (p proportions) summarize(g grid, c Conclusion, chosen []int) summary {
	classes := make([]classify.Class, len(chosen))
	iterations := make([]float64, len(chosen))
	for i, e := range chosen {
		classes[i], iterations[i] = c.Classes[e], c.Iterations[e]
	}
	counts := classify.Count(classes)
	s := summary{classes: p.of(counts)}
	if s.steady = s.classes != nil && counts.NoSteadyState == 0; s.steady {
		spread := arith.SpreadOf(iterations)
		s.iteration = interval{Low: spread.P5, High: spread.P95}
		out := (1 - p.confidence) / 2
		s.performance = interval{Low: g.quantile(chosen, out), High: g.quantile(chosen, 1-out)}
	}
	return s
}

// gridSize is the resolution of the distribution of bootstrapped means.
const gridSize = 2048

// grid holds the distribution of each execution's bootstrapped means at common points, so that the
// quantiles of any sample of executions are computed without sorting.
type grid struct {
	low, step float64
	below     [][]float64 // below[execution][point]: share of its means <= low + point*step
}

func newGrid(means [][]float64) grid {
	low, high := math.Inf(1), math.Inf(-1)
	for _, m := range means {
		for _, v := range m {
			low, high = min(low, v), max(high, v)
		}
	}
	g := grid{low: low, step: (high - low) / gridSize, below: make([][]float64, len(means))}
	for e, m := range means {
		if len(m) == 0 {
			continue
		}
		sorted := slices.Sorted(slices.Values(m))
		g.below[e] = make([]float64, gridSize+1)
		next := 0
		for p := range g.below[e] {
			for at := g.at(p); next < len(sorted) && (sorted[next] <= at || p == gridSize); next++ {
			}
			g.below[e][p] = float64(next) / float64(len(sorted))
		}
	}
	return g
}

func (g grid) at(point int) float64 { return g.low + float64(point)*g.step }

// quantile returns the q-quantile of the chosen executions' means.
func (g grid) quantile(chosen []int, q float64) float64 {
	lo, hi := 0, gridSize
	for lo < hi {
		mid := (lo + hi) / 2
		sum := 0.0
		for _, e := range chosen {
			sum += g.below[e][mid]
		}
		if sum/float64(len(chosen)) >= q {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return g.at(lo)
}
