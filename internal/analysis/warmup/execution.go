package warmup

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"krund/internal/analysis/changepoint"
	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/outlier"
	"krund/internal/analysis/parallel"
	"krund/internal/analysis/steady"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// smallestWindow is the minimum length of an outlier window; of two values neither is ever an
// outlier.
const smallestWindow = 2

// series is one execution prepared for analysis: the values to analyze and the corresponding wall
// times.
type series struct {
	values []float64
	unit   string
	wall   []float64 // seconds; nil without a wall column
	cores  []int     // numbers of the cores in cycles
	cycles [][]uint64
}

// read reads the columns an analysis needs from an execution. The status is Analysed when it can be
// analyzed.
func read(e *dataset.Execution, column string) (s series, status Status, problem string) {
	if e.Outcome == dataset.OtherPrograms {
		return s, NotCompleted, "it was measured with other programs than the latest execution"
	}
	if e.Outcome != results.Completed && e.Outcome != "" {
		return s, NotCompleted, fmt.Sprintf("its outcome is %s", e.Outcome)
	}
	if err := e.Check(); err != nil {
		return s, Refused, err.Error()
	}
	if c, ok := e.Column(dataset.Wall, dataset.NoCore); ok {
		if wall, unit := c.Floats(); unit == dataset.Seconds {
			s.wall = wall
		}
	}
	for _, c := range e.Cores(dataset.CoreCycles) {
		if c.Counts != nil {
			s.cores = append(s.cores, c.Core)
			s.cycles = append(s.cycles, c.Counts)
		}
	}
	s.values, s.unit = e.Values(column)
	switch {
	case s.values == nil:
		return s, NoIterations, fmt.Sprintf("it has no column %q", column)
	case len(s.values) == 0:
		return s, NoIterations, "no iteration was completed"
	}
	if problem = unusable(s.values, s.unit); problem != "" {
		return s, Refused, problem
	}
	return s, Analysed, ""
}

// Series returns a column of an execution as an analysis uses it: times in seconds, and per-core
// columns summed over the cores. If the column can be used, status is Analysed and problem is "".
// The slice may be the execution's own.
func Series(e *dataset.Execution, column string) (values []float64, unit string, status Status,
	problem string) {
	s, status, problem := read(e, column)
	if status != Analysed {
		return nil, "", status, problem
	}
	return s.values, s.unit, status, ""
}

// unusable returns the reason why values cannot be analyzed, or "".
func unusable(values []float64, unit string) string {
	for i, v := range values {
		switch {
		case math.IsNaN(v):
			return fmt.Sprintf("iteration %d has no value", i+1)
		case math.IsInf(v, 0):
			return fmt.Sprintf("iteration %d is infinite", i+1)
		case v < 0 && unit == dataset.Seconds:
			return fmt.Sprintf("iteration %d took %g s: time does not run backwards", i+1, v)
		}
	}
	return ""
}

// analyzeExecution runs the pipeline on one execution. n is the number of iterations to which
// percentages for window and steady length refer. The result has everything but CommonOutliers.
func analyzeExecution(e *dataset.Execution, s *series, n int, p Parameters) Execution {
	r := Execution{
		Number: e.Number, Outcome: string(e.Outcome), Status: Analysed, Iterations: len(s.values),
		Window:       max(p.Window.Of(n), smallestWindow),
		SteadyLength: max(p.Steady.Of(n), 1),
	}
	outliers, err := p.Outliers.Find(s.values, r.Window)
	if err != nil {
		return refuse(r, s, err)
	}
	kept, index := outlier.Remove(s.values, outliers)
	found, err := changepoint.Detect(kept, p.changepoints())
	if err != nil {
		return refuse(r, s, err)
	}
	r.Outliers, r.Penalty, r.Cost = outliers, found.Penalty, found.Cost
	rule := p.rule(r.SteadyLength)
	segments := found.At(index)
	r.Classification = rule.Classify(segments, r.Iterations)
	r.Segments = describe(found.Segments, segments, kept, rule)
	r.Changepoints = []int{}
	for _, c := range segments[:len(segments)-1] {
		r.Changepoints = append(r.Changepoints, c.End-1)
	}
	if r.Steady = newSteady(s, segments, r.Classification, rule); r.Steady == nil {
		r.Level = levelOf(s, nil, nil)
	} else {
		r.Level = levelOf(s, outliers, r.Steady.Ranges)
		r.Steady.Mean = r.Level.Value
	}
	r.Georges = georges(s.values, georgesWindow, georgesThreshold)
	if len(s.cycles) > 0 {
		r.Cores = new(findMigrations(s.cores, s.cycles))
	}
	return r
}

