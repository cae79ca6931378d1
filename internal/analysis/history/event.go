package history

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"krund/internal/analysis/arith"
	"krund/internal/display"
)

// Verdict says what made an event.
type Verdict string

// The verdicts.
const (
	// ByMachine: the machine changed, or how the program was built, and not the program's source.
	ByMachine Verdict = "machine"
	// ByProgram: the program changed, and not the machine.
	ByProgram Verdict = "program"
	// Undecided: measure again.
	Undecided Verdict = "undecided"
)

// Event is what happened to one machine: the changes of its keys that have versions in common which
// may have made them, and were found within some versions of each other.
type Event struct {
	Machine string `json:"machine,omitempty"`
	// Version is the most probable one; it happened after First-1 and not after Last. Found is the
	// version with which the first change was found. All are indexes in History.Versions.
	Version int `json:"version"`
	First   int `json:"first"`
	Last    int `json:"last"`
	Found   int `json:"found"`
	// Keys that changed, out of Of that the machine measured then and that may change. Later ones
	// may join.
	Keys []EventKey `json:"keys"`
	Of   int        `json:"of"`
	// Median, Least and Most are of the ratios; Slower is the number of keys above 1.
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
	Slower int     `json:"slower"`

	Verdict  Verdict `json:"verdict"`
	Evidence string  `json:"evidence"` // a sentence
	// Differs is what was recorded otherwise after the event than before; see [History.Explain].
	Differs []Difference `json:"differs,omitempty"`
	Muted   bool         `json:"muted"` // all of its changes are
	Again   *Again       `json:"again,omitempty"`
	// Effects is the fingerprint of the state that a machine's event began, if enough keys changed:
	// logarithms of ratios. Known is the label of an earlier one that is like it, or its opposite.
	Effects map[string]float64 `json:"effects,omitempty"`
	Known   string             `json:"known,omitempty"`

	group    int  // of its changes; see found
	anchored bool // the verdict is by what must not change
}

// EventKey is a key of an event: indexes in History.Keys and KeyHistory.Changes.
type EventKey struct {
	Name   string  `json:"key"`
	Ratio  float64 `json:"ratio"`
	Key    int     `json:"-"`
	Change int     `json:"-"`
}

// Alerts of one event are at most so many versions apart, and their culprits at most that far
// beside each other: culprits are a credible set, and a night that was disturbed moves them by one.
const (
	together = 20
	beside   = 1
)

// events puts the changes together, and says what made them.
func (h *History) events(keys []Key) {
	type alert struct{ key, change int }
	var alerts []alert
	for i := range h.Keys {
		for j := range h.Keys[i].Changes {
			alerts = append(alerts, alert{i, j})
		}
	}
	of := func(a alert) *Change { return &h.Keys[a.key].Changes[a.change] }
	slices.SortStableFunc(alerts, func(a, b alert) int { return cmp.Compare(of(a).Found, of(b).Found) })
	for _, a := range alerts {
		k, c := &h.Keys[a.key], of(a)
		at := slices.IndexFunc(h.Events, func(e Event) bool {
			overlap := c.First <= e.Last+beside && e.First <= c.Last+beside
			return e.Machine == k.Machine && (overlap || c.group > 0 && c.group == e.group) &&
				c.Found-e.Found <= together &&
				!slices.ContainsFunc(e.Keys, func(o EventKey) bool { return o.Key == a.key })
		})
		if at < 0 {
			at = len(h.Events)
			h.Events = append(h.Events, Event{Machine: k.Machine, First: c.First, Last: c.Last,
				Found: c.Found, Muted: true})
		}
		e := &h.Events[at]
		e.group = max(e.group, c.group)
		e.Keys = append(e.Keys, EventKey{k.Key, c.Ratio, a.key, a.change})
		if c.First <= e.Last && e.First <= c.Last {
			e.First, e.Last = max(e.First, c.First), min(e.Last, c.Last)
		}
		e.Muted = e.Muted && c.Muted
	}
	for i := range h.Events {
		h.Events[i].sum(h, keys)
	}
	for i := range h.Events {
		h.judge(i, keys)
	}
}

