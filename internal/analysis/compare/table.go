package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/classify"
)

// steadyShare is the share of alpha for the tests of the steady state if a class can differ
// significantly; the tests of the classes have the rest.
const steadyShare = 0.75

// row is a key with at least one execution on each side.
type row struct {
	before, after []reduced
}

// tested is an effect with its tests. The corrected p-values are 1 without an effect.
type tested struct {
	steady               estimate
	p, corrected         float64
	sameP, sameCorrected float64
	levels               levels
}

// levels are the errors of the tests and intervals of a family.
type levels struct {
	test     float64 // at which a test rejects whatever the others do
	interval float64 // two-sided
	same     float64 // of the intervals of the equivalence tests, two-sided
}

// decided is what the family of tests finds for a row.
type decided struct {
	tested
	states                  *States
	class                   *Class
	countBefore, countAfter classify.Counts
}

// family is the decision about all rows together.
type family struct {
	rows          []decided
	prior         Prior
	steady, class int     // tests
	share         float64 // of alpha, for the tests of the steady state
	levels
}

// decide tests the steady state and the classes of all rows. paired: by block.
func decide(rows []row, paired bool, o Options) family {
	samples := make([]sample, len(rows))
	for i, r := range rows {
		samples[i] = r.sample(ofSteady)
	}
	list, prior := estimates(samples, paired)
	states := guard(list, samples, o.copies, paired, o)
	f := family{rows: make([]decided, len(rows)), prior: prior}
	var classes []discrete
	for i, r := range rows {
		d := &f.rows[i]
		d.countBefore, d.countAfter = counts(r.before), counts(r.after)
		if d.countBefore.Total() > 0 && d.countAfter.Total() > 0 {
			p, least := classTest(d.countBefore, d.countAfter)
			d.class = &Class{P: p, Corrected: 1, Verdict: CannotTell}
			classes = append(classes, discrete{hypothesis{p, &d.class.Corrected}, least})
		}
	}
	deciding := o.Correction.attainable(classes, (1-steadyShare)*o.alpha())
	if f.class, f.share = len(deciding), steadyShare; f.class == 0 {
		f.share = 1
	}
	o.Correction.adjust(deciding, 1-steadyShare)
	var tests []tested
	tests, f.levels = test(list, f.share, o)
	for i := range tests {
		f.rows[i].tested, f.rows[i].states = tests[i], states[i]
		f.steady += arith.One(tests[i].steady.ok)
	}
	for i := range f.rows {
		if d := &f.rows[i]; d.class != nil && d.class.Corrected <= o.alpha() {
			d.class.Verdict = classVerdict(d.countBefore, d.countAfter, o.alpha())
		}
	}
	return f
}

// test tests effects as one family that has a share of alpha. The equivalence tests have all of
// alpha: for an effect, only one of both errors is possible.
func test(list []estimate, share float64, o Options) ([]tested, levels) {
	tests := make([]tested, len(list))
	var changes, same []hypothesis
	for i, e := range list {
		t := &tests[i]
		*t = tested{steady: e, corrected: 1, sameCorrected: 1}
		if e.ok {
			t.p, t.sameP = e.p(), e.sameP(o.Margin)
			changes = append(changes, hypothesis{t.p, &t.corrected})
			same = append(same, hypothesis{t.sameP, &t.sameCorrected})
		}
	}
	l := levels{
		test:     o.Correction.level(o.alpha(), share, len(changes)),
		interval: o.Correction.withIntervals(changes, o.alpha(), share),
		same:     2 * o.Correction.withIntervals(same, o.alpha(), 1),
	}
	for i := range tests {
		tests[i].levels = l
	}
	return tests, l
}

// classVerdict ranks a significant change of classes: by the share of good executions, if that
// differs as well.
func classVerdict(before, after classify.Counts, alpha float64) Verdict {
	if p, _ := goodTest(before, after); p > alpha {
		return Changed
	}
	if good(after)*before.Total() > good(before)*after.Total() {
		return Better
	}
	return Worse
}

// change is the direction of a significant change of the steady state whose estimate is not smaller
// than the margin, else CannotTell or Same. noise is the largest change that a null arm shows, in
// the scale of the test; 0 without one.
func (d *tested) change(noise float64, o Options) Verdict {
	if !d.steady.ok {
		return CannotTell
	}
	effect, half := d.steady.effect(), 0.0
	if noise > 0 {
		half = d.steady.half(d.levels.interval)
		if math.Abs(effect)+half+noise < d.steady.margin(o.Margin) && d.sameCorrected <= o.alpha() {
			return Same
		}
	} else if d.sameCorrected <= o.alpha() {
		return Same
	}
	switch {
	case d.corrected > o.alpha() || noise > 0 && math.Abs(effect)-half <= noise,
		math.Abs(effect) < d.steady.margin(o.Margin):
		return CannotTell
	case effect < 0:
		return Better
	}
	return Worse
}

// combine combines the verdicts of the steady state and the class.
func combine(steady Verdict, class *Class) Verdict {
	if class == nil || class.Verdict == CannotTell {
		return steady
	}
	switch {
	case class.Verdict == Changed && (steady == Better || steady == Worse):
		return steady
	case steady == class.Verdict, steady == Same, steady == CannotTell:
		return class.Verdict
	}
	return Changed
}

// toFirst makes reduced.first the time from the start of the processes if all of them have it, so
// that both sides are measured alike, and returns where it begins.
func (r row) toFirst() Begin {
	all := slices.Concat(r.before, r.after)
	if slices.ContainsFunc(all, func(e reduced) bool { return e.result <= 0 }) {
		return FromIteration
	}
	for _, list := range [][]reduced{r.before, r.after} {
		for i := range list {
			list[i].first = list[i].result
		}
	}
	return FromProcess
}

