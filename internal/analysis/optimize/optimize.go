package optimize

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"krund/internal/analysis/parallel"
)

// Options of Optimize. Zero values select the paper's defaults.
type Options struct {
	Metric    Metric  // "": RCIW3
	Threshold float64 // a metric below it is stable; 0: DefaultThreshold
	Accuracy  float64 // maximum relative deviation from the full result; 0: DefaultAccuracy
	Level     float64 // confidence of intervals; 0: DefaultLevel
	Resamples int     // 0: DefaultResamples
	Seed      uint64
	Instances int // number of machines, from the first, to use; 0: 1
	Steps     int // approximate maximum of candidates per level; 0: DefaultSteps; -1: all
	// additional seconds for each repetition of the level around the innermost (an execution's
	// start, a reboot)
	Overhead float64
	// consider only configurations whose average is within Accuracy of the full one; the paper
	// considers only their stability
	Near bool
	// minimum number of repetitions of the outermost level, if there are as many; 0: 1
	Outermost int
	Published bool // follow the authors' program instead of their paper: see the package comment
	Workers   int  // goroutines; below 2: sequential; does not affect the result
}

// The paper's parameters. For the shares of benchmarks it uses accuracies of 1%, 3%, 5% and 10%.
const (
	DefaultThreshold = 0.01
	DefaultAccuracy  = 0.03
	DefaultLevel     = 0.99
	DefaultResamples = 10_000
	DefaultSteps     = 100
)

// mostResamples limits the memory of a bootstrap.
const mostResamples = 10_000_000

// ErrOptions reports that an option is out of range.
var ErrOptions = errors.New("invalid options")

// Complete fills in the defaults. The error wraps ErrOptions.
func (o Options) Complete() (Options, error) {
	defaults(&o.Metric, RCIW3)
	defaults(&o.Threshold, DefaultThreshold)
	defaults(&o.Accuracy, DefaultAccuracy)
	defaults(&o.Level, DefaultLevel)
	defaults(&o.Resamples, DefaultResamples)
	defaults(&o.Instances, 1)
	defaults(&o.Steps, DefaultSteps)
	defaults(&o.Outermost, 1)
	_, err := ParseMetric(string(o.Metric))
	switch {
	case err != nil:
	case !(o.Threshold > 0) || math.IsInf(o.Threshold, 0):
		err = fmt.Errorf("threshold %g must be above 0, such as 0.01", o.Threshold)
	case !(o.Accuracy > 0) || math.IsInf(o.Accuracy, 0):
		err = fmt.Errorf("accuracy %g must be above 0, such as 0.03", o.Accuracy)
	case !(o.Level > 0 && o.Level < 1):
		err = fmt.Errorf("confidence level %g must be between 0 and 1, such as 0.99", o.Level)
	case o.Resamples < 1 || o.Resamples > mostResamples:
		err = fmt.Errorf("number of resamples %d must be from 1 to %d", o.Resamples, mostResamples)
	case o.Instances < 1:
		err = fmt.Errorf("number of instances %d must be at least 1", o.Instances)
	case o.Steps < -1 || o.Steps == 1:
		err = fmt.Errorf("number of steps %d must be at least 2, or -1 for all", o.Steps)
	case o.Outermost < 1:
		err = fmt.Errorf("minimum of %d repetitions must be at least 1", o.Outermost)
	case !(o.Overhead >= 0) || math.IsInf(o.Overhead, 0):
		err = fmt.Errorf("overhead of %g s must not be negative", o.Overhead)
	}
	if err != nil {
		return o, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	return o, nil
}

func defaults[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// Choice is a configuration with its duration and its results.
type Choice struct {
	At      Position
	Seconds float64
	Estimate
}

// Result is the result for one benchmark.
type Result struct {
	Name    string
	Full    Choice
	Minimal Choice // the full one when Stable is false
	Stable  bool   // the metric of Minimal is below the threshold

	SavedSeconds float64
	// (minimal-full)/full of the average, and of the bounds of the interval that belongs to the
	// metric; NaN when there is none.
	AverageDiff, LowDiff, HighDiff float64
	// Confidence is the share of simulated experiments of the minimal configuration's size, drawn
	// from the full one, whose average is within the accuracy of the full average: see
	// confidence.go. NaN without values.
	Confidence float64
	Warnings   []string
}

// Optimize finds the minimal configuration of every benchmark, in their order. If progress is not
// nil, it is called after each benchmark with the number completed; calls do not overlap. The
// errors wrap ErrData and ErrOptions.
func Optimize(s *Suite, o Options, progress func(done int)) ([]Result, error) {
	o, err := o.Complete()
	if err != nil {
		return nil, err
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	results := make([]Result, len(s.Benchmarks))
	each(len(results), o.Workers, progress, func(i int) { results[i] = newSearch(s, i, o).run() })
	return results, nil
}

// each calls do for 0..n-1 on the given number of goroutines, and progress after each.
func each(n, workers int, progress func(int), do func(int)) {
	var lock sync.Mutex
	done := 0
	parallel.Each(n, workers, func(i int) {
		do(i)
		lock.Lock()
		defer lock.Unlock()
		done++
		if progress != nil {
			progress(done)
		}
	})
}
