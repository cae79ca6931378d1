// Package optimize finds the smallest number of repetitions of a benchmark whose result is stable
// enough. It implements µOpTime (Japke, Grambow, Laaber and Bermbach, "µOpTime: Statically Reducing
// the Execution Time of Microbenchmark Suites Using Stability Metrics", TOSEM 2025) as its authors'
// program computes it.
//
// A full experiment repeats each benchmark on a few levels, outermost first: executions and
// iterations in krund; suite runs, iterations and seconds in the paper's Go study. In order of use:
//
//  1. A Suite holds the measured values, each with its position on every level (FromDataset
//     converts an experiment).
//  2. A candidate is a number of repetitions for each level. Its data are the values at positions
//     within it: what a shorter experiment would have measured. Candidates of fewer than 3
//     repetitions are excluded (a level of duration does not count).
//  3. A candidate is stable when its Metric is below the threshold. The stable candidate with the
//     shortest duration is chosen; among equals the one with the smallest metric, then the first
//     in lexicographic order. If none is stable, the full configuration is chosen.
//  4. Optimize does this for every benchmark and reports the deviation of the chosen result from
//     the full one; Saved aggregates the savings, also for baselines.
//  5. Versions applies the choice of one version of a program to later ones, and counts the
//     performance changes that are then missed or falsely detected.
//
// For n values x with mean m and median d, B resamples of n values drawn uniformly and with
// replacement, and Q_p the p-quantile (R's type 7) over the resamples:
//
//	CV    = sqrt(sum (x-m)^2 / n) / m
//	RMAD  = median |x-d| / d
//	RCIW1 = (Q_99.5%(m*) - Q_0.5%(m*)) / m
//	RCIW2 = (Q_99.5%(t*) - Q_0.5%(t*)) s/sqrt(n) / m,  t* = (m*-m) / (s*/sqrt(n))
//	RCIW3 = (Q_99.5%(d*) - Q_0.5%(d*)) / d
//
// s and s* are standard deviations with n-1. The result of a configuration is the mean (CV, RCIW1,
// RCIW2) or the median (RMAD, RCIW3), with the interval between these quantiles (that of t*: m - Q
// s/sqrt(n)).
//
// Deviations from the authors' program, all of which Options.Published disables: RCIW3 follows the
// paper's definition (the program divides the width of RCIW1 by the median). RCIW2 needs 5 values
// and redraws resamples of equal values (the program sets their s* to 1e-6, which depends on the
// unit and inflates the interval). Changes count in both directions (the program counts slowdowns
// only). The random numbers differ from the authors'.
//
// Results do not depend on the number of workers: the draws of a candidate come from a generator
// keyed by seed, benchmark and candidate. Start reading at [Find].
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
	// search.confidence. NaN without values.
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

// Metric is a measure of the instability of values, relative to their average: see the package
// comment.
type Metric string

// The metrics.
const (
	CV    Metric = "cv"    // coefficient of variation
	RMAD  Metric = "rmad"  // relative median absolute deviation
	RCIW1 Metric = "rciw1" // relative width of the percentile interval of the mean
	RCIW2 Metric = "rciw2" // relative width of the bootstrap-t interval of the mean
	RCIW3 Metric = "rciw3" // relative width of the percentile interval of the median
)

// Metrics are all metrics, in the order of the paper.
func Metrics() []Metric { return []Metric{CV, RMAD, RCIW1, RCIW2, RCIW3} }

// ParseMetric parses the name of a metric.
func ParseMetric(s string) (Metric, error) {
	for _, m := range Metrics() {
		if s == string(m) {
			return m, nil
		}
	}
	return "", fmt.Errorf("there is no metric %q; write cv, rmad, rciw1, rciw2 or rciw3", s)
}

// OfMedian reports whether the metric's average is the median; otherwise it is the mean.
func (m Metric) OfMedian() bool { return m == RMAD || m == RCIW3 }

// needs selects the intervals to bootstrap.
type needs struct{ mean, t, median bool }

// needs returns the intervals required for the value of a metric.
func (m Metric) needs(published bool) needs {
	switch m {
	case RCIW1:
		return needs{mean: true}
	case RCIW2:
		return needs{t: true}
	case RCIW3:
		return needs{mean: published, median: !published}
	}
	return needs{}
}

// interval returns the intervals required for the average's interval.
func (m Metric) interval() needs {
	switch {
	case m.OfMedian():
		return needs{median: true}
	case m == RCIW2:
		return needs{t: true}
	}
	return needs{mean: true}
}