// counts counts the classes of executions.
func counts(list []reduced) classify.Counts {
	classes := make([]classify.Class, len(list))
	for i := range list {
		classes[i] = list[i].Class
	}
	return classify.Count(classes)
}

// quantity is one number of an execution.
type quantity func(*reduced) float64

func ofSteady(r *reduced) float64     { return r.Value }
func ofMean(r *reduced) float64       { return r.mean }
func ofIteration(r *reduced) float64  { return r.iteration }
func ofFirst(r *reduced) float64      { return r.first }
func ofFirstTotal(r *reduced) float64 { return r.firstTotal }

// sample returns a quantity of the executions that have it.
func (r row) sample(q quantity) sample {
	of := func(list []reduced) []Observation {
		var o []Observation
		for i := range list {
			if v := q(&list[i]); !math.IsNaN(v) && !math.IsInf(v, 0) {
				o = append(o, Observation{list[i].Block(), v, list[i].Machine})
			}
		}
		return o
	}
	return sample{of(r.before), of(r.after)}
}

// besides returns the effects of a quantity that makes no verdicts; the p-values are corrected for
// its own family.
func besides(rows []row, q quantity, paired bool, o Options) []*Effect {
	samples := make([]sample, len(rows))
	for i, r := range rows {
		samples[i] = r.sample(q)
	}
	list, _ := estimates(samples, paired)
	tests, _ := test(list, 1, o)
	effects := make([]*Effect, len(list))
	for i := range tests {
		effects[i] = tests[i].describe(o)
	}
	return effects
}

// Correction is the way in which the p-values of a table are corrected for their number.
type Correction string

// The corrections.
const (
	// Holm bounds the probability that any verdict or interval of the table is false: Holm's
	// step-down (1979), of which each interval keeps a fixed share, partition.
	Holm Correction = "holm"
	// BH bounds the expected share of false verdicts among the changes reported (Benjamini and
	// Hochberg 1995; with weights Genovese, Roeder and Wasserman 2006).
	BH Correction = "bh"
	// None judges each key as if it were alone.
	None Correction = "none"
)

// ParseCorrection parses the name of a correction.
func ParseCorrection(s string) (Correction, error) {
	switch c := Correction(s); c {
	case Holm, BH, None:
		return c, nil
	}
	return "", fmt.Errorf("unknown correction %q; write holm, bh or none", s)
}

// partition is the share of its error that each test keeps for its interval, whatever the other
// tests reject. The rest is passed on by Holm's step-down. With 1 this is Bonferroni's correction,
// with 0 Holm's, whose intervals are unbounded (Stefansson, Kim and Hsu 1988; Finner and
// Strassburger 2002).
const partition = 0.4

// hypothesis is one test of a family: its p-value, and where its corrected p-value goes.
type hypothesis struct {
	p         float64
	corrected *float64
}

// adjust fills in the corrected p-values of a family that has the given share of alpha, and no
// intervals: a hypothesis is rejected when its corrected p-value is at most alpha.
func (c Correction) adjust(family []hypothesis, share float64) { c.correct(family, share, 0) }

// withIntervals is adjust for a family with intervals. It returns the error of each interval. An
// interval excludes no change only if its test rejects; if the test rejects and the interval does
// not, the interval ends at no change.
func (c Correction) withIntervals(family []hypothesis, alpha, share float64) float64 {
	c.correct(family, share, partition)
	level := c.level(alpha, share, len(family))
	switch c {
	case Holm:
		level *= partition
	case BH: // false coverage rate of the intervals of what is rejected (Benjamini and Yekutieli 2005)
		rejected := 0
		for _, h := range family {
			rejected += arith.One(*h.corrected <= alpha)
		}
		level *= float64(max(rejected, 1))
	}
	return level
}

// correct is adjust with a share of each test's error that is not passed on.
func (c Correction) correct(family []hypothesis, share, keeps float64) {
	list := slices.Clone(family)
	slices.SortStableFunc(list, func(a, b hypothesis) int { return cmp.Compare(a.p, b.p) })
	n := float64(len(list))
	switch c {
	case Holm:
		most := 0.0
		for i, h := range list {
			error := keeps/n + (1-keeps)/(n-float64(i)) // of alpha
			most = max(most, min(1, h.p/error/share))
			*h.corrected = most
		}
	case BH:
		least := 1.0
		for i := len(list) - 1; i >= 0; i-- {
			least = min(least, n*list[i].p/share/float64(i+1))
			*list[i].corrected = least
		}
	default:
		for _, h := range list {
			*h.corrected = min(1, h.p/share)
		}
	}
}

// level returns the error at which a single test of a family of n rejects whatever the others do;
// without a correction, that of a test alone.
func (c Correction) level(alpha, share float64, n int) float64 {
	if c == None {
		return alpha * share
	}
	return alpha * share / float64(max(n, 1))
}

// discrete is a hypothesis whose p-value cannot be smaller than least.
type discrete struct {
	hypothesis
	least float64
}

// attainable returns those of a family whose p-values can be significant at all: with k tests the
// most that can be at alpha/k, for the smallest such k (Tarone, "A modified Bonferroni method for
// discrete data", 1990). The others need no correction, and their corrected p-values stay 1. Which
// they are depends on totals over both sides alone, so that the choice reveals nothing of a change.
func (c Correction) attainable(family []discrete, alpha float64) []hypothesis {
	for k := 1; ; k++ {
		var can []hypothesis
		for _, d := range family {
			if d.least <= alpha/float64(k) {
				can = append(can, d.hypothesis)
			}
		}
		if len(can) <= k || c == None {
			return can
		}
	}
}
