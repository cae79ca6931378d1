package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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
		return number(strings.HasPrefix(a, program)) - number(strings.HasPrefix(b, program))
	})
	for _, name := range names {
		if before[name] != after[name] {
			list = append(list, Difference{name, before[name], after[name]})
		}
	}
	return list
}
