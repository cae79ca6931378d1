package stability

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"krund/internal/analysis/bootstrap"
)

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
