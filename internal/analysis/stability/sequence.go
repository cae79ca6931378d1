package stability

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"krund/internal/analysis/bootstrap"
)

// sequence evaluates a criterion over a growing pool of samples: those of the steps of an
// execution, or of the measurements of executions.
type sequence struct {
	p         *Parameters
	criterion Criterion
	place     uint64 // identifies the sequence
	tables    bootstrap.Tables

	step    uint64
	pooled  moments
	pool    []float64
	steps   [][]float64 // buffer, like the next three
	tree    [][]float64
	means   []float64
	drawn   []float64
	before  sample // KLD: the redraw of the previous step
	spare   []float64
	kernels kernels
}

func newSequence(p *Parameters, c Criterion, place uint64, tables bootstrap.Tables) *sequence {
	return &sequence{p: p, criterion: c, place: place, tables: tables}
}

func (s *sequence) random(use uint64) *rand.Rand {
	return random(s.p.Seed, number(s.criterion), s.place, s.step, use)
}

// next adds the calls of a step, without outliers, and evaluates the criterion. NaN means
// undefined.
func (s *sequence) next(h *Histogram) float64 {
	s.step++
	h, _ = h.Inliers()
	if s.criterion == CV && s.p.Exact {
		s.pooled = s.pooled.add(h.moments().of(float64(s.p.Draws)))
		return s.pooled.cv()
	}
	s.drawn = h.draw(s.drawn[:0], s.p.Draws, s.random(forStep))
	if s.criterion == CV {
		s.pooled = s.pooled.add(momentsOf(s.drawn))
		return s.pooled.cv()
	}
	s.pool = append(s.pool, s.drawn...)
	r := s.random(forPool)
	if s.criterion == RCIW {
		return s.width(s.redrawByStep(r))
	}
	redraw := s.spare[:0]
	for range s.p.Draws {
		redraw = append(redraw, s.pool[r.Uint64N(uint64(len(s.pool)))])
	}
	now := sorting(redraw, s.p.Variance())
	s.spare = s.before.values
	if s.step == 1 {
		s.before = now
		return math.NaN()
	}
	v := s.kernels.similarity(s.before, now)
	s.before = now
	return v
}

// redrawByStep draws as many calls of the pool as a step has, and keeps those of one step together,
// because steps are a level of the bootstrap.
func (s *sequence) redrawByStep(r *rand.Rand) [][]float64 {
	if len(s.steps) < int(s.step) {
		s.steps = append(s.steps, nil)
	}
	for k := range s.steps {
		s.steps[k] = s.steps[k][:0]
	}
	for range s.p.Draws {
		i := r.Uint64N(uint64(len(s.pool)))
		k := i / uint64(s.p.Draws)
		s.steps[k] = append(s.steps[k], s.pool[i])
	}
	tree := s.tree[:0]
	for _, calls := range s.steps {
		if len(calls) > 0 {
			tree = append(tree, calls)
		}
	}
	s.tree = tree
	return tree
}

// width is the relative width of the interval of the mean.
func (s *sequence) width(steps [][]float64) float64 {
	h, err := bootstrap.NewHierarchy([][][]float64{steps}, s.p.Index, s.tables)
	if err != nil {
		return math.NaN() // nothing was drawn; impossible with checked Parameters
	}
	if s.means == nil {
		s.means = make([]float64, s.p.Resamples)
	}
	h.Fill(s.means, mix(s.p.Seed, number(s.criterion), s.place, s.step, forWidth), 1)
	low, high := bootstrap.Quantiles(s.means, s.p.Confidence)
	return (high - low) / h.Metric
}

// The uses of random numbers; each use has its own stream.
const (
	forStep = iota + 1
	forPool
	forWidth
	forFull
	forShort
	forFullMeans
	forShortMeans
)

// mix hashes numbers to one (SplitMix64's finalizer; Steele, Lea and Flood 2014).
func mix(keys ...uint64) uint64 {
	const gamma = 0x9e3779b97f4a7c15
	h := uint64(0)
	for _, k := range keys {
		h += k + gamma
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}

func number(c Criterion) uint64 { return uint64(slices.Index(Criteria, c)) }

// random returns a generator for one use.
func random(keys ...uint64) *rand.Rand {
	return rand.New(rand.NewPCG(mix(keys...), mix(append([]uint64{1}, keys...)...)))
}

// draw appends n calls of the histogram, drawn with replacement.
func (h *Histogram) draw(into []float64, n int, r *rand.Rand) []float64 {
	for range n {
		into = append(into, h.Values[h.pick(r)])
	}
	return into
}

// pick returns the index of a value, weighted by its count.
func (h *Histogram) pick(r *rand.Rand) int {
	n := len(h.Values)
	total := h.Total()
	if total == float64(n) { // every count is 1
		return int(r.Uint64N(uint64(n)))
	}
	at := r.Float64() * total
	i := sort.Search(n, func(i int) bool { return h.ends[i] > at })
	return min(i, n-1)
}
