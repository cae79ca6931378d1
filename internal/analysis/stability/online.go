package stability

import (
	"fmt"

	"krund/internal/analysis/bootstrap"
)

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
