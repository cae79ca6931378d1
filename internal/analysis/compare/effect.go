package compare

import (
	"cmp"
	"math"
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/warmup"
)

// Observation is the value of one execution.
type Observation struct {
	Block   int // of the execution; pairs the sides of a blocked experiment
	Value   float64
	Machine string // on which it was measured
}

// sample is one quantity of a key on both sides.
type sample struct{ before, after []Observation }

// estimate is the effect of a sample with its variance.
type estimate struct {
	ok            bool
	before, after float64 // means, of logarithms unless linear
	linear        bool    // a value is not positive
	n, m          int     // executions; blocks when paired
	incomplete    int     // blocks
	test          Test
	variance      float64 // of an execution; of a difference when paired
	freedom       float64
	own           float64 // degrees of freedom of the key's own variance
	factor        float64 // variance of the effect / variance
	least         float64 // variance that the rounding of the values makes
	// sides are the variances of the two sides, if they can be compared.
	sides [2]float64
}

func (e *estimate) effect() float64 { return e.after - e.before }

func (e *estimate) error() float64 { return math.Sqrt(e.variance * e.factor) }

// half returns the half width of the interval with an error of level.
func (e *estimate) half(level float64) float64 {
	if e.variance == 0 {
		return 0
	}
	return quantileOf(level/2, e.freedom) * e.error()
}

// p returns the p-value of no change.
func (e *estimate) p() float64 {
	switch effect := math.Abs(e.effect()); {
	case effect == 0:
		return 1
	case e.variance == 0:
		return 0
	default:
		return min(1, 2*tailOf(effect/e.error(), e.freedom))
	}
}

// sameP returns the p-value of a change of at least the margin, by two one-sided tests (Schuirmann
// 1987).
func (e *estimate) sameP(margin float64) float64 {
	inside := e.margin(margin) - math.Abs(e.effect())
	if e.variance == 0 {
		if inside > 0 || e.effect() == 0 && !e.zero() {
			return 0
		}
		return 1
	}
	return tailOf(inside/e.error(), e.freedom)
}

// zero reports whether every value is 0, so that no change is relative to anything.
func (e *estimate) zero() bool { return e.linear && e.before == 0 && e.after == 0 && e.variance == 0 }

// margin returns a relative change in the estimate's own scale. It is the same when the sides are
// exchanged.
func (e *estimate) margin(relative float64) float64 {
	if e.linear {
		return relative * (math.Abs(e.before) + math.Abs(e.after)) / 2
	}
	return math.Log1p(relative)
}

// relative is the inverse of margin.
func (e *estimate) relative(change float64) float64 {
	if e.linear {
		return change / ((math.Abs(e.before) + math.Abs(e.after)) / 2)
	}
	return math.Expm1(change)
}

// estimates estimates the effects of a quantity for all keys, with their variances shrunk towards
// each other.
func estimates(samples []sample, paired bool) ([]estimate, Prior) {
	list := make([]estimate, len(samples))
	for i, s := range samples {
		list[i] = estimateOf(s, paired)
	}
	separate := slices.Clone(list)
	squeezeSides(separate)
	apart, prior := differ(list), squeezeAll(list)
	for i := range list {
		if e := &separate[i]; e.sides[0] > 0 && (apart || e.unbalanced() && e.p() > list[i].p()) {
			list[i] = *e
		}
	}
	for i := range list {
		e := &list[i]
		e.variance = max(e.variance, e.least)
		if !paired {
			e.skewedAtLeast(e.scaled(samples[i].before), e.scaled(samples[i].after))
		}
	}
	return list, prior
}

// squeezeAll shrinks the variances of the logarithms towards each other, and returns their prior.
func squeezeAll(list []estimate) Prior {
	var variances, freedom []float64
	var of []*estimate
	for i := range list {
		if e := &list[i]; e.ok && !e.linear && e.test == StudentT && e.variance > 0 {
			of = append(of, e)
			variances, freedom = append(variances, e.variance), append(freedom, e.freedom)
		}
	}
	prior := priorOf(variances, freedom, caution)
	if prior.Keys == 0 {
		return prior
	}
	for _, e := range of {
		e.own = e.freedom
		e.variance, e.freedom = prior.squeeze(e.variance, e.freedom)
		e.test = ModeratedT
	}
	return prior
}

// largest and smallest bound values that are not positive, so that their squares are finite, and
// not 0; what is smaller is 0.
const largest, smallest = 1e150, 1e-150

