package stability

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

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
	Profile   Profile `json:"profile"`
	Threshold float64 `json:"-"`      // 0: each criterion's
	Window    int     `json:"window"` // number of values in the window

	Step          Length  `json:"step"`
	Batch         float64 `json:"batch_s"`    // behind each recorded mean; 0: values are single calls
	WarmupMin     int     `json:"warmup_min"` // steps; KLD needs one more than the window
	WarmupMax     int     `json:"warmup_max"`
	Measure       int     `json:"measure"` // steps after warm-up
	ExecutionsMin int     `json:"executions_min"`
	ExecutionsMax int     `json:"executions_max"`
	Full          int     `json:"full"` // steps after WarmupMax that the full experiment measures; 0: all

	Draws            int     `json:"draws"`           // calls drawn of a step
	Exact            bool    `json:"-"`               // CV: of all calls instead of drawn ones
	Resamples        int     `json:"resamples"`       // bootstrap of RCIW
	QualityResamples int     `json:"ratio_resamples"` // bootstrap of the A/A test
	QualityDraws     int     `json:"-"`               // calls drawn of a side of the A/A test, if it has more
	Confidence       float64 `json:"confidence"`
	// share of the warm-up time that evaluating the criterion takes; negative: as measured in the
	// paper
	Overhead float64         `json:"overhead"`
	Index    bootstrap.Index `json:"bootstrap"`
	Seed     uint64          `json:"seed,string"`
	// Numbers of the executions, from 1, in the order of the series; nil: 1, 2, ... With the seed
	// they determine the random numbers.
	Numbers []int `json:"-"`
	// Calls are those of each series, if the calls of its iterations are known; nil: they are not.
	// Steps are then whole iterations, and Batch is not used.
	Calls []*dataset.Calls `json:"-"`
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

