package optimize

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
)

// Suite is a full experiment: benchmarks repeated on the same levels.
type Suite struct {
	dataset.Info        // origin
	Unit         string // of the values
	Levels       []Level
	Benchmarks   []Benchmark
	Warnings     []string
}

// Benchmark holds the measurements of one benchmark.
type Benchmark struct {
	Name    string
	Key     key.Key  // zero in files of µOpTime
	Full    Position // the full configuration
	Rows    []Row    // in the order of the source
	Seconds float64  // duration of one repetition of the innermost level
	// repetitions of the innermost level, before those in Rows, that are always made but never
	// evaluated
	Skip     int
	Warnings []string
}

// Row is a measured value: finite, and not negative.
type Row struct {
	Instance int32 // machine, from 1
	At       Position
	Value    float64
}

// MostLevels is the maximum number of levels of repetition.
const MostLevels = 3

// Position is a position in an experiment, or a number of repetitions: one number from 1 for each
// level, outermost first, and 1 for unused levels.
type Position [MostLevels]int32

// Level is a level of repetition.
type Level struct {
	Name     string // in the plural: "executions"
	Duration bool   // repetitions extend one measurement
	InOrder  bool   // its repetitions follow each other in one process
}

// ErrData reports that a suite cannot be used.
var ErrData = errors.New("invalid measurements")

// Check reports why a suite cannot be used: no level or more than MostLevels, positions outside the
// full configuration, values that are negative or not finite. The error wraps ErrData.
func (s *Suite) Check() error {
	if len(s.Levels) < 1 || len(s.Levels) > MostLevels {
		return fmt.Errorf("%w: %d levels of repetition, must be 1 to %d", ErrData, len(s.Levels), MostLevels)
	}
	for i := range s.Benchmarks {
		if err := s.Benchmarks[i].check(len(s.Levels)); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrData, s.Benchmarks[i].Name, err)
		}
	}
	return nil
}

func (b *Benchmark) check(levels int) error {
	for i, n := range b.Full {
		if n < 1 || i >= levels && n != 1 {
			return fmt.Errorf("invalid full configuration %v", b.Full)
		}
	}
	if !(b.Seconds >= 0) || math.IsInf(b.Seconds, 0) || b.Skip < 0 {
		return fmt.Errorf("invalid repetition of %g s, or %d skipped", b.Seconds, b.Skip)
	}
	for k, r := range b.Rows {
		if r.Instance < 1 {
			return fmt.Errorf("value %d is of instance %d; they count from 1", k+1, r.Instance)
		}
		for i := range r.At {
			if r.At[i] < 1 || r.At[i] > b.Full[i] {
				return fmt.Errorf("value %d is at %v, outside of the full configuration %v", k+1, r.At,
					b.Full)
			}
		}
		if !(r.Value >= 0) || math.IsInf(r.Value, 0) {
			return fmt.Errorf("value %d is %g", k+1, r.Value)
		}
	}
	return nil
}

// values returns the values that a shorter experiment would have measured.
func (b *Benchmark) values(at Position, instances int) []float64 {
	var list []float64
	for i := range b.Rows {
		r := &b.Rows[i]
		if int(r.Instance) <= instances && r.At[0] <= at[0] && r.At[1] <= at[1] && r.At[2] <= at[2] {
			list = append(list, r.Value)
		}
	}
	return list
}

// time is the duration of a configuration in seconds: of its repetitions and the skipped ones, plus
// overhead for each repetition of the level around the innermost. It is 0 without values.
func (b *Benchmark) time(at Position, levels int, overhead float64) float64 {
	if len(b.Rows) == 0 {
		return 0
	}
	inner := float64(at[levels-1])
	outer := at.cells() / inner
	return float64(outer*(inner+float64(b.Skip))*b.Seconds) + float64(outer*overhead)
}

// The names of the levels of an experiment.
const (
	executions = "executions"
	iterations = "iterations"
)

// Executions is the level of process executions.
func Executions() Level { return Level{Name: executions} }