// sum fills in what an event's keys have in common.
func (e *Event) sum(h *History, keys []Key) {
	var ratios []float64
	votes := map[int]int{}
	least, most, apart := len(h.Versions), 0, false
	for _, k := range e.Keys {
		c := &h.Keys[k.Key].Changes[k.Change]
		least, most = min(least, c.Version), max(most, c.Version)
		apart = apart || c.First > e.Last || e.First > c.Last
	}
	if apart { // no version can have made all
		e.First, e.Last = least, most
	}
	for _, k := range e.Keys {
		c := &h.Keys[k.Key].Changes[k.Change]
		ratios = append(ratios, c.Ratio)
		e.Slower += arith.One(c.Ratio > 1)
		votes[min(max(c.Version, e.First), e.Last)]++
	}
	e.Version = e.First
	for v := e.First; v <= e.Last; v++ {
		if votes[v] > votes[e.Version] {
			e.Version = v
		}
	}
	e.Least, e.Most = slices.Min(ratios), slices.Max(ratios)
	e.Median = arith.MedianOf(ratios)
	slices.SortStableFunc(e.Keys, func(a, b EventKey) int {
		return cmp.Compare(math.Abs(math.Log(b.Ratio)), math.Abs(math.Log(a.Ratio)))
	})
	for i := range h.Keys {
		k := &h.Keys[i]
		moved := slices.ContainsFunc(e.Keys, func(own EventKey) bool { return own.Key == i })
		e.Of += arith.One(k.Machine == e.Machine && len(k.Points) > 0 && (moved || !keys[i].Control) &&
			k.Points[0].Version < e.First && k.Points[len(k.Points)-1].Version >= e.Last)
	}
}

// judge decides what made an event: the first that applies.
func (h *History) judge(at int, keys []Key) {
	e := &h.Events[at]
	for i, ask := range []func(int, []Key) (Verdict, string){h.sameRevision, h.anchored, h.known,
		h.elsewhere} {
		if e.Verdict, e.Evidence = ask(at, keys); e.Verdict != "" {
			e.anchored = i == 1
			if e.Verdict == ByMachine && len(e.Keys) >= fewestOfState {
				e.Effects = h.effects(at)
			}
			return
		}
	}
	e.Verdict = Undecided
	e.Evidence = "nothing that was measured tells program and machine apart: measure both again"
}

// reaches returns the versions between the events of a machine before and after this one, in which
// its effect is the only one that many keys share.
func (h *History) reaches(at int) (from, to int) {
	e := &h.Events[at]
	from, to = 0, len(h.Versions)
	for i := range h.Events {
		o := &h.Events[i]
		if i == at || o.Machine != e.Machine || 2*len(o.Keys) < len(e.Keys) {
			continue
		}
		if o.Last < e.First {
			from = max(from, o.Version)
		} else if o.First > e.Last {
			to = min(to, o.Version)
		}
	}
	return from, to
}

// mean returns the mean of the logarithms of a key's points of the versions that wanted says.
func (h *KeyHistory) mean(wanted func(version int) bool) (mean float64, n int) {
	for _, p := range h.Points {
		if wanted(p.Version) {
			n++
			mean += (math.Log(p.Value) - mean) / float64(n)
		}
	}
	return mean, n
}

// fewestMoved is how many keys of an event, also of the program's, tell where else it happened: one
// moves by chance.
const fewestMoved = 2

