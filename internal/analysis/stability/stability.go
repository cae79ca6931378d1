// Package stability determines where dynamic reconfiguration would have stopped a recorded
// benchmark: after how many warm-up iterations of an execution, and after how many executions. The
// method is that of
//
//	C. Laaber, S. Würsten, H. C. Gall, P. Leitner: Dynamically Reconfiguring
//	Software Microbenchmarks: Reducing Execution Time without Sacrificing
//	Result Quality. ESEC/FSE 2020.
//
// Of runs these steps for every criterion:
//
//  1. Cut divides a series into steps: the paper's iterations of one second, each a Histogram of
//     its calls. What the paper calls a fork is an execution.
//  2. Histogram.Inliers removes calls more than ten times above or below the median.
//  3. After each step the criterion is evaluated over all steps so far, from each of which 1000
//     calls are drawn: the coefficient of variation (CV), the relative width of a bootstrap
//     interval of the mean (RCIW), or the similarity to the previous step by Kullback-Leibler
//     divergence (KLD).
//  4. Rule.Warmup examines the last five values: when they are stable, warm-up ends, and the next
//     ten steps are the execution's measurement.
//  5. After each execution the criterion is evaluated over the measurements so far, and
//     Rule.Executions decides whether they are sufficient.
//  6. The result is compared with that of the full experiment: the ratio of means with a bootstrap
//     interval (an A/A test: both measured the same), the change rate |ratio-1|, and the time
//     saved.
//
// The authors have two implementations, which differ from each other and from the paper: see
// Profile. Draws depend only on Parameters.Seed and the position of the step. Nothing reads a file
// or a clock. Start reading at [Of].
package stability

