package compare

import "math"

// Need determines how many executions show a change.
type Need struct {
	SD      float64 // of the logarithms of executions; of the differences within blocks when Paired
	Freedom float64 // of the prior
	Paired  bool
	Margin  float64 // of the verdict, in the scale of the test
}

// PerSide returns the executions on each side (blocks when Paired) with which a comparison of so
// many keys with o finds a change (0.02 is 2 %) with the published power, if SD is that of the
// executions; 0: more than [MostExecutions]. The margin is that of o, or half of a smaller change.
func (n Need) PerSide(change float64, keys int, o Options) int {
	o = o.withDefaults()
	n.Margin = math.Log1p(MarginFor(change, o.Margin))
	return n.executions(math.Log1p(change), o.Correction.level(o.alpha(), steadyShare, keys), 2,
		MostExecutions)
}

// MarginFor returns the margin with which a comparison can find a change: the usual one, or half of
// a change that is not above it.
func MarginFor(change, usual float64) float64 {
	if change <= usual {
		return change / 2
	}
	return usual
}

// UpperSD returns the factor by which a standard deviation exceeds its estimate at most, with the
// degrees of freedom of the estimate. It holds for nine of ten keys: nominally for 95 %, because
// executions have heavier tails than a normal distribution.
func UpperSD(freedom float64) float64 { return atMost(assurance, freedom) }

// Detectable returns the relative change (0.02 is 2 %) that a comparison of one key finds with the
// published power at an error of 5 %, with at least 2 executions on each side.
func (n Need) Detectable(executions int) float64 {
	const alpha = 0.05
	return math.Expm1(n.detectable(alpha, executions))
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
