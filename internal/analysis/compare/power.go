package compare

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// Power is the probability with which a real change of the published size is found.
const Power = 0.8

// assurance is the confidence of the upper bound of a standard deviation with which executions are
// planned. Nine of ten keys shall have the power; executions have heavier tails than a normal
// distribution, so that the bound needs more than 0.9.
const assurance = 0.95

// largestFreedom is the number of degrees of freedom from which Student's distribution is taken as
// normal.
const largestFreedom = 1e5

// tailOf returns P(T > t) of Student's distribution.
func tailOf(t, freedom float64) float64 {
	if freedom > largestFreedom {
		return math.Erfc(t/math.Sqrt2) / 2
	}
	p := mathext.RegIncBeta(freedom/2, 0.5, freedom/(freedom+t*t)) / 2
	if t < 0 {
		return 1 - p
	}
	return p
}

// quantileOf returns the t with P(T > t) = p, for p below a half.
func quantileOf(p, freedom float64) float64 {
	if freedom > largestFreedom {
		return -distuv.UnitNormal.Quantile(p)
	}
	// gonum inverts the incomplete beta function too coarsely in the far tail: bisect.
	high := 1.0
	for tailOf(high, freedom) > p && high < math.MaxFloat64/4 {
		high *= 2
	}
	return bisect(0, high, func(t float64) bool { return tailOf(t, freedom) <= p })
}

// bisect returns the smallest x between low and high for which enough is true.
func bisect(low, high float64, enough func(float64) bool) float64 {
	for range 200 {
		mid := (low + high) / 2
		if mid == low || mid == high {
			break
		}
		if enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// noncentral is the noncentral t distribution: P(T > t) is the expectation of P(Z > t s - delta)
// over s, the root of a chi-squared variable divided by its degrees of freedom. It holds the nodes
// and weights of Simpson's rule; none for a normal distribution. With few degrees of freedom t is
// so large that the probability jumps between two nodes. Then it is the expectation of
// P(s < (Z + delta)/t) over Z, by Gauss' rule.
type noncentral struct {
	nodes, weights []float64
	few            float64 // degrees of freedom, of Gauss' rule
}

func newNoncentral(freedom float64) noncentral {
	const fewest, points = 3, 48
	switch {
	case freedom > largestFreedom:
		return noncentral{}
	case freedom < fewest:
		d := noncentral{make([]float64, points), make([]float64, points), freedom}
		quad.Legendre{}.FixedLocations(d.nodes, d.weights, 0, 1)
		return d
	}
	const steps, deviations = 400, 10
	half := freedom / 2
	gamma, _ := math.Lgamma(half)
	constant := math.Ln2 + half*math.Log(half) - gamma
	width := deviations / math.Sqrt(2*freedom)
	low := max(0, 1-width)
	step := (1 + width - low) / steps
	var d noncentral
	for i := range steps + 1 {
		s := low + step*float64(i)
		s = cmp.Or(s, math.SmallestNonzeroFloat64)
		weight := 2 + 2*float64(i%2)
		if i == 0 || i == steps {
			weight = 1
		}
		density := math.Exp(constant + (freedom-1)*math.Log(s) - half*s*s)
		d.nodes, d.weights = append(d.nodes, s), append(d.weights, weight*density*step/3)
	}
	return d
}

// tail returns P(T > t) with noncentrality delta.
func (d noncentral) tail(t, delta float64) float64 {
	if d.nodes == nil {
		return math.Erfc((t-delta)/math.Sqrt2) / 2
	}
	sum := 0.0
	if d.few > 0 {
		const most = 8 // of Z
		low := max(-delta, -most)
		for i, x := range d.nodes {
			z := low + x*(most-low)
			s := (z + delta) / t
			sum += d.weights[i] * (most - low) * distuv.UnitNormal.Prob(z) *
				mathext.GammaIncReg(d.few/2, d.few/2*s*s)
		}
		return sum
	}
	for i, s := range d.nodes {
		sum += d.weights[i] * math.Erfc((t*s-delta)/math.Sqrt2) / 2
	}
	return sum
}

// detectable returns the difference that a two-sided t test at the given level finds with the
// published power, in standard errors.
func detectable(level, freedom float64) float64 {
	t := quantileOf(level/2, freedom)
	if math.IsInf(t, 0) || t > math.MaxFloat32 {
		return math.Inf(1)
	}
	d := newNoncentral(freedom)
	found := func(delta float64) bool { return d.tail(t, delta) >= Power } // the other tail is negligible
	high := t + 2
	for !found(high) && high < math.MaxFloat32 {
		high *= 2
	}
	low := 0.0
	for range 40 { // to 12 digits
		if mid := (low + high) / 2; found(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// betaBelow is the distribution function of the beta distribution.
func betaBelow(a, b, x float64) float64 { return mathext.RegIncBeta(a, b, x) }

// fTail returns P(F > f) of the F distribution. f may be below 0 by rounding.
func fTail(f, n, m float64) float64 { return betaBelow(m/2, n/2, m/(m+n*max(f, 0))) }

// atMost returns the factor by which a standard deviation exceeds its estimate with the given
// degrees of freedom at most, with the given confidence.
func atMost(confidence, freedom float64) float64 {
	if freedom > largestFreedom {
		return 1
	}
	return math.Sqrt(freedom / distuv.ChiSquared{K: freedom}.Quantile(1-confidence))
}

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
