// Package changepoint divides a series into segments of homogeneous values with PELT (Killick,
// Fearnhead and Eckley 2012).
//
// A segmentation minimizes
//
//	sum over segments of C(segment) + penalty × number of changepoints
//
// and PELT finds the minimum by the recursion
//
//	F(t) = min over s of F(s) + C(s, t) + penalty,   F(0) = −penalty
//
// and pruning a candidate s permanently at the first t where F(s)+C(s,t) > F(t). A segment (s, t]
// holds the values with indexes s to t−1.
//
// [Detect] is the entry point: it turns a series and [Options] into a [Segmentation]. With the
// default options it gives exactly the result of R's changepoint::cpt.meanvar(x, method="PELT",
// penalty="Manual", pen.value=15*log(n)) (versions 2.2.2 and 2.3, whose recursion is the same),
// including the consequences of R's arithmetic and shortcuts:
//
//   - prefix sums are accumulated in 80-bit long double and rounded to double (package arith), and
//     C is computed from their differences, so that rounding decides when a large mean has a
//     small spread;
//   - a variance of zero or less becomes 1e-11 in any unit: next to noise with a standard
//     deviation below 3.2e-6 a constant stretch costs more than its surroundings, next to larger
//     noise less;
//   - a candidate is pruned immediately, although with a minimum segment length above 1 it could
//     still be optimal at the very next t;
//   - of equally good candidates the earliest wins;
//   - series shorter than two minimum segment lengths are rejected.
//
// [Stable] arithmetic has none of these properties: see [Arithmetic].
//
// The recursion as R writes it (peltPlain, in the tests) keeps nearly all candidates when there are
// no changes, which takes quadratic time. peltGrouped returns the same F and the same segments
// without evaluating most of them: its comment gives the inequality it uses. Start reading at
// [Detect].
package changepoint

import (
	"fmt"
	"math"
	"slices"

	"krund/internal/analysis/arith"
)

// Segment is a stretch of a series. Mean and Variance are R's param.est: the mean, and the mean
// squared deviation (over n, the maximum likelihood estimate) in squared units of the series.
type Segment struct {
	Start, End     int // indexes Start to End-1
	Mean, Variance float64
}

// Segmentation is the result of Detect.
type Segmentation struct {
	Segments []Segment // at least one; together they cover the series
	Penalty  float64   // of a changepoint
	Cost     float64   // F(n): the segments' costs plus the penalty of each changepoint
}

// At returns the segments by index in the series from which values were removed before Detect:
// index[i] is where value i stood. A removed value belongs to the segment after it, and to none at
// the end.
func (s *Segmentation) At(index []int) []Segment {
	moved := slices.Clone(s.Segments)
	start := 0
	for i := range moved {
		moved[i].Start, moved[i].End = start, index[moved[i].End-1]+1
		start = moved[i].End
	}
	return moved
}

// Detect divides a series into segments. The series is not changed. The errors wrap ErrTooShort,
// ErrNotFinite, ErrMagnitude or ErrOptions.
func Detect(series []float64, o Options) (*Segmentation, error) {
	p, err := newProblem(series, o)
	if err != nil {
		return nil, err
	}
	penalty, err := o.Penalty.penalty(p.n, o.Cost)
	if o.Penalty.kind == crops {
		penalty, err = p.kneePenalty(), nil
	}
	if err != nil {
		return nil, err
	}
	found := p.solve(penalty).segmentation(series)
	for _, s := range found.Segments {
		if math.IsInf(s.Variance, 0) { // only with Stable arithmetic
			return nil, fmt.Errorf("values %d to %d: %w", s.Start+1, s.End, ErrMagnitude)
		}
	}
	return found, nil
}

// problem is a series prepared for PELT runs at several penalties.
type problem struct {
	n, minimum int
	cost       cost
}

func newProblem(series []float64, o Options) (*problem, error) {
	minimum, err := o.minimum()
	if err != nil {
		return nil, err
	}
	if err := check(series, minimum); err != nil {
		return nil, err
	}
	c, err := newCost(series, o)
	if err != nil {
		return nil, err
	}
	return &problem{n: len(series), minimum: minimum, cost: c}, nil
}

func newCost(series []float64, o Options) (cost, error) {
	if o.Cost == EmpiricalDistribution {
		return newEmpirical(series, o.Quantiles)
	}
	floor := 0.0
	if o.Arithmetic == Stable {
		series, floor = center(series), StableFloor*StableFloor
		if o.Cost == Mean {
			series = overNoise(series)
		}
	}
	s, err := newSums(series)
	if err != nil {
		return nil, err
	}
	if o.Cost == Mean {
		return &meanCost{sums: s, perLength: o.Penalty.kind == mbic}, nil
	}
	return &normalCost{sums: s, floor: floor, perLength: o.Penalty.kind == mbic}, nil
}

func (p *problem) solve(penalty float64) *solution {
	return peltGrouped(p.cost, p.n, p.minimum, penalty)
}

func (s *solution) segmentation(series []float64) *Segmentation {
	r := &Segmentation{Penalty: s.penalty, Cost: s.f[len(s.f)-1]}
	start := 0
	for _, end := range s.ends() {
		r.Segments = append(r.Segments, newSegment(series, start, end))
		start = end
	}
	return r
}

// newSegment estimates as R does: mean(x), and var(x)*(n-1)/n.
func newSegment(series []float64, start, end int) Segment {
	n := float64(end - start)
	mean, variance := arith.Moments(series[start:end])
	return Segment{Start: start, End: end, Mean: mean, Variance: float64(variance*(n-1)) / n}
}

// sums are the prefix sums from which a cost is computed.
type sums struct {
	x, xx   []float64
	largest float64 // absolute value
}

func newSums(series []float64) (sums, error) {
	s := sums{largest: largest(series)}
	if tooLarge := func(v float64) bool { return math.IsInf(v*v, 0) }; tooLarge(s.largest) {
		i := slices.IndexFunc(series, tooLarge)
		return s, fmt.Errorf("value %d is %g: %w", i+1, series[i], ErrMagnitude)
	}
	s.x, s.xx = arith.CumSum(series), arith.CumSumSquares(series)
	if n := len(series); math.IsInf(s.xx[n], 0) {
		return s, fmt.Errorf("sum of %d squares: %w", n, ErrMagnitude)
	}
	return s, nil
}

// noise bounds how far rounded prefix sums can make the sum of squared deviations of the stretch
// from t to until, or of part of it, negative: two prefixes are rounded to doubles, and the 80-bit
// sum at every value between them.
func (c *sums) noise(t, until int) float64 {
	n := float64(until)
	return (0x1p-50 + float64(until-t)*0x1p-62) * (c.xx[until] + 2*n*c.largest*c.largest)
}
