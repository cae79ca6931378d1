package optimize

import (
	"errors"
	"fmt"
	"math"
	"sync"
)

// Options of Optimize. Zeros are the defaults, which are the paper's.
type Options struct {
	Metric    Metric  // "": RCIW3
	Threshold float64 // a metric below it is stable; 0: DefaultThreshold
	Accuracy  float64 // how far a result may be from the full one, relatively; 0: DefaultAccuracy
	Level     float64 // confidence of intervals; 0: DefaultLevel
	Resamples int     // 0: DefaultResamples
	Seed      uint64
	Instances int // machines whose values count, the first ones; 0: 1
	Steps     int // candidates per level at most, about; 0: DefaultSteps; -1: all
	// seconds that each repetition of the level around the innermost takes besides (an execution's
	// start, a reboot)
	Overhead float64
	// only configurations whose average is within Accuracy of the full one; the paper looks at
	// their stability only
	Near bool
	// no configuration has fewer repetitions of the outermost level, if there are so many; 0: 1
	Outermost int
	Published bool // the authors' program instead of their paper: see the package comment
	Workers   int  // goroutines; below 2: none. The result is the same
}

// The paper's numbers; its fractions of benchmarks use 1%, 3%, 5% and 10% as
// accuracy.
const (
	DefaultThreshold = 0.01
	DefaultAccuracy  = 0.03
	DefaultLevel     = 0.99
	DefaultResamples = 10_000
	DefaultSteps     = 100
)

// mostResamples bounds the memory of a bootstrap.
const mostResamples = 10_000_000

// ErrOptions says that an option is out of its range.
var ErrOptions = errors.New("unusable options")

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
		err = fmt.Errorf("threshold %g: a number above 0, such as 0.01", o.Threshold)
	case !(o.Accuracy > 0) || math.IsInf(o.Accuracy, 0):
		err = fmt.Errorf("accuracy %g: a number above 0, such as 0.03", o.Accuracy)
	case !(o.Level > 0 && o.Level < 1):
		err = fmt.Errorf("confidence level %g: a number between 0 and 1, such as 0.99", o.Level)
	case o.Resamples < 1 || o.Resamples > mostResamples:
		err = fmt.Errorf("%d resamples: a number from 1 to %d", o.Resamples, mostResamples)
	case o.Instances < 1:
		err = fmt.Errorf("%d instances: a number from 1", o.Instances)
	case o.Steps < -1 || o.Steps == 1:
		err = fmt.Errorf("%d steps: a number from 2, or -1 for all", o.Steps)
	case o.Outermost < 1:
		err = fmt.Errorf("at least %d repetitions: a number from 1", o.Outermost)
	case !(o.Overhead >= 0) || math.IsInf(o.Overhead, 0):
		err = fmt.Errorf("overhead of %g s: a number from 0", o.Overhead)
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

// Choice is a configuration with the time it takes and what its data say.
type Choice struct {
	At      Position
	Seconds float64
	Estimate
}

// Result is what was found for a benchmark.
type Result struct {
	Name    string
	Full    Choice
	Minimal Choice // the full one when Stable is false
	Stable  bool   // the metric of Minimal is below the threshold

	SavedSeconds float64
	// (minimal-full)/full of the average, and of the ends of the interval that
	// belongs to the metric; NaN when there is none.
	AverageDiff, LowDiff, HighDiff float64
	// Confidence is the share of experiments of the minimal configuration's size,
	// drawn at random from the full one, whose average is within the accuracy of
	// the full average: see confidence.go. NaN without values.
	Confidence float64
	Warnings   []string
}

// Optimize finds the minimal configuration of every benchmark, in their order.
// progress, unless nil, is called after each with the number done; calls do not
// overlap. The errors wrap ErrData and ErrOptions.
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

// each calls do for 0..n-1 from so many goroutines.
func each(n, workers int, progress func(int), do func(int)) {
	var group sync.WaitGroup
	var lock sync.Mutex
	next, done := 0, 0
	work := func() {
		for {
			lock.Lock()
			i := next
			next++
			lock.Unlock()
			if i >= n {
				return
			}
			do(i)
			lock.Lock()
			done++
			if progress != nil {
				progress(done)
			}
			lock.Unlock()
		}
	}
	for range max(1, min(workers, n)) - 1 {
		group.Go(work)
	}
	work()
	group.Wait()
}
