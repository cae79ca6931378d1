package explain

import (
	"math"
	"slices"

	"krund/internal/analysis/arith"
)

const (
	// mostWide bounds the number of iterations that a long one is compared with.
	mostWide = 32
	// slack is how much longer than its segment an iteration may be to be compared with single
	// ones.
	slack = 0.1
)

// exposure is the amount of a source in the iterations of an execution, and what is extraordinary.
//
// A long iteration has more events by chance. So an outlier that takes w times as long as its
// segment (without the time of the events) is compared with w successive iterations, and has the
// feature if its amount is above threshold(w).
type exposure struct {
	amount []float64
	sums   []float64 // before each iteration of two copies of the series
	// The amount of w iterations is extraordinary above middle*w + spread*(1+sqrt(w))/2.
	middle, spread float64
	rows           map[int][]uint8
	before         []float64 // sums of row(1) before each iteration
}

// newExposure takes any amount for extraordinary if present is true, else what is above the median
// by more than the distance of the 10th and the 90th percentile.
func newExposure(amount []float64, n int, present bool) *exposure {
	if amount == nil {
		amount = make([]float64, n)
	}
	x := &exposure{amount: amount, sums: make([]float64, 2*n+1), rows: map[int][]uint8{}}
	for i := range 2 * n {
		x.sums[i+1] = x.sums[i] + amount[i%n]
	}
	if !present {
		sorted := slices.Sorted(slices.Values(amount))
		const tenth = 10
		x.middle, x.spread = sorted[n/2], sorted[n-1-n/tenth]-sorted[n/tenth]
	}
	return x
}

// threshold is the amount of so many iterations above which it is extraordinary. What rounding adds
// to a sum is not.
func (x *exposure) threshold(width int) float64 {
	w := float64(width)
	return x.middle*w + x.spread*(1+math.Sqrt(w))/2 + 1e-9*x.sums[len(x.sums)-1]
}

// row marks the iterations that begin a run of width iterations with an extraordinary amount.
func (x *exposure) row(width int) []uint8 {
	if row := x.rows[width]; row != nil {
		return row
	}
	row := make([]uint8, len(x.amount))
	limit := x.threshold(width)
	for i := range row {
		if x.sums[i+width]-x.sums[i] > limit {
			row[i] = 1
		}
	}
	x.rows[width] = row
	return row
}

// marked is how many of the iterations [from, to) have an extraordinary amount.
func (x *exposure) marked(from, to int) float64 {
	if x.before == nil {
		x.before = make([]float64, len(x.amount)+1)
		for i, m := range x.row(1) {
			x.before[i+1] = x.before[i] + float64(m)
		}
	}
	from, to = min(max(from, 0), len(x.amount)), min(max(to, 0), len(x.amount))
	return x.before[to] - x.before[from]
}

// timeTest returns the candidate Time of a source at outliers, nil if its events do not last or
// have no durations.
func (s *source) timeTest(runs []*run) *test {
	t := &test{source: s, target: Outliers, feature: Time}
	timed := false
	for e, r := range runs {
		timed = timed || s.runs[e].spent != nil && r.seconds
		t.amounts = append(t.amounts, newExposure(s.runs[e].spent, r.n, false))
	}
	if !timed || !s.cause.trait().lasting {
		return nil
	}
	return t
}

// outlierTests returns the candidates Present and Extraordinary of a source, without those that
// distinguish nothing.
func (s *source) outlierTests(runs []*run) []*test {
	present := &test{source: s, target: Outliers, feature: Present}
	extraordinary := &test{source: s, target: Outliers, feature: Extraordinary}
	with, of := 0, 0
	for e, r := range runs {
		a := &s.runs[e]
		amount := a.count
		if a.spent != nil {
			amount = a.spent
		}
		present.amounts = append(present.amounts, newExposure(a.count, r.n, true))
		extraordinary.amounts = append(extraordinary.amounts, newExposure(amount, r.n, false))
		with, of = with+positive(a.count), of+r.n
	}
	switch share := float64(with) / float64(of); {
	case with == 0:
		return nil
	case share >= usual:
		return []*test{extraordinary}
	case share <= rare:
		return []*test{present}
	}
	return []*test{present, extraordinary}
}

// positive is how many values are positive.
func positive(values []float64) (n int) {
	for _, v := range values {
		n += arith.One(v > 0)
	}
	return n
}

// exposed is probe for outliers.
func (t *test) exposed(runs []*run, e, k int) func(x, i int) float64 {
	r := runs[e]
	own := r.targets[t.target][k]
	width := r.width(r.longer(t.source, e, own))
	return func(x, i int) float64 {
		a := t.amounts[x]
		if x == e && i == own && a.amount[i] > a.threshold(width) ||
			(x != e || i != own) && i < runs[x].n && a.row(min(width, runs[x].n))[i] == 1 {
			return exactly
		}
		return 0
	}
}

// crowded is probe for the feature Around: the square root of the share of the outlier and of the
// besideNear iterations on each side of it that have the feature, so that a single crowded place
// does not count for many. By chance a long outlier is as many successive iterations.
func (t *test) crowded(runs []*run, e, k int) func(x, i int) float64 {
	r := runs[e]
	own := r.targets[t.target][k]
	width, at := r.width(r.longer(t.source, e, own)), t.exposed(runs, e, k)
	return func(x, i int) float64 {
		after := i + width
		if x == e && i == own {
			after = i + 1
		}
		a := t.amounts[x]
		with := at(x, i) + a.marked(i-besideNear, i) + a.marked(after, after+besideNear)
		return math.Sqrt(with / (1 + 2*besideNear))
	}
}

// filled is probe for the feature Time at outliers: whether the source takes at least leastTime of
// the extra time of outlier k more than usual, in the iteration or, elsewhere, in as many as long.
func (t *test) filled(runs []*run, e, k int) func(x, i int) float64 {
	r := runs[e]
	own := r.targets[t.target][k]
	least := leastTime * 1e9 * r.excess(own)
	width := r.width(r.longer(t.source, e, own))
	return func(x, i int) float64 {
		w := width
		if x == e && i == own {
			w = 1
		}
		a := t.amounts[x]
		if i >= runs[x].n || least <= 0 || !runs[x].seconds {
			return 0
		}
		w = min(w, runs[x].n)
		if a.sums[i+w]-a.sums[i]-float64(w)*a.middle < least {
			return 0
		}
		return exactly
	}
}

// surrounded is probe for the features Near, First and Last. If there are long iterations around
// the changepoint, other places are compared with as much time.
func (t *test) surrounded(runs []*run, e, k int) func(x, i int) float64 {
	r := runs[e]
	own := r.targets[t.target][k]
	time := 1.0
	for j := max(0, own-near); j < min(r.n, own+near); j++ {
		time += r.longer(t.source, e, j) - 1
	}
	width := r.width(time)
	return func(x, i int) float64 {
		marks := t.marks[x]
		if x == e && i == own {
			return marks[i]
		}
		most := 0.0
		for j := max(0, i-(width-1)/2); j <= i+width/2 && j < len(marks); j++ {
			most = max(most, marks[j])
		}
		return most
	}
}

// width is the number of iterations in the time of a long one, which is given in usual ones.
func (r *run) width(time float64) int {
	return min(mostWide, max(1, r.n/8), int(math.Ceil(max(1, time)-slack)))
}
