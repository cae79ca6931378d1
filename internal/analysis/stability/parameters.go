package stability

import (
	"errors"
	"fmt"
	"math"

	"krund/internal/analysis/bootstrap"
	"krund/internal/analysis/dataset"
)

// ErrData reports that series cannot be used, ErrShort that they are too short, and ErrParameters
// that a parameter is out of range.
var (
	ErrData       = errors.New("invalid durations")
	ErrShort      = errors.New("too short")
	ErrParameters = errors.New("invalid parameter")
)

// Parameters of Of. Default returns the paper's.
type Parameters struct {
	Profile   Profile
	Threshold float64 // 0: each criterion's
	Window    int     // number of values in the window

	Step          Length
	Batch         float64 // duration in seconds behind each recorded mean; 0: values are single calls
	WarmupMin     int     // steps; KLD needs one more than the window
	WarmupMax     int
	Measure       int // steps after warm-up
	ExecutionsMin int
	ExecutionsMax int
	Full          int // steps after WarmupMax that the full experiment measures; 0: all

	Draws            int  // calls drawn of a step
	Exact            bool // CV: of all calls instead of drawn ones
	Resamples        int  // bootstrap of RCIW
	QualityResamples int  // bootstrap of the A/A test
	QualityDraws     int  // calls drawn of a side of the A/A test, where it has more
	Confidence       float64
	Index            bootstrap.Index
	Seed             uint64
	// Numbers of the executions, from 1, in the order of the series; nil: 1, 2, ... With the seed
	// they determine the random numbers.
	Numbers []int
	// Calls are those of each series, if the calls of its iterations are known; nil: they are not.
	// Steps are then whole iterations, and Batch is not used.
	Calls []*dataset.Calls
	// share of the warm-up time that evaluating the criterion takes; negative: as measured in the
	// paper
	Overhead float64
}

// Default is the paper's configuration with the recommended rules.
func Default() Parameters {
	return Parameters{
		Profile: Recommended, Window: DefaultWindow,
		WarmupMin: 5, WarmupMax: 50, Measure: 10, ExecutionsMin: 2, ExecutionsMax: 5, Full: 50,
		Draws: 1000, Resamples: 1000, QualityResamples: 10000, QualityDraws: 10000, Confidence: 0.99,
		Overhead: -1,
	}
}

// Variance returns the profile's method.
func (p *Parameters) Variance() Variance {
	if p.Profile == Study || p.Profile == JMH {
		return OnePass
	}
	return TwoPass
}

// rule returns the rule of a criterion.
func (p *Parameters) rule(c Criterion) Rule {
	return Rule{Criterion: c, Profile: p.Profile, Threshold: p.Threshold, Window: p.Window}.filled()
}

// place identifies the execution with this index among the series.
func (p *Parameters) place(index int) uint64 {
	if p.Numbers != nil {
		return uint64(p.Numbers[index]) - 1
	}
	return uint64(index)
}

// least is the number of steps a series needs: those of the longest warm-up, and a measurement.
func (p *Parameters) least() int { return p.WarmupMax + p.Measure }

// most limits integers, so that their sums are exact.
const most = 10_000_000

// Check returns an error when a parameter is out of range. The error wraps ErrParameters.
func (p *Parameters) Check() error {
	for _, c := range []struct {
		what           string
		value, low, hi int
	}{
		{"window", p.Window, 2, most}, {"least warm-up", p.WarmupMin, 1, most}, {"longest warm-up",
			p.WarmupMax, p.WarmupMin, most},
		{"measurement", p.Measure, 1, most}, {"fewest executions", p.ExecutionsMin, 1,
			most}, {"most executions", p.ExecutionsMax, p.ExecutionsMin, most},
		{"full measurement", p.Full, 0, most}, {"draws", p.Draws, 2, most}, {"resamples", p.Resamples, 2,
			most},
		{"resamples of the A/A test", p.QualityResamples, 2, most}, {"draws of the A/A test", p.QualityDraws,
			2, most},
		{"step's iterations", p.Step.Iterations, 0, most},
	} {
		if c.value < c.low || c.value > c.hi {
			return fmt.Errorf("%w: %s %d must be %d to %d", ErrParameters, c.what, c.value, c.low, c.hi)
		}
	}
	if _, err := ParseProfile(string(p.Profile)); err != nil {
		return fmt.Errorf("%w: %w", ErrParameters, err)
	}
	switch {
	case !(p.Threshold >= 0 && p.Threshold < math.Inf(1)):
		return fmt.Errorf("%w: threshold %v must be above 0", ErrParameters, p.Threshold)
	case !(p.Confidence > 0 && p.Confidence < 1):
		return fmt.Errorf("%w: confidence %v must be between 0 and 1", ErrParameters, p.Confidence)
	case !(p.Step.Seconds >= 0 && p.Step.Seconds < math.Inf(1)):
		return fmt.Errorf("%w: step of %v s must be above 0", ErrParameters, p.Step.Seconds)
	case !(p.Batch >= 0 && p.Batch < math.Inf(1)):
		return fmt.Errorf("%w: batch of %v s must not be negative", ErrParameters, p.Batch)
	case math.IsNaN(p.Overhead) || p.Overhead > 1e6:
		return fmt.Errorf("%w: overhead %v must be a share of the warm-up time", ErrParameters, p.Overhead)
	case p.Index != bootstrap.Uniform && p.Index != bootstrap.PA:
		return fmt.Errorf("%w: unknown sampling method %d", ErrParameters, p.Index)
	}
	return nil
}

func (p *Parameters) overhead(c Criterion) float64 {
	if p.Overhead < 0 {
		return c.Overhead()
	}
	return p.Overhead
}

// largest exceeds any duration in seconds; its square is finite.
const largest = 1e100

// CheckSeries returns an error for invalid durations. The error wraps ErrData.
func CheckSeries(x []float64) error {
	for i, v := range x {
		if !(v >= 0 && v < largest) {
			return fmt.Errorf("iteration %d took %v s: %w", i, v, ErrData)
		}
	}
	return nil
}
