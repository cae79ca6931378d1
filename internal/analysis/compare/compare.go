// Package compare compares two sides, two experiments or two arms of one, key by key, in one table
// with one bound on the probability of a false verdict.
//
// A process execution is the unit: it is reduced to one number by a rule that looks at it alone, so
// that executions are exchangeable between the sides when nothing has changed. The logarithms of
// these numbers are compared by a t test whose variance is shrunk towards those of the other keys;
// in a blocked experiment the differences within the blocks are tested. The classes of the
// executions are compared by an exact test. Each kind of test has a share of the error of the
// table, and its p-values are corrected for the number of keys. A key is the same only if an
// equivalence test shows it. docs/statistics.md explains the methods and how they were chosen.
//
// The comparison is symmetric: when the sides are exchanged, better becomes worse and a ratio its
// reciprocal. Start reading at [Of]; table.go has the decisions, effect.go the test.
package compare

import (
	"cmp"
	"errors"
	"fmt"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
)

// ErrDifferent reports that two analyses cannot be compared.
var ErrDifferent = errors.New("these analyses cannot be compared")

// Side is an experiment or one arm of it: its data and their analysis, with the same keys and
// executions in the same order.
type Side struct {
	Doc  *warmup.Document
	Data *dataset.Dataset
	// Arm is the name of the arm whose keys are compared, by their names without it; "" compares
	// all keys.
	Arm string
}

// Options of Of. The zero value is valid.
type Options struct {
	Confidence float64    // of the whole table; 0: 0.95
	Margin     float64    // smallest change that counts: 0.01 is 1 %; 0: 0.01
	Correction Correction // "": Holm
	// Paired compares by block: the executions of both sides with the same number.
	Paired bool
	// FirstIterations is the number of iterations that count as the cost of warming up; 0: 100.
	FirstIterations int
	// Null is a second copy of before; nil: none.
	Null *Side
	// Splits is the number of tables for the calibration; 0: no calibration.
	Splits int
	// Inject is a slowdown, 0.01 is 1 %, of which Splits such tables say how often it would have
	// been found, in place of the calibration; 0: none.
	Inject float64
	Seed   uint64 // of the tables

	copies   [][]Observation // the executions of Null, by row
	together bool            // both sides are of one experiment, measured in turns
}

// Defaults of Options.
const (
	DefaultConfidence      = 0.95
	DefaultMargin          = 0.01
	DefaultFirstIterations = 100
	DefaultSplits          = 1000
)

func (o Options) withDefaults() Options {
	o.Confidence = cmp.Or(o.Confidence, DefaultConfidence)
	o.Margin = cmp.Or(o.Margin, DefaultMargin)
	o.Correction = cmp.Or(o.Correction, Holm)
	o.FirstIterations = cmp.Or(o.FirstIterations, DefaultFirstIterations)
	return o
}

func (o Options) alpha() float64 { return 1 - o.Confidence }

// Of compares two sides. The errors wrap ErrDifferent.
func Of(before, after Side, o Options) (*Result, error) {
	o = o.withDefaults()
	sides := []Side{before, after}
	if o.Null != nil {
		sides = append(sides, *o.Null)
	}
	for _, s := range sides {
		if err := alike(before, s); err != nil {
			return nil, err
		}
	}
	r := &Result{
		Before: before.party(), After: after.party(), Unit: before.Doc.Unit, Rules: before.Doc.Parameters,
		Confidence: o.Confidence, Margin: o.Margin, Power: Power, Correction: o.Correction,
		Paired: o.Paired, FirstIterations: o.FirstIterations,
		Changes: []Change{}, Counts: map[Verdict]int{}, Warnings: []warmup.Warning{},
	}
	r.programs()
	rows := r.join(before, after, o)
	o = r.look(rows, o)
	o.copies = r.copied(o.Null, o)
	f := decide(rows, o.Paired, o)
	r.Prior, r.TestsSteady, r.TestsClass, r.Tests = f.prior, f.steady, f.class, f.steady+f.class
	r.SteadyShare, r.Level = f.share, 1-f.interval
	r.describe(rows, f, o)
	r.judge(f, r.null(before, o), o)
	r.spreads(f, o)
	r.layout(before, after, o)
	r.machines(rows, f, o)
	r.instrumented(before, after)
	r.stopped(before, after)
	switch {
	case o.Splits > 0 && o.Inject > 0:
		r.Injected = inject(rows, f, o)
	case o.Splits > 0:
		r.Calibration = calibrate(rows, f, o)
	}
	for i := range r.Changes {
		r.Counts[r.Changes[i].Verdict]++
	}
	if before.Doc.Source.Machine != after.Doc.Source.Machine {
		r.warn("machines", "before was measured on %q and after on %q: a change may be the machine's; "+
			"measure both on one", before.Doc.Source.Machine, after.Doc.Source.Machine)
	}
	return r, nil
}

