package explain

import (
	"cmp"
	"slices"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/results"
)

// Timeline places the events of an execution on the axis of its iterations, for plots: iteration i
// reaches from i - 0.5 to i + 0.5, and what happened between it and the next one is at i + 0.5.
type Timeline struct {
	Lanes []Lane // one for each kind of events that occurs, in the order of Kinds
	Lost  int    // number of events that happened and are not known

	r run
	// during[k] are the iterations that event k overlaps: [first, after)
	during [][2]int
}

// Lane has the events of one kind. At most MostMarks marks stand for all of them.
type Lane struct {
	Kind   string
	Events int
	// Per is the number of successive iterations whose events have one mark; 0: each event has its
	// own.
	Per   int
	Marks []LaneMark // by From
}

// LaneMark is an event, or several that began in the same iteration or group of iterations.
type LaneMark struct {
	From, To float64 // on the axis
	Events   int
	NS       int64  // the sum of their durations, nanoseconds; 0: unknown
	Name     string // of the longest; "": none

	longest int64
}

// MostMarks bounds the marks of a lane.
const MostMarks = 1000

// Kinds are the kinds of events, those of the VM before those of the kernel.
var Kinds = []string{"gc", "compile", "deopt", "code", "load", "pause", "mark", "switch", "irq", "fault",
	"smi"}

// NewTimeline returns nil if the execution has no events, or they belong to no iteration.
func NewTimeline(e *dataset.Execution) *Timeline {
	wall, ok := e.Column(dataset.Wall, dataset.NoCore)
	if !ok || len(e.Events) == 0 {
		return nil
	}
	t := &Timeline{Lost: e.EventsLost, r: run{e: e, n: wall.Len()}}
	if t.r.starts, t.r.ends = stamps(e, t.r.n); t.r.n == 0 || t.r.starts == nil {
		return nil
	}
	for k := range e.Events {
		first, after := t.r.during(&e.Events[k])
		t.during = append(t.during, [2]int{first, after})
	}
	for _, kind := range Kinds {
		if l := t.lane(kind); l.Events > 0 {
			t.Lanes = append(t.Lanes, l)
		}
	}
	return t
}

// position returns where a stamp is on the axis.
func (r *run) position(stamp int64) float64 {
	i := r.began(&results.Event{TimeNS: stamp})
	switch {
	case i < 0:
		return -0.5
	case stamp >= r.ends[i]:
		return float64(i) + 0.5
	}
	return float64(i) - 0.5 + float64(stamp-r.starts[i])/float64(r.ends[i]-r.starts[i])
}

func (t *Timeline) lane(kind string) Lane {
	any := source{kind: kind}
	var marks []LaneMark
	for k := range t.r.e.Events {
		ev := &t.r.e.Events[k]
		if any.has(ev) {
			m := LaneMark{From: t.r.position(ev.TimeNS), Events: 1, NS: max(0, ev.DurationNS), Name: ev.Name}
			m.To, m.longest = max(m.From, t.r.position(ev.TimeNS+m.NS)), m.NS
			marks = append(marks, m)
		}
	}
	slices.SortStableFunc(marks, func(a, b LaneMark) int { return cmp.Compare(a.From, b.From) })
	l := Lane{Kind: kind, Events: len(marks), Marks: marks}
	for len(l.Marks) > MostMarks {
		l.Per = max(1, 2*l.Per)
		l.Marks = merge(marks, l.Per)
	}
	return l
}

// merge makes one mark of those that begin in the same group of iterations.
func merge(marks []LaneMark, per int) []LaneMark {
	var merged []LaneMark
	group := -1
	for _, m := range marks {
		g := int(m.From+0.5) / per
		if g != group {
			merged, group = append(merged, m), g
			continue
		}
		last := &merged[len(merged)-1]
		last.To, last.Events, last.NS = max(last.To, m.To), last.Events+m.Events, last.NS+m.NS
		if m.longest > last.longest {
			last.longest, last.Name = m.longest, m.Name
		}
	}
	return merged
}

// Incident is an event at an outlier or a changepoint.
type Incident struct {
	results.Event
	Iteration int   // in which it began; -1: before the first
	After     int64 // nanoseconds from the beginning of that iteration (or the first) to its own
}

// Incidents lists events at a target, by time: of an outlier those in its iteration, of a
// changepoint those within two iterations. It has at most as many as most, the longest of each
// kind; all is the number of all of them.
func (t *Timeline) Incidents(at Target, iteration, most int) (list []Incident, all int) {
	from, to := iteration, iteration
	if at == Changepoints {
		from, to = max(0, iteration-near), min(iteration+near, t.r.n)-1
	}
	kinds := map[string][]*results.Event{}
	for k := range t.r.e.Events {
		ev := &t.r.e.Events[k]
		if t.during[k][0] > to || t.during[k][1] <= from {
			continue
		}
		if slices.Contains(Kinds, ev.Kind) && (&source{kind: ev.Kind}).has(ev) {
			kinds[ev.Kind] = append(kinds[ev.Kind], ev)
			all++
		}
	}
	for _, events := range kinds {
		slices.SortStableFunc(events, func(a, b *results.Event) int {
			return cmp.Compare(b.DurationNS, a.DurationNS)
		})
	}
	for rank := 0; len(list) < min(most, all); rank++ {
		for _, kind := range Kinds {
			if events := kinds[kind]; rank < len(events) && len(list) < most {
				at := t.r.began(events[rank])
				list = append(list, Incident{*events[rank], at, events[rank].TimeNS - t.r.starts[max(at, 0)]})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Incident) int { return cmp.Compare(a.TimeNS, b.TimeNS) })
	return list, all
}