// sameRevision: nights of one revision before and after, and the keys of the event moved between
// them as they did between all nights.
func (h *History) sameRevision(at int, _ []Key) (Verdict, string) {
	const (
		fewest = 2   // nights before, and after
		moved  = 0.5 // share of the effect, and of the keys
	)
	e := &h.Events[at]
	from, to := h.reaches(at)
	tried := map[string]bool{}
	for v := from; v < e.Version; v++ {
		r := h.Versions[v].Revision
		if r == "" || tried[r] {
			continue
		}
		tried[r] = true
		before := func(w int) bool { return w >= from && w < e.Version && h.Versions[w].Revision == r }
		after := func(w int) bool { return w >= e.Version && w < to && h.Versions[w].Revision == r }
		keys, like := 0, 0
		for _, k := range e.Keys {
			x, n := h.Keys[k.Key].mean(before)
			y, m := h.Keys[k.Key].mean(after)
			if min(n, m) < fewest { // the keys of one night share its noise
				continue
			}
			keys++
			like += arith.One((y-x)/math.Log(k.Ratio) >= moved)
		}
		if keys < fewestMoved || 2*keys < len(e.Keys) || float64(like) < moved*float64(keys) {
			continue
		}
		return ByMachine, fmt.Sprintf("%s was measured before and after, and %d of its %d keys moved", r,
			like, keys)
	}
	return "", ""
}

// anchored: what must not change was measured between the events before and after this one.
func (h *History) anchored(at int, keys []Key) (Verdict, string) {
	const (
		far    = 4    // standard errors
		least  = 2    // keys that moved
		share  = 0.15 // of the controls
		enough = 4    // controls that would have shown the effect, and did not move
	)
	e := &h.Events[at]
	moved, all, able := [2]int{}, 0, 0
	for i := range keys {
		if !keys[i].Control || keys[i].Machine != e.Machine {
			continue
		}
		d, err, ok := h.step(i, at)
		if !ok {
			continue
		}
		all++
		able += arith.One(far*err < math.Abs(math.Log(e.Median)))
		if math.Abs(d) > far*err {
			moved[arith.One(d > 0)]++
		}
	}
	if all == 0 {
		return "", ""
	}
	most := max(moved[0], moved[1])
	if most >= least && float64(most) >= share*float64(all) || all < least && most == all {
		return ByMachine, fmt.Sprintf("%d of %d keys moved that must not change", most, all)
	}
	for i := range e.Keys {
		if keys[e.Keys[i].Key].Control {
			return ByMachine, e.Keys[i].Name + " moved, and must not"
		}
	}
	if able >= enough && moved[0]+moved[1] == 0 {
		return ByProgram, fmt.Sprintf(
			"the %d keys that must not change, and would have shown it, did not move", able)
	}
	return "", ""
}

// State is a state that a machine has come into: what that did to its keys is its fingerprint.
type State struct {
	Machine string
	Label   string             // when, for people
	Effects map[string]float64 // logarithms of ratios, by key
}

// fewestOfState is how many keys make a fingerprint.
const fewestOfState = 15

// known: the effects on the keys are those of an earlier event of the machine, or of a state that
// it is known to have had; or undo them.
func (h *History) known(at int, _ []Key) (Verdict, string) {
	const alike = 0.65 // rank correlation
	e := &h.Events[at]
	states, machine := slices.Clone(h.states), h.MachineAt(e.Machine, e.Version)
	for _, o := range h.Events[:at] {
		states = append(states, State{h.MachineAt(o.Machine, o.Version), h.Versions[o.Version].Label,
			o.Effects})
	}
	var effects map[string]float64
	for _, s := range states {
		if s.Machine != machine || s.Effects == nil {
			continue
		}
		if effects == nil {
			effects = h.effects(at)
		}
		var x, y []point
		for _, k := range slices.Sorted(maps.Keys(effects)) {
			if a, ok := s.Effects[k]; ok {
				x, y = append(x, point{x: a}), append(y, point{x: effects[k]})
			}
		}
		if len(x) < fewestOfState {
			continue
		}
		r := stat.Correlation(ranksOf(x), ranksOf(y), nil)
		if !(math.Abs(r) >= alike) { // NaN: all are equal
			continue
		}
		what := "the effects on the keys are those of"
		if r < 0 {
			what = "it undoes"
		}
		e.Known = s.Label
		return ByMachine, fmt.Sprintf("%s %s (rank correlation %.2f of %d keys)", what, s.Label, r, len(x))
	}
	return "", ""
}

