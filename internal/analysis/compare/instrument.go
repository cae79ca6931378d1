package compare

import (
	"fmt"
	"slices"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
)

// Apart reports whether the key has no verdict because its two sides are instrumented differently,
// do not measure the same part of their loops, or were measured at different times.
func (c *Change) Apart() bool { return c.apart }

// withhold makes c the change of a key whose sides cannot be compared.
func (c *Change) withhold(r row, why string) {
	c.apart = true
	c.ExecutionsBefore, c.ExecutionsAfter = executions(r.before), executions(r.after)
	c.Verdict, c.Reason = CannotTell, why
}

// instrumentsDiffer returns why differently instrumented sides cannot be compared.
func (c *Change) instrumentsDiffer() string {
	return fmt.Sprintf("before is %s, after %s, which costs time; measure both alike",
		dataset.InstrumentText(c.InstrumentBefore), dataset.InstrumentText(c.InstrumentAfter))
}

// costs reports whether the sides are arms that only the level of instrumentation distinguishes.
func costs(before, after Side) bool {
	return armsSay(before, after, func(arm dataset.Arm) []string { return arm.CostOf })
}

// armsSay reports whether the sides are arms of which one lists the other.
func armsSay(before, after Side, list func(dataset.Arm) []string) bool {
	return before.Data == after.Data && slices.ContainsFunc(before.Data.Arms, func(arm dataset.Arm) bool {
		return arm.Name == before.Arm && slices.Contains(list(arm), after.Arm) ||
			arm.Name == after.Arm && slices.Contains(list(arm), before.Arm)
	})
}

// instrumented warns that the effects are those of instrumenting.
func (r *Result) instrumented(before, after Side) {
	if costs(before, after) {
		r.Warnings = append(r.Warnings, warmup.Warning{Code: "instrument_cost", Text: fmt.Sprintf(
			"nothing but their instrumentation distinguishes the arms %s and %s: the effect is what that "+
				"costs", before.Arm, after.Arm)})
	}
}

// stopped warns of keys that [stop] finished early: their p-values and intervals are those of a
// number of executions that was chosen in advance. The warning of a key states why it was finished,
// which holds whatever the number.
func (r *Result) stopped(before, after Side) {
	n := 0
	early := stoppedKeys(before, after)
	for i := range r.Changes {
		c := &r.Changes[i]
		if s := early[c.Key]; s != nil {
			n++
			c.Warnings = append(c.Warnings, warmup.Warning{Code: "stopped_early", Text: fmt.Sprintf(
				"it was finished by [stop] after %d executions: %s", s.Executions, s.Reason)})
		}
	}
	if n == 0 {
		return
	}
	alpha := Percent(1 - r.Confidence)
	r.Warnings = append(r.Warnings, warmup.Warning{Code: "stopped_early", Text: fmt.Sprintf(
		"%d of %d keys were finished by [stop]. The p-values and intervals are for a number of "+
			"executions chosen in advance, so the probability of any false verdict is at most %s plus "+
			"stop.alpha; in simulations it is below %s (docs/stopping.md). The reason why a key was "+
			"finished holds at any number of executions", n, len(r.Changes), alpha, alpha)})
}

// stoppedKeys returns how keys of the sides were finished early, by their names in a comparison; of
// a key of both sides, how the first one was.
func stoppedKeys(sides ...Side) map[string]*dataset.Stopped {
	names := map[string]*dataset.Stopped{}
	for _, s := range slices.Backward(sides) {
		keys := map[string]*dataset.Stopped{}
		for at := range slices.Backward(s.Data.Stopped) {
			for _, k := range s.Data.Stopped[at].Keys {
				keys[k] = &s.Data.Stopped[at]
			}
		}
		for i := range s.Data.Pairs {
			if k, ok := s.name(i); ok && keys[s.Data.Pairs[i].Key.String()] != nil {
				names[k.String()] = keys[s.Data.Pairs[i].Key.String()]
			}
		}
	}
	return names
}
