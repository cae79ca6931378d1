package changepoint

import (
	"math"
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/quantile"
)

const (
	logTwoPi = 1.8378770664093454835606594728112352797 // R: log(2*M_PI)
	// zeroVariance replaces a variance that is not positive, as in R
	// (cost_general_functions.c, mll_meanvar).
	zeroVariance = 1e-11
)

// normalCost is MeanVariance: C = n (log 2π + log v + 1) with
// v = (Σx² − (Σx)²/n)/n, in R's order of operations. A floor above 0 is added
// to v (Stable arithmetic), which rounding then cannot bring below half of it.
// perLength adds log n (R's MBIC).
type normalCost struct {
	sums
	floor     float64
	perLength bool
}

// variance is v of the values s to t-1, before R's replacement of zeroVariance.
func (c *normalCost) variance(s, t int) float64 {
	n := float64(t - s)
	x := c.x[t] - c.x[s]
	return (c.xx[t] - c.xx[s] - float64(x*x)/n) / n
}

func (c *normalCost) segment(s, t int) float64 {
	v := c.variance(s, t)
	if c.floor > 0 {
		v = max(v+c.floor, c.floor/2)
	} else if v <= 0 {
		v = zeroVariance
	}
	n := float64(t - s)
	value := float64(n * (logTwoPi + arith.Log(v) + 1))
	if c.perLength {
		value += arith.Log(n)
	}
	return value
}

func (c *normalCost) atLeast(s, t int) float64 {
	v := c.variance(s, t)
	if c.floor > 0 {
		v = max(v+c.floor, c.floor/2)
	}
	if v < smallestBounded {
		return c.segment(s, t)
	}
	return float64(t-s) * (logTwoPi + arith.LogRough(v) + 1 - 2*arith.RoughError)
}

// Rounding, in units of the last place (2^-53), generously: the difference
// Σx² − (Σx)²/n is off by at most 8 units of Σx², a logarithm of a double
// (at most 745) times n by a few units of itself.
const (
	differenceError = 0x1p-49
	perValueError   = 0x1p-40
	sumError        = 0x1p-48
	largestLog      = 760
	tooUncertain    = 0x1p-12 // relative error of v beyond which it is not bounded
	shortSegment    = 64
	smallestBounded = 1e-290 // variances below this may be rounded like subnormals
)

// screen bounds log v from below: by the exponent and fraction of v, which is
// at most 0.06 too small, for short segments, more closely for long ones.
func (c *normalCost) screen(out, list []int32, f []float64, t int, price, limit float64) []int32 {
	xt, xxt := c.x[t], c.xx[t]
	for _, s := range list {
		n := float64(t - int(s))
		x, xx := xt-c.x[s], xxt-c.xx[s]
		d := xx - float64(float64(x*x)/n) + float64(n*c.floor)
		if d <= xx*0x1p-30 || d < smallestBounded {
			out = append(out, s)
			continue
		}
		var low float64
		if n < shortSegment {
			low = logBelow(d / n)
		} else {
			low = arith.LogRough(d / n)
		}
		value := f[s] + float64(n*(logTwoPi+1-0x1p-17+low)) + price
		if value <= limit {
			out = append(out, s)
		}
	}
	return out
}

// logBelow is at most log x, and more than log x - 0.06, for positive normal x.
func logBelow(x float64) float64 {
	const one = 1023 << 52
	return float64(int64(math.Float64bits(x))-one) * (math.Ln2 / (1 << 52))
}

func (c *normalCost) admit(g *group, s int32) bool {
	n := g.at - int(s)
	v := c.variance(int(s), g.at) + c.floor
	spread := float64(v * float64(n))
	if !(v > max(smallestBounded, c.floor/2)) || differenceError*(c.xx[g.at]-c.xx[s]) > tooUncertain*spread {
		return false
	}
	if g.length == 0 {
		g.oldest, g.length, g.spread, g.low, g.high = int(s), n, spread, v, v
		return true
	}
	g.oldest = min(g.oldest, int(s))
	g.length = min(g.length, n)
	g.spread = min(g.spread, spread)
	g.low = min(g.low, v)
	g.high = max(g.high, v)
	return true
}

// rise bounds C(s,t) − C(s,g.at) for segments of at least n = g.length values
// whose variance v is between g.low and g.high. With k = t − g.at and b the
// added values' own sum of squared deviations, squared deviations only add up,
// so that the difference is at least k (log 2π + 1) plus
//
//	(n+k) log((n v + b)/(n+k)) − n log v
//
// which grows with n, and is least at v = b/k or the end of v's range next to
// it. (At v = b/k it is the cost of the added values alone: superadditivity.)
func (c *normalCost) rise(g *group, t int, scale float64) float64 {
	k, n, longest := float64(t-g.at), float64(g.length), float64(t-g.oldest)
	added := c.variance(g.at, t)*k - differenceError*(c.xx[t]-c.xx[g.at]) + c.floor*k
	uncertain := differenceError * ((c.xx[t]-c.xx[g.oldest])/(g.spread+added) + 1)
	if !(uncertain <= 2*tooUncertain) || -added > g.spread*0x1p-11 {
		return math.Inf(-1)
	}
	slack := 2*longest*(1.01*uncertain+perValueError) + sumError*(scale+largestLog*longest)
	v := min(max(added/k, g.low*(1-2*tooUncertain)), g.high*(1+2*tooUncertain))
	grown := float64((n+k)*arith.LogRough((n*v+added)/(n+k))) - float64(n*arith.LogRough(v))
	return k*(logTwoPi+1) + grown - (2*n+k)*arith.RoughError - slack
}

// centre takes the median off a series and scales it by a power of two so
// that its typical magnitude is between 1 and 2.
func centre(series []float64) []float64 {
	size := make([]float64, len(series))
	for i, v := range series {
		size[i] = math.Abs(v)
	}
	slices.Sort(size)
	typical := quantile.Median(size)
	if typical == 0 {
		typical = size[len(size)-1]
	}
	_, exp := math.Frexp(typical)
	scaled := make([]float64, len(series))
	for i, v := range series {
		scaled[i] = math.Ldexp(v, 1-exp)
	}
	middle := quantile.Median(slices.Sorted(slices.Values(scaled)))
	for i := range scaled {
		scaled[i] -= middle
	}
	return scaled
}
