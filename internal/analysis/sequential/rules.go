package sequential

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/similarity"
	"krund/internal/experiment/key"
	"krund/internal/experiment/stop"
)

// Policy is when a key needs no more executions: when all rules are answered.
type Policy struct {
	Rules   []stop.Rule
	Minimum int // executions of each key before that; with arms, of each arm
	// Alpha bounds the error: the probability that any verdict or class of the table is ever false,
	// and the expected share of the levels whose interval ever misses.
	Alpha     float64
	HalfWidth float64 // wanted, relative: 0.01 is ± 1 %
	Margin    float64 // smallest change that counts
	// Usual is the standard deviation of the logarithms that executions of the other keys usually
	// have: see UsualOf. 0: unknown.
	Usual float64
	// Keep is for the replay: every so many keys are measured to the end, as by stop.keep; 0: none.
	Keep int
}

// Key is a key with the executions that count, in the order in which they were measured.
type Key struct {
	Name       key.Key
	Null       bool // a second copy of the base
	Executions []Execution
	Records    []string // names of the records of the executions
}

// Execution is an execution with what a rule or the replay may ask beside its value.
type Execution struct {
	compare.Execution
	Series  []float64 // nil: not read
	Seconds float64   // that it took, with its boot; only the replay reads them
}

// Group is a key, or all arms of a key, the base first.
type Group []Key

// first returns the group with the executions that have a number of at most n.
func (g Group) first(n int) Group {
	cut := make(Group, len(g))
	for i, k := range g {
		at := len(k.Executions)
		for at > 0 && k.Executions[at-1].Number > n {
			at--
		}
		cut[i] = k
		cut[i].Executions = k.Executions[:at]
	}
	return cut
}

// last is the largest number of an execution.
func (g Group) last() int {
	last := 0
	for _, k := range g {
		for _, e := range k.Executions {
			last = max(last, e.Number)
		}
	}
	return last
}

// without returns the group without its executions after the n-th, up to the one with the number
// until; 0: all others.
func (g Group) without(n, until int) Group {
	cut := g.first(n)
	for i, k := range g {
		for _, e := range k.Executions {
			if until > 0 && e.Number > max(n, until) {
				cut[i].Executions = append(slices.Clip(cut[i].Executions), e)
			}
		}
	}
	return cut
}

// fewest is the number of executions of the key with the fewest.
func (g Group) fewest() int {
	n := len(g[0].Executions)
	for _, k := range g {
		n = min(n, len(k.Executions))
	}
	return n
}

// Statements returns the number of statements of the table whose error adds up: verdicts, one for
// each arm besides the base, and classes. A null arm has a verdict and no class.
func (p Policy) Statements(groups []Group) int {
	n := 0
	for _, g := range groups {
		for i, k := range g {
			if i > 0 && p.asks(stop.Verdict) {
				n++
			}
			if !k.Null && p.asks(stop.Class) {
				n++
			}
		}
	}
	return max(n, 1)
}

func (p Policy) asks(r stop.Rule) bool { return slices.Contains(p.Rules, r) }

// Decide decides about a group; statements is the number of those of the whole table. The result
// depends on nothing else. Records and the names of the experiment are left to the caller.
func (p Policy) Decide(g Group, statements int) stop.Group {
	d := stop.Group{Executions: g.fewest(), Questions: []stop.Question{}, Records: []string{}}
	for _, k := range g {
		d.Keys = append(d.Keys, k.Name.String())
		d.Records = append(d.Records, k.Records...)
	}
	if d.Executions < p.Minimum {
		d.Reason = fmt.Sprintf("%d of at least %d executions", d.Executions, p.Minimum)
		return d
	}
	level := p.Alpha / float64(statements)
	for _, r := range p.Rules {
		for i, k := range g {
			switch {
			case r == stop.Verdict && i > 0:
				d.Questions = append(d.Questions, p.verdict(g[0], k, level))
			case r == stop.Verdict || k.Null:
			case r == stop.HalfWidth:
				d.Questions = append(d.Questions, p.halfWidth(k))
			case r == stop.Class:
				d.Questions = append(d.Questions, class(k, level))
			case r == stop.Similar:
				d.Questions = append(d.Questions, similar(k))
			}
		}
	}
	d.Finish = len(d.Questions) > 0
	for _, q := range d.Questions {
		d.Finish = d.Finish && q.Answered
	}
	for _, q := range d.Questions {
		if q.Answered != d.Finish {
			continue
		}
		const most = 800 // bytes; the questions have the rest
		if d.Reason != "" && len(d.Reason)+len(q.Text) < most {
			d.Reason += "; "
		}
		if len(d.Reason)+len(q.Text) < most {
			d.Reason += q.Text
		}
	}
	return d
}

// cautious is SampleOf with at least the variance that the rounding of the values explains. also
// are values that belong to the same grid.
func cautious(values []float64, also ...float64) Sample {
	s := SampleOf(values)
	if s.Variance > 0 {
		s.Variance = max(s.Variance, compare.Rounding(slices.Concat(values, also)))
	}
	return s
}

