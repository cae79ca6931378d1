package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"

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
			c.Reason, c.Help = d.cannotTell(c, f.level, noise[c], o)
		case c.Verdict == Changed && steady != CannotTell && steady != Same:
			c.Reason = fmt.Sprintf("the steady state is %s, the classes are %s", steady, d.class.Verdict)
		case c.Verdict == Changed:
			c.Reason = "other classes than before, neither better nor worse"
		}
	}
}

// cannotTell explains why there is no verdict, and what would help.
func (d *decided) cannotTell(c *Change, level, noise float64, o Options) (string, *Help) {
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
	h := d.help(level, o)
	found := Percent(float64(c.Steady.Detectable))
	reason := fmt.Sprintf("%s executions would have shown a change of %s", countsText(e, o), found)
	if d.corrected <= o.alpha() {
		reason = "the change is significant, but below the margin of " + Percent(o.Margin)
	}
	switch {
	case h == nil:
		return reason + "; the executions differ too much for more of them to help", nil
	case h.Same:
		return fmt.Sprintf("%s; %s would show that it is below %s", reason, h.text(o), Percent(h.Shows)), h
	}
	return fmt.Sprintf("%s; %s would show %s", reason, h.text(o), Percent(h.Shows)), h
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

func (h *Help) text(o Options) string {
	if o.Paired {
		return are(h.Executions, "more block", "more blocks")
	}
	return are(h.Executions, "more execution per side", "more executions per side")
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

// help determines how many further executions would show the measured effect, or if that is smaller
// than the margin, that the change is.
func (d *decided) help(level float64, o Options) *Help {
	e := d.steady
	now := min(e.n, e.m)
	effect := math.Abs(e.effect())
	h := &Help{Shows: e.relative(effect)}
	if limit := e.margin(o.Margin); effect < limit {
		h.Same, h.Shows, effect = true, o.Margin, limit
	}
	needs := Need{SD: math.Sqrt(e.variance), Freedom: e.prior(), Paired: o.Paired}
	n := needs.executions(effect, level, h.Same, now)
	if n == 0 {
		return nil
	}
	h.Executions = max(n-now, 1)
	return h
}

// prior is the number of degrees of freedom that the other keys add.
func (e *estimate) prior() float64 {
	if e.test != ModeratedT {
		return 0
	}
	return e.freedom - e.own
}

// Need determines how many executions show a change.
type Need struct {
	SD      float64 // between executions; of the differences within blocks when Paired
	Freedom float64 // of the prior
	Paired  bool
}

// mostExecutions bounds the search; more would not be measured.
const mostExecutions = 10_000

// executions returns the number of executions on each side (of blocks) with which a test at the
// level finds effect with the published power, or with same that a change is smaller than effect
// when there is none. It is at least from; 0 if it is more than mostExecutions.
func (n Need) executions(effect, level float64, same bool, from int) int {
	enough := func(executions int) bool {
		if !same {
			return effect >= n.detectable(level, executions)
		}
		freedom, scale := n.test(executions)
		return effect >= (quantileOf(level, freedom)+quantileOf((1-power)/2, freedom))*scale
	}
	low, high := max(from, 2)-1, max(from, 2)
	for ; !enough(high); high *= 2 {
		if low = high; high > mostExecutions {
			return 0
		}
	}
	for low+1 < high {
		if mid := (low + high) / 2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	if high > mostExecutions {
		return 0
	}
	return high
}

// test returns the degrees of freedom and the standard error of a test.
func (n Need) test(executions int) (freedom, scale float64) {
	k := float64(executions)
	if n.Paired {
		return k - 1 + n.Freedom, n.SD * math.Sqrt(1/k)
	}
	return 2*k - 2 + n.Freedom, n.SD * math.Sqrt(2/k)
}

// detectable returns the change, in the scale of the test, that is found with the published power.
func (n Need) detectable(level float64, executions int) float64 {
	freedom, scale := n.test(executions)
	return detectable(level, freedom) * scale
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
	text := ""
	for i, k := range keys[:min(named, len(keys))] {
		if i > 0 {
			text += ", "
		}
		text += k
	}
	if more := len(keys) - named; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if r.NullArm.Unfit {
		return warmup.Warning{Code: "null_arm",
			Text: "the null arm, a copy of before, differs from it more " +
				"than chance explains (" + text + "): this machine cannot support the verdicts"}
	}
	return warmup.Warning{Code: "null_arm", Text: "the null arm, a copy of before, differs from it in " +
		text +
		"; for these keys only changes beyond that difference are reported"}
}
