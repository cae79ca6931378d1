package compare

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"krund/internal/analysis/arith"
)

// Prior is the distribution of the keys' variances: scaled inverse chi-squared with Freedom degrees
// of freedom around Variance (Smyth, "Linear models and empirical Bayes methods for assessing
// differential expression in microarray experiments", 2004). A key's variance is replaced by the
// mean of its own and the prior's, weighted by their degrees of freedom; a key that varies more
// than the prior makes likely has fewer of them (see squeeze).
type Prior struct {
	Freedom  float64 `json:"freedom"`  // 0: every key keeps its own variance
	Variance float64 `json:"variance"` // of the logarithm of an execution's value
	Keys     int     `json:"keys"`     // with which it was estimated
}

const (
	// fewestKeys is the number of keys from which a prior is estimated. With fewer keys it would be
	// less certain than a key's own variance.
	fewestKeys = 10
	// caution is the argument of priorOf: with the estimate itself, tables of 20 keys of 3 against
	// 3 executions have a false verdict in 8 % (docs/statistics.md).
	caution = 2
	// largestPrior bounds Prior.Freedom, which is infinite when the variances differ by no more
	// than chance.
	largestPrior = 1e6
)

// priorOf estimates the prior by the moments of the logarithm of the variances: limma's fitFDist,
// without a trend. freedom are the variances' degrees of freedom; variances of zero are left out.
// For the degrees of freedom the variance of the logarithms is taken larger by caution times its
// standard error: too many make false verdicts, too few cost a little power.
func priorOf(variances, freedom []float64, caution float64) Prior {
	var v, d []float64
	for i := range variances {
		if variances[i] > 0 && !math.IsInf(variances[i], 0) && freedom[i] > 0 {
			v, d = append(v, variances[i]), append(d, freedom[i])
		}
	}
	n := float64(len(v))
	if len(v) < fewestKeys {
		return Prior{}
	}
	floor := 1e-5 * arith.MedianOf(v) // as limma: a tiny variance has a huge logarithm
	e := make([]float64, len(v))
	mean, trigammas, total := 0.0, 0.0, 0.0
	for i := range v {
		e[i] = centered(max(v[i], floor), d[i])
		mean += e[i] / n
		trigammas += trigamma(d[i]/2) / n
		total += d[i]
	}
	spread := 0.0
	for _, x := range e {
		spread += (x - mean) * (x - mean) / (n - 1)
	}
	excess := spread - trigammas
	p := Prior{Keys: len(v), Freedom: min(largestPrior, total)}
	if excess > 0 {
		half := trigammaInverse(excess)
		p.Variance = math.Exp(mean + mathext.Digamma(half) - math.Log(half))
	} else {
		for i := range v {
			p.Variance += max(v[i], floor) / n
		}
	}
	if upper := excess + caution*spread*math.Sqrt(2/(n-1)); upper > 0 {
		p.Freedom = min(largestPrior, 2*trigammaInverse(upper))
	}
	return p
}

// centered is the logarithm of a variance, whose expectation is that of the true one.
func centered(variance, freedom float64) float64 {
	return math.Log(variance) - mathext.Digamma(freedom/2) + math.Log(freedom/2)
}

// squeeze returns the variance and degrees of freedom of a key under the prior. Above the median of
// the variances that the prior predicts, the prior's degrees of freedom fall in proportion to the
// probability of a larger one, so that the noisiest keys are not judged by the quiet ones: else
// these have most of the false verdicts (TestDeciles). Phipson et al. ("Robust hyperparameter
// estimation protects against hypervariable genes", 2016) do so for outliers only.
func (p Prior) squeeze(variance, freedom float64) (posterior, total float64) {
	const median = 0.5
	prior := p.Freedom
	if prior > 0 {
		prior *= min(1, fTail(variance/p.Variance, freedom, prior)/median)
	}
	total = freedom + prior
	return (freedom*variance + prior*p.Variance) / total, total
}

// trigamma is the second derivative of the logarithm of the gamma function at x > 0.
func trigamma(x float64) float64 { return mathext.Zeta(2, x) }

// trigammaInverse solves trigamma(x) = y for y > 0, by Newton's method on 1/trigamma, which is
// convex (Smyth 2004, appendix).
func trigammaInverse(y float64) float64 {
	const steps, enough = 50, 1e-8
	x := 0.5 + 1/y
	for range steps {
		tri := trigamma(x)
		step := tri * (1 - tri/y) / (-2 * mathext.Zeta(3, x)) // the derivative of trigamma
		if x += step; -step/x < enough {
			break
		}
	}
	return x
}

// unequalSpreads returns the standard deviation of after relative to before, if an F test at 10 %
// finds that they differ and few executions were measured; else 0. If they differ, and the values
// are skewed, no test keeps its error with few executions. So a doubt is enough for a remark.
func (e *estimate) unequalSpreads() float64 {
	const level, few = 0.1, 30
	v, w, n, m := e.sides[0], e.sides[1], float64(e.n), float64(e.m)
	if v == 0 || w == 0 || min(e.n, e.m) >= few {
		return 0
	}
	ratio := math.Sqrt(w / v)
	if v > w {
		v, w, n, m = w, v, m, n
	}
	if fTail(w/v, m-1, n-1) >= level/2 {
		return 0
	}
	return ratio
}

// differ reports whether the executions of one side vary more than those of the other over all
// keys.
func (f family) differ() bool {
	list := make([]estimate, len(f.rows))
	for i := range f.rows {
		list[i] = f.rows[i].steady
	}
	return differ(list)
}

// spreads puts a remark beside a table that an unequal spread of the sides may have changed.
func (r *Result) spreads(f family, o Options) {
	if f.differ() {
		r.warn("unequal_spread", "unequal spread: over all keys, the executions of one side vary more than "+
			"those of the other; with few of them, and if they are skewed, a false verdict is more "+
			"probable than %s; measure both sides in blocks", Percent(o.alpha()))
	}
}

// ofSpreads does it for a change.
func (c *Change) ofSpreads(d *decided, o Options) {
	times, more, less := d.steady.unequalSpreads(), "after", "before"
	if v := d.change(0, o); times == 0 || v != Better && v != Worse {
		return
	}
	if times < 1 {
		times, more, less = 1/times, less, more
	}
	c.warn("unequal_spread", "unequal spread: the executions %s vary %.2g times as much as those %s; "+
		"with few of them, and if they are skewed, a false verdict is more probable than %s; measure "+
		"both sides in blocks", more, times, less, Percent(o.alpha()))
}
