// Package bootstrap computes the steady-state performance of a pair, a mean with a confidence
// interval, by resampling iterations within steady segments.
//
// The resampling follows section 4.4 of the study (warmup_stats' bootstrapper.py). An execution's
// steady state is a list of segments. One resample of the execution draws from each segment as many
// values as it has, uniformly and with replacement, never across segments, and takes the mean of
// all of them. Every execution is resampled equally often, floor(100000/executions)+1 times.
//
// Executions are combined in one of two ways ([Scheme]):
//
//   - [Pooled], the study's: the resampled means of all executions are pooled. The result is their
//     median with half the distance between the 0.5th and the 99.5th percentile. The interval
//     covers the mean of ONE execution, so it does not get narrower with more executions.
//   - [Nested]: executions are resampled as well. As many executions as there are are drawn with
//     replacement, and one resampled mean of each is averaged. The interval is for the mean over
//     executions.
//
// The resampled means of a long execution are drawn from their distribution, which newDistribution
// computes from the values; those of others value by value.
//
// Results depend only on the seed and the data, not on the number of workers: the draws of resample
// r of execution e come from a generator keyed by (seed, e, r). Indexes are exactly uniform: see
// drawer. Start reading at [NewHierarchy].
package bootstrap

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/parallel"
	"krund/internal/display"
)

// Scheme selects how executions are combined: see the package comment.
type Scheme int

// The schemes.
const (
	Pooled Scheme = iota
	Nested
)

var schemeNames = []string{Pooled: "pooled", Nested: "nested"}

// String returns the name in outputs.
func (s Scheme) String() string { return schemeNames[s] }

// MarshalText returns the text of String.
func (s Scheme) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses the name.
func (s *Scheme) UnmarshalText(text []byte) (err error) {
	*s, err = display.Word[Scheme]("bootstrap scheme", string(text), schemeNames)
	return err
}

// The parameters of the study.
const (
	DefaultResamples  = 100000
	DefaultConfidence = 0.99
)

// Options of Mean. The zero value selects the study's parameters, seed 0 and one worker.
type Options struct {
	Scheme     Scheme
	Resamples  int     // minimum total; 0: DefaultResamples
	Confidence float64 // 0: DefaultConfidence
	Seed       uint64
	Workers    int // goroutines; below 2: sequential; does not affect the result
	// Exact rounds the upper index up. Without it the study's rounding quirk is kept: the index is
	// rounded up to one decimal and then truncated.
	Exact bool
}

// Interval is a mean with its confidence interval, in the unit of the values.
type Interval struct {
	Mean      float64 // the median of the resampled means
	Half      float64 // (High-Low)/2, what the study prints after ±
	Low, High float64
	Resamples int // number of means behind the quantiles
}

// ErrEmpty reports that there are no values to resample.
var ErrEmpty = errors.New("no values to resample")

// ErrOptions reports an invalid confidence level or number of resamples.
var ErrOptions = errors.New("invalid bootstrap options")

// Mean computes the interval for executions[execution][segment][value]. Segments must not be empty.
// The errors wrap ErrEmpty and ErrOptions.
func Mean(executions [][][]float64, o Options) (Interval, error) {
	means, err := Resample(executions, o)
	if err != nil {
		return Interval{}, err
	}
	all := slices.Concat(means...)
	if o.Scheme == Nested {
		all = nest(means, o.Seed, o.count())
	}
	return interval(all, o), nil
}

// Resample returns means[execution][resample], the resampled means of each execution in unspecified
// order. The errors are those of Mean.
func Resample(executions [][][]float64, o Options) ([][]float64, error) {
	if o.Resamples < 0 || o.Confidence < 0 || o.Confidence >= 1 {
		return nil, fmt.Errorf("%d resamples, confidence %v: %w", o.Resamples, o.Confidence, ErrOptions)
	}
	if len(executions) == 0 {
		return nil, ErrEmpty
	}
	for e, segments := range executions {
		if len(segments) == 0 || slices.ContainsFunc(segments,
			func(s []float64) bool { return len(s) == 0 }) {
			return nil, fmt.Errorf("execution %d has an empty steady state: %w", e+1, ErrEmpty)
		}
	}
	each := o.count()/len(executions) + 1
	means := make([][]float64, len(executions))
	var jobs []func()
	for e, segments := range executions {
		means[e] = make([]float64, each)
		r := newResampler(segments)
		for from := 0; from < each; from += blockSize {
			to := min(from+blockSize, each)
			jobs = append(jobs, func() { r.fill(means[e], from, to, o.Seed, uint64(e)) })
		}
	}
	parallel.Each(len(jobs), o.Workers, func(i int) { jobs[i]() })
	return means, nil
}

// blockSize is the number of resamples that a worker takes at a time.
const blockSize = 512

func (o Options) count() int {
	if o.Resamples == 0 {
		return DefaultResamples
	}
	return o.Resamples
}

// resampler resamples one execution.
type resampler struct {
	segments []drawer
	n        float64       // total number of values
	means    *distribution // nil: draw values
}

func newResampler(segments [][]float64) *resampler {
	r := &resampler{means: newDistribution(segments)}
	for _, s := range segments {
		r.segments = append(r.segments, newDrawer(s))
		r.n += float64(len(s))
	}
	return r
}

// fill computes means[from:to].
func (r *resampler) fill(means []float64, from, to int, seed, execution uint64) {
	for i := from; i < to; i++ {
		random := newStream(seed, execution, uint64(i))
		if r.means != nil {
			means[i] = r.means.draw(&random)
			continue
		}
		sum := 0.0
		for s := range r.segments {
			sum += r.segments[s].sum(&random)
		}
		means[i] = sum / r.n
	}
}

// nest draws as many executions as there are, with replacement, takes one resampled mean of each
// and averages them. It repeats this count times.
func nest(means [][]float64, seed uint64, count int) []float64 {
	all := make([]float64, count)
	n := uint64(len(means))
	for i := range all {
		random := newStream(seed, math.MaxUint64, uint64(i))
		sum := 0.0
		for range means {
			of := means[random.index(n)]
			sum += of[random.index(uint64(len(of)))]
		}
		all[i] = sum / float64(n)
	}
	return all
}

// interval computes the quantiles of the means and sorts them in place.
func interval(means []float64, o Options) Interval {
	arith.Sort(means)
	n := len(means)
	lower, upper := indexes(n, o)
	i := Interval{Resamples: n, Low: means[lower], High: means[upper-1]}
	i.Mean = means[n/2]
	if n%2 == 0 {
		i.Mean = (means[n/2-1] + means[n/2]) / 2
	}
	i.Half = ((i.High - i.Mean) + (i.Mean - i.Low)) / 2
	return i
}

// indexes returns the bounds of the interval among n sorted means: means[lower] and means[upper-1]
// (libkalibera's convention). Tail shares are computed in millionths, so that they are exact
// decimal numbers.
func indexes(n int, o Options) (lower, upper int) {
	const million = 1000000
	confidence := o.Confidence
	confidence = cmp.Or(confidence, DefaultConfidence)
	count, exclude := int64(n), int64(math.Round((1-confidence)/2*million))
	lower = int(exclude * count / million)
	if o.Exact {
		upper = int(((million-exclude)*count + million - 1) / million)
	} else {
		const tenth = million / 10
		upper = int(((million-exclude)*count + tenth - 1) / tenth / 10)
	}
	return lower, max(upper, lower+1)
}
