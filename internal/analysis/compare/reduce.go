package compare

import (
	"math"
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/steady"
	"krund/internal/analysis/warmup"
)

// Rule is the way in which an execution was reduced to a number.
type Rule string

// The rules. The choice depends on the execution alone, so that executions are exchangeable between
// the sides when nothing has changed.
const (
	OfSteady     Rule = "steady"      // mean of the shortest half of its steady iterations
	OfSecondHalf Rule = "second half" // the same of its second half: it has no steady state
)

// reduced are the values of one execution, of a column's unit; NaN where there is none.
type reduced struct {
	Execution
	mean       float64 // see steady.LevelOf
	iteration  float64 // first steady iteration
	first      float64 // first iteration; see row.toFirst
	result     float64 // time from the start of the process to the first result; 0: unknown
	firstTotal float64
}

// reduce reduces an execution; ok is false when it has no usable values. analyzed is its analysis.
func reduce(e *dataset.Execution, analyzed *warmup.Execution, column string, first int) (r reduced, ok bool) {
	values, _, status, _ := warmup.Series(e, column)
	if status != warmup.Analysed {
		return r, false
	}
	r.Execution = Execution{Number: e.Number, Rule: OfSecondHalf, Class: analyzed.Classification,
		Machine: e.Machine, Stage: e.Stage}
	r.iteration, r.first, r.firstTotal = math.NaN(), values[0], math.NaN()
	if column == dataset.Wall {
		r.result = e.FirstResult
	}
	if len(values) >= first {
		r.firstTotal = 0
		for _, v := range values[:first] {
			r.firstTotal += v
		}
	}
	var ranges []steady.Range
	if s := analyzed.Steady; s != nil && analyzed.Iterations == len(values) {
		ranges = s.Ranges
	}
	iterations, rule := steady.Representative(values, analyzed.Outliers, ranges)
	if rule == steady.SteadyState {
		r.Rule, r.iteration = OfSteady, float64(max(analyzed.Steady.Iteration, 1))
	}
	r.Value, r.mean = shorth(iterations), rule.Mean(iterations)
	return r, !math.IsInf(r.Value, 0)
}

// Tenths splits the iterations that represent an execution, in the order in which they were
// measured, into ten stretches of equal length (the first iterations are left out), and returns the
// level of each and their number of iterations; nil without two iterations for each. The variance
// of such stretches includes the dependence of iterations on each other (batch means; Law,
// Simulation Modeling and Analysis, 2015, section 9.5.3).
func Tenths(e *dataset.Execution, analyzed *warmup.Execution, column string) (levels []float64, size int) {
	const batches, fewest = 10, 2
	values, _, status, _ := warmup.Series(e, column)
	if status != warmup.Analysed {
		return nil, 0
	}
	var kept []float64
	if s := analyzed.Steady; s != nil && analyzed.Iterations == len(values) {
		kept = slices.Concat(steady.Values(values, analyzed.Outliers, s.Ranges)...)
	}
	if len(kept) == 0 {
		kept = values[len(values)/2:]
	}
	if size = len(kept) / batches; size < fewest {
		return nil, size
	}
	for kept = kept[len(kept)-batches*size:]; len(kept) > 0; kept = kept[size:] {
		levels = append(levels, shorth(slices.Sorted(slices.Values(kept[:size]))))
	}
	return levels, size
}

// shorth is the mean of the shortest half: of the n/2+1 neighboring values that lie closest
// together (Andrews et al., "Robust estimates of location", 1972). Of several shortest halves it is
// the mean. Disturbances only make iterations slower, and do not move it. values are sorted.
func shorth(values []float64) float64 {
	half := len(values)/2 + 1
	shortest := math.Inf(1)
	for i := range len(values) - half + 1 {
		shortest = min(shortest, values[i+half-1]-values[i])
	}
	sum, n := 0.0, 0
	for i := range len(values) - half + 1 {
		if values[i+half-1]-values[i] == shortest {
			sum += arith.MeanOf(values[i : i+half])
			n++
		}
	}
	return sum / float64(n)
}

// reduced reduces the executions of key i that completed.
func (s Side) reduced(i int, o Options) []reduced {
	var list []reduced
	pair := &s.Data.Pairs[i]
	for k := range pair.Executions {
		e, ok := reduce(&pair.Executions[k], &s.Doc.Pairs[i].Executions[k], s.Doc.Parameters.Column,
			o.FirstIterations)
		if ok {
			list = append(list, e)
		}
	}
	return list
}

// Executions reduces each completed execution of a key to the number that is compared. analyzed is
// the key's analysis.
func Executions(pair *dataset.Pair, analyzed *warmup.Pair, column string) []Execution {
	var list []Execution
	for k := range pair.Executions {
		r, ok := reduce(&pair.Executions[k], &analyzed.Executions[k], column, DefaultFirstIterations)
		if ok {
			list = append(list, r.Execution)
		}
	}
	return list
}