// halfWidth asks whether the level of a key, the geometric mean of its executions, is known.
func (p Policy) halfWidth(k Key) stop.Question {
	q := stop.Question{Rule: stop.HalfWidth, Key: k.Name.String(), Alpha: stop.Number(p.Alpha)}
	s, close, ok := p.level(k)
	half := s.Half(p.Alpha)
	switch {
	case !ok:
		q.Text = name(k) + "a value is not positive"
		return q
	case !s.known():
		q.Text = name(k) + "all executions are equal, so nothing is known about their variation"
		return q
	case math.IsInf(half, 1):
		q.Text = name(k) + "too few executions for an interval of the level"
	default:
		q.Text = fmt.Sprintf("%sthe level is known to ± %s", name(k), compare.Percent(math.Expm1(half)))
	}
	if close {
		q.Text += fmt.Sprintf(
			"; its executions agree far more closely than those of other keys (usually %s), "+
				"as they do in one of several states, so half of that is assumed",
			compare.Percent(math.Expm1(p.Usual)),
		)
	}
	q.Answered = math.Expm1(half) <= p.HalfWidth
	interval(&q, s.Mean, half)
	return q
}

// interval fills in the estimate, and the interval if it is finite.
func interval(q *stop.Question, mean, half float64) {
	q.Estimate = stop.Number(math.Exp(mean))
	if high := math.Exp(mean + half); !math.IsInf(high, 1) {
		q.Low, q.High = stop.Number(math.Exp(mean-half)), &high
	}
}

// levelOf summarizes the logarithms of the executions; ok is false if one is not positive.
func levelOf(k Key) (s Sample, ok bool) {
	list := make([]float64, len(k.Executions))
	for i, e := range k.Executions {
		if !(e.Value > 0) {
			return s, false
		}
		list[i] = math.Log(e.Value)
	}
	return cautious(list), true
}

// level is levelOf with at least a share of the usual variation. close reports that it has less:
// then its executions may be of one state of several, and those of other states still to come.
func (p Policy) level(k Key) (s Sample, close, ok bool) {
	const least = 0.5
	s, ok = levelOf(k)
	floor := least * p.Usual * least * p.Usual
	if close = s.known() && s.Variance < floor; close {
		s.Variance = floor
	}
	return s, close, ok
}

// spread is the standard deviation between the executions of a key of a group, as logarithms.
type spread struct {
	group int
	sd    float64
}

// spreadsOf returns the spreads of the keys with enough executions, the smallest first.
func spreadsOf(groups []Group) []spread {
	const fewest = 3
	var list []spread
	for i, g := range groups {
		for _, k := range g {
			if s, ok := levelOf(k); ok && s.N >= fewest && s.known() {
				list = append(list, spread{i, math.Sqrt(s.Variance)})
			}
		}
	}
	slices.SortFunc(list, func(a, b spread) int { return cmp.Compare(a.sd, b.sd) })
	return list
}

// medianOfOthers returns the median of the spreads of all groups but one, 0 if they are too few to
// say what is usual.
func medianOfOthers(list []spread, group int) float64 {
	const fewest = 5
	others := slices.DeleteFunc(slices.Clone(list), func(s spread) bool { return s.group == group })
	if len(others) < fewest {
		return 0
	}
	return others[len(others)/2].sd
}

// UsualOf returns what Policy.Usual is for a group: the median over the keys of all other groups; 0
// if fewer than five of them have three executions.
func UsualOf(groups []Group, group int) float64 {
	return medianOfOthers(spreadsOf(groups), group)
}

// name begins a sentence about an arm.
func name(k Key) string {
	if k.Name.Arm == "" {
		return ""
	}
	return k.Name.Arm + ": "
}

// verdict asks whether an arm is better, worse or the same as the base, by the differences of the
// logarithms within the blocks. Of a null arm it asks whether it may be the same.
func (p Policy) verdict(base, arm Key, level float64) stop.Question {
	q := stop.Question{Rule: stop.Verdict, Key: arm.Name.String(), Alpha: stop.Number(level)}
	differences, ok := differences(base, arm)
	s := cautious(differences, 0)
	half := s.Half(level)
	switch {
	case !ok:
		q.Text = name(arm) + "a value is not positive"
		return q
	case !s.known():
		q.Text = name(arm) + "too few blocks, or all differences are equal: their variation is not known"
		return q
	}
	interval(&q, s.Mean, half)
	q.LogE = stop.Number(s.LogE(0))
	margin := math.Log1p(p.Margin)
	v := compare.CannotTell
	switch {
	case math.Abs(s.Mean)+half < margin:
		v = compare.Same
	case math.Abs(s.Mean) <= half || math.Abs(s.Mean) < margin:
	case s.Mean < 0:
		v = compare.Better
	default:
		v = compare.Worse
	}
	known := "no interval yet"
	if q.High != nil && q.Estimate != nil {
		known = fmt.Sprintf("ratio %.4g, %.4g to %.4g", *q.Estimate, *q.Low, *q.High)
	}
	if arm.Null {
		q.Answered = math.Abs(s.Mean) <= half
		q.Text = fmt.Sprintf("%sa copy of the base, may be the same (%s)", name(arm), known)
		if !q.Answered {
			q.Text = fmt.Sprintf("%sa copy of the base, differs from it (%s)", name(arm), known)
		}
		return q
	}
	q.Answered = v != compare.CannotTell
	q.Text = fmt.Sprintf("%s%s (%s)", name(arm), v, known)
	return q
}

