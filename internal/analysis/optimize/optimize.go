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
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"krund/internal/analysis/parallel"
	"krund/internal/analysis/warmup"
)

// Options of Optimize. Zero values select the paper's defaults.
type Options struct {
	Metric    Metric  `json:"metric"`           // "": RCIW3
	Published bool    `json:"published"`        // follow the authors' program: see the package comment
	Threshold float64 `json:"threshold"`        // a metric below it is stable; 0: DefaultThreshold
	Accuracy  float64 `json:"accuracy"`         // greatest deviation from the full; 0: DefaultAccuracy
	Level     float64 `json:"confidence_level"` // of intervals; 0: DefaultLevel
	Resamples int     `json:"resamples"`        // 0: DefaultResamples
	Seed      uint64  `json:"seed,string"`
	Instances int     `json:"-"` // number of machines, from the first, to use; 0: 1
	// approximate maximum of candidates per level; 0: DefaultSteps; -1: all
	Steps int `json:"-"`
	// additional seconds for each repetition of the level around the innermost (an execution's
	// start, a reboot)
	Overhead float64 `json:"-"`
	// consider only configurations whose average is within Accuracy of the full one; the paper
	// considers only their stability
	Near bool `json:"-"`
	// minimum number of repetitions of the outermost level, if there are as many; 0: 1
	Outermost int `json:"-"`
	Workers   int `json:"-"` // goroutines; below 2: sequential; does not affect the result
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
	o.Metric = cmp.Or(o.Metric, RCIW3)
	o.Threshold = cmp.Or(o.Threshold, DefaultThreshold)
	o.Accuracy = cmp.Or(o.Accuracy, DefaultAccuracy)
	o.Level = cmp.Or(o.Level, DefaultLevel)
	o.Resamples = cmp.Or(o.Resamples, DefaultResamples)
	o.Instances = cmp.Or(o.Instances, 1)
	o.Steps = cmp.Or(o.Steps, DefaultSteps)
	o.Outermost = cmp.Or(o.Outermost, 1)
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

// ready completes the options, and checks the suite.
func (s *Suite) ready(o Options) (Options, error) {
	o, err := o.Complete()
	if err != nil {
		return o, err
	}
	return o, s.Check()
}

// Choice is a configuration with its duration and its results.
type Choice struct {
	At Position `json:"-"`
	// Repetitions to configure, by the name of the level: those of At and the skipped iterations.
	Repetitions map[string]int `json:"repetitions"`
	Seconds     float64        `json:"time_s"`
	Estimate
}

// Result is the result for one benchmark.
type Result struct {
	Name         string      `json:"key"`
	Stable       bool        `json:"stable"`  // the metric of Minimal is below the threshold
	Minimal      Choice      `json:"minimal"` // the full one when Stable is false
	Full         Choice      `json:"full"`
	SavedSeconds float64     `json:"saved_s"`
	Saved        warmup.Real `json:"saved"` // share of the full time
	// (minimal-full)/full of the average, and of the bounds of its interval; NaN when there is
	// none.
	AverageDiff warmup.Real `json:"average_diff"`
	LowDiff     warmup.Real `json:"low_diff"`
	HighDiff    warmup.Real `json:"high_diff"`
	// Confidence is the share of simulated experiments of the minimal configuration's size, drawn
	// from the full one, whose average is within the accuracy of the full average: see
	// search.confidence. NaN without values.
	Confidence warmup.Real `json:"confidence"`
	Skip       int         `json:"skip"`
	Warnings   []string    `json:"warnings"`
}

// Optimize finds the minimal configuration of every benchmark, in their order. If progress is not
// nil, it is called after each benchmark with the number completed; calls do not overlap. The
// errors wrap ErrData and ErrOptions.
func Optimize(s *Suite, o Options, progress func(done int)) ([]Result, error) {
	o, err := s.ready(o)
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(s.Benchmarks))
	parallel.Counted(len(results), o.Workers, progress, func(i int) int {
		results[i] = newSearch(s, i, o).run()
		return 1
	})
	return results, nil
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
	if m := Metric(s); slices.Contains(Metrics(), m) {
		return m, nil
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