// estimateOf estimates one effect from its own values.
func estimateOf(s sample, paired bool) estimate {
	incomplete := 0
	if paired {
		s, incomplete = complete(s)
	}
	e := estimate{n: len(s.before), m: len(s.after), incomplete: incomplete, test: StudentT}
	if e.n < 2 || e.m < 2 {
		return e
	}
	e.ok = true
	positive := func(o Observation) bool { return o.Value > 0 }
	e.linear = !all(s.before, positive) || !all(s.after, positive)
	small := func(o Observation) bool { return math.Abs(o.Value) < largest }
	if e.linear && (!all(s.before, small) || !all(s.after, small)) {
		e.ok = false
		return e
	}
	x, y := e.scaled(s.before), e.scaled(s.after)
	e.before, e.after = arith.MeanOf(x), arith.MeanOf(y)
	if paired {
		d := differences(x, y)
		e.after = e.before + arith.MeanOf(d)
		e.variance, e.freedom, e.factor = variance(d), float64(len(d)-1), 1/float64(len(d))
		e.least = Rounding(append(d, 0))
		return e
	}
	e.least = Rounding(slices.Concat(x, y))
	if len(s.machines()) > 1 && e.within(s) {
		return e
	}
	n, m := float64(e.n), float64(e.m)
	v, w := variance(x), variance(y)
	e.freedom, e.factor = n+m-2, 1/n+1/m
	e.variance = ((n-1)*v + (m-1)*w) / e.freedom
	if v+w > 0 {
		v, w = max(v, e.least), max(w, e.least) // of a side that does not vary at all
		e.sides = [2]float64{v, w}
		if unequal(v, w, n, m) {
			e.welch(v, w, n-1, m-1)
		}
	}
	return e
}

// unequal reports whether an F test at 1 % finds that the variances differ. With few executions a
// single slow one would decide that, and Welch's test would cost much power.
func unequal(v, w, n, m float64) bool {
	const level, fewest = 0.01, 8
	if v < w {
		v, w, n, m = w, v, m, n
	}
	return min(n, m) >= fewest && fTail(v/w, n-1, m-1) < level/2
}

// balanced is the largest ratio of the sizes of groups that have a variance in common.
const balanced = 1.5

// unbalanced reports whether one side has so many more executions that a variance for both sides
// would be mostly that of the larger one.
func (e *estimate) unbalanced() bool {
	return float64(max(e.n, e.m)) > balanced*float64(min(e.n, e.m))
}

// welch sets the variance of the effect to the sum of the variances of the two means, from those of
// the sides and their degrees of freedom (Welch 1947).
func (e *estimate) welch(v, w, before, after float64) {
	v, w = v/float64(e.n), w/float64(e.m)
	p, q := v/(v+w), w/(v+w)
	e.test = WelchT
	e.freedom = 1 / (p*p/before + q*q/after)
	e.variance = (v + w) / e.factor
}

// differ reports whether the executions of one side vary more than those of the other: a t test at
// 5 % of the logarithms of the ratio of the keys' variances. If nothing has changed, they are
// symmetric around 0, whatever the distribution of the values. Keys that share the base of a group
// count once, with their mean: its variance is in all of their ratios.
func differ(list []estimate) bool {
	const level = 0.05
	type base struct {
		executions int
		mean       float64
	}
	of := map[base]int{}
	var shared [][]float64
	for i := range list {
		e := &list[i]
		if e.sides[0] == 0 {
			continue
		}
		b := base{e.n, e.before}
		at, known := of[b]
		if !known {
			at = len(shared)
			of[b], shared = at, append(shared, nil)
		}
		shared[at] = append(shared[at],
			centered(e.sides[1], float64(e.m-1))-centered(e.sides[0], float64(e.n-1)))
	}
	var ratios []float64
	for _, list := range shared {
		ratios = append(ratios, arith.MeanOf(list))
	}
	k := float64(len(ratios))
	if k < 2 {
		return false
	}
	return 2*tailOf(math.Abs(arith.MeanOf(ratios))/math.Sqrt(variance(ratios)/k), k-1) < level
}

// squeezeSides shrinks the variances of each side towards each other, and tests by Welch's test.
func squeezeSides(list []estimate) {
	var priors [2]Prior
	for side := range priors {
		var variances, freedom []float64
		for i := range list {
			if e := &list[i]; !e.linear && e.sides[side] > 0 {
				variances = append(variances, e.sides[side])
				freedom = append(freedom, float64([2]int{e.n, e.m}[side]-1))
			}
		}
		priors[side] = priorOf(variances, freedom, caution)
	}
	for i := range list {
		e := &list[i]
		if e.sides[0] == 0 {
			continue
		}
		v, w, n, m := e.sides[0], e.sides[1], float64(e.n-1), float64(e.m-1)
		if !e.linear && priors[0].Keys > 0 {
			v, n = priors[0].squeeze(v, n)
			w, m = priors[1].squeeze(w, m)
		}
		e.welch(v, w, n, m)
	}
}

