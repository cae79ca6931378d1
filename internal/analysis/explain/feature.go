package explain

import (
	"math"
	"slices"

	"krund/internal/analysis/outlier"
)

const (
	// near is how many iterations an event may be away from a changepoint. Changepoint detection
	// with the smallest segment of two iterations is off by as much.
	near = 2
	// nearly is the weight of a hit that is not exactly at the changepoint. So the coincidence of
	// one event with one changepoint is rarer than 1 in 100 shifts.
	exactly, nearly = 1.0, 0.5
	// usual is the share of the iterations from which on a presence distinguishes nothing, rare
	// that up to which any amount is extraordinary.
	usual, rare = 0.5, 0.1
	// pause is the share of the iterations without an event before the first one of a burst and
	// after the last.
	pause = 0.05
	// levelWindow is the largest number of iterations on each side of a changepoint whose means are
	// compared, levelTest the smallest difference in standard errors, levelRatio the smallest one
	// relative to the larger level, levelFloor the smallest standard deviation relative to the mean
	// of the series.
	levelWindow = 100
	levelLeast  = 8 // smallest number of iterations
	levelTest   = 5.0
	levelRatio  = 0.05
	levelFloor  = 0.01
	// levelRadius is how far from the changepoint no larger difference may lie, so that a trend is
	// not taken for a change; levelLead is how much smaller the difference at the changepoint may
	// be, because of noise, and levelExact how much smaller than within its precision.
	levelRadius = 25
	levelLead   = 0.9
	levelExact  = 0.98
)

// test is a feature of a source at a kind of target: a candidate.
type test struct {
	source  *source
	target  Target
	feature Feature
	amounts []*exposure // by execution: Present, Extraordinary
	// marks[e][i] is the weight of the feature in iteration i of execution e: Near, First, Last.
	marks [][]float64
}

// testsOf returns the candidates of a key.
func testsOf(sources []source, runs []*run) []*test {
	var all []*test
	add := func(s *source, f Feature, marks [][]float64) {
		some := func(m []float64) bool { return slices.Max(m) > 0 }
		if f == Shift || f == Time || slices.ContainsFunc(marks, some) {
			all = append(all, &test{source: s, target: Changepoints, feature: f, marks: marks})
		}
	}
	for i := range sources {
		s := &sources[i]
		if s.timed {
			add(s, Time, nil)
			continue
		}
		at := s.outlierTests(runs)
		all = append(all, at...)
		for _, t := range at {
			if s.name == "" {
				all = append(all, &test{source: s, target: Outliers, feature: Around, amounts: t.amounts})
			}
		}
		if t := s.timeTest(runs); t != nil {
			all = append(all, t)
		}
		if near := s.nearMarks(runs); near != nil {
			add(s, Near, near)
		}
		if (s.cause == Compile || s.cause == Deopt) && s.name == "" {
			add(s, First, s.burstMarks(runs, First))
		}
		if s.cause == Compile && s.name == "" {
			add(s, Last, s.burstMarks(runs, Last))
		}
		if s.name == "" || s.cause == Competitor {
			add(s, Shift, nil)
		}
	}
	return all
}

// nearMarks marks the iterations near one with an event. It returns nil if those are too many to
// distinguish anything, and for columns that are not counts of rare things.
func (s *source) nearMarks(runs []*run) [][]float64 {
	marks := make([][]float64, len(runs))
	with, of := 0, 0
	for e, r := range runs {
		marks[e] = make([]float64, r.n)
		for i, v := range s.runs[e].place {
			if v > 0 {
				s.runs[e].mark(marks[e], i)
			}
		}
		with, of = with+positive(marks[e]), of+r.n
	}
	if float64(with) >= usual*float64(of) {
		return nil
	}
	return marks
}

// mark marks the changepoints near an event in iteration i, around the end of the series.
func (a *amounts) mark(marks []float64, i int) {
	n := len(marks)
	for d := 1 - near; d <= near; d++ {
		weight := nearly
		if d == 0 && (a.effect == nil || a.effect[i]&thisOne != 0) ||
			d == 1 && (a.effect == nil || a.effect[i]&nextOne != 0) {
			weight = exactly
		}
		at := &marks[((i+d)%n+n)%n]
		*at = max(*at, weight)
	}
}

