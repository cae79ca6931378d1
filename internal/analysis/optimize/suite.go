package optimize

import (
	"errors"
	"fmt"
	"math"

	"krund/internal/analysis/dataset"
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
