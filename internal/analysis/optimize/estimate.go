package optimize

import (
	"hash/fnv"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/warmup"
)

// Interval is a confidence interval in the unit of the values. Its bounds are NaN if there is none.
type Interval struct {
	Low  warmup.Real `json:"low"`
	High warmup.Real `json:"high"`
}

func (i Interval) width() warmup.Real { return i.High - i.Low }

// Summary is the result of a benchmark: an average with a confidence interval, in the unit of the
// values.
type Summary struct {
	Average warmup.Real `json:"average"`
	Interval
}

// Estimate holds the statistics of a set of values: averages in their unit, and relative metrics.
// What could not be computed is NaN: everything without values, metrics of an average of 0, and
// intervals that were not requested or need more values.
type Estimate struct {
	Values  int `json:"values"` // number of values
	Summary     // the average and the interval that belong to the metric

	Mean     warmup.Real `json:"-"`
	Median   warmup.Real `json:"-"`
	OfMean   Interval    `json:"-"` // percentile interval of the mean
	OfT      Interval    `json:"-"` // bootstrap-t interval of the mean
	OfMedian Interval    `json:"-"` // percentile interval of the median

	CV    warmup.Real `json:"cv"`
	RMAD  warmup.Real `json:"rmad"`
	RCIW1 warmup.Real `json:"rciw1"`
	RCIW2 warmup.Real `json:"rciw2"`
	RCIW3 warmup.Real `json:"rciw3"`
}

// Metric returns the value of m.
func (e *Estimate) Metric(m Metric) warmup.Real {
	return map[Metric]warmup.Real{CV: e.CV, RMAD: e.RMAD, RCIW1: e.RCIW1, RCIW2: e.RCIW2, RCIW3: e.RCIW3}[m]
}

func (e *Estimate) summary(m Metric) Summary {
	switch {
	case m.OfMedian():
		return Summary{e.Median, e.OfMedian}
	case m == RCIW2:
		return Summary{e.Mean, e.OfT}
	}
	return Summary{e.Mean, e.OfMean}
}

const (
	fewestForT = 5 // with fewer values, degenerate resamples dominate bootstrap-t
	tinyS      = 1e-6
)

// streams are the random number generators of the percentile intervals and of the bootstrap-t
// intervals. They are separate, so that an interval does not depend on which others are computed.
type streams struct{ percentile, t *rand.PCG }

// estimate computes the requested statistics of x, which it does not change.
func estimate(x []float64, need needs, o Options, random streams) Estimate {
	nan := warmup.Real(math.NaN())
	sorted := slices.Sorted(slices.Values(x))
	m, median := mean(x), arith.Median(sorted)
	e := Estimate{Values: len(x), Mean: warmup.Real(m), Median: warmup.Real(median), OfMean: nowhere(),
		OfT: nowhere(), OfMedian: nowhere(), CV: nan, RMAD: nan}
	if len(x) > 0 {
		e.CV, e.RMAD = warmup.Real(cv(x, m)), warmup.Real(rmad(x, median))
	}
	if len(x) < fewestForT && !o.Published {
		need.t = false
	}
	if math.IsInf(m, 0) { // the sum overflows
		need.mean, need.t = false, false
	}
	if len(x) > 0 && need != (needs{}) {
		e.bootstrap(newResampler(sorted, m), need, o, random)
	}
	e.RCIW1, e.RCIW2 = e.OfMean.width()/e.Mean, e.OfT.width()/e.Mean
	e.RCIW3 = e.OfMedian.width() / e.Median
	if o.Published {
		e.RCIW3 = e.OfMean.width() / e.Median
	}
	e.Summary = e.summary(o.Metric)
	return e
}

// bootstrap fills in the requested intervals.
func (e *Estimate) bootstrap(r *resampler, need needs, o Options, random streams) {
	n := len(r.sorted)
	if first := r.sorted[0]; first == r.sorted[n-1] { // all are equal, or there is one
		same := newInterval(first, first)
		if need.mean {
			e.OfMean = same
		}
		if need.median {
			e.OfMedian = same
		}
		if need.t {
			e.OfT = same
		}
		return
	}
	e.OfMean, e.OfMedian = r.percentiles(need, o, random.percentile)
	if need.t {
		t := r.studentized(o, random.t)
		se := math.Sqrt(squares(r.sorted, r.mean)/float64(n-1)) / math.Sqrt(float64(n))
		e.OfT = newInterval(r.mean-float64(float64(t.High)*se), r.mean-float64(float64(t.Low)*se))
	}
}