// burstMarks marks the iterations near the first or the last event of each burst.
func (s *source) burstMarks(runs []*run, which Feature) [][]float64 {
	marks := make([][]float64, len(runs))
	for e, r := range runs {
		marks[e] = make([]float64, r.n)
		var at []int
		for i, v := range s.runs[e].place {
			if v > 0 {
				at = append(at, i)
			}
		}
		for k, i := range at {
			next := at[(k+1)%len(at)]
			if gap := (next - i - 1 + r.n) % r.n; float64(gap) < max(2*near, pause*float64(r.n)) {
				continue // around the end of the series, too
			}
			if which == First {
				i = next
			}
			s.runs[e].mark(marks[e], i)
		}
	}
	return marks
}

// levels finds the changes of level of one source in one execution.
type levels struct {
	n            int
	mean         float64
	sum, squares []float64 // sums of v - mean before each iteration of two copies of the series
}

func newLevels(values []float64, window int) *levels {
	clipped := clip(values, window)
	n := len(clipped)
	l := &levels{n: n, sum: make([]float64, 2*n+1), squares: make([]float64, 2*n+1)}
	for _, v := range clipped {
		l.mean += v / float64(n)
	}
	for i := range 2 * n {
		v := clipped[i%n] - l.mean
		l.sum[i+1] = l.sum[i] + v
		l.squares[i+1] = l.squares[i] + v*v
	}
	return l
}

// clip replaces the outliers of a series by the value before.
func clip(values []float64, window int) []float64 {
	clipped := slices.Clone(values)
	found, err := outlier.Find(values, window)
	if err != nil {
		return clipped
	}
	if len(found)*10 > len(values) {
		return clipped // a series of zeros and ones
	}
	for _, i := range found {
		if i > 0 {
			clipped[i] = clipped[i-1]
		}
	}
	return clipped
}

// test compares the means of the iterations [i-before, i) and [i, i+after), around the end of the
// series. It returns the difference in standard errors (positive: the level rises), 0 if it is too
// small to matter.
func (l *levels) test(i, before, after int) float64 {
	start := i - before
	if start < 0 {
		start += l.n
	}
	if before >= l.n || after >= l.n || start+before+after > 2*l.n {
		return 0
	}
	m1, v1 := l.moments(start, start+before)
	m2, v2 := l.moments(start+before, start+before+after)
	d := m2 - m1
	if math.Abs(d) <= levelRatio*max(math.Abs(m1), math.Abs(m2)) {
		return 0
	}
	floor := levelFloor * l.mean * levelFloor * l.mean
	return d / math.Sqrt((v1+floor)/float64(before)+(v2+floor)/float64(after))
}

func (l *levels) moments(from, to int) (mean, variance float64) {
	n := float64(to - from)
	m := (l.sum[to] - l.sum[from]) / n
	return l.mean + m, max(0, (l.squares[to]-l.squares[from])/n-m*m)
}

// probe returns a function that returns how well target k of execution e would have the feature, if
// it lay in iteration i of execution x: 0 not at all, 0.5 within the precision of a changepoint, 1
// exactly.
func (t *test) probe(runs []*run, e, k int) func(x, i int) float64 {
	switch {
	case t.target == Outliers && t.feature == Time:
		return t.filled(runs, e, k)
	case t.feature == Around:
		return t.crowded(runs, e, k)
	case t.target == Outliers:
		return t.exposed(runs, e, k)
	case t.feature == Shift:
		return t.shifted(runs, e, k)
	case t.feature == Time:
		return t.accounted(runs, e, k)
	}
	return t.surrounded(runs, e, k)
}

// hit reports whether target k of execution e has the feature.
func (t *test) hit(runs []*run, e, k int) bool {
	return t.probe(runs, e, k)(e, runs[e].targets[t.target][k]) > 0
}