// effects returns what an event did to the keys of its machine, whether they were found in it or
// not.
func (h *History) effects(at int) map[string]float64 {
	of := map[string]float64{}
	for k := range h.Keys {
		if h.Keys[k].Machine == h.Events[at].Machine {
			if d, _, ok := h.step(k, at); ok {
				of[h.Keys[k].Key] = d
			}
		}
	}
	return of
}

// step returns the effect of an event on a key, whether it was found in it or not, with its
// standard error. ok is false if the key was not measured between the event before and this one,
// and between this one and the next.
func (h *History) step(key, event int) (effect, err float64, ok bool) {
	const (
		nights = 5  // on either side
		spread = 20 // nights before whose spread is known
		fewest = 6  // of them
	)
	e := &h.Events[event]
	from, to := h.reaches(event)
	var before, after []float64
	var offsets [2]float64 // of the last one before and after
	for _, p := range h.Keys[key].Points {
		switch x := math.Log(p.Value); {
		case p.Version >= from && p.Version < e.First:
			before, offsets[0] = append(before, x), p.offset
		case p.Version >= e.Last && p.Version < to && len(after) < nights:
			after, offsets[1] = append(after, x), p.offset
		}
	}
	before = before[max(0, len(before)-spread):]
	if len(before) < fewest || len(after) == 0 {
		return 0, 0, false
	}
	_, sd := center(before)
	before = before[max(0, len(before)-nights):]
	const ofMedian = 1.2533 // standard error of a median, in those of a mean
	seam := offsets[0] - offsets[1]
	err = ofMedian * sd * math.Sqrt(1/float64(len(before))+1/float64(len(after))+seam*seam)
	return arith.MedianOf(after) - arith.MedianOf(before), err, true
}

// center returns the median of values and their standard deviation, by the median absolute
// deviation.
func center(values []float64) (middle, sd float64) {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	middle = arith.Median(sorted)
	for i, v := range values {
		sorted[i] = math.Abs(v - middle)
	}
	slices.Sort(sorted)
	const normal = 1.4826 // standard deviation / median absolute deviation
	return middle, normal * arith.Median(sorted)
}

// elsewhere: whether the keys moved on another machine that measured the same versions, of those
// whose effect would have been seen there. If other keys changed there at the same time, that is no
// evidence against the program.
func (h *History) elsewhere(at int, _ []Key) (Verdict, string) {
	const (
		there, absent = 0.3, 0.2 // median of effect there / effect here
		most          = 2        // more is another effect
		sure          = 0.1      // standard error of that
		seen          = 3        // standard errors that the effect would have there
	)
	e := &h.Events[at]
	var machines []string
	for i := range h.Keys {
		if m := h.Keys[i].Machine; m != e.Machine && !slices.Contains(machines, m) {
			machines = append(machines, m)
		}
	}
	for _, m := range machines {
		var shares, errs []float64
		for _, k := range e.Keys {
			i := slices.IndexFunc(h.Keys, func(o KeyHistory) bool {
				return o.Machine == m && o.Key == k.Name
			})
			if i < 0 {
				continue
			}
			here := math.Log(k.Ratio)
			if d, err, ok := h.step(i, at); ok && math.Abs(here) > seen*err {
				shares, errs = append(shares, d/here), append(errs, err/math.Abs(here))
			}
		}
		if len(shares) < fewestMoved {
			continue
		}
		n := len(shares)
		center, sd := center(shares)
		err := 1.2533 / math.Sqrt(float64(n)) * max(sd, arith.MedianOf(errs))
		what := fmt.Sprintf("%s saw %.0f%% of the effect in the same versions (median of %s)", m,
			100*max(center, 0), display.Count(n, "key"))
		switch {
		case center >= there && center <= most && center-2*err > absent:
			return ByProgram, what
		case center <= absent && err < sure && !slices.ContainsFunc(h.Events, func(o Event) bool {
			return o.Machine == m && len(o.Keys) >= fewestKeys && o.First <= e.Last+beside &&
				e.First <= o.Last+beside
		}):
			return ByMachine, what + ": it is this machine or its build"
		}
	}
	return "", ""
}
