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

// Variance selects how the variance for KLD's bandwidth is computed.
type Variance int

// TwoPass is accurate for small variances of large values. OnePass, mean of squares minus square of
// the mean, is what the authors' library does: cancellation may lose small variances, and the
// similarity is then 0.
const (
	TwoPass Variance = iota
	OnePass
)

// gridSize is the number of points at which the densities are compared.
const gridSize = 1000

// kernelReach is the reach of a kernel in bandwidths.
const kernelReach = 5

// kernels holds buffers for two densities, so that a comparison does not allocate.
type kernels struct {
	p, q [gridSize]float64
}

// sample is an ascending sample with the statistics that KLD needs.
type sample struct {
	values    []float64
	bandwidth float64
	low, high float64 // of the range
}

// sorting builds a sample of values, which it sorts and keeps.
func sorting(x []float64, v Variance) sample {
	slices.Sort(x)
	q1, q3 := type6(x, 0.25), type6(x, 0.75)
	return sample{values: x, bandwidth: bandwidth(x, v), low: max(0, q1-1.5*(q3-q1)), high: q3 + 1.5*(q3-q1)}
}

// type6 is the quantile by R's type 6, at position p(n+1).
func type6(sorted []float64, p float64) float64 {
	n := float64(len(sorted))
	at := p * (n + 1)
	switch {
	case at < 1:
		return sorted[0]
	case at >= n:
		return sorted[len(sorted)-1]
	}
	floor := math.Floor(at)
	lower, upper := sorted[int(floor)-1], sorted[int(floor)]
	return lower + (at-floor)*(upper-lower)
}

// bandwidth is Silverman's rule as in smile 1.5.3: 1.06 min(sd, IQR/1.34) n^-0.2, with the
// quartiles x[3n/4] and x[n/4]. It is NaN for one value, and when cancellation makes the variance
// negative.
func bandwidth(sorted []float64, v Variance) float64 {
	n := float64(len(sorted))
	var square float64
	if v == OnePass {
		sum, squares := 0.0, 0.0
		for _, x := range sorted {
			sum += x
			squares += float64(x * x)
		}
		square = squares - sum*(sum/n)
	} else {
		square = momentsOf(sorted).square
	}
	sd := math.Sqrt(square / (n - 1))
	iqr := sorted[len(sorted)*3/4] - sorted[len(sorted)/4]
	return 1.06 * min(sd, iqr/1.34) / math.Pow(n, 0.2) // min propagates NaN
}

// similarity is the similarity of two samples, from 0 to 1: 2^-KL(a,b) 2^-KL(b,a), with the
// Kullback-Leibler divergences of their kernel densities in natural logarithms, on 1000 points of
// [max(0, q1-1.5 IQR), q3+1.5 IQR] (the union of both samples' ranges; type 6 quartiles). It is 1
// when that range is a single point, and 0 when a density is zero everywhere or the densities do
// not overlap. The paper's "removes outliers" refers to this range: values are not removed.
func (k *kernels) similarity(a, b sample) float64 {
	low, high := min(a.low, b.low), max(a.high, b.high)
	if !(low < high) {
		return 1
	}
	if !(a.bandwidth > 0) || !(b.bandwidth > 0) {
		return 0
	}
	step := (high - low) / (gridSize - 1)
	if !(step > 0) || math.IsInf(step, 0) {
		return 0 // values too small or too large to compare
	}
	density(&k.p, a, low, step)
	density(&k.q, b, low, step)
	sum, common := 0.0, false
	for i, p := range k.p {
		if q := k.q[i]; p > 0 && q > 0 {
			sum += (p - q) * math.Log(p/q) * step // KL(a,b) + KL(b,a)
			common = true
		}
	}
	if !common || math.IsNaN(sum) {
		return 0
	}
	return min(math.Exp2(-sum), 1)
}

// density adds a Gaussian kernel for each value to the points low, low+step, ... within reach:
// those y for which the value is in [y-5h, y+5h).
func density(points *[gridSize]float64, s sample, low, step float64) {
	*points = [gridSize]float64{}
	h := s.bandwidth
	weight := 1 / (math.Sqrt(2*math.Pi) * h * float64(len(s.values)))
	ratio := step / h
	square := math.Exp(-ratio * ratio) // of the factors of neighboring points
	for i := 0; i < len(s.values); {
		v, count := s.values[i], 0
		for ; i < len(s.values) && s.values[i] == v; i++ {
			count++
		}
		from := int(min(max(math.Ceil((v-kernelReach*h-low)/step)-1, 0), gridSize))
		to := int(min(max(math.Floor((v+kernelReach*h-low)/step)+2, 0), gridSize))
		for from < to && !(v < low+float64(from)*step+kernelReach*h) {
			from++
		}
		for from < to && !(v >= low+float64(to-1)*step-kernelReach*h) {
			to--
		}
		kernel(points[from:to], (low+float64(from)*step-v)/h, ratio, square, weight*float64(count))
	}
}

// kernel adds weight exp(-z^2/2) for z = first, first+ratio, ... Each value is the previous one
// times a factor, and each factor the previous one times square; both are recomputed regularly to
// limit rounding errors. Four independent values are computed at a time, for instruction-level
// parallelism.
func kernel(points []float64, first, ratio, square, weight float64) {
	const anew = 64
	square2 := square * square
	square4 := square2 * square2
	square6, square16 := square4*square2, square4*square4*square4*square4
	for len(points) > 0 {
		block := points[:min(len(points), anew)]
		points = points[len(block):]
		factor := math.Exp(-ratio * (first + ratio/2))
		a := weight * math.Exp(-first*first/2)
		b := a * factor
		c := b * (factor * square)
		d := c * (factor * square2)
		// The factors over four points: factor^4 square^(0+1+2+3), and so on.
		fa := factor * factor * factor * factor * square6
		fb := fa * square4
		fc := fb * square4
		fd := fc * square4
		for ; len(block) >= 4; block = block[4:] {
			block[0] += a
			block[1] += b
			block[2] += c
			block[3] += d
			a, b, c, d = a*fa, b*fb, c*fc, d*fd
			fa, fb, fc, fd = fa*square16, fb*square16, fc*square16, fd*square16
		}
		rest := [...]float64{a, b, c}
		for i := range block {
			block[i] += rest[i]
		}
		first += ratio * anew
	}
}
