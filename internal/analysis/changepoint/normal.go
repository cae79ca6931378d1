package changepoint

import (
	"math"
	"slices"

	"krund/internal/analysis/arith"
)

const (
	// logTwoPi is R's log(2*M_PI): the logarithm of the double next to 2π, not the double next to
	// log 2π, which is one unit in the last place larger. Between equally good segmentations that
	// unit decides.
	logTwoPi = 0x1.d67f1c864beb4p+0
	// zeroVariance replaces a variance that is not positive, as in R (cost_general_functions.c,
	// mll_meanvar).
	zeroVariance = 1e-11
)

// normalCost is MeanVariance: C = n (log 2π + log v + 1) with v = (Σx² − (Σx)²/n)/n, in R's order
// of operations. A floor above 0 is added to v (Stable arithmetic), which rounding then cannot
// bring below half of it. perLength adds log n (R's MBIC).
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

// Generous rounding bounds in units of the last place (2^-53): the difference Σx² − (Σx)²/n is off
// by at most 8 units of Σx², and n times the logarithm of a double (at most 745) by a few units of
// itself.
const (
	differenceError = 0x1p-49
	perValueError   = 0x1p-40
	sumError        = 0x1p-48
	largestLog      = 760
	tooUncertain    = 0x1p-12 // relative error of v beyond which it is not bounded
	smallestBounded = 1e-290  // variances below this may be rounded like subnormals
	shortSegment    = 64
)

// reciprocals are 1/n for the lengths of short segments.
var reciprocals = func() (r [shortSegment]float64) {
	for n := 1; n < shortSegment; n++ {
		r[n] = 1 / float64(n)
	}
	return r
}()

// screen bounds log v from below: by the exponent and fraction of v, which is at most 0.06 too
// small, for short segments, more closely for long ones.
func (c *normalCost) screen(out, list []int32, f []float64, t int, penalty, limit float64) (kept int) {
	const constant = logTwoPi + 1 - 0x1p-17
	prefix, squares := c.x[:t+1], c.xx[:t+1]
	f = f[:t+1]
	xt, xxt := prefix[t], squares[t]
	limit -= penalty
	for _, s := range list {
		k := t - int(s)
		n := float64(k)
		x, xx := xt-prefix[s], xxt-squares[s]
		var v, low float64
		if k < shortSegment {
			r := reciprocals[k]
			v = (xx-float64(float64(x*x)*r))*r + c.floor
			low = logBelow(v)
		} else {
			v = (xx-float64(x*x)/n)/n + c.floor
			low = arith.LogRough(max(v, smallestBounded))
		}
		if n*v <= xx*0x1p-30 || v < smallestBounded || f[s]+float64(n*(constant+low)) <= limit {
			out[kept] = s
			kept++
		}
	}
	return kept
}

// logBelow is at most log x, and more than log x - 0.06, for positive normal x.
func logBelow(x float64) float64 {
	const one = 1023 << 52
	return float64(int64(math.Float64bits(x))-one) * (math.Ln2 / (1 << 52))
}

func (c *normalCost) measure(s, t int) (least float64, m spread, ok bool) {
	n := float64(t - s)
	v := c.variance(s, t) + c.floor
	m = spread{length: t - s, v: v, squares: float64(v * n)}
	if !(v > max(smallestBounded, c.floor/2)) {
		return c.segment(s, t), m, false
	}
	least = float64(n * (logTwoPi + arith.LogRough(v) + 1 - 2*arith.RoughError))
	return least, m, differenceError*(c.xx[t]-c.xx[s]) <= tooUncertain*m.squares
}

// rise bounds C(s,t) − C(s,g.at) for segments of at least n = g.length values whose variance v is
// between g.low and g.high. With k = t − g.at and b the added values' own sum of squared
// deviations, squared deviations only add up, so that the difference is at least k (log 2π + 1)
// plus
//
//	(n+k) log((n v + b)/(n+k)) − n log v
//
// which grows with n, and is least at v = b/k or the end of v's range next to it. (At v = b/k it is
// the cost of the added values alone: superadditivity.)
//
// From t on, j more values that all lie on the segment's mean add the least: with w the smallest (n
// v + b)/(n+k) of the group,
//
//	(n+k+j) log(w (n+k)/(n+k+j)) − (n+k) log w >= j log w − j (1 + j/(n+k)).
func (c *normalCost) rise(g *group, t, until int, scale float64) line {
	k, n, longest := float64(t-g.at), float64(g.length), float64(until-g.oldest)
	added := c.own(g, t) - c.noise(t, until)
	uncertain := differenceError * ((c.xx[until]-c.xx[g.oldest])/(g.squares+added) + 1)
	if !(uncertain <= 2*tooUncertain) || -added > g.squares*0x1p-11 {
		return nothing
	}
	slack := 2*longest*(1.01*uncertain+perValueError) + sumError*(scale+2*largestLog*longest)
	if added < 0 { // n v + b is at most so much too small, in proportion
		slack -= 2 * longest * added / g.squares
		added = 0
	}
	low, high := g.low*(1-2*tooUncertain), g.high*(1+2*tooUncertain)
	v := low
	if k > 0 {
		v = min(max(added/k, low), high)
	}
	grown := float64((n+k)*arith.LogRough((n*v+added)/(n+k))) - float64(n*arith.LogRough(v))
	return line{
		base:  k*(logTwoPi+1) + grown - (2*n+k)*arith.RoughError - slack,
		slope: logTwoPi + arith.LogRough(g.lowest(low, added, k)) - arith.RoughError,
		bend:  1 / (n + k),
	}
}

// lowest is a lower bound on the variance of the members' segments with k more values, which have
// added squared deviations of their own, if it was at least low: a mean of low and added/k, with
// weights between those of the shortest and the longest segment.
func (g *group) lowest(low, added, k float64) float64 {
	short, long := float64(g.length), float64(g.at-g.oldest)
	return min((short*low+added)/(short+k), (long*low+added)/(long+k))
}

// advance uses that a part of a segment has at most the squared deviations of the whole.
func (c *normalCost) advance(g *group, t int) {
	k := float64(t - g.at)
	added := max(0, c.own(g, t)-c.noise(g.at, t))
	g.low = g.lowest(g.low, added, k)
	g.length += t - g.at
	longest := float64(t - g.oldest)
	whole := c.variance(g.oldest, t)*longest + differenceError*(c.xx[t]-c.xx[g.oldest])
	g.high = (whole+c.noise(g.oldest, t))/float64(g.length) + c.floor
}

// own is the sum of squared deviations of the values from g.at to t, about as much too small as
// rounding may have made it too large.
func (c *normalCost) own(g *group, t int) float64 {
	if t == g.at {
		return 0
	}
	k := float64(t - g.at)
	return c.variance(g.at, t)*k - differenceError*(c.xx[t]-c.xx[g.at]) + c.floor*k
}

// center subtracts the median from a series and scales it by a power of two so that its typical
// magnitude is between 1 and 2.
func center(series []float64) []float64 {
	size := make([]float64, len(series))
	for i, v := range series {
		size[i] = math.Abs(v)
	}
	slices.Sort(size)
	typical := arith.Median(size)
	if typical == 0 {
		typical = size[len(size)-1]
	}
	_, exp := math.Frexp(typical)
	scaled := make([]float64, len(series))
	for i, v := range series {
		scaled[i] = math.Ldexp(v, 1-exp)
	}
	middle := arith.Median(slices.Sorted(slices.Values(scaled)))
	for i := range scaled {
		scaled[i] -= middle
	}
	return scaled
}
