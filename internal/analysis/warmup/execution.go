package warmup

import (
	"fmt"
	"math"

	"krund/internal/analysis/changepoint"
	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/outlier"
	"krund/internal/analysis/steady"
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
		cores := findMigrations(s.cores, s.cycles)
		r.Cores = &cores
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