// shifted is probe for the feature Shift: whether the level of the source changes in the same
// direction as the series at changepoint k, between as many iterations.
func (t *test) shifted(runs []*run, e, k int) func(x, i int) float64 {
	r := runs[e]
	c := r.targets[t.target][k]
	before, after := r.lengths(c)
	sign := 1.0
	if r.segment(c).Mean < r.segment(c-1).Mean {
		sign = -1
	}
	return func(x, i int) float64 {
		l := t.source.levelsIn(x, runs[x])
		if l == nil || before < levelLeast || after < levelLeast || i >= l.n {
			return 0
		}
		difference := func(i int) float64 { return sign * l.test((i%l.n+l.n)%l.n, before, after) }
		if difference(i) < levelTest {
			return 0
		}
		return largest(i, difference)
	}
}

// lengths returns how many iterations before and after changepoint c are compared.
func (r *run) lengths(c int) (before, after int) {
	return min(c-r.segment(c-1).Start, levelWindow), min(r.segment(c).End-c, levelWindow)
}

// largest returns 1 if no difference near i is larger than that at i, but for noise, and 0.5 if one
// is within the precision of a changepoint.
func largest(i int, difference func(i int) float64) float64 {
	inside, outside := 0.0, 0.0
	for d := -levelRadius; d <= levelRadius; d++ {
		if d < -2*near || d > 2*near {
			outside = max(outside, difference(i+d))
		} else {
			inside = max(inside, difference(i+d))
		}
	}
	switch at := difference(i); {
	case at < levelLead*outside:
		return 0
	case at < levelExact*inside:
		return nearly
	}
	return exactly
}

// spending has the time that a source took in the iterations that are no outliers, as the means of
// segments leave those out.
type spending struct {
	time, usual []float64 // sums before each iteration: nanoseconds, number
}

// spendingIn returns nil if the times of the source in execution e are unknown.
func (s *source) spendingIn(e int, r *run) *spending {
	spent := s.runs[e].spent
	if spent == nil || !r.seconds {
		return nil
	}
	if s.spending == nil {
		s.spending = make([]*spending, len(s.runs))
	}
	if s.spending[e] == nil {
		p := &spending{make([]float64, r.n+1), make([]float64, r.n+1)}
		next := 0
		for i, v := range spent {
			p.time[i+1], p.usual[i+1] = p.time[i]+v, p.usual[i]+1
			if next < len(r.targets[Outliers]) && r.targets[Outliers][next] == i {
				p.time[i+1], p.usual[i+1] = p.time[i], p.usual[i]
				next++
			}
		}
		s.spending[e] = p
	}
	return s.spending[e]
}

// mean is the time per iteration in [from, to), 0 if it has none.
func (p *spending) mean(from, to int) float64 {
	from, to = max(from, 0), min(to, len(p.time)-1)
	if from >= to || p.usual[to] == p.usual[from] {
		return 0
	}
	return (p.time[to] - p.time[from]) / (p.usual[to] - p.usual[from])
}

// around returns the times per iteration before and after changepoint c, in its segments.
func (r *run) around(p *spending, c int) (before, after float64) {
	a, b := r.lengths(c)
	return p.mean(c-a, c), p.mean(c, c+b)
}

// accounted is probe for the feature Time: whether the time that the source takes per iteration
// changes by at least leastTime of what the iterations change at changepoint k.
func (t *test) accounted(runs []*run, e, k int) func(x, i int) float64 {
	r := runs[e]
	c := r.targets[t.target][k]
	before, after := r.lengths(c)
	change := 1e9 * (r.segment(c).Mean - r.segment(c-1).Mean)
	return func(x, i int) float64 {
		p := t.source.spendingIn(x, runs[x])
		if p == nil || change == 0 {
			return 0
		}
		share := func(i int) float64 { return (p.mean(i, i+after) - p.mean(i-before, i)) / change }
		if share(i) < leastTime {
			return 0
		}
		return largest(i, share)
	}
}
