package compare

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"krund/rig/must"
)

// TestVerdictsAgreeWithIntervals: in no table does a verdict contradict the interval that is shown
// with it, whatever the sizes, the number of keys, what has changed, the null arm, states of
// executions, unequal spreads, ties, skew, and a later look of an extended experiment.
func TestVerdictsAgreeWithIntervals(t *testing.T) {
	const mostKeys = 100
	tables := must.Often(3000, 10_000)
	random := rand.New(rand.NewPCG(31, 1))
	verdicts := map[Verdict]int{}
	for range tables {
		keys := 1 + random.IntN(4)
		if random.IntN(50) == 0 {
			keys = 1 + random.IntN(mostKeys)
		}
		n, m, o := 2+random.IntN(6), 2+random.IntN(6), Options{Paired: random.IntN(3) == 0}.withDefaults()
		if random.IntN(4) == 0 {
			o.Correction = None
		}
		if o.Paired {
			m = n
		}
		noise, changed := 0.0, random.Float64()
		if random.IntN(4) == 0 {
			noise = 0.01 * random.Float64()
		}
		if random.IntN(4) == 0 {
			o.Confidence = 0.975
		}
		shape := []func(*rand.Rand) float64{gauss, gauss, shapes["two states 50:50"], skewed}[random.IntN(4)]
		spread, tick := 1.0, 0.0
		if random.IntN(4) == 0 {
			spread = 4
		}
		if random.IntN(4) == 0 {
			tick = 0.005
		}
		rows := normalRows(random, keys, n, m, func() float64 { return deviation(random, 0.003) }, shape)
		for i := range rows {
			factor := 1.0
			if random.Float64() < changed {
				factor += 0.03 * random.NormFloat64()
			}
			for k := range rows[i].after {
				rows[i].after[k].Value = factor * math.Pow(rows[i].after[k].Value, spread)
			}
			for _, side := range [][]reduced{rows[i].before, rows[i].after} {
				for k := range side {
					if tick > 0 {
						side[k].Value = max(tick, tick*math.Round(side[k].Value/tick))
					}
				}
			}
			if random.IntN(20) == 0 { // differences instead of ratios
				rows[i].before[0].Value *= -1
			}
		}
		f := decide(rows, o.Paired, o)
		for i := range f.rows {
			d := &f.rows[i]
			v := d.change(noise, o)
			verdicts[v]++
			problem := d.contradiction(v, o)
			must.Need(t, problem == "", v, "of", keys, "keys", n, "and", m, "executions", o.Correction,
				problem, d.tested)
		}
	}
	t.Log(verdicts)
	for _, v := range []Verdict{Better, Worse, Same, CannotTell} {
		must.Be(t, verdicts[v] >= tables/10, "only", verdicts[v], "keys are", v)
	}
}

