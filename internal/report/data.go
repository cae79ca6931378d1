package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/explain"
	"krund/internal/display"
)

// The data of a report are scripts, because browsers do not let pages opened from disk load
// anything else. Each script calls a function of report.js with one JSON value:
//
//	krund.pair(K, {column, executions: [{number, label, unit, factor, values, outliers, ...}]})
//	krund.columns(K, E, [{name, unit, core, values}])
//	krund.events(K, E, {lost, lanes: [{kind, events, per, marks}], ...}): see writeEvents
//
// K and E are indexes from 0 of the pair and of its execution. Values are the shortest decimal
// numbers that round-trip, and null for missing values. Times factor they are in unit, that of the
// axis.

// writeCall writes a call of a function of report.js. The arguments are safe in a script.
func writeCall(w io.Writer, function string, arguments ...any) error {
	text, err := json.Marshal(arguments) // escapes <, > and & for HTML
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "krund.%s(%s);\n", function, text[1:len(text)-1])
	return err
}

// reals are numbers, of which NaN and the infinities are null.
type reals []float64

// MarshalJSON implements json.Marshaler, in one pass over a series.
func (r reals) MarshalJSON() ([]byte, error) {
	text := make([]byte, 1, 20*len(r)+2)
	for _, v := range r {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			text = append(text, "null,"...)
		} else {
			text = append(strconv.AppendFloat(text, v, 'g', -1, 64), ',')
		}
	}
	text[0] = '['
	return append(text[:max(1, len(text)-1)], ']'), nil
}

// writePairData writes all executions of the analyzed column.
func writePairData(w io.Writer, index int, column string, unit display.Unit, runs []executionView) error {
	executions := make([]map[string]any, len(runs))
	for i := range runs {
		executions[i] = runs[i].data(unit)
	}
	return writeCall(w, "pair", index, map[string]any{"column": column, "executions": executions})
}

func (v *executionView) data(unit display.Unit) map[string]any {
	r, axis := &v.Run, v.Run.axis(unit)
	means, moves, events := []reals{}, [][3]int{}, []any{}
	for _, m := range r.Means() {
		means = append(means, reals{m.From, m.To, m.Mean, float64(arith.One(m.Equivalent))})
	}
	if c := v.Analysis; c != nil && c.Cores != nil {
		for _, m := range c.Cores.Moves {
			moves = append(moves, [3]int{m.Iteration - 1, m.From, m.To})
		}
	}
	for _, e := range r.Events {
		events = append(events, map[string]any{"at": e.At, "kind": e.Kind, "where": e.Where(len(r.Values)),
			"text": display.PlainLine(e.Text), "label": e.Label})
	}
	list := func(numbers []int) []int { return append([]int{}, numbers...) } // never null
	return map[string]any{"number": v.Number, "label": v.Label, "more": v.HasMore, "unit": axis.Name(),
		"factor": axis.Scale(1), "values": reals(r.Values), "outliers": list(r.Outliers),
		"common": list(r.Common), "changes": list(r.Changes), "means": means, "moves": moves,
		"inset": reals{float64(r.Inset), insetLeft, insetTop}, "full": reals{r.Full.Low, r.Full.High},
		"zoom": reals{r.Zoom.Low, r.Zoom.High}, "events": events}
}

// writeColumns writes the other columns of one execution.
func writeColumns(w io.Writer, pair, execution int, columns []dataset.Column) error {
	list := make([]map[string]any, len(columns))
	for i := range columns {
		c := &columns[i]
		list[i] = map[string]any{"name": c.Name, "unit": c.Unit, "core": c.Core, "values": reals(c.Reals)}
		switch {
		case c.Counts != nil:
			list[i]["values"] = c.Counts
		case c.Ints != nil:
			values := make([]*int64, len(c.Ints))
			for k, v := range c.Ints {
				if v != dataset.MissingInt {
					values[k] = &v
				}
			}
			list[i]["values"] = values
		}
	}
	return writeCall(w, "columns", pair, execution, list)
}

// Limits of the evidence that an execution's page has. Names of events come from the process that
// was measured.
const (
	longestName  = 120 // bytes
	mostEvidence = 6   // events of an outlier or changepoint that are listed
	mostListed   = 600 // of all of them together
)

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

// writeEvents writes what the VM and the kernel did in an execution, and the evidence of its
// findings: a call of krund.events(K, E, {lost, lanes: [{kind, events, per, marks}], names, steady,
// findings}). For per see explain.Lane; names are those of the marks.
func writeEvents(w io.Writer, pair, execution int, v *executionView) error {
	lost, steady, lanes, names, findings := 0, "", []any{}, []string{}, []findingData{}
	if t := v.Timeline; t != nil {
		lost = t.Lost
		index := map[string]int{}
		for _, l := range t.Lanes {
			marks := make([][5]any, len(l.Marks))
			for i, m := range l.Marks {
				name, seen := index[m.Name]
				if !seen {
					name = len(names)
					index[m.Name], names = name, append(names, boundedName(m.Name))
				}
				marks[i] = [5]any{thousandth(m.From), thousandth(m.To), m.Events, m.NS, name}
			}
			lanes = append(lanes, map[string]any{"kind": l.Kind, "events": l.Events, "per": l.Per,
				"marks": marks})
		}
	}
	if x := v.Explained; x != nil {
		steady = boundedText(x.Steady.Text)
		listed := 0
		for _, f := range x.Outliers {
			findings = append(findings, v.finding(explain.Outliers, &f, &listed))
		}
		for _, f := range x.Changepoints {
			findings = append(findings, v.finding(explain.Changepoints, &f, &listed))
		}
	}
	return writeCall(w, "events", pair, execution, map[string]any{"lost": lost, "lanes": lanes,
		"names": names, "steady": steady, "findings": findings})
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