// programs warns of the sides that have keys that were measured with different programs. Arms of an
// experiment share the warning.
func (r *Result) programs() {
	if text := r.Before.Programs; text != "" {
		r.warn(warmup.WarnPrograms, "before: %s", text)
	}
	if text := r.After.Programs; text != "" && text != r.Before.Programs {
		r.warn(warmup.WarnPrograms, "after: %s", text)
	}
}

func (s Side) party() Party { return Party{Source: s.Doc.Source, Arm: s.Arm} }

// alike returns an error when the two analyses are not of the same kind.
func alike(before, after Side) error {
	p, q := before.Doc.Parameters, after.Doc.Parameters
	for _, c := range []struct {
		what string
		a, b any
	}{
		{"column", p.Column, q.Column}, {"unit", before.Doc.Unit, after.Doc.Unit}, {"mode", p.Mode, q.Mode},
		{"delta", p.Delta, q.Delta}, {"steady", p.Steady, q.Steady}, {"window", p.Window, q.Window},
		{"outliers", p.Outliers, q.Outliers}, {"raw deltas", p.RawDeltas, q.RawDeltas},
		{"penalty", p.Penalty, q.Penalty}, {"cost", p.Cost, q.Cost},
		{"arithmetic", p.Arithmetic, q.Arithmetic},
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
		if !s.whole() {
			return fmt.Errorf("%w: the analysis of %s is of other data", ErrDifferent, s.Doc.Source.Name)
		}
	}
	return nil
}

// whole reports whether the analysis is of the data.
func (s Side) whole() bool {
	if len(s.Doc.Pairs) != len(s.Data.Pairs) {
		return false
	}
	for i := range s.Doc.Pairs {
		if s.Doc.Pairs[i].Key != s.Data.Pairs[i].Key.String() ||
			len(s.Doc.Pairs[i].Executions) != len(s.Data.Pairs[i].Executions) {
			return false
		}
	}
	return true
}

// name returns the name under which the side's key i is compared; ok is false if it is of another
// arm.
func (s Side) name(i int) (k key.Key, ok bool) {
	k = s.Data.Pairs[i].Key
	if s.Arm == "" {
		return k, true
	}
	ok = k.Arm == s.Arm
	k.Arm = ""
	return k, ok
}

// Keys returns the index in Data of each key of the side, by the name under which it is compared.
func (s Side) Keys() map[key.Key]int {
	index := make(map[key.Key]int)
	for i := range s.Data.Pairs {
		if k, ok := s.name(i); ok {
			index[k] = i
		}
	}
	return index
}