// refuse marks a result as not analyzed, with the reason.
func refuse(r Execution, s *series, err error) Execution {
	return notAnalyzed(Execution{Number: r.Number, Outcome: r.Outcome, Iterations: r.Iterations,
		Level: levelOf(s, nil, nil)}, Refused, err.Error())
}

func levelOf(s *series, outliers []int, ranges []steady.Range) *steady.Level {
	level := steady.LevelOf(s.values, outliers, ranges)
	return &level
}

// notAnalyzed fills in the fields of an execution without analysis.
func notAnalyzed(r Execution, status Status, problem string) Execution {
	r.Status, r.Problem = status, problem
	r.Outliers, r.CommonOutliers, r.Changepoints = []int{}, []int{}, []int{}
	r.Segments = []Segment{}
	return r
}

// describe returns the segments for the document. segments are those found by index in the series
// with outliers; kept is the series without.
func describe(found, segments []changepoint.Segment, kept []float64, rule classify.Rule) []Segment {
	described := make([]Segment, len(found))
	bounds := rule.Bounds(segments)
	for i, f := range found {
		s := segments[i]
		lag1, dependent := dependenceOf(kept[f.Start:f.End])
		described[i] = Segment{
			Start: s.Start, End: s.End, Values: f.End - f.Start, Mean: s.Mean, Variance: s.Variance,
			Equivalent: i == len(found)-1 || rule.Equivalent(s, bounds),
			Lag1:       Real(lag1), Dependent: dependent,
		}
	}
	return described
}

// newSteady determines the steady state without its mean, nil without one. The time before it is
// that of the wall column.
func newSteady(s *series, segments []changepoint.Segment, class classify.Class, rule classify.Rule) *Steady {
	times := s.wall
	if times == nil {
		times = make([]float64, len(s.values))
	}
	state, ok := steady.Of(times, segments, class, rule)
	if !ok {
		return nil
	}
	r := &Steady{
		FirstSegment: state.FirstSegment, Iteration: state.Iteration,
		Seconds: Real(state.ToReach), Ranges: state.Ranges,
	}
	if s.wall == nil {
		r.Seconds = Real(math.NaN())
	}
	return r
}

// KeySeries holds one column of the executions of a key.
type KeySeries struct {
	Key     key.Key
	Numbers []int       // numbers of the usable executions
	Series  [][]float64 // their values, one slice for each
	LeftOut []LeftOut   // the other executions; never nil
}

// LeftOut is an execution that cannot be used, with the reason.
type LeftOut struct {
	Execution int    `json:"execution"`
	Problem   string `json:"problem"`
}

// SeriesOf returns a column of the completed executions of a key.
func SeriesOf(p *dataset.Pair, column string) KeySeries {
	s := KeySeries{Key: p.Key, LeftOut: []LeftOut{}}
	for i := range p.Executions {
		e := &p.Executions[i]
		values, _, _, problem := Series(e, column)
		if problem != "" {
			s.LeftOut = append(s.LeftOut, LeftOut{e.Number, problem})
			continue
		}
		s.Numbers = append(s.Numbers, e.Number)
		s.Series = append(s.Series, values)
	}
	return s
}

// EachKey answers a question about each key of d, from a column of its executions, on the given
// number of goroutines. done, which may be nil, is called with the number of executions of the keys
// that are answered, and of all; calls do not overlap.
func EachKey[A any](d *dataset.Dataset, column string, workers int,
	answer func(*dataset.Pair, KeySeries) (A, error), done func(n, of int)) ([]A, error) {
	all := 0
	for i := range d.Pairs {
		all += len(d.Pairs[i].Executions)
	}
	answers, failed := make([]A, len(d.Pairs)), make([]error, len(d.Pairs))
	tell := func(n int) {
		if done != nil {
			done(n, all)
		}
	}
	parallel.Counted(len(d.Pairs), workers, tell, func(i int) int {
		p := &d.Pairs[i]
		var err error
		if answers[i], err = answer(p, SeriesOf(p, column)); err != nil {
			failed[i] = fmt.Errorf("%s: %w", p.Key, err)
		}
		return len(p.Executions)
	})
	return answers, errors.Join(failed...)
}

// The more conservative of the thresholds that Georges et al. suggest, with their window of ten.
const (
	georgesWindow    = 10
	georgesThreshold = 0.01 // of standard deviation over mean
)

