package stability

import (
	"math"
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/bootstrap"
)

// Quality compares the result of the shortened experiment with that of the full one.
type Quality struct {
	Mean   float64 // seconds, of the shortened experiment: the mean of its steps' means
	Ratio  float64 // shortened/full; NaN when the full mean is 0
	Low    float64 // of the ratio's interval; NaN where there is none
	High   float64
	Change float64 // change rate, |Ratio-1|
	Same   bool    // A/A test: the interval contains 1
}

// rounding is the tolerance of the ratio of equal constants.
const rounding = 1e-12

// side is one side of the A/A test: calls by execution and step.
type side struct {
	p    *Parameters
	seed uint64

	values, counts []float64
	place          [][2]int // execution and step of each value
	tree           *bootstrap.Hierarchy
	means          []float64
}

func newSide(p *Parameters, seed uint64) *side { return &side{p: p, seed: seed} }

// add adds the steps from up to to of an execution.
func (d *side) add(execution int, s *Steps, from, to int) {
	for k := from; k < to; k++ {
		for i := s.Start(k); i < s.Start(k+1); i++ {
			d.values = append(d.values, s.series[i])
			d.counts = append(d.counts, s.calls(i))
			d.place = append(d.place, [2]int{execution, k})
		}
	}
}

// finish removes outliers (except in profile Paper, whose text does not mention it here), draws
// calls if there are too many, and resamples them hierarchically.
func (d *side) finish(tables bootstrap.Tables, seed uint64) {
	low, high := 0.0, math.Inf(1)
	if d.p.Profile != Paper {
		_, limits := NewHistogram(d.values, d.counts).Inliers()
		low, high = limits[0], limits[1]
	}
	times := d.frequencies(low, high)
	var tree [][][]float64
	last := [2]int{-1, -1}
	for i, n := range times {
		if n == 0 {
			continue
		}
		if d.place[i][0] != last[0] {
			tree = append(tree, nil)
		}
		e := &tree[len(tree)-1]
		if d.place[i] != last {
			*e = append(*e, nil)
		}
		last = d.place[i]
		for range n {
			(*e)[len(*e)-1] = append((*e)[len(*e)-1], d.values[i])
		}
	}
	h, err := bootstrap.NewHierarchy(tree, d.p.Index, tables)
	if err != nil {
		return // no values: there is no mean
	}
	d.tree, d.means = h, make([]float64, d.p.QualityResamples)
	h.Fill(d.means, seed, 1)
}

// frequencies returns how often each value is in the sample: all calls, or as many as are drawn.
func (d *side) frequencies(low, high float64) []int {
	times := make([]int, len(d.values))
	var kept Histogram // not sorted by value
	var index []int
	for i, v := range d.values {
		if v >= low && v <= high {
			index = append(index, i)
			kept.Values, kept.Counts = append(kept.Values, v), append(kept.Counts, d.counts[i])
		}
	}
	kept.ends = make([]float64, len(index))
	kept.sum()
	if kept.Total() <= float64(d.p.QualityDraws) {
		for k, i := range index {
			times[i] = int(kept.Counts[k])
		}
		return times
	}
	r := random(d.seed)
	for range d.p.QualityDraws {
		times[index[kept.pick(r)]]++
	}
	return times
}

func (d *side) metric() float64 {
	if d.tree == nil {
		return math.NaN()
	}
	return d.tree.Metric
}

func quality(full, short *side, p *Parameters) Quality {
	q := Quality{Mean: short.metric(), Ratio: math.NaN(), Low: math.NaN(), High: math.NaN(),
		Change: math.NaN()}
	if !(full.metric() > 0) || short.tree == nil {
		q.Same = full.metric() == 0 && q.Mean == 0
		return q
	}
	q.Ratio, q.Low, q.High = Ratio(full.means, short.means, p.Confidence, p.Index)
	if p.Index == bootstrap.Uniform {
		q.Ratio = q.Mean / full.metric()
	}
	q.Change = math.Abs(q.Ratio - 1)
	q.Same = q.Low <= 1+rounding && 1-rounding <= q.High
	return q
}

// Ratio is the median of b/a with its interval, from independent resampled means, which it does not
// change. With PA, means of equal rank are divided, a mistake of pa 0.1 that makes the interval
// several times too narrow. All results are NaN when an a is 0.
func Ratio(a, b []float64, confidence float64, index bootstrap.Index) (median, low, high float64) {
	a, b = slices.Clone(a), slices.Clone(b)
	if index == bootstrap.PA {
		slices.Sort(a)
		slices.Sort(b)
	}
	ratios := b[:min(len(a), len(b))]
	for i := range ratios {
		if a[i] == 0 {
			return math.NaN(), math.NaN(), math.NaN()
		}
		ratios[i] /= a[i]
	}
	low, high = bootstrap.Quantiles(ratios, confidence)
	return arith.Median(ratios), low, high
}
