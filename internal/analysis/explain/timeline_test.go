package explain

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestTimeline: each iteration is 1 ms long, with 1 ms between two; the first begins at 10 ms.
func TestTimeline(t *testing.T) {
	const ms = 1_000_000
	e := dataset.Execution{Starts: []int64{10 * ms, 12 * ms, 14 * ms}, EventsLost: 7,
		Columns: []dataset.Column{{Name: dataset.Wall, Unit: dataset.Nanoseconds, Core: dataset.NoCore,
			Ints: []int64{ms, ms, ms}}}}
	add := func(kind, name string, at, duration float64) {
		e.Events = append(e.Events, results.Event{Kind: kind, Name: name, TimeNS: int64(at * ms),
			DurationNS: int64(duration * ms)})
	}
	add("gc", "early", 5, 0)
	add("compile", "f", 10.25, 2.25) // from a quarter of the first to the middle of the second
	add("switch", "swapper/0", 12.1, 0.1)
	add("gc", "", 12, 0.5)
	add("gc", "between", 13.5, 0.1)
	add("gc", "late", 99, 1)
	add("gc", "hostile", 14, math.MaxInt64/ms) // ends after all that a number can be
	add("unknown", "", 12, 0)
	line := NewTimeline(&e)
	var got []string
	for _, l := range line.Lanes {
		for _, m := range l.Marks {
			got = append(got, fmt.Sprintf("%s %s %.2f %.2f", l.Kind, m.Name, m.From, m.To))
		}
	}
	want := []string{"gc early -0.50 -0.50", "gc  0.50 1.00", "gc between 1.50 1.50",
		"gc hostile 1.50 1.50", "gc late 2.50 2.50", "compile f -0.25 1.00"}
	must.Be(t, slices.Equal(got, want) && line.Lost == 7, "lost", line.Lost, strings.Join(got, "\n"),
		strings.Join(want, "\n"))
	for _, c := range []struct {
		at              Target
		iteration, most int
		want            string // kind, iteration, microseconds after its beginning
		all             int
	}{
		{Outliers, 0, 9, "compile 0 250", 1},
		{Outliers, 1, 9, "compile 0 250, gc 1 0", 2},
		{Outliers, 1, 1, "gc 1 0", 2},
		{Changepoints, 1, 9, "compile 0 250, gc 1 0, gc 1 1500, gc 2 0", 4},
		{Changepoints, 1, 2, "compile 0 250, gc 2 0", 4},
	} {
		list, all := line.Incidents(c.at, c.iteration, c.most)
		var got []string
		for _, i := range list {
			got = append(got, fmt.Sprintf("%s %d %d", i.Kind, i.Iteration, i.After/1000))
		}
		if text := strings.Join(got, ", "); text != c.want || all != c.all {
			t.Errorf("%s %d: %q of %d, want %q of %d", c.at, c.iteration, text, all, c.want, c.all)
		}
	}
}

// TestTimelineIsBounded: 5,000 events in 2,500 iterations become 625 marks of four iterations,
// which count all of them and have the name of the longest.
func TestTimelineIsBounded(t *testing.T) {
	e, _ := made(2500, nil, nil)
	for i, start := range e.Starts {
		e.Events = append(e.Events, results.Event{Kind: "gc", Name: fmt.Sprint(i), TimeNS: start,
			DurationNS: int64(i % 4)}, results.Event{Kind: "gc", TimeNS: start + 10})
	}
	l := NewTimeline(&e).Lanes[0]
	events, ns := 0, int64(0)
	for _, m := range l.Marks {
		events, ns = events+m.Events, ns+m.NS
	}
	must.Be(t, len(l.Marks) == 625 && l.Per == 4 && l.Events == 5000 && events == 5000 && ns == 625*(1+2+3) &&
		l.Marks[1].Name == "7" && int(l.Marks[1].From+0.5) == 4 && int(l.Marks[1].To+0.5) == 7, len(l.Marks),
		l.Per, l.Events, events, ns, l.Marks[1])
}

// TestNoTimeline: without stamps, events have no place.
func TestNoTimeline(t *testing.T) {
	e, _ := made(50, nil, nil)
	must.Be(t, NewTimeline(&e) == nil, "without events")
	e.Events = []results.Event{{Kind: "gc"}}
	e.Starts = nil
	must.Be(t, NewTimeline(&e) == nil, "without stamps")
}