// TestDegenerateData: neither does any of values that are equal, zero, missing, infinite, tiny,
// huge or of a coarse clock; every p-value is a probability, every interval contains its estimate,
// and what cannot be told has a reason.
func TestDegenerateData(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 2))
	or := func(usual, odd float64) float64 {
		if random.IntN(3) == 0 {
			return odd
		}
		return usual
	}
	noisy := func() float64 { return math.Exp(0.01 * random.NormFloat64()) }
	kinds := []func() float64{
		noisy,
		func() float64 { return 2 },
		func() float64 { return 0 },
		func() float64 { return float64(10 + random.IntN(2)) },
		func() float64 { return or(noisy(), math.NaN()) },
		func() float64 { return or(noisy(), math.Inf(1)) },
		func() float64 { return or(noisy(), math.Inf(-1)) },
		func() float64 { return or(2, 0) },
		func() float64 { return or(2, math.Nextafter(2, 3)) },
		func() float64 { return or(1, 1.1) * math.Exp(1e-4*random.NormFloat64()) },
		func() float64 { return math.SmallestNonzeroFloat64 * float64(random.IntN(4)) },
		func() float64 { return math.MaxFloat64 * random.Float64() },
		func() float64 { return math.Exp(200 * random.NormFloat64()) },
		func() float64 { return 1e149 * random.NormFloat64() },
		random.NormFloat64,
	}
	side := func(kind, n int) []reduced {
		list := make([]reduced, n)
		for i := range list {
			list[i].Execution = Execution{Number: i + 1, Value: kinds[kind]()}
		}
		return list
	}
	for table := range must.Often(600, 60_000) {
		o := Options{Paired: random.IntN(3) == 0, Correction: []Correction{Holm, Holm, None}[random.IntN(3)]}.
			withDefaults()
		rows := make([]row, 1+random.IntN(4))
		if table == 0 {
			rows = make([]row, must.Often(1000, 10_000))
		}
		for i := range rows {
			rows[i].before = side(random.IntN(len(kinds)), random.IntN(9))
			if rows[i].after = rows[i].before; random.IntN(3) > 0 {
				rows[i].after = side(random.IntN(len(kinds)), random.IntN(9))
			}
		}
		f := decide(rows, o.Paired, o)
		for i := range f.rows {
			d, problem := &f.rows[i], ""
			v := d.change(0, o)
			for _, p := range []float64{d.p, d.corrected, d.sameP, d.sameCorrected} {
				if !(p >= 0 && p <= 1) {
					problem = "no probability"
				}
			}
			switch e := d.describe(o); {
			case problem != "":
			case e == nil && v != CannotTell:
				problem = "nothing was tested"
			case e != nil && !d.steady.zero():
				problem = d.contradiction(v, o)
			}
			if v == CannotTell && problem == "" {
				reason, _ := d.cannotTell(&Change{Steady: cmp.Or(d.describe(o), &Effect{})}, 0, o)
				if reason == "" || strings.Contains(reason, "NaN") || strings.Contains(reason, "Inf") {
					problem = "the reason is " + reason
				}
			}
			must.Need(t, problem == "", v, problem, d.tested, rows[i])
		}
	}
}

// contradiction says what in a verdict's interval contradicts it; "" if nothing.
func (d *decided) contradiction(v Verdict, o Options) string {
	i, none, least, most := d.intervals(o), 1.0, 1/(1+o.Margin), 1+o.Margin
	if d.steady.linear {
		margin := d.steady.margin(o.Margin)
		none, least, most = 0, -margin, margin
	}
	estimate, rounding := float64(i.Estimate), 1e-12
	ofVerdict, _ := i.Of(v)
	low, high, sameLow, sameHigh := float64(i.Low), float64(i.High), float64(i.SameLow), float64(i.SameHigh)
	if d.steady.linear {
		rounding = 1e-12 * (math.Abs(d.steady.before) + math.Abs(d.steady.after))
	}
	slack, inside := rounding+1e-12*math.Abs(estimate), sameLow >= least-rounding && sameHigh <= most+rounding
	switch rejected, same := d.corrected <= o.alpha(), d.sameCorrected <= o.alpha(); {
	case math.IsNaN(estimate), !(i.AloneLow <= i.AloneHigh), !(low <= high), !(sameLow <= sameHigh):
		return fmt.Sprint("not an interval: ", *i)
	case estimate < min(low, sameLow)-slack, estimate > max(high, sameHigh)+slack:
		return fmt.Sprintf("the estimate %v is outside of its interval (%v, %v)", i.Estimate, low, high)
	case v == Same && ofVerdict != i.SameLow, v != Same && ofVerdict != i.Low:
		return "the interval is that of the other test"
	case v == Worse && low < none, v == Better && high > none, rejected && low < none && high > none,
		!rejected && (low > none || high < none):
		return fmt.Sprintf("the interval is (%v, %v)", low, high)
	case v == Same && !inside, same != inside:
		return fmt.Sprintf("the interval of the equivalence test is (%v, %v)", sameLow, sameHigh)
	}
	return ""
}