// join fills in Changes, and returns the rows: those of the keys on both sides that can be
// compared, of which row i is the i-th of both.
func (r *Result) join(before, after Side, o Options) []row {
	var rows []row
	theirs, ours := after.Keys(), before.Keys()
	for i := range before.Data.Pairs {
		k, ok := before.name(i)
		if !ok {
			continue
		}
		p := &before.Doc.Pairs[i]
		j, ok := theirs[k]
		if !ok {
			r.Changes = append(r.Changes, only(k, p, "before"))
			continue
		}
		q := &after.Doc.Pairs[j]
		both := row{before.reduced(i, o), after.reduced(j, o)}
		c := Change{
			Key: k.String(), FirstFrom: both.toFirst(), Before: p.Classification, After: q.Classification,
			CountsBefore: p.Counts, CountsAfter: q.Counts, Warnings: []warmup.Warning{},
			InstrumentBefore: p.Instrument, InstrumentAfter: q.Instrument,
		}
		why := notTheSameWork(&before.Data.Pairs[i], &after.Data.Pairs[j])
		if p.Instrument != q.Instrument && !costs(before, after) {
			why = c.instrumentsDiffer()
		}
		if why == "" && (o.together || before.Data == after.Data) {
			both, why = c.together(both, o.Paired)
		}
		c.lengths(&before.Data.Pairs[i], &after.Data.Pairs[j])
		if why != "" {
			c.withhold(both, why)
		} else {
			rows = append(rows, both)
		}
		r.Changes = append(r.Changes, c)
	}
	for i := range after.Data.Pairs {
		if k, ok := after.name(i); ok {
			if _, ok := ours[k]; !ok {
				r.Changes = append(r.Changes, only(k, &after.Doc.Pairs[i], "after"))
			}
		}
	}
	return rows
}

// lengths warns of executions that are much shorter on one side, as in a trial: `krunctl run
// --quick`. They may end before the program is warm.
func (c *Change) lengths(before, after *dataset.Pair) {
	const much = 2
	a, b := longest(before), longest(after)
	if max(a, b) >= much*min(a, b) && min(a, b) > 0 {
		c.warn("lengths", "executions have %d iterations before and %d after: the shorter ones may end "+
			"before the program is warm; measure both alike", a, b)
	}
}

// longest is the number of iterations of the longest execution.
func longest(p *dataset.Pair) int {
	n := 0
	for i := range p.Executions {
		if e := &p.Executions[i]; len(e.Columns) > 0 {
			n = max(n, e.Columns[0].Len())
		}
	}
	return n
}

func only(k key.Key, p *warmup.Pair, side string) Change {
	c := Change{
		Key: k.String(), OnlyIn: side, Verdict: CannotTell, Reason: "only " + side + " has this key",
		ExecutionsBefore: []Execution{}, ExecutionsAfter: []Execution{}, Warnings: []warmup.Warning{},
	}
	if side == "before" {
		c.Before, c.CountsBefore = p.Classification, p.Counts
	} else {
		c.After, c.CountsAfter = p.Classification, p.Counts
	}
	return c
}

// both returns the changes of the keys on both sides that can be compared.
func (r *Result) both() []*Change {
	var list []*Change
	for i := range r.Changes {
		if c := &r.Changes[i]; c.OnlyIn == "" && !c.apart {
			list = append(list, c)
		}
	}
	return list
}

// describe fills in the effects.
func (r *Result) describe(rows []row, f family, o Options) {
	quantities := []quantity{ofMean, ofIteration, ofFirst, ofFirstTotal}
	effects := make([][]*Effect, len(quantities))
	for i, q := range quantities {
		effects[i] = besides(rows, q, o.Paired, o)
	}
	for i, c := range r.both() {
		c.ExecutionsBefore, c.ExecutionsAfter = executions(rows[i].before), executions(rows[i].after)
		d := &f.rows[i]
		c.Class = d.class
		c.Steady = d.describe(o)
		c.SteadyMean, c.SteadyIteration, c.First, c.FirstTotal = effects[0][i], effects[1][i],
			effects[2][i], effects[3][i]
	}
}

func executions(list []reduced) []Execution {
	e := make([]Execution, len(list))
	for i := range list {
		e[i] = list[i].Execution
	}
	return e
}