// georges applies the steady-state rule of Georges, Buytaert and Eeckhout (2007), with which the
// study compares its own (section 8), to the iterations of one execution: the steady state is the
// first window whose coefficient of variation is below a threshold. CoV is that of this window; if
// none was found, the minimum over all windows (NaN when there is no full window with a nonzero
// mean). It uses the sample standard deviation (n-1). A window whose mean is 0 is not steady.
func georges(values []float64, window int, threshold float64) Georges {
	least := math.NaN()
	for from := 0; window > 1 && from+window <= len(values); from++ {
		cov := variation(values[from : from+window])
		if cov < threshold {
			return Georges{Found: true, Iteration: from + 1, CoV: Real(cov)}
		}
		if !(least <= cov) {
			least = cov
		}
	}
	return Georges{CoV: Real(least)}
}

// variation is the coefficient of variation of a window.
func variation(window []float64) float64 {
	n := float64(len(window))
	mean, squares := 0.0, 0.0
	for _, v := range window {
		mean += v / n
	}
	for _, v := range window {
		squares += float64((v - mean) * (v - mean))
	}
	if mean == 0 {
		return math.NaN()
	}
	return math.Sqrt(squares/(n-1)) / math.Abs(mean)
}

// quantile995 is the 99.5% quantile of the normal distribution.
const quantile995 = 2.5758293035489

// shortest is the minimum number of values for which the bound on Lag1 is accurate enough to call a
// segment dependent.
const shortest = 30

// dependenceOf returns the lag-1 autocorrelation of a segment, sum (x[i]-m)(x[i+1]-m) / sum
// (x[i]-m)^2, m the mean (R: acf(x)$acf[2]), between -1 and 1; NaN for fewer than three values and
// for constant ones. dependent reports whether its size exceeds 2.576/sqrt(n), the 99% bound for
// independent values.
//
// Changepoint analysis and the bootstrap assume that the values of a segment are independent. If
// they are not, intervals have the wrong width: too narrow for positive correlation, too wide for
// negative. The study (section 7) found dependence in a segment of 11.8% of its process executions,
// with coefficients from -0.968 to 0.668.
func dependenceOf(x []float64) (lag1 float64, dependent bool) {
	if len(x) < 3 || slices.Min(x) == slices.Max(x) {
		return math.NaN(), false
	}
	mean := 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	var product, square float64
	for i, v := range x {
		square += float64((v - mean) * (v - mean))
		if i > 0 {
			product += float64((v - mean) * (x[i-1] - mean))
		}
	}
	if !(square > 0) || math.IsInf(square, 0) {
		return math.NaN(), false
	}
	lag1 = product / square
	return lag1, len(x) >= shortest && math.Abs(lag1) > quantile995/math.Sqrt(float64(len(x)))
}

// Migration is a change of the main core between two iterations.
type Migration struct {
	Iteration int `json:"iteration"` // the first one, from 1, on the new core
	From      int `json:"from"`
	To        int `json:"to"`
}

// mostly is the minimum share of an iteration's cycles on its main core.
const mostly = 0.5

// findMigrations determines from cycles[core][iteration] the core on which a benchmark ran, and
// when it migrated (section 5.1 and Figure 2 of the study); names holds the number of each core.
// All cores have the same number of iterations.
//
// A single-threaded program appears as one core with many cycles and others with very few; a change
// of that core between two iterations is a migration. Iterations in which no core has most of the
// cycles (several threads, or a migration during the iteration) have no main core and are skipped.
func findMigrations(names []int, cycles [][]uint64) Cores {
	r := Cores{Main: -1, Moves: []Migration{}}
	if len(cycles) == 0 || len(cycles[0]) == 0 {
		return r
	}
	n := len(cycles[0])
	count := make([]int, len(cycles))
	last, spread := -1, 0
	for i := range n {
		c := mainCore(cycles, i)
		if c < 0 {
			spread++
			continue
		}
		count[c]++
		if last >= 0 && c != last {
			r.Moves = append(r.Moves, Migration{Iteration: i + 1, From: names[last], To: names[c]})
		}
		last = c
	}
	most := 0
	for c, k := range count {
		if k > most {
			most, r.Main = k, names[c]
		}
	}
	r.Share = float64(most) / float64(n)
	r.Spread = float64(spread) / float64(n)
	return r
}

// mainCore returns the index of the core with most of iteration i's cycles, or -1.
func mainCore(cycles [][]uint64, i int) int {
	total, best := 0.0, 0
	for c := range cycles {
		total += float64(cycles[c][i])
		if cycles[c][i] > cycles[best][i] {
			best = c
		}
	}
	if float64(cycles[best][i]) > mostly*total {
		return best
	}
	return -1
}