// percentiles returns the percentile intervals of the mean and the median.
func (r *resampler) percentiles(need needs, o Options, random *rand.PCG) (ofMean, ofMedian Interval) {
	ofMean, ofMedian = nowhere(), nowhere()
	n := len(r.sorted)
	if need.median && n <= longestExactMedian {
		ofMedian = medianAtoms(r.sorted).interval(o.Level)
		need.median = false
	}
	if need.mean && n <= longestEnumerated {
		ofMean = r.enumerate(r.center).interval(o.Level)
		need.mean = false
	}
	means, medians := r.run(need, o.Resamples, random)
	if need.mean {
		ofMean = quantiles(means, o.Level)
	}
	if need.median {
		ofMedian = quantiles(medians, o.Level)
	}
	return ofMean, ofMedian
}

// studentized returns the quantiles of t*.
func (r *resampler) studentized(o Options, random *rand.PCG) Interval {
	t := func() (float64, bool) { return r.t(o.Published) }
	if len(r.sorted) <= longestEnumerated {
		return r.enumerate(t).interval(o.Level)
	}
	draw := newDrawer(len(r.sorted), random)
	ts := make([]float64, o.Resamples)
	for i := range ts {
		for ok := false; !ok; {
			draw.fill(r.ranks)
			ts[i], ok = t()
		}
	}
	return quantiles(ts, o.Level)
}

func newInterval(low, high float64) Interval { return Interval{warmup.Real(low), warmup.Real(high)} }

func nowhere() Interval { return newInterval(math.NaN(), math.NaN()) }

// quantiles returns the bounds of the central interval of values, which are reordered.
func quantiles(x []float64, level float64) Interval {
	out := 100 * (1 - level) / 2
	return newInterval(percentile(x, out), percentile(x, 100-out))
}

// resampler computes the statistics of resamples of sorted values, which are represented by their
// ranks.
type resampler struct {
	sorted []float64
	away   []float64 // deviations from the mean
	mean   float64
	ranks  []int32 // the resample
	counts []int32
}

func newResampler(sorted []float64, m float64) *resampler {
	n := len(sorted)
	r := &resampler{sorted: sorted, mean: m, away: make([]float64, n), ranks: make([]int32, n),
		counts: make([]int32, n)}
	for i, v := range sorted {
		r.away[i] = v - m
	}
	return r
}

// run returns the means and medians of random resamples. Lists that were not requested are nil.
func (r *resampler) run(need needs, resamples int, random *rand.PCG) (means, medians []float64) {
	if !need.mean && !need.median {
		return nil, nil
	}
	draw := newDrawer(len(r.sorted), random)
	for range resamples {
		draw.fill(r.ranks)
		if need.mean {
			means = append(means, r.mean+r.meanAway())
		}
		if need.median {
			medians = append(medians, r.median())
		}
	}
	return means, medians
}

// center is the resample's mean.
func (r *resampler) center() (float64, bool) { return r.mean + r.meanAway(), true }

// meanAway is the deviation of the resample's mean from that of the values.
func (r *resampler) meanAway() float64 {
	total := 0.0
	for _, k := range r.ranks {
		total += r.away[k]
	}
	return total / float64(len(r.ranks))
}

// median returns the median of the resample, by counting ranks.
func (r *resampler) median() float64 {
	clear(r.counts)
	for _, k := range r.ranks {
		r.counts[k]++
	}
	n := len(r.ranks)
	lower, upper := (n-1)/2, n/2 // ranks in the resample
	seen, k := 0, 0
	for ; seen+int(r.counts[k]) <= lower; k++ {
		seen += int(r.counts[k])
	}
	low := r.sorted[k]
	for ; seen+int(r.counts[k]) <= upper; k++ {
		seen += int(r.counts[k])
	}
	high := r.sorted[k]
	if low == high {
		return low
	}
	return (low + high) / 2
}

// t is the studentized deviation of the resample's mean. For resamples of equal values it is
// undefined (ok is false), or uses the published s*.
func (r *resampler) t(published bool) (t float64, ok bool) {
	n := float64(len(r.ranks))
	if r.constant() {
		return finite(r.away[r.ranks[0]] / (tinyS / math.Sqrt(n))), published
	}
	m, total := r.meanAway(), 0.0
	for _, k := range r.ranks {
		d := r.away[k] - m
		total += float64(d * d)
	}
	return finite(m / (math.Sqrt(total/(n-1)) / math.Sqrt(n))), true
}

func (r *resampler) constant() bool {
	first := r.sorted[r.ranks[0]]
	return !slices.ContainsFunc(r.ranks, func(k int32) bool { return r.sorted[k] != first })
}