// Iterations is the level of in-process iterations.
func Iterations() Level { return Level{Name: iterations, InOrder: true} }

// OfIterations reports whether the suite is an experiment: its levels are executions and
// iterations.
func (s *Suite) OfIterations() bool {
	return len(s.Levels) == 2 && s.Levels[0] == Executions() && s.Levels[1] == Iterations()
}

// SuiteRuns is the level of whole experiments, in files of µOpTime.
func SuiteRuns() Level { return Level{Name: "suite runs"} }

// Reading selects how a dataset is converted to a suite.
type Reading struct {
	Column string // "": dataset.Wall. Per-core columns are summed
	// Skip returns the number of warmup iterations at the start of each execution of a key that are
	// not evaluated; nil: none. They still count toward the duration.
	Skip func(key string) int
	// Seconds is the time of an iteration; 0: the mean of the wall times.
	Seconds float64
}

// FromDataset converts an experiment to a suite. Executions that were not completed, and those with
// a value that is missing, infinite or negative, are left out with a warning; the others are
// renumbered. The error wraps ErrData.
func FromDataset(d *dataset.Dataset, r Reading) (*Suite, error) {
	r.Column = cmp.Or(r.Column, dataset.Wall)
	s := &Suite{Info: d.Info, Levels: []Level{Executions(), Iterations()},
		Warnings: slices.Clone(d.Problems), Benchmarks: make([]Benchmark, len(d.Pairs))}
	for i := range d.Pairs {
		b, p := &s.Benchmarks[i], &d.Pairs[i]
		*b = Benchmark{Name: p.Key.String(), Key: p.Key, Full: Position{1, 1, 1}}
		if r.Skip != nil {
			b.Skip = max(0, r.Skip(b.Name))
		}
		unit, err := b.add(p, r)
		if err != nil {
			return nil, err
		}
		s.Unit = cmp.Or(s.Unit, unit)
	}
	return s, nil
}

// add appends the executions of a key, and finds how long an iteration takes.
func (b *Benchmark) add(p *dataset.Pair, r Reading) (unit string, err error) {
	var execution int32
	total := 0.0
	for i := range p.Executions {
		e := &p.Executions[i]
		values, seconds, u, problem := usable(e, r.Column)
		if problem == "" && len(values) <= b.Skip {
			problem = fmt.Sprintf("it has %d iterations, and the first %d are skipped", len(values), b.Skip)
		}
		if problem != "" {
			b.Warnings = append(b.Warnings, fmt.Sprintf("execution %d is left out: %s", e.Number, problem))
			continue
		}
		if len(values) > math.MaxInt32 {
			return "", fmt.Errorf("%w: %s: %d iterations are too many", ErrData, p.Key, len(values))
		}
		unit = u
		execution++
		total += seconds
		for k, v := range values[b.Skip:] {
			b.Rows = append(b.Rows, Row{Instance: 1, At: Position{execution, int32(k + 1), 1}, Value: v})
		}
		b.Full = Position{execution, max(b.Full[1], int32(len(values)-b.Skip)), 1}
	}
	b.Seconds = cmp.Or(r.Seconds, total/max(1, float64(len(b.Rows)+b.Skip*int(execution))))
	return unit, nil
}

// usable returns the values of an execution and the sum of its wall times in seconds (0 without
// them), or the reason why the execution cannot be used.
func usable(e *dataset.Execution, column string) (values []float64, seconds float64, unit, problem string) {
	values, unit, _, problem = warmup.Series(e, column)
	for i, v := range values {
		if v < 0 { // user columns may be
			return nil, 0, "", fmt.Sprintf("the value of iteration %d is %g, and only positive ones are "+
				"relative to something", i+1, v)
		}
	}
	if wall, u, _, reason := warmup.Series(e, dataset.Wall); reason == "" && u == dataset.Seconds {
		seconds = sum(wall)
	}
	if math.IsInf(seconds, 0) {
		seconds = 0
	}
	return values, seconds, unit, problem
}
