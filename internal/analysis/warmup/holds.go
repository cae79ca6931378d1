package warmup

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/steady"
)

// holds returns why a stored result cannot be that of the executions of pair with parameters p; nil
// if it can. Its input hash is right, but the file may be damaged, and whoever uses a result relies
// on its indexes. It does not repeat the analysis: other changepoints than those of the data pass.
func (r *Pair) holds(pair *dataset.Pair, p Parameters) error {
	if r.Key != pair.Key.String() || r.ParsedKey() != pair.Key || r.Instrument != pair.Instrument() {
		return errors.New("the names are not those of the key")
	}
	if len(r.Executions) != len(pair.Executions) {
		return fmt.Errorf("it has %d executions, not %d", len(r.Executions), len(pair.Executions))
	}
	first := slices.IndexFunc(r.Executions, func(e Execution) bool { return e.Status == Analysed })
	for i := range r.Executions {
		e, of := &r.Executions[i], &pair.Executions[i]
		n := 0
		if len(of.Columns) > 0 {
			n = of.Columns[0].Len()
		}
		if e.Number != of.Number || e.Outcome != string(of.Outcome) || e.Iterations != n {
			return fmt.Errorf("execution %d is another one", of.Number)
		}
		length := n
		if p.Mode == classify.Paper && first >= 0 {
			length = r.Executions[first].Iterations
		}
		if err := e.holds(length, p); err != nil {
			return fmt.Errorf("execution %d: %w", of.Number, err)
		}
	}
	return r.sumsUp(p)
}

// sumsUp compares what is derived from the executions with them.
func (r *Pair) sumsUp(p Parameters) error {
	sum := Pair{Executions: r.Executions}
	sum.count()
	sum.reachSteadyState()
	performance := r.SteadyPerformance
	switch {
	case !reflect.DeepEqual(sum.Status, r.Status), sum.Counts != r.Counts,
		sum.Classification != r.Classification, sum.Georges != r.Georges,
		!reflect.DeepEqual(sum.Iterations, r.Iterations), !reflect.DeepEqual(sum.Levels, r.Levels),
		!reflect.DeepEqual(sum.SteadyIteration, r.SteadyIteration),
		!reflect.DeepEqual(sum.SteadySeconds, r.SteadySeconds):
		return errors.New("the sums are not those of the executions")
	case performance == nil:
	case r.Counts.NoSteadyState > 0, performance.Scheme != p.Scheme, performance.Resamples < 1,
		!finite(performance.Mean, performance.Half, performance.Low, performance.High),
		performance.Low > performance.High:
		return errors.New("the steady performance has no valid interval")
	}
	return nil
}

// holds returns why an execution cannot be the result of an analysis. length is the number of
// iterations to which percentages refer.
func (e *Execution) holds(length int, p Parameters) error {
	if e.Level != nil && (!finite(e.Level.Value) ||
		e.Level.Rule != steady.SteadyState && e.Level.Rule != steady.SecondHalf) {
		return errors.New("its level is none")
	}
	switch e.Status {
	case Analysed:
		return e.analyzedHolds(length, p)
	case NotCompleted, NoIterations, Refused:
	default:
		return fmt.Errorf("it has the status %.40q", e.Status)
	}
	empty := notAnalyzed(Execution{Number: e.Number, Outcome: e.Outcome, Iterations: e.Iterations,
		Level: e.Level}, e.Status, e.Problem)
	if !reflect.DeepEqual(*e, empty) {
		return errors.New("it was not analyzed, and has results")
	}
	return nil
}

func (e *Execution) analyzedHolds(length int, p Parameters) error {
	n := e.Iterations
	switch {
	case e.Level == nil, e.Problem != "", !slices.Contains(classify.Classes, e.Classification):
		return errors.New("it has no level or no class")
	case e.Window != max(p.Window.Of(length), smallestWindow), e.SteadyLength != max(p.Steady.Of(length), 1):
		return errors.New("its window is another one")
	case !ascending(e.Outliers, n), !ascending(e.CommonOutliers, n):
		return errors.New("its outliers are not iterations in order")
	case !finite(e.Penalty, e.Cost), e.Georges.Iteration < 0, e.Georges.Iteration > n,
		e.Georges.Found != (e.Georges.Iteration > 0):
		return errors.New("a number is not in its range")
	}
	return errors.Join(e.segmentsHold(), e.steadyHolds(), e.Cores.hold(n))
}

// segmentsHold checks that the segments lie one after the other, and are separated by the
// changepoints.
func (e *Execution) segmentsHold() error {
	start := 0
	var changepoints []int
	for i, s := range e.Segments {
		if s.Start != start || s.End <= s.Start || s.End > e.Iterations || s.Values < 1 ||
			s.Values > s.End-s.Start || !finite(s.Mean, s.Variance) || s.Variance < 0 {
			return fmt.Errorf("segment %d is no stretch of its iterations", i+1)
		}
		if start = s.End; i < len(e.Segments)-1 {
			changepoints = append(changepoints, s.End-1)
		}
	}
	if len(e.Segments) == 0 || !slices.Equal(changepoints, e.Changepoints) {
		return errors.New("its changepoints are not between its segments")
	}
	return nil
}

// steadyHolds checks that the steady state has ranges of iterations in order. In mode paper a range
// begins one iteration early.
func (e *Execution) steadyHolds() error {
	s := e.Steady
	switch {
	case (s == nil) != (e.Classification == classify.NoSteadyState):
		return errors.New("its class is not that of its steady state")
	case s == nil:
		return nil
	case s.FirstSegment < 0, s.FirstSegment+len(s.Ranges) != len(e.Segments), len(s.Ranges) == 0,
		s.Iteration < 1, s.Iteration > e.Iterations, !finite(s.Mean),
		math.IsInf(float64(s.Seconds), 0), s.Seconds < 0:
		return errors.New("its steady state does not begin in it")
	}
	from := 0
	for _, r := range s.Ranges {
		if r.Start < from || r.End <= r.Start || r.End > e.Iterations {
			return errors.New("its steady state is no stretch of its iterations")
		}
		from = r.End - 1
	}
	return nil
}

func (c *Cores) hold(iterations int) error {
	if c == nil {
		return nil
	}
	if c.Main < -1 || !(c.Share >= 0 && c.Share <= 1 && c.Spread >= 0 && c.Spread <= 1) {
		return errors.New("its main core is none")
	}
	last := 0
	for _, m := range c.Moves {
		if m.Iteration <= last || m.Iteration > iterations || m.From < 0 || m.To < 0 {
			return errors.New("its migrations are not in order")
		}
		last = m.Iteration
	}
	return nil
}

// ascending reports whether a list has indexes of n iterations in order, each once.
func ascending(list []int, n int) bool {
	last := -1
	for _, i := range list {
		if i <= last || i >= n {
			return false
		}
		last = i
	}
	return list != nil
}

func finite(values ...float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}