// number is that of the execution with this index among the series.
func (p *Parameters) number(index int) int {
	if p.Numbers != nil {
		return p.Numbers[index]
	}
	return index + 1
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

// Criterion is a measure of the stability of measurements.
type Criterion string

// The criteria (section 4.2 of the paper).
const (
	CV   Criterion = "cv"   // coefficient of variation: standard deviation over mean
	RCIW Criterion = "rciw" // relative width of the confidence interval of the mean
	KLD  Criterion = "kld"  // similarity to the previous step; higher is more stable
)

// Criteria lists all criteria, in the paper's order.
var Criteria = []Criterion{CV, RCIW, KLD}

// ParseCriterion parses "cv", "rciw" or "kld".
func ParseCriterion(s string) (Criterion, error) {
	if c := Criterion(s); slices.Contains(Criteria, c) {
		return c, nil
	}
	return "", fmt.Errorf("unknown criterion %q; write cv, rciw or kld", s)
}

// Threshold is the paper's threshold for the criterion.
func (c Criterion) Threshold() float64 {
	switch c {
	case CV:
		return 0.01
	case RCIW:
		return 0.03
	}
	return 0.99
}

// Overhead is the share of the warm-up time that evaluating the criterion took in the paper (RQ 2).
func (c Criterion) Overhead() float64 {
	switch c {
	case CV:
		return 0.0088
	case RCIW:
		return 0.1092
	}
	return 0.0432
}

// first is the minimum number of steps for a window of values: KLD has no value for the first step.
func (c Criterion) first(window int) int {
	if c == KLD {
		return window + 1
	}
	return window
}

// Profile selects a set of rules. The sets differ where the paper and the authors' two
// implementations do. In the table p are the values before v in the window of five, and t is the
// threshold:
//
//	               recommended          study                 jmh                  paper
//	CV warm-up     max |p-v| < t        max (p-v) < t         max |p-v| < t        max-min <= t
//	RCIW warm-up   max of window < t    max of window < t     max |p-v| < t        max-min <= t
//	KLD warm-up    mean of window > t   the same              the same             the same
//	CV executions  |v-p1| < t           |v-p1| < t            |v-p1| < t           max-min of all <= t
//	RCIW exec.     v < t                v < t                 |v-p1| < t           max-min of all <= t
//	KLD exec.      v > t                v > t                 v > t                mean of all > t
//
// Study is the evaluation whose results the paper prints; because its difference is signed, a
// rising CV always counts as stable. JMH is the authors' fork of JMH. Both compute the variance for
// KLD in one pass, which loses small variances. Recommended combines the sensible rules of each:
// the precision depends on the level of RCIW, not on its change.
type Profile string

// The profiles.
const (
	Recommended Profile = "recommended"
	Study       Profile = "study"
	JMH         Profile = "jmh"
	Paper       Profile = "paper"
)

// ParseProfile parses a profile's name.
func ParseProfile(s string) (Profile, error) {
	if p := Profile(s); slices.Contains([]Profile{Recommended, Study, JMH, Paper}, p) {
		return p, nil
	}
	return "", fmt.Errorf("unknown profile %q; write recommended, study, jmh or paper", s)
}

// DefaultWindow is the number of values in the window of the paper's implementations.
const DefaultWindow = 5

// Rule decides whether values of a criterion are stable.
type Rule struct {
	Criterion Criterion
	Profile   Profile
	Threshold float64 // 0: the criterion's
	Window    int     // 0: DefaultWindow
}

func (r Rule) filled() Rule {
	r.Profile = cmp.Or(r.Profile, Recommended)
	r.Threshold = cmp.Or(r.Threshold, r.Criterion.Threshold())
	r.Window = cmp.Or(r.Window, DefaultWindow)
	return r
}

// Warmup returns the step after which warm-up ends, given the values after steps 1, 2, ...: the
// smallest step number, least or more, at which the window is stable; 0 when there is none. NaN is
// never stable; KLD's first value is NaN.
func (r Rule) Warmup(values []float64, least int) int {
	r = r.filled()
	for n := max(least, r.Criterion.first(r.Window)); n <= len(values); n++ {
		if r.stable(values[n-r.Window : n]) {
			return n
		}
	}
	return 0
}

// stable reports whether a window is stable.
func (r Rule) stable(window []float64) bool {
	last := window[len(window)-1]
	before := window[:len(window)-1]
	switch {
	case slices.ContainsFunc(window, math.IsNaN):
		return false
	case r.Criterion == KLD:
		return bootstrap.MeanOf(window) > r.Threshold
	case r.Profile == Paper:
		return slices.Max(window)-slices.Min(window) <= r.Threshold
	case r.Criterion == RCIW && r.Profile != JMH:
		return slices.Max(window) < r.Threshold
	case r.Criterion == CV && r.Profile == Study:
		return !slices.ContainsFunc(before, func(p float64) bool { return !(p-last < r.Threshold) })
	}
	return !slices.ContainsFunc(before, func(p float64) bool { return !(math.Abs(p-last) < r.Threshold) })
}

// Executions returns the execution after which measurements are sufficient, given the values after
// executions 1, 2, ...: the smallest number that is at least least and at least 2; 0 when there is
// none. NaN is never sufficient; KLD's first value is NaN and does not count.
func (r Rule) Executions(values []float64, least int) int {
	r = r.filled()
	for n := max(least, 2); n <= len(values); n++ {
		if r.enough(values[:n]) {
			return n
		}
	}
	return 0
}

func (r Rule) enough(values []float64) bool {
	if r.Criterion == KLD {
		values = values[1:]
	}
	last := values[len(values)-1]
	switch {
	case math.IsNaN(last), r.Profile == Paper && slices.ContainsFunc(values, math.IsNaN):
		return false
	case r.Criterion == KLD && r.Profile == Paper:
		return bootstrap.MeanOf(values) > r.Threshold
	case r.Criterion == KLD:
		return last > r.Threshold
	case r.Profile == Paper:
		return slices.Max(values)-slices.Min(values) <= r.Threshold
	case r.Criterion == RCIW && r.Profile != JMH:
		return last < r.Threshold
	}
	return math.Abs(last-values[len(values)-2]) < r.Threshold
}
