package report

import (
	"fmt"
	"io"
	"math"

	"krund/internal/analysis/explain"
	"krund/internal/display"
)

// Limits of the evidence that an execution's page has. Names of events come from the process that
// was measured.
const (
	longestName  = 120 // bytes
	mostEvidence = 6   // events of an outlier or changepoint that are listed
	mostListed   = 600 // of all of them together
)

// eventsData is what the VM and the kernel did in one execution, as its page reads it.
type eventsData struct {
	Lost     int           `json:"lost"`
	Lanes    []laneData    `json:"lanes"`
	Names    []string      `json:"names"` // of the marks
	Steady   string        `json:"steady"`
	Findings []findingData `json:"findings"`
}

type laneData struct {
	Kind   string   `json:"kind"`
	Events int      `json:"events"`
	Per    int      `json:"per"` // see explain.Lane
	Marks  [][5]any `json:"marks"`
}

// findingData is the evidence at an outlier, or at the first iteration after a changepoint.
type findingData struct {
	At     int         `json:"at"`
	Change bool        `json:"change"`
	Text   string      `json:"text"`
	Cause  string      `json:"cause"` // "": unexplained
	Also   []string    `json:"also"`
	Events [][2]string `json:"events"` // kind and description
	More   int         `json:"more"`   // number of events that are not listed
}

// writeEvents writes the events of an execution, and the evidence of its findings: a call of
// krund.events(K, E, ...).
func writeEvents(w io.Writer, pair, execution int, v *executionView) error {
	return writeCall(w, "events", pair, execution, v.events())
}

func (v *executionView) events() eventsData {
	d := eventsData{Lanes: []laneData{}, Names: []string{}, Findings: []findingData{}}
	if t := v.Timeline; t != nil {
		d.Lost = t.Lost
		index := map[string]int{}
		for _, l := range t.Lanes {
			lane := laneData{l.Kind, l.Events, l.Per, make([][5]any, len(l.Marks))}
			for i, m := range l.Marks {
				name, seen := index[m.Name]
				if !seen {
					name = len(d.Names)
					index[m.Name], d.Names = name, append(d.Names, boundedName(m.Name))
				}
				lane.Marks[i] = [5]any{thousandth(m.From), thousandth(m.To), m.Events, m.NS, name}
			}
			d.Lanes = append(d.Lanes, lane)
		}
	}
	if x := v.Explained; x != nil {
		d.Steady = boundedText(x.Steady.Text)
		listed := 0
		for _, f := range x.Outliers {
			d.Findings = append(d.Findings, v.finding(explain.Outliers, &f, &listed))
		}
		for _, f := range x.Changepoints {
			d.Findings = append(d.Findings, v.finding(explain.Changepoints, &f, &listed))
		}
	}
	return d
}

func thousandth(v float64) float64 { return math.Round(v*1000) / 1000 }

func boundedName(s string) string { return display.Clip(display.PlainLine(s), longestName) }

func boundedText(s string) string { return display.Clip(display.PlainLine(s), display.MaxMessage) }

// finding describes the evidence of an outlier or changepoint. listed counts the events of all of
// them.
func (v *executionView) finding(at explain.Target, f *explain.Finding, listed *int) findingData {
	d := findingData{At: f.Iteration, Change: at == explain.Changepoints, Text: boundedText(f.Text),
		Cause: string(f.Cause), Also: []string{}, Events: [][2]string{}}
	for _, also := range f.Evidence {
		d.Also = append(d.Also, boundedText(also))
	}
	if v.Timeline == nil {
		return d
	}
	incidents, all := v.Timeline.Incidents(at, f.Iteration, min(mostEvidence, mostListed-*listed))
	for _, e := range incidents {
		d.Events = append(d.Events, [2]string{e.Kind, incidentText(&e, f.Iteration)})
	}
	*listed += len(incidents)
	d.More = all - len(incidents)
	return d
}

// incidentText describes an event for a finding at an iteration: "scavenge: 1.2 ms, from 0.3 ms
// after the beginning of the iteration; freed 2.0 Mbytes".
func incidentText(e *explain.Incident, iteration int) string {
	text := ""
	if e.Name != "" {
		text = boundedName(e.Name) + ": "
	}
	when := " after the beginning of "
	after := float64(e.After)
	if after < 0 {
		when, after = " before the beginning of ", -after
	}
	which := fmt.Sprintf("iteration %d", max(e.Iteration, 0)+1)
	if e.Iteration == iteration {
		which = "the iteration"
	}
	if e.DurationNS > 0 {
		text += display.Nanoseconds(float64(e.DurationNS)) + ", from "
	}
	text += display.Nanoseconds(after) + when + which
	if e.Kind == "gc" && e.Argument != nil {
		text += fmt.Sprintf("; freed %s", display.Bytes(*e.Argument))
	}
	return text
}
