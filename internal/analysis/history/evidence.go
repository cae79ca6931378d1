package history

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/compare"
	"krund/internal/display"
)

// Difference is something that was recorded of a machine, or of what ran there, and is not the same
// before and after an event. "" is unknown.
type Difference struct {
	Name   string `json:"name"` // as in the fingerprint of records, such as "kernel.release"
	Before string `json:"before"`
	After  string `json:"after"`
}

// ByBuild is for an event of one revision that was built anew, and is not as fast as before.
const ByBuild Verdict = "build"

// program begins the names of what ran; all other names are of the machine.
const program = "program."

// Explain fills in what differs between the last version that a machine measured before each event
// and the first one after it. recorded returns what is known of a version on a machine; nil:
// nothing. If nights of one revision tell that it was not the program's source, and the programs
// differ and nothing of the machine does, then it was the build. An anchor whose files were
// changed is none.
func (h *History) Explain(recorded func(machine string, version int) map[string]string) {
	for i := range h.Events {
		e := &h.Events[i]
		before, after, ok := h.around(e)
		if !ok {
			continue
		}
		e.Differs = differences(recorded(h.MachineAt(e.Machine, before), before),
			recorded(h.MachineAt(e.Machine, after), after))
		built := len(e.Differs) > 0 && !slices.ContainsFunc(e.Differs, func(d Difference) bool {
			return !strings.HasPrefix(d.Name, program)
		})
		if e.anchored && slices.ContainsFunc(e.Differs, func(d Difference) bool {
			return strings.HasPrefix(d.Name, program) && strings.Contains(d.Name, "@anchor")
		}) {
			e.Verdict, e.Effects = Undecided, nil
			e.Evidence = "the anchor is another build than before, and tells nothing: measure both again"
		}
		revision := h.Versions[before].Revision
		if built && e.Verdict == ByMachine && revision != "" && revision == h.Versions[after].Revision {
			e.Verdict = ByBuild
			e.Evidence = fmt.Sprintf("%s was built anew: %s has other bytes, and the machine is the same",
				revision, strings.TrimPrefix(e.Differs[0].Name, program))
		}
	}
}

// around returns the last version that the keys of an event were measured in before it, and the
// first one after it.
func (h *History) around(e *Event) (before, after int, ok bool) {
	before, after = -1, len(h.Versions)
	for _, k := range e.Keys {
		for _, p := range h.Keys[k.Key].Points {
			if p.Version < e.First {
				before = max(before, p.Version)
			} else if p.Version >= e.Last {
				after = min(after, p.Version)
			}
		}
	}
	return before, after, before >= 0 && after < len(h.Versions)
}

// differences returns what two states do not have in common, the machine first, by name; nothing if
// one is unknown.
func differences(before, after map[string]string) (list []Difference) {
	if len(before) == 0 || len(after) == 0 {
		return nil
	}
	all := maps.Clone(before)
	maps.Copy(all, after)
	names := slices.Sorted(maps.Keys(all))
	slices.SortStableFunc(names, func(a, b string) int {
		return arith.One(strings.HasPrefix(a, program)) - arith.One(strings.HasPrefix(b, program))
	})
	for _, name := range names {
		if before[name] != after[name] {
			list = append(list, Difference{name, before[name], after[name]})
		}
	}
	return list
}

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
			excluded += arith.One(c.Verdict == compare.Same || math.Log(end) < size/2)
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