import (
	"fmt"
	"math"

	"krund/internal/analysis/bootstrap"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// Result holds the results of the criteria for a key.
type Result struct {
	Step        string            `json:"step"`       // the length used; never that of Auto
	Executions  []int             `json:"executions"` // numbers of those considered: the first long enough
	FullSeconds warmup.Real       `json:"full_time_s"`
	FullMean    warmup.Real       `json:"full_mean_s"` // of the full experiment
	Criteria    []CriterionResult `json:"criteria"`

	Short []Short `json:"-"` // executions that are too short
}

// Short is an execution that is too short: it has Steps, and needs more.
type Short struct{ Number, Steps, Least int }

// CriterionResult is the stopping point of one criterion, and the quality of the result there.
type CriterionResult struct {
	Criterion Criterion    `json:"criterion"`
	Threshold float64      `json:"threshold"`
	Warmups   []Warmup     `json:"warmup"`          // of each execution considered, also after the stop
	Values    warmup.Reals `json:"values"`          // after executions 1, 2, ...; NaN is undefined
	Reached   bool         `json:"reached"`         // there were enough executions
	Used      int          `json:"executions_used"` // number of executions used
	// warm-up, with the overhead, and measurement of the executions used
	Seconds float64     `json:"time_s"`
	Saved   warmup.Real `json:"saved"` // 1 - Seconds/FullSeconds
	Quality
}

// Warmup is the result of a criterion for one execution.
type Warmup struct {
	Execution int          `json:"execution"` // its number
	Used      bool         `json:"used"`
	Reached   bool         `json:"reached"`        // stable within the longest warm-up
	Steps     int          `json:"steps"`          // of warm-up
	First     int          `json:"first_measured"` // index of the first iteration measured
	Last      int          `json:"last_measured"`
	Seconds   float64      `json:"warmup_time_s"` // without the overhead
	Values    warmup.Reals `json:"values"`        // after steps 1, 2, ... up to the stop; NaN is undefined

	measured int // steps
	took     float64
}

// Of evaluates the criteria on durations in seconds, series[execution][iteration]. Executions too
// short for the longest warm-up and a measurement are listed in Short; the error wraps ErrShort
// when all are. Other errors wrap ErrData and ErrParameters.
func Of(series [][]float64, criteria []Criterion, p Parameters) (*Result, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	for e, x := range series {
		if err := CheckSeries(x); err != nil {
			return nil, fmt.Errorf("execution %d: %w", e+1, err)
		}
	}
	r := &Result{}
	steps, indexes, err := r.cut(series, &p)
	if err != nil {
		return nil, err
	}
	full := newSide(&p, mix(p.Seed, forFull))
	for e, s := range steps {
		to := s.Len()
		if p.Full > 0 {
			to = min(to, p.WarmupMax+p.Full)
		}
		full.add(e, s, p.WarmupMax, to)
		r.FullSeconds += warmup.Real(s.Took(0, to))
	}
	tables := bootstrap.Tables{}
	full.finish(tables, mix(p.Seed, forFullMeans))
	r.FullMean = warmup.Real(full.metric())
	for _, c := range criteria {
		o := judge(steps, indexes, c, &p, tables)
		o.Saved = 1 - warmup.Real(o.Seconds)/r.FullSeconds
		short := newSide(&p, mix(p.Seed, number(c), forShort))
		for e, s := range steps[:o.Used] {
			w := &o.Warmups[e]
			short.add(e, s, w.Steps, w.Steps+w.measured)
		}
		short.finish(tables, mix(p.Seed, number(c), forShortMeans))
		o.Quality = quality(full, short, &p)
		r.Criteria = append(r.Criteria, o)
	}
	return r, nil
}

// cut divides the executions to consider into steps, and returns their indexes among the series.
func (r *Result) cut(series [][]float64, p *Parameters) (steps []*Steps, indexes []int, err error) {
	length := p.Step
	switch {
	case length == Auto && p.Calls != nil:
		length = Length{Iterations: 1}
	case length == Auto:
		length = automatic(series, p)
	}
	r.Step = length.String()
	most := 0
	for e, x := range series {
		s := Cut(x, length, p.Batch)
		if p.Calls != nil {
			s = CutCalls(p.Calls[e], length)
		}
		most = max(most, s.Len())
		switch {
		case s.Len() < p.least():
			r.Short = append(r.Short, Short{p.number(e), s.Len(), p.least()})
		case len(steps) < p.ExecutionsMax:
			steps, indexes = append(steps, s), append(indexes, e)
			r.Executions = append(r.Executions, p.number(e))
		}
	}
	if len(steps) == 0 {
		return nil, nil, fmt.Errorf("%w: the longest execution makes %s of %s, and warm-up (%d) and "+
			"measurement (%d) need %d; record more, or lower them or the step",
			ErrShort, display.Count(most, "step"), length.unit(), p.WarmupMax, p.Measure, p.least())
	}
	return steps, indexes, nil
}

func (l Length) unit() string {
	if l.Iterations > 0 {
		return display.Count(l.Iterations, "iteration")
	}
	return l.String()
}

// automatic chooses the step: see Auto. Executions too short for steps of an
// iteration have no say.
func automatic(series [][]float64, p *Parameters) Length {
	second := Length{Seconds: 1}
	shortest, enough := 0, true
	for _, x := range series {
		if len(x) < p.least() {
			continue
		}
		if shortest == 0 || len(x) < shortest {
			shortest = len(x)
		}
		enough = enough && Cut(x, second, p.Batch).Len() >= p.least()
	}
	if enough && shortest > 0 {
		return second
	}
	return Length{Iterations: max(shortest/max(2*p.WarmupMax, p.least()), 1)}
}

// judge evaluates a criterion. indexes are those of the executions among the series.
func judge(steps []*Steps, indexes []int, c Criterion, p *Parameters,
	tables bootstrap.Tables) CriterionResult {
	rule := p.rule(c)
	o := CriterionResult{Criterion: c, Threshold: rule.Threshold}
	between := newSequence(p, c, math.MaxUint64, tables)
	for e, s := range steps {
		number := p.number(indexes[e])
		w := findWarmup(s, rule, p, newSequence(p, c, uint64(number)-1, tables))
		w.Execution = number
		o.Warmups = append(o.Warmups, w)
		o.Values = append(o.Values, between.next(s.Histogram(w.Steps, w.Steps+w.measured)))
	}
	o.Used = rule.Executions(o.Values, p.ExecutionsMin)
	o.Reached = o.Used > 0
	if !o.Reached {
		o.Used = len(steps)
	}
	for e := range o.Warmups[:o.Used] {
		w := &o.Warmups[e]
		w.Used = true
		o.Seconds += (1+p.overhead(c))*w.Seconds + w.took
	}
	return o
}

// finder finds the end of an execution's warm-up, step by step.
type finder struct {
	p        *Parameters
	rule     Rule
	sequence *sequence
	values   []float64
}

// add evaluates the next step. Warm-up ends when the criterion is stable, or is as long as it may
// be.
func (f *finder) add(h *Histogram) (ended, stable bool) {
	f.values = append(f.values, f.sequence.next(h))
	n := len(f.values)
	stable = n >= f.p.WarmupMin && f.rule.Warmup(f.values, n) > 0
	return stable || n == f.p.WarmupMax, stable
}

// findWarmup finds the end of an execution's warm-up.
func findWarmup(s *Steps, rule Rule, p *Parameters, q *sequence) Warmup {
	w := Warmup{Steps: p.WarmupMax}
	find := finder{p: p, rule: rule, sequence: q}
	for k := range p.WarmupMax {
		if ended, stable := find.add(s.Histogram(k, k+1)); ended {
			w.Reached, w.Steps = stable, k+1
			break
		}
	}
	w.Values = find.values
	w.measured = min(p.Measure, s.Len()-w.Steps)
	w.First, w.Last = s.iteration(w.Steps), s.iteration(w.Steps+w.measured)-1
	w.Seconds, w.took = s.Took(0, w.Steps), s.Took(w.Steps, w.Steps+w.measured)
	return w
}

// Values returns the values of a criterion after steps 1, 2, ... up to the longest warm-up, of the
// execution with that number, from 1. NaN is undefined.
func Values(s *Steps, c Criterion, number int, p Parameters) []float64 {
	q := newSequence(&p, c, uint64(number)-1, bootstrap.Tables{})
	values := make([]float64, p.WarmupMax)
	for k := range values {
		values[k] = q.next(s.Histogram(k, k+1))
	}
	return values
}

// Online finds the end of warm-up while an execution runs. For the same durations, parameters and
// number of the execution it decides what Of decides about the whole series.
type Online struct {
	p     Parameters
	find  finder
	cut   cutter
	calls []float64 // of the present step
	count int       // durations so far
	steps int
	after int // step after which warm-up ended; 0: not yet
	state Decision
}

// Decision is what Online knows so far. It depends on the durations alone, not on when they are
// added.
type Decision struct {
	Warmup int     // iterations of warm-up, a whole number of steps; 0: it has not ended
	Stable bool    // it ended because the criterion is stable, not because it may be no longer
	Value  float64 // of the criterion after the last step of warm-up; NaN: undefined
	StopAt int     // number of iterations with which the measurement is complete; 0: not yet
}

// NewOnline returns an Online for the execution of its key with that number. Step must not be Auto.
// Executions and the A/A test in p are not used. Errors wrap ErrParameters.
func NewOnline(p Parameters, c Criterion, number int) (*Online, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if p.Step == Auto || p.Batch != 0 || number < 1 {
		return nil, fmt.Errorf("%w: while an execution runs, step %s, batch %v and number %d cannot be used",
			ErrParameters, p.Step, p.Batch, number)
	}
	o := &Online{p: p, cut: cutter{length: p.Step}}
	o.find = finder{p: &o.p, rule: p.rule(c),
		sequence: newSequence(&o.p, c, uint64(number)-1, bootstrap.Tables{})}
	return o, nil
}

// Add adds the next duration, in seconds, and returns the decision so far. An error wraps ErrData.
func (o *Online) Add(seconds float64) (Decision, error) {
	if err := CheckSeries([]float64{seconds}); err != nil {
		return o.state, fmt.Errorf("after %d iterations: %w", o.count, err)
	}
	o.count++
	if o.state.StopAt > 0 {
		return o.state, nil
	}
	if o.after == 0 {
		o.calls = append(o.calls, seconds)
	}
	if _, ended := o.cut.add(seconds); !ended {
		return o.state, nil
	}
	o.steps++
	if o.after == 0 {
		o.endStep()
	}
	if o.after > 0 && o.steps == o.after+o.p.Measure {
		o.state.StopAt = o.count
	}
	return o.state, nil
}

// endStep evaluates the criterion after a step of warm-up.
func (o *Online) endStep() {
	ended, stable := o.find.add(NewHistogram(o.calls, nil))
	o.calls = o.calls[:0]
	if ended {
		o.after = o.steps
		o.state = Decision{Warmup: o.count, Stable: stable, Value: o.find.values[len(o.find.values)-1]}
	}
}
