package compare

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"krund/rig/must"
)

// TestVerdictsAgreeWithIntervals: in no table does a verdict contradict the interval that is shown
// with it, whatever the sizes, the number of keys, what has changed, the null arm, and states of
// executions.
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
		shape := gauss
		if random.IntN(4) == 0 {
			shape = shapes["two states 50:50"]
		}
		rows := normalRows(random, keys, n, m, func() float64 { return deviation(random, 0.003) }, shape)
		for i := range rows {
			factor := 1.0
			if random.Float64() < changed {
				factor += 0.03 * random.NormFloat64()
			}
			for k := range rows[i].after {
				rows[i].after[k].Value *= factor
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

// contradiction says what in a verdict's interval contradicts it; "" if nothing.
func (d *decided) contradiction(v Verdict, o Options) string {
	i, none, least, most := d.intervals(o), 1.0, 1/(1+o.Margin), 1+o.Margin
	if d.steady.linear {
		margin := d.steady.margin(o.Margin)
		none, least, most = 0, -margin, margin
	}
	const rounding = 1e-12
	ofVerdict, _ := i.Of(v)
	low, high, sameLow, sameHigh := float64(i.Low), float64(i.High), float64(i.SameLow), float64(i.SameHigh)
	inside := sameLow >= least-rounding && sameHigh <= most+rounding
	switch rejected, same := d.corrected <= o.alpha(), d.sameCorrected <= o.alpha(); {
	case i.Estimate < min(i.Low, i.SameLow)-rounding, i.Estimate > max(i.High, i.SameHigh)+rounding:
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
