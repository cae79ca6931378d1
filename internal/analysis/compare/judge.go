package compare

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"krund/internal/analysis/warmup"
)

// judge fills in the verdicts, with the noise of the null arm by change.
func (r *Result) judge(f family, noise map[*Change]float64, o Options) {
	for i, c := range r.both() {
		d := &f.rows[i]
		steady := d.change(noise[c], o)
		c.Verdict = combine(steady, d.class)
		switch {
		case c.Verdict == CannotTell:
			c.Reason, c.Help = d.cannotTell(c, noise[c], o)
		case c.Verdict == Changed && steady != CannotTell && steady != Same:
			c.Reason = fmt.Sprintf("the steady state is %s, the classes are %s", steady, d.class.Verdict)
		case c.Verdict == Changed:
			c.Reason = "other classes than before, neither better nor worse"
		}
		c.ofStates(d, r.Unit, o)
		c.ofSpreads(d, o)
	}
}

// cannotTell explains why there is no verdict, and what would help.
func (d *decided) cannotTell(c *Change, noise float64, o Options) (string, *Help) {
	e := &d.steady
	const better = 10
	switch {
	case !e.ok && e.incomplete > 0:
		return fmt.Sprintf("%s complete; measure at least 2, better %d",
			are(e.n, "block is", "blocks are"), better), nil
	case !e.ok:
		return fmt.Sprintf("completed executions: %d before, %d after; measure at least 2 on each side, "+
			"better %d", e.n, e.m, better), nil
	case noise > 0:
		return fmt.Sprintf("the null arm, a copy of before, differs by up to %s: this machine cannot "+
			"support a verdict on this key", Percent(e.relative(noise))), nil
	case e.zero():
		return "every value is 0 on both sides: no change is a percentage of 0", nil
	}
	const useless = 10 // a change of 1000 %
	if detectable := float64(c.Steady.Detectable); d.corrected > o.alpha() && !(detectable < useless) {
		remedy := "`krunctl explain` says what moves them"
		if min(e.n, e.m) < better {
			remedy = fmt.Sprintf("measure at least %d", better)
		}
		return fmt.Sprintf("%s executions vary so much that only a factor of ten could be seen; %s",
			countsText(e, o), remedy), nil
	}
	reason := fmt.Sprintf("%s executions would have shown a change of %s", countsText(e, o),
		Percent(float64(c.Steady.Detectable)))
	if d.corrected <= o.alpha() {
		reason = "the change is significant, but below the margin of " + Percent(o.Margin)
	}
	text, h := e.advice(d.levels.test, o)
	return reason + "; " + text, h
}

