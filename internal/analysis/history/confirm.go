package history

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"krund/internal/analysis/compare"
	"krund/internal/display"
)

// Again is what measuring the two revisions at the ends of an event's culprits again has shown: in
// blocks, beside a second copy of the first. Unlike the other evidence it has an error rate, that
// of the comparison.
type Again struct {
	Experiment string `json:"experiment"`
	// Changed are the keys of the event that changed in its direction.
	Changed []string `json:"changed"`
	// Key is the one that changed most, or that the event changed most; with its interval.
	Key   string  `json:"key"`
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Asks returns the revisions at the ends of the culprits of an event that should be measured again
// before anyone is told of it: it is not known to be the machine's or the build's, and is at least
// as large as the margin of a comparison.
func (h *History) Asks(e *Event) (before, after string, ok bool) {
	from, to, ok := h.around(e)
	if !ok || e.Muted || e.Verdict != Undecided && e.Verdict != ByProgram {
		return "", "", false
	}
	before, after = h.Versions[from].Revision, h.Versions[to].Revision
	far := max(e.Most, 1/e.Least)
	return before, after, before != "" && after != "" && before != after && far >= 1+compare.DefaultMargin
}

// Confirm judges an event by such a comparison. If keys of the event changed in its direction, it
// was the program. If none did, and those beyond the margin are the same, or would have shown half
// of the effect, it was the machine, which measured both. Anything else decides nothing.
func (e *Event) Confirm(experiment string, r *compare.Result) {
	again := &Again{Experiment: experiment, Changed: []string{}, Ratio: 1}
	why := "none of its keys is there"
	large, excluded, largest := 0, 0, -1.0
	for _, k := range e.Keys {
		i := slices.IndexFunc(r.Changes, func(c compare.Change) bool {
			name, _, _ := strings.Cut(c.Base, "@") // of the first revision's arm
			return name == k.Name
		})
		if i < 0 || r.Changes[i].Steady == nil || r.Changes[i].Steady.Ratio == nil {
			if i >= 0 {
				why = k.Name + ": " + r.Changes[i].Reason
			}
			continue
		}
		c := &r.Changes[i]
		ratio := c.Steady.Ratio
		here, effect := math.Log(k.Ratio), math.Log(float64(ratio.Estimate))
		changed := (c.Verdict == compare.Worse || c.Verdict == compare.Better) && here*effect > 0
		size, end := math.Abs(here), float64(ratio.High) // of the interval, in the event's direction
		if here < 0 {
			end = 1 / float64(ratio.Low)
		}
		if size >= math.Log1p(compare.DefaultMargin) {
			large++
			excluded += number(c.Verdict == compare.Same || math.Log(end) < size/2)
		}
		if changed {
			again.Changed = append(again.Changed, k.Name)
			size = 1e3 + math.Abs(effect) // before those that did not
		}
		if size > largest {
			largest = size
			again.Key, again.Ratio = k.Name, float64(ratio.Estimate)
			again.Low, again.High = float64(ratio.Low), float64(ratio.High)
		}
	}
	if again.Key == "" {
		e.Evidence = "measured again in " + experiment + ", and cannot be compared: " + why
		return
	}
	e.Again = again
	sizes := fmt.Sprintf("%s by %+.1f %% (%+.1f, %+.1f)", again.Key, 100*(again.Ratio-1),
		100*(again.Low-1), 100*(again.High-1))
	unfit := r.NullArm == nil || r.NullArm.Unfit
	switch {
	case len(again.Changed) > 0 && !unfit:
		e.Verdict, e.Evidence = ByProgram, fmt.Sprintf("measured again in blocks: %s changed, %s",
			display.Count(len(again.Changed), "key"), sizes)
	case large > 0 && excluded == large && !unfit:
		e.Verdict, e.Evidence = ByMachine, "measured again in blocks: the revisions do not differ, "+sizes
	default:
		e.Verdict, e.Evidence = Undecided, "measured again in blocks, and not decided: "+sizes
		if unfit {
			e.Evidence += "; the null arm differs, too, or there is none"
		}
	}
}

// Told reports whether a person should be told of an event of which both revisions are measured
// again first: it was confirmed.
func (e *Event) Told() bool { return !e.Muted && e.Again != nil && len(e.Again.Changed) > 0 }
