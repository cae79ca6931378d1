package compare

import (
	"fmt"
	"slices"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
)

// stopped warns of keys that [stop] finished early: their p-values and intervals are those of a
// number of executions that was chosen in advance. The warning of a key states why it was finished,
// which holds whatever the number.
func (r *Result) stopped(before, after Side) {
	n := 0
	for i := range r.Changes {
		c := &r.Changes[i]
		if s := stoppedAs(c.Key, before, after); s != nil {
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

// stoppedAs returns how a side's key was finished early; nil if it was not.
func stoppedAs(name string, sides ...Side) *dataset.Stopped {
	for _, s := range sides {
		for i := range s.Data.Pairs {
			if k, ok := s.name(i); !ok || k.String() != name {
				continue
			}
			full := s.Data.Pairs[i].Key.String()
			at := slices.IndexFunc(s.Data.Stopped, func(x dataset.Stopped) bool {
				return slices.Contains(x.Keys, full)
			})
			if at >= 0 {
				return &s.Data.Stopped[at]
			}
		}
	}
	return nil
}