func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// drawer draws uniform integers below n, several from each random word: the first is the integer
// part of word/2^64 × n, the next that of the remaining fraction × n, and so on. All outcomes are
// equally likely when words whose last fraction is below 2^64 mod n^batch are rejected
// (Brackett-Rozinsky and Lemire 2024).
type drawer struct {
	random *rand.PCG
	n      uint64
	batch  int
	reject uint64
}

// rejectBelow keeps the probability of a rejection below 1 in 256.
const rejectBelow = 1 << 56

func newDrawer(n int, random *rand.PCG) drawer {
	d := drawer{random: random, n: uint64(n), batch: 1}
	power := d.n
	for power > 1 && power <= rejectBelow/d.n && d.batch < 8 {
		power *= d.n
		d.batch++
	}
	d.reject = -power % power
	return d
}

// fill draws an integer for every element of into.
func (d *drawer) fill(into []int32) {
	var drawn [8]int32
	for len(into) > 0 {
		word := d.random.Uint64()
		for i := range d.batch {
			var index uint64
			index, word = bits.Mul64(word, d.n)
			drawn[i] = int32(index)
		}
		if word < d.reject {
			continue
		}
		into = into[copy(into, drawn[:d.batch]):]
	}
}

// source returns the generator for one use of a candidate of a benchmark.
func source(seed uint64, use, benchmark string, at Position) *rand.PCG {
	h := fnv.New64a()
	_, _ = h.Write([]byte(use + "\x00" + benchmark)) // a hash has no errors
	for _, n := range at {
		var word [4]byte
		for i := range word {
			word[i] = byte(n >> (8 * i))
		}
		_, _ = h.Write(word[:])
	}
	return rand.NewPCG(seed, h.Sum64())
}

// pairwiseBlock and lanes are numpy's parameters of pairwise summation: sums of up to a block use
// eight accumulators, longer ones are halved.
const (
	pairwiseBlock = 128
	lanes         = 8
)

// sum adds x as numpy does. Candidates of equal duration are ranked by their metric, so its last
// bits matter.
func sum(x []float64) float64 {
	n := len(x)
	if n > pairwiseBlock {
		half := n / 2
		half -= half % lanes
		return sum(x[:half]) + sum(x[half:])
	}
	if n < lanes {
		total := 0.0
		for _, v := range x {
			total += v
		}
		return total
	}
	var r [lanes]float64
	i := 0
	for ; i+lanes <= n; i += lanes {
		for k := range r {
			r[k] += x[i+k]
		}
	}
	total := ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
	for ; i < n; i++ {
		total += x[i]
	}
	return total
}

// mean is the arithmetic mean; NaN for no values.
func mean(x []float64) float64 { return sum(x) / float64(len(x)) }

// squares returns the sum of squared deviations from m.
func squares(x []float64, m float64) float64 {
	d := make([]float64, len(x))
	for i, v := range x {
		d[i] = float64((v - m) * (v - m))
	}
	return sum(d)
}

// cv is the coefficient of variation around the mean m. The variance is multiplied by 1/n, as in
// numpy's cov.
func cv(x []float64, m float64) float64 {
	return math.Sqrt(squares(x, m)*(1/float64(len(x)))) / m
}

// rmad is the relative median absolute deviation from the median d.
func rmad(x []float64, d float64) float64 {
	away := make([]float64, len(x))
	for i, v := range x {
		away[i] = math.Abs(v - d)
	}
	slices.Sort(away)
	return arith.Median(away) / d
}

// nth partially sorts the values so that index k holds the k-th smallest (from 0), with nothing
// larger before and nothing smaller after it (Hoare's selection). NaN is not allowed.
func nth(x []float64, k int) float64 {
	for low, high := 0, len(x)-1; low < high; {
		pivot := x[low+(high-low)/2]
		i, j := low, high
		for i <= j {
			for x[i] < pivot {
				i++
			}
			for x[j] > pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i++
				j--
			}
		}
		if k <= j {
			high = j
			continue
		}
		if k < i {
			break
		}
		low = i
	}
	return x[k]
}

// percentile returns the pc-th percentile (0 to 100, type 7) of values and reorders them.
func percentile(x []float64, pc float64) float64 {
	lo, hi, wlo, whi := arith.Position(len(x), pc)
	a := nth(x, lo)
	if lo == hi {
		return a
	}
	b := slices.Min(x[hi:]) // values after lo are not smaller
	if a == b {
		return a
	}
	return float64(a*wlo) + float64(b*whi)
}
