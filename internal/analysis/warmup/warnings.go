package warmup

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/experiment/results"
)

// Codes of warnings.
const (
	warnNoExecutions = "no_executions"
	warnMissing      = "executions_missing"
	warnFew          = "few_executions"
	warnLengths      = "unequal_lengths"
	warnShort        = "few_iterations"
	warnDelta        = "below_delta"
	warnZero         = "zero_durations"
	warnDependence   = "dependence"
	warnRounding     = "rounding"
	warnTooShort     = "too_short"
	warnUnit         = "unit"
	warnSource       = "source"
	warnInstrument   = "instrumented"
	warnStopped      = "stopped_early"
	warnLoop         = "loop_share"
)

// WarnPrograms is the code of the warning about keys that were measured with different programs,
// which outputs begin with.
const WarnPrograms = "programs"

// WarnGroups is the code of the warning about executions that fall into two groups.
const WarnGroups = "two_groups"

const (
	// fewExecutions is the number from which the study's results resemble those of 30 executions
	// (section 9.1.2), fewIterations the number below which windows of a tenth are shorter than 20
	// iterations.
	fewExecutions = 10
	fewIterations = 200
	// leastIterations are those of the shortest series in which changepoints are looked for.
	leastIterations = 4
	// roundingVariance is the variance relative to the squared mean below which a variance computed
	// from sums of squares has no correct digit.
	roundingVariance = 0x1p-50
)

// pairWarnings lists the circumstances that weaken the result of an analyzed pair.
func pairWarnings(w *prepared, p Parameters) []Warning {
	r := &w.result
	var list []Warning
	warn := func(code, format string, args ...any) {
		list = append(list, Warning{code, fmt.Sprintf(format, args...)})
	}
	if text := LoopText(w.pair.Executions); text != "" {
		warn(warnLoop, "%s", text)
	}
	done, all := r.Status.Analysed, len(r.Executions)
	switch {
	case all == 0:
		warn(warnNoExecutions, "it has no executions")
		return list
	case done == 0 && r.Levels != nil && longest(r.Executions) < leastIterations:
		warn(warnTooShort, "its executions have fewer than %d iterations, too few for a class and a steady "+
			"state; median, mean and comparisons are of whole executions",
			leastIterations)
		return list
	case done == 0:
		warn(warnNoExecutions, "none of the %d executions can be analyzed; each gives a reason", all)
		return list
	}
	if r.Instrument != "" {
		warn(warnInstrument, "%s: the program is slower, or faster, than without; do not compare it with "+
			"series that were not", dataset.InstrumentText(r.Instrument))
	}
	if done < all {
		others, text := 0, ""
		for i := range r.Executions {
			others += arith.One(r.Executions[i].Outcome == string(dataset.OtherPrograms))
		}
		if others > 0 {
			text = fmt.Sprintf("%d with other programs, ", others)
		}
		warn(warnMissing, "%d of %d executions left out (%s%d not completed, %d without iterations, %d "+
			"refused); the remaining executions may not be representative",
			all-done, all, text, r.Status.NotCompleted-others, r.Status.NoIterations, r.Status.Refused)
	}
	if done < fewExecutions {
		warn(warnFew, "with fewer than %d executions (%d) the consistency of the pair is uncertain; "+
			"measure more", fewExecutions, done)
	}
	if text := w.groupsText(); text != "" {
		warn(WarnGroups, "%s", text)
	}
	if r.Iterations == nil {
		warn(warnLengths, "the executions have different numbers of iterations; windows and classes are "+
			"not comparable between them")
	}
	c := countWeak(w, p)
	if c.short > 0 {
		warn(warnShort, "%d of %d executions have fewer than %d iterations; changepoints and outliers are "+
			"uncertain in short series", c.short, done, fewIterations)
	}
	if c.below > 0 {
		warn(warnDelta, "%d of %d executions have a last segment whose mean is below the delta of %s, "+
			"so that no change of a mean can count; make iterations longer, or use mode relative or a delta "+
			"in percent", c.below, done, p.Delta.In(dataset.Seconds))
	}
	if c.zero > 0 {
		warn(warnZero, "%d of %d executions have iterations of zero duration: the clock is too coarse; "+
			"make iterations longer", c.zero, done)
	}
	if c.dependent > 0 {
		warn(warnDependence, "%d of %d executions have a segment whose iterations depend on each other; "+
			"the confidence interval is too narrow for positive, too wide for negative correlation",
			c.dependent, done)
	}
	if c.rounded > 0 {
		warn(warnRounding, "in %d of %d executions the variance of a segment is so small relative to its "+
			"mean that rounding decides its changepoints; compare with mode relative", c.rounded, done)
	}
	return list
}

// LoopText describes the completed executions whose iterations may not be the work of the
// benchmark: those that do not cover the loop, or else those of another doubt; "" without any.
func LoopText(executions []dataset.Execution) string {
	completed, doubtful, doubt := 0, 0, ""
	var worst *dataset.Loop
	uncovered := 0
	for i := range executions {
		e := &executions[i]
		if e.Outcome != results.Completed {
			continue
		}
		completed++
		if text := e.Doubt(); text != "" {
			doubtful++
			doubt = cmp.Or(doubt, text)
		}
		if !e.Uncovered() {
			continue
		}
		if uncovered++; worst == nil || e.Loop.Share() < worst.Share() {
			worst = e.Loop
		}
	}
	if worst == nil && doubtful > 0 {
		return fmt.Sprintf("in %d of %d executions %s", doubtful, completed, doubt)
	}
	if worst == nil {
		return ""
	}
	return fmt.Sprintf("in %d of %d executions the iterations cover less than %.0f %% of the loop, at worst "+
		"%.2g %% (%.2g s inside and %.2g s outside, per iteration); what the program does between its "+
		"iterations is in no number here", uncovered, completed, 100*dataset.LeastShare, 100*worst.Share(),
		worst.Measured, worst.Outside)
}