// differences returns arm - base of the logarithms, of the executions that both have, by number.
func differences(base, arm Key) (list []float64, ok bool) {
	before := map[int]float64{}
	for _, e := range base.Executions {
		before[e.Block()] = e.Value
	}
	for _, e := range arm.Executions {
		b, both := before[e.Block()]
		if !both {
			continue
		}
		if !(b > 0 && e.Value > 0) {
			return nil, false
		}
		list = append(list, math.Log(e.Value)-math.Log(b))
	}
	return list, true
}

// class asks whether most executions of a key are of one class. The error is shared among the
// classes.
func class(k Key, level float64) stop.Question {
	q := stop.Question{Rule: stop.Class, Key: k.Name.String(), Alpha: stop.Number(level)}
	of, most, n := majority(k.Executions)
	if n == 0 {
		q.Text = name(k) + "no execution could be classified"
		return q
	}
	log := LogMajority(most, n)
	q.Estimate, q.LogE = stop.Number(float64(most)/float64(n)), stop.Number(log)
	needed := math.Log(float64(len(classify.Classes)) / level)
	q.Answered = log >= needed
	q.Text = fmt.Sprintf("%s%d of %d executions are %s", name(k), most, n, of)
	if more := missing(most, n, needed); !q.Answered && more > 0 {
		q.Text += fmt.Sprintf("; %d more of that class would show that most are", more)
	}
	return q
}

// missing returns how many executions more, all of the class that most of n have, make the e-value
// of LogMajority large enough; 0 if it is, or if thousands are not enough.
func missing(most, n int, needed float64) int {
	const enough = 10_000
	for more := range enough {
		if LogMajority(most+more, n+more) >= needed {
			return more
		}
	}
	return 0
}

// majority returns the class of most executions, their number, and that of all with a class.
func majority(list []Execution) (of classify.Class, most, n int) {
	classes := make([]classify.Class, len(list))
	for i, e := range list {
		classes[i] = e.Class
	}
	counts := classify.Count(classes)
	for _, c := range classify.Classes {
		if counts.Of(c) > most {
			of, most = c, counts.Of(c)
		}
	}
	return of, most, counts.Total()
}

// similar asks whether the executions of a key resemble each other. They do not if both methods of
// package similarity say so.
func similar(k Key) stop.Question {
	q := stop.Question{Rule: stop.Similar, Key: k.Name.String()}
	series := make([][]float64, len(k.Executions))
	for i, e := range k.Executions {
		series[i] = e.Series
	}
	r, err := similarity.Of(series, nil, similarity.Options{})
	switch {
	case err != nil || r.Same == nil:
		q.Text = name(k) + "the executions cannot be compared"
	case r.Verdict == similarity.Dissimilar && r.Same.Verdict == similarity.Dissimilar:
		q.Text = name(k) + "the executions are unlike"
	default:
		q.Answered = true
		q.Text = name(k) + "the executions are alike"
	}
	return q
}

// Changed reports why the machine is not the one at which keys were finished; "" if nothing shows
// that. kept are keys that are measured to the end (stop.keep). Each of them whose level [stop]
// would have known by now must still be within the interval that it had then; of levels that do not
// change, at most Alpha leave it. Two, and a fifth of them, are a change.
func (p Policy) Changed(kept []Group) string {
	if !p.asks(stop.HalfWidth) {
		return "" // differences within blocks do not contain the machine, classes have no level
	}
	const fewest, share = 2, 0.2
	watched, gone := 0, 0
	for _, g := range kept {
		for _, k := range g {
			n := p.knownAfter(k)
			if n == len(k.Executions) {
				continue
			}
			watched++
			now, _ := levelOf(k)
			k.Executions = k.Executions[:n]
			then, _ := levelOf(k)
			if math.Abs(now.Mean-then.Mean) > then.Half(p.Alpha) {
				gone++
			}
		}
	}
	if gone < fewest || float64(gone) <= share*float64(watched) {
		return ""
	}
	return fmt.Sprintf("the machine has changed: of %d kept keys whose level was known, %d have left its "+
		"interval", watched, gone)
}

// knownAfter returns the number of executions after which the level of a key was known as well as
// wanted: all, if it never was.
func (p Policy) knownAfter(k Key) int {
	all := k.Executions
	for n := p.Minimum; n < len(all); n++ {
		k.Executions = all[:n]
		if p.halfWidth(k).Answered {
			return n
		}
	}
	return len(all)
}
