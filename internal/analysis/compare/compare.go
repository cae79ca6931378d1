// Package compare compares two experiments key by key: the classes, the iterations until the steady
// state, and the steady-state performance.
//
// The comparison is symmetric: when the experiments are exchanged, better becomes worse and a ratio
// its reciprocal. Two rules are applied to the steady-state performance:
//
//   - Intervals, the rule of warmup_stats' diffs: the confidence intervals of the two experiments
//     do not overlap. They cover the mean of one execution (package bootstrap), so this detects
//     only large changes.
//   - Ratio: the confidence interval of after/before from a bootstrap over executions and
//     iterations (Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013). It is
//     extended to Welch's t interval of the executions' means where that is wider, because a
//     bootstrap over few executions is too narrow. The level is corrected for the number of keys
//     (Bonferroni), so that the confidence holds for the whole table. An interval entirely below 1
//     is better, entirely above 1 worse, and entirely within the margin around 1 the same.
//     Otherwise the result is inconclusive.
//
// The effect size is Cliff's delta of the executions' steady means.
package compare

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/quantile"
	"krund/internal/analysis/steady"
	"krund/internal/analysis/warmup"
	"krund/internal/key"
)

// ErrDifferent reports that two analyses cannot be compared.
var ErrDifferent = errors.New("these analyses cannot be compared")

// Side is one of the two experiments: its data and their analysis.
type Side struct {
	Doc  *warmup.Document
	Data *dataset.Dataset
}

// Options of Of. The zero value is valid.
type Options struct {
	Confidence float64 // of the whole table; 0: 0.99
	Margin     float64 // ratios within 1±Margin count as the same; 0: 0.01
	Resamples  int     // of each ratio; 0: derived from the corrected level, at least 10,000
	Workers    int     // goroutines; below 2: one; does not affect the result
}

// Result is the comparison of two experiments.
type Result struct {
	Before     warmup.Source `json:"before"`
	After      warmup.Source `json:"after"`
	Unit       string        `json:"unit"`
	Confidence float64       `json:"confidence"` // of the table
	Tests      int           `json:"tests"`      // number of ratios in the table
	Level      float64       `json:"level"`      // confidence of each interval
	Margin     float64       `json:"margin"`
	// keys in the order of before, followed by those that occur only in after
	Changes  []Change         `json:"changes"`
	Counts   map[Verdict]int  `json:"counts"` // of the keys' verdicts
	Warnings []warmup.Warning `json:"warnings"`
}

// Change is the comparison of one key.
type Change struct {
	Key    string             `json:"key"`
	Before classify.PairClass `json:"classification_before"`
	After  classify.PairClass `json:"classification_after"`
	// OnlyIn is "before" or "after" for keys that occur in only one experiment.
	OnlyIn string `json:"only_in"`

	Classification  Verdict  `json:"classification"`
	SteadyIteration Interval `json:"steady_iteration"`
	SteadySeconds   Interval `json:"steady_seconds"`
	Performance     Interval `json:"steady_performance_intervals"`
	Ratio           Ratio    `json:"steady_performance_ratio"`

	Verdict  Verdict          `json:"verdict"` // of the key: see overall
	Warnings []warmup.Warning `json:"warnings"`
}

// Interval compares intervals: they differ if they do not overlap. Before and After are {median,
// 5th, 95th percentile}, or {mean, low, high}; if either is nil, the verdict is CannotTell.
type Interval struct {
	Before  *quantile.Spread `json:"before"`
	After   *quantile.Spread `json:"after"`
	Verdict Verdict          `json:"verdict"`
}

// Of compares two experiments. The errors wrap ErrDifferent.
func Of(before, after Side, o Options) (*Result, error) {
	if err := alike(before, after); err != nil {
		return nil, err
	}
	if o.Confidence == 0 {
		o.Confidence = 0.99
	}
	if o.Margin == 0 {
		o.Margin = 0.01
	}
	r := &Result{
		Before: before.Doc.Source, After: after.Doc.Source, Unit: before.Doc.Unit,
		Confidence: o.Confidence, Margin: o.Margin, Changes: []Change{}, Counts: map[Verdict]int{},
		Warnings: []warmup.Warning{},
	}
	r.Tests = tests(before.Doc, after.Doc)
	r.Level = 1 - (1-o.Confidence)/float64(max(r.Tests, 1))
	var jobs []func() // each computes one change
	for i := range before.Doc.Pairs {
		p := &before.Doc.Pairs[i]
		q := find(after.Doc, p.ParsedKey())
		if q < 0 {
			r.Changes = append(r.Changes, only(p, "before"))
			continue
		}
		at := len(r.Changes)
		r.Changes = append(r.Changes, Change{})
		jobs = append(jobs, func() {
			r.Changes[at] = change(
				half{p, &before.Data.Pairs[i], before.Doc.Parameters.Column},
				half{&after.Doc.Pairs[q], &after.Data.Pairs[q], after.Doc.Parameters.Column}, r.Level, o)
		})
	}
	for i := range after.Doc.Pairs {
		if p := &after.Doc.Pairs[i]; find(before.Doc, p.ParsedKey()) < 0 {
			r.Changes = append(r.Changes, only(p, "after"))
		}
	}
	do(jobs, o.Workers)
	for _, c := range r.Changes {
		r.Counts[c.Verdict]++
	}
	if before.Doc.Source.Machine != after.Doc.Source.Machine {
		r.Warnings = append(r.Warnings, warmup.Warning{Code: "machines", Text: fmt.Sprintf(
			"before was measured on %q and after on %q: a change may be the machine's; measure both on one",
			before.Doc.Source.Machine, after.Doc.Source.Machine)})
	}
	return r, nil
}