// Rounding is the smallest variance that values can have which are rounded to multiples of q:
// q²/12, where q is the smallest difference between two different values. It matters for values
// that are all, or nearly all, equal: three times 10 and three times 11 ticks of a clock are no
// proof that something changed by 10 %. It is 0 when all values are equal. The slice is sorted.
func Rounding(values []float64) float64 {
	slices.Sort(values)
	q := math.Inf(1)
	for i := 1; i < len(values); i++ {
		if d := values[i] - values[i-1]; d > 0 {
			q = min(q, d)
		}
	}
	if math.IsInf(q, 1) {
		return 0
	}
	return q * q / 12
}

// scaled returns the values in the scale of the test.
func (e *estimate) scaled(list []Observation) []float64 {
	values := make([]float64, len(list))
	for i, o := range list {
		switch values[i] = o.Value; {
		case !e.linear:
			values[i] = math.Log(o.Value)
		case math.Abs(o.Value) < smallest:
			values[i] = 0
		}
	}
	return values
}

// complete returns the blocks that have one value on each side, in order, and the number of the
// others.
func complete(s sample) (c sample, incomplete int) {
	type value struct{ block, side, at int }
	var values []value
	for side, list := range [][]Observation{s.before, s.after} {
		for i, o := range list {
			values = append(values, value{o.Block, side, i})
		}
	}
	slices.SortFunc(values, func(a, b value) int { return cmp.Or(a.block-b.block, a.side-b.side) })
	for len(values) > 0 {
		n := 1
		for n < len(values) && values[n].block == values[0].block {
			n++
		}
		if x, y := values[0], values[n-1]; n == 2 && x.side != y.side {
			c.before, c.after = append(c.before, s.before[x.at]), append(c.after, s.after[y.at])
		} else {
			incomplete++
		}
		values = values[n:]
	}
	return c, incomplete
}

// differences returns those within complete blocks, in the scale of the test.
func (e *estimate) differences(s sample) []float64 {
	s, _ = complete(s)
	return differences(e.scaled(s.before), e.scaled(s.after))
}

// differences returns y - x.
func differences(x, y []float64) []float64 {
	d := make([]float64, len(y))
	for i := range y {
		d[i] = y[i] - x[i]
	}
	return d
}

func all(list []Observation, is func(Observation) bool) bool {
	return !slices.ContainsFunc(list, func(o Observation) bool { return !is(o) })
}

// variance is the unbiased estimate.
func variance(values []float64) float64 {
	center, sum := arith.MeanOf(values), 0.0
	for _, v := range values {
		sum += (v - center) * (v - center)
	}
	return sum / float64(len(values)-1)
}

// describe returns the effect with its intervals; nil without one.
func (d *tested) describe(o Options) *Effect {
	e := &d.steady
	if !e.ok {
		return nil
	}
	f := &Effect{
		BeforeExecutions: e.n, AfterExecutions: e.m, IncompleteBlocks: e.incomplete,
		Before: warmup.Real(e.before), After: warmup.Real(e.after), P: d.p, SameP: d.sameP,
		Corrected: d.corrected, SameCorrected: d.sameCorrected, Test: e.test, Freedom: e.freedom,
		SD: warmup.Real(math.Sqrt(e.variance)),
	}
	if e.linear {
		f.Difference = d.intervals(o)
	} else {
		f.Before, f.After = warmup.Real(math.Exp(e.before)), warmup.Real(math.Exp(e.after))
		f.Ratio = d.intervals(o)
	}
	// A verdict also needs an estimate of at least the margin. The standard deviation is that which
	// is as likely too large as too small.
	spread := e.error() * atMost(0.5, e.freedom)
	f.Detectable = warmup.Real(e.relative(max(detectable(d.levels.test, e.freedom)*spread,
		e.margin(o.Margin)+quantileOf(1-Power, e.freedom)*spread)))
	return f
}

// intervals returns the estimate with its intervals. Those that belong to a test agree with it: if
// it rejects no change they end there at the latest, because the last tests of the step-down have a
// larger error than they; that of the equivalence test ends at the margin.
func (d *tested) intervals(o Options) *Interval {
	scale := func(v float64) warmup.Real { return warmup.Real(d.steady.unscale(v)) }
	effect := d.steady.effect()
	around := func(level float64) (low, high float64) {
		half := d.steady.half(level)
		return effect - half, effect + half
	}
	aloneLow, aloneHigh := around(o.alpha())
	low, high := around(d.levels.interval)
	if d.corrected <= o.alpha() {
		if effect > 0 {
			low = max(low, 0)
		} else {
			high = min(high, 0)
		}
	}
	sameLow, sameHigh := around(d.levels.same)
	if margin := d.steady.margin(o.Margin); d.sameCorrected <= o.alpha() {
		sameLow, sameHigh = max(sameLow, -margin), min(sameHigh, margin)
	}
	return &Interval{Estimate: scale(effect), Low: scale(low), High: scale(high),
		AloneLow: scale(aloneLow), AloneHigh: scale(aloneHigh),
		SameLow: scale(sameLow), SameHigh: scale(sameHigh)}
}