// weak counts executions by what weakens their results.
type weak struct{ short, below, zero, dependent, rounded int }

func countWeak(w *prepared, p Parameters) weak {
	var c weak
	for i := range w.result.Executions {
		e := &w.result.Executions[i]
		if e.Status != Analysed {
			continue
		}
		c.short += arith.One(e.Iterations < fewIterations)
		c.dependent += arith.One(slices.ContainsFunc(e.Segments, func(s Segment) bool { return s.Dependent }))
		if w.series[i].unit == dataset.Seconds {
			c.zero += arith.One(slices.Contains(w.series[i].values, 0))
		}
		if p.Mode == classify.Paper {
			c.below += arith.One(!p.Delta.Percent && e.Segments[len(e.Segments)-1].Mean < p.Delta.Value &&
				w.series[i].unit == dataset.Seconds)
			even := func(s Segment) bool { return s.Variance < s.Mean*s.Mean*roundingVariance }
			c.rounded += arith.One(len(e.Segments) > 1 && slices.ContainsFunc(e.Segments, even))
		}
	}
	return c
}

// longest is the number of iterations of the longest execution.
func longest(executions []Execution) int {
	n := 0
	for i := range executions {
		n = max(n, executions[i].Iterations)
	}
	return n
}

// documentWarnings lists the circumstances that concern every pair.
func documentWarnings(d *Document, problems []string) []Warning {
	list := []Warning{}
	if d.Source.Programs != "" {
		list = append(list, Warning{WarnPrograms, d.Source.Programs})
	}
	for _, problem := range problems {
		list = append(list, Warning{warnSource, problem})
	}
	if d.Parameters.Mode == classify.Paper && d.Unit != dataset.Seconds && len(d.Pairs) > 0 {
		unit := d.Unit
		unit = cmp.Or(unit, "a count")
		list = append(list, Warning{warnUnit,
			fmt.Sprintf("mode paper compares variances and a delta of %s with means as if all were "+
				"seconds, but %s is %s; use mode relative", d.Parameters.Delta.In(dataset.Seconds),
				d.Parameters.Column, unit)})
	}
	return list
}

// stoppedWarnings names the keys of the document that were finished early, with the reasons.
func stoppedWarnings(d *Document, stopped []dataset.Stopped) []Warning {
	var list []Warning
	for _, s := range stopped {
		if slices.ContainsFunc(d.Pairs, func(p Pair) bool { return slices.Contains(s.Keys, p.Key) }) {
			list = append(list, Warning{warnStopped, fmt.Sprintf("%s was finished after %d executions, and "+
				"the rest was skipped as not needed: %s", s.Keys[0], s.Executions, s.Reason)})
		}
	}
	return list
}

// warnControl is the code of warnings about rounds in which a negative control changed.
const warnControl = "negative_control"

// A round's level of a negative control has moved when its modified z-score, 0.6745 (x - median) /
// MAD, exceeds 3.5 (Iglewicz and Hoaglin: How to Detect and Handle Outliers, 1993, p. 11). x is the
// logarithm of the level. Fewer rounds than leastRounds have no usable MAD.
const (
	mostScore   = 3.5
	scoreFactor = 0.6745
	leastRounds = 5
)

// controlWarnings names the rounds in which a negative control was not flat, or in which its level
// was not that of the other rounds: what was measured in them is to be doubted. keys are the
// controls.
func controlWarnings(d *Document, keys []string) []Warning {
	var list []Warning
	for i := range d.Pairs {
		p := &d.Pairs[i]
		if !slices.Contains(keys, p.Key) {
			continue
		}
		var unsteady, moved []string
		median, mad := centre(logs(p))
		for j := range p.Executions {
			e := &p.Executions[j]
			if e.Status != Analysed {
				continue
			}
			if e.Classification != classify.Flat {
				unsteady = append(unsteady, fmt.Sprintf("%d (%s)", e.Number, e.Classification))
			}
			if e.Level == nil || mad == 0 {
				continue
			}
			if x := math.Log(e.Level.Value) - median; math.Abs(x)*scoreFactor/mad > mostScore {
				moved = append(moved, fmt.Sprintf("%d (%+.2g %%)", e.Number, 100*math.Expm1(x)))
			}
		}
		list = append(list, roundsWarning(p.Key, "was not flat", unsteady)...)
		list = append(list, roundsWarning(p.Key, "took another time than in the other rounds", moved)...)
	}
	return list
}

func roundsWarning(key, what string, rounds []string) []Warning {
	if len(rounds) == 0 {
		return nil
	}
	return []Warning{{warnControl, fmt.Sprintf("the negative control %s %s: round %s; the machine changed "+
		"in these rounds, so doubt the other executions in them", key, what, strings.Join(rounds, ", "))}}
}

// logs returns the logarithms of the levels of a pair's executions.
func logs(p *Pair) []float64 {
	var list []float64
	for i := range p.Executions {
		if e := &p.Executions[i]; e.Status == Analysed && e.Level != nil && e.Level.Value > 0 {
			list = append(list, math.Log(e.Level.Value))
		}
	}
	return list
}

// centre returns the median and the median absolute deviation; a deviation of 0 if there are too
// few values for one.
func centre(values []float64) (median, mad float64) {
	if len(values) < leastRounds {
		return 0, 0
	}
	median = arith.MedianOf(values)
	deviations := make([]float64, len(values))
	for i, v := range values {
		deviations[i] = math.Abs(v - median)
	}
	return median, arith.MedianOf(deviations)
}
