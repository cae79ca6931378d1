// Package howlong asks whether a shorter experiment would have come to the same conclusions
// (section 9.1 of the study, Figures 9 and 11).
//
// A pair's conclusion has three characteristics: the proportions of the classes, the steady
// iteration and the steady performance. Two conclusions agree in one when the intervals overlap:
// simultaneous intervals of all class proportions (Sison and Glaz 1995), the 5% to 95% range of the
// steady iterations, and the confidence interval of the steady performance. Where either has an
// execution without steady state, the latter two are not compared, and count neither as agreeing
// nor as disagreeing.
//
// Fewer iterations are tried by cutting every execution and analyzing it anew, with windows in
// proportion; fewer executions by drawing samples with replacement from those there are.
package howlong

import (
	"math/rand/v2"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/multinomial"
	"krund/internal/analysis/quantile"
)

// Conclusion is what an analysis found for the executions of one pair. The slices are parallel.
type Conclusion struct {
	Classes    []classify.Class
	Iterations []float64   // steady iteration of each; not used without steady state
	Means      [][]float64 // bootstrapped means of each; not used without steady state
}

// Share says in how many of the comparisons made two conclusions agreed.
type Share struct {
	Same     int     `json:"same"`
	Compared int     `json:"compared"`
	Percent  float64 `json:"percent"` // 0 when nothing was compared
}

func (s *Share) add(same bool) {
	s.Compared++
	if same {
		s.Same++
	}
	s.Percent = 100 * float64(s.Same) / float64(s.Compared)
}

// Point is how alike the conclusions of an experiment of one length are to those of the whole one.
type Point struct {
	N                 int   `json:"n"` // iterations, or executions
	Classification    Share `json:"classification"`
	SteadyIteration   Share `json:"steady_iteration"`
	SteadyPerformance Share `json:"steady_performance"`
	Overall           Share `json:"overall"` // all that were compared agree
}

// Study is both curves, and what becomes of doing with less of both.
type Study struct {
	Confidence float64   `json:"confidence"`
	Samples    int       `json:"samples"` // per pair and number of executions
	Iterations []Point   `json:"iterations"`
	Executions []Point   `json:"executions"`
	Both       []Shorter `json:"both"`
}

// Shorter is an experiment with less of both: samples of so many executions, each cut to so many
// iterations.
type Shorter struct {
	Iterations int   `json:"iterations"`
	Executions int   `json:"executions"`
	Overall    Share `json:"overall"`
}

// Enough is the share of conclusions, in percent, from which on a shorter experiment counts as
// enough.
const Enough = 95

// Least gives the entry of Both with the least work, iterations times executions, that is enough.
// ok is false when none is.
func (s *Study) Least() (least Shorter, ok bool) {
	for _, b := range s.Both {
		if b.Overall.Percent >= Enough &&
			(!ok || b.Iterations*b.Executions < least.Iterations*least.Executions) {
			least, ok = b, true
		}
	}
	return least, ok
}

// Iterations compares the conclusions from executions cut to each length with the full ones, pair
// by pair. cut analyses pair i cut to n iterations; ok is false when it cannot be, which counts as
// disagreement in every respect.
func Iterations(full []Conclusion, lengths []int, confidence float64,
	cut func(i, n int) (c Conclusion, ok bool)) []Point {
	p := newProportions(confidence)
	points := make([]Point, len(lengths))
	for k, n := range lengths {
		points[k].N = n
		for i := range full {
			whole := p.whole(full[i])
			c, ok := cut(i, n)
			if !ok {
				points[k].add(agreement{classCompared: true, steadyCompared: whole.steady})
				continue
			}
			points[k].add(whole.compare(p.whole(c)))
		}
	}
	return points
}

// Executions compares the conclusions from samples of each number of executions of from, drawn with
// replacement, with those from all executions of full, pair by pair. from is full itself, or the
// same pairs cut to fewer iterations; a pair of which nothing is left in it disagrees. The result
// depends on the seed only.
func Executions(full, from []Conclusion, sizes []int, samples int, confidence float64, seed uint64) []Point {
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

// sample summarises n executions of c, drawn with replacement.
func (p proportions) sample(g grid, c Conclusion, n int, random *rand.Rand) summary {
	if len(c.Classes) == 0 {
		return summary{}
	}
	chosen := make([]int, n)
	for j := range chosen {
		chosen[j] = random.IntN(len(c.Classes))
	}
	return p.summarise(g, c, chosen)
}

func all(n int) []int {
	indexes := make([]int, n)
	for i := range indexes {
		indexes[i] = i
	}
	return indexes
}

// agreement is the outcome of one comparison.
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
	classes     []multinomial.Interval // nil when there is no execution
	steady      bool                   // every execution has a steady state
	iteration   multinomial.Interval
	performance multinomial.Interval
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

// proportions remembers the intervals of class counts, which samples repeat.
type proportions struct {
	confidence float64
	known      map[[4]int][]multinomial.Interval
}

func newProportions(confidence float64) proportions {
	return proportions{confidence, map[[4]int][]multinomial.Interval{}}
}

// of gives the intervals of the classes' proportions; nil when there are none.
func (p proportions) of(c classify.Counts) []multinomial.Interval {
	counts := [4]int{c.Flat, c.Warmup, c.Slowdown, c.NoSteadyState}
	intervals, ok := p.known[counts]
	if !ok {
		var err error
		if intervals, err = multinomial.SisonGlaz(counts[:], p.confidence); err != nil {
			intervals = nil // no execution has a class
		}
		p.known[counts] = intervals
	}
	return intervals
}

// whole summarises all executions of c.
func (p proportions) whole(c Conclusion) summary {
	return p.summarise(newGrid(c.Means), c, all(len(c.Classes)))
}

// summarise gives the intervals of the chosen executions of c, whose means are in g.
func (p proportions) summarise(g grid, c Conclusion, chosen []int) summary {
	classes := make([]classify.Class, len(chosen))
	iterations := make([]float64, len(chosen))
	for i, e := range chosen {
		classes[i], iterations[i] = c.Classes[e], c.Iterations[e]
	}
	counts := classify.Count(classes)
	s := summary{classes: p.of(counts)}
	if s.steady = s.classes != nil && counts.NoSteadyState == 0; s.steady {
		spread := quantile.SpreadOf(iterations)
		s.iteration = multinomial.Interval{Low: spread.P5, High: spread.P95}
		out := (1 - p.confidence) / 2
		s.performance = multinomial.Interval{Low: g.quantile(chosen, out), High: g.quantile(chosen, 1-out)}
	}
	return s
}