func are(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

func countsText(e *estimate, o Options) string {
	switch {
	case o.Paired:
		return fmt.Sprintf("%d blocks of", e.n)
	case e.n == e.m:
		return fmt.Sprintf("%d", e.n)
	}
	return fmt.Sprintf("%d and %d", e.n, e.m)
}

// Percent is a relative difference for people: "2.1 %".
func Percent(v float64) string {
	switch p := 100 * v; {
	case math.IsNaN(p) || math.IsInf(p, 0):
		return "any size"
	case math.Abs(p) < 0.995:
		return strconv.FormatFloat(p, 'g', 2, 64) + " %"
	case math.Abs(p) < 100:
		return strconv.FormatFloat(p, 'g', 3, 64) + " %"
	case math.Abs(p) < 1e15:
		return strconv.FormatFloat(p, 'f', 0, 64) + " %"
	default:
		return strconv.FormatFloat(p, 'e', 2, 64) + " %"
	}
}

// mostTimes bounds what is advised: a multiple of what was measured.
const mostTimes = 10

// advice says what a new experiment would show, and how large it has to be for that. The standard
// deviation is an upper bound of the true one, so that the promised power is reached (TestAdvice).
// Help is nil if no reasonable number of executions would show anything.
func (e *estimate) advice(level float64, o Options) (string, *Help) {
	now := min(e.n, e.m)
	most := mostTimes * now
	effect := math.Abs(e.effect())
	need := Need{SD: math.Sqrt(e.variance) * atMost(assurance, e.freedom), Freedom: e.prior(),
		Paired: o.Paired, Margin: e.margin(o.Margin)}
	count := func(n int) string {
		if o.Paired {
			return fmt.Sprintf("%d blocks", n)
		}
		return fmt.Sprintf("%d executions per side", n)
	}
	h := &Help{Shows: e.relative(effect), Same: effect < need.Margin}
	shows := "a change of " + Percent(h.Shows)
	if h.Same {
		h.Shows, shows = o.Margin, "that it is below "+Percent(o.Margin)
	}
	if h.Executions = need.executions(effect, level, now, most); h.Executions > 0 {
		return fmt.Sprintf("a new experiment with %s would show %s", count(h.Executions), shows), h
	}
	text := shows + " cannot be told with a reasonable number"
	far, ideal := need, effect // far from the margin: a change of 0, or no margin
	if h.Same {
		ideal, shows = 0, "only that it is below "+Percent(e.relative(need.least(effect, level, most)))
	} else {
		far.Margin, shows = 0, Percent(e.relative(need.detectable(level, most)))
	}
	if !need.enough(effect, level, MostExecutions) && far.enough(ideal, level, MostExecutions) {
		text = fmt.Sprintf("the change of %s is too close to the margin of %s to be told",
			Percent(e.relative(effect)), Percent(o.Margin))
	}
	return fmt.Sprintf("%s; %s, %d times as many, would show %s", text, count(most), mostTimes, shows), nil
}

// prior is the number of degrees of freedom that the other keys add.
func (e *estimate) prior() float64 {
	if e.test != ModeratedT {
		return 0
	}
	return e.freedom - e.own
}

// MostExecutions bounds what is planned; more would not be measured.
const MostExecutions = 10_000

// executions returns the number of executions on each side (of blocks), between from and most, with
// which a verdict at the level has the published power: that there is a change, if the true one is
// effect, or if that is below the margin, that it is. It is 0 if most are not enough.
func (n Need) executions(effect, level float64, from, most int) int {
	from = max(from, 2)
	found := from + sort.Search(most-from+1, func(i int) bool { return n.enough(effect, level, from+i) })
	if found > most {
		return 0
	}
	return found
}

func (n Need) enough(effect, level float64, executions int) bool {
	if effect < n.Margin {
		return n.below(effect, level, executions)(n.Margin)
	}
	freedom, scale := n.test(executions)
	return effect-n.Margin >= quantileOf(1-Power, freedom)*scale &&
		newNoncentral(freedom).tail(quantileOf(level/2, freedom), effect/scale) >= Power
}

// below returns whether so many executions show of a change of effect that it is below a margin.
func (n Need) below(effect, level float64, executions int) func(margin float64) bool {
	freedom, scale := n.test(executions)
	d, t := newNoncentral(freedom), quantileOf(level, freedom)
	return func(margin float64) bool {
		return d.tail(t, (margin-effect)/scale)+d.tail(t, (margin+effect)/scale) >= 1+Power
	}
}

// least returns the smallest margin for which below is true.
func (n Need) least(effect, level float64, executions int) float64 {
	_, step := n.test(executions)
	below := n.below(effect, level, executions)
	for step > 0 && step < math.MaxFloat32 && !below(effect+step) {
		step *= 2
	}
	return bisect(effect, effect+step, below)
}

// test returns the degrees of freedom and the standard error of a test.
func (n Need) test(executions int) (freedom, scale float64) {
	k := float64(executions)
	if n.Paired {
		return k - 1 + n.Freedom, n.SD * math.Sqrt(1/k)
	}
	return 2*k - 2 + n.Freedom, n.SD * math.Sqrt(2/k)
}

// detectable returns the change, in the scale of the test, that is found with the published power
// and with an estimate of at least the margin.
func (n Need) detectable(level float64, executions int) float64 {
	freedom, scale := n.test(executions)
	return max(detectable(level, freedom)*scale, n.Margin+quantileOf(1-Power, freedom)*scale)
}

// null compares before with its copy, and returns the noise of the keys in which they differ.
func (r *Result) null(before Side, o Options) map[*Change]float64 {
	if o.Null == nil {
		return nil
	}
	var copied Result
	o.Splits = 0
	rows := copied.join(before, *o.Null, o)
	effects := besides(rows, ofSteady, o.Paired, o)
	r.NullArm = &NullArm{Party: o.Null.party(), Differs: []string{}}
	changes := map[string]*Change{}
	for _, c := range r.both() {
		changes[c.Key] = c
	}
	noise := map[*Change]float64{}
	for i, n := range copied.both() {
		e, c := effects[i], changes[n.Key]
		if e == nil || c == nil {
			continue
		}
		c.Null = e
		if far := e.noise(); far > 0 {
			noise[c] = far
			r.NullArm.Differs = append(r.NullArm.Differs, n.Key)
			r.NullArm.Unfit = r.NullArm.Unfit || e.Corrected <= o.alpha()
		}
	}
	if len(r.NullArm.Differs) > 0 {
		r.Warnings = append(r.Warnings, r.nullWarning(slices.Clone(r.NullArm.Differs)))
	}
	return noise
}

// noise is the end of the interval that is further from no change, in the scale of the test, when
// the interval of the key alone excludes no change; else 0.
func (e *Effect) noise() float64 {
	var low, high float64
	if e.Ratio != nil {
		low, high = math.Log(float64(e.Ratio.AloneLow)), math.Log(float64(e.Ratio.AloneHigh))
	} else {
		low, high = float64(e.Difference.AloneLow), float64(e.Difference.AloneHigh)
	}
	if low > 0 || high < 0 {
		return max(high, -low)
	}
	return 0
}

func (r *Result) nullWarning(keys []string) warmup.Warning {
	const named = 3
	list := strings.Join(keys[:min(named, len(keys))], ", ")
	if more := len(keys) - named; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	text := " in " + list + "; for these keys only changes beyond that difference are reported"
	if r.NullArm.Unfit {
		text = " more than chance explains (" + list + "): this machine cannot support the verdicts"
	}
	return warmup.Warning{Code: "null_arm", Text: "the null arm, a copy of before, differs from it" + text}
}