// do executes the jobs on the given number of goroutines.
func do(jobs []func(), workers int) {
	queue := make(chan func())
	var group sync.WaitGroup
	for range max(workers, 1) {
		group.Go(func() {
			for job := range queue {
				job()
			}
		})
	}
	for _, job := range jobs {
		queue <- job
	}
	close(queue)
	group.Wait()
}

// alike returns an error when the two analyses are not of the same kind.
func alike(before, after Side) error {
	p, q := before.Doc.Parameters, after.Doc.Parameters
	for _, c := range []struct {
		what string
		a, b any
	}{
		{"column", p.Column, q.Column}, {"unit", before.Doc.Unit, after.Doc.Unit}, {"mode", p.Mode,
			q.Mode}, {"delta", p.Delta, q.Delta},
		{"steady", p.Steady, q.Steady}, {"window", p.Window, q.Window}, {"penalty", p.Penalty,
			q.Penalty}, {"cost", p.Cost, q.Cost},
	} {
		if c.what == "unit" && (len(before.Doc.Pairs) == 0 || len(after.Doc.Pairs) == 0) {
			continue
		}
		if c.a != c.b {
			return fmt.Errorf("%w: before has %s %v, after %v; analyze both with the same options",
				ErrDifferent, c.what, c.a, c.b)
		}
	}
	for _, s := range []Side{before, after} {
		if len(s.Doc.Pairs) != len(s.Data.Pairs) {
			return fmt.Errorf("%w: the analysis of %s is of other data", ErrDifferent, s.Doc.Source.Name)
		}
		for i := range s.Doc.Pairs {
			if s.Doc.Pairs[i].ParsedKey() != s.Data.Pairs[i].Key ||
				len(s.Doc.Pairs[i].Executions) != len(s.Data.Pairs[i].Executions) {
				return fmt.Errorf("%w: the analysis of %s is of other data", ErrDifferent, s.Doc.Source.Name)
			}
		}
	}
	return nil
}

func find(d *warmup.Document, k key.Key) int {
	for i := range d.Pairs {
		if d.Pairs[i].ParsedKey() == k {
			return i
		}
	}
	return -1
}

// tests counts the keys with steady-state performance on both sides.
func tests(before, after *warmup.Document) int {
	n := 0
	for i := range before.Pairs {
		q := find(after, before.Pairs[i].ParsedKey())
		if q >= 0 && before.Pairs[i].SteadyPerformance != nil && after.Pairs[q].SteadyPerformance != nil {
			n++
		}
	}
	return n
}

func only(p *warmup.Pair, side string) Change {
	none := Interval{Verdict: CannotTell}
	c := Change{
		Key: p.Key, OnlyIn: side, Classification: CannotTell, SteadyIteration: none, SteadySeconds: none,
		Performance: none,
		Ratio:       Ratio{Verdict: CannotTell}, Verdict: CannotTell,
		Warnings: []warmup.Warning{{Code: "only_one", Text: "only " + side + " has this key"}},
	}
	c.Before = p.Classification
	if side == "after" {
		c.Before, c.After = "", p.Classification
	}
	return c
}

// half is a key in one experiment.
type half struct {
	pair   *warmup.Pair
	data   *dataset.Pair
	column string
}

func change(before, after half, level float64, o Options) Change {
	p, q := before.pair, after.pair
	c := Change{
		Key: p.Key, Before: p.Classification, After: q.Classification,
		Classification:  classes(p.Classification, q.Classification),
		SteadyIteration: intervals(steadyFrom(p, p.SteadyIteration, 1), steadyFrom(q, q.SteadyIteration, 1)),
		SteadySeconds:   intervals(steadyFrom(p, p.SteadySeconds, 0), steadyFrom(q, q.SteadySeconds, 0)),
		Performance:     intervals(performance(p), performance(q)),
		Warnings:        []warmup.Warning{},
	}
	c.Ratio = ratio(before, after, level, o)
	if c.Ratio.Reason != "" {
		c.Warnings = append(c.Warnings, warmup.Warning{Code: "ratio", Text: c.Ratio.Reason})
	}
	c.Verdict = overall(&c)
	return c
}

// steadyFrom returns the iterations until the steady state of a pair. Pairs that are consistently
// flat are steady from the first iteration.
func steadyFrom(p *warmup.Pair, s *quantile.Spread, flat float64) *quantile.Spread {
	if s == nil && p.Classification == classify.PairClass(classify.Flat) {
		return &quantile.Spread{Median: flat, P5: flat, P95: flat}
	}
	return s
}

func performance(p *warmup.Pair) *quantile.Spread {
	if p.SteadyPerformance == nil {
		return nil
	}
	return &quantile.Spread{Median: p.SteadyPerformance.Mean, P5: p.SteadyPerformance.Low,
		P95: p.SteadyPerformance.High}
}

// steadyValues returns the values of each steady execution by segment.
func (h half) steadyValues() [][][]float64 {
	var values [][][]float64
	for i := range h.pair.Executions {
		e := &h.pair.Executions[i]
		if e.Steady == nil {
			continue
		}
		series, _ := h.data.Executions[i].Values(h.column)
		if len(series) == e.Iterations {
			values = append(values, steady.Values(series, e.Outliers, e.Steady.Ranges))
		}
	}
	return values
}

// meanOf is the mean of all values of an execution.
func meanOf(segments [][]float64) float64 {
	sum, n := 0.0, 0
	for _, s := range segments {
		for _, v := range s {
			sum += v
		}
		n += len(s)
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}
