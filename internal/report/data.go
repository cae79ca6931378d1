package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/dataset"
	"krund/internal/display"
)

// The data of a report are scripts, because browsers do not let pages opened from disk load
// anything else. Each script calls a function of report.js with one JSON value:
//
//	krund.pair(K, {column, executions: [{number, label, unit, factor, values, outliers, ...}]})
//	krund.columns(K, E, [{name, unit, core, values}])
//	krund.events(K, E, {lost, lanes: [{kind, events, per, marks}], ...}): see eventsData
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
		"inset": reals{float64(r.Inset), r.InsetLeft, r.InsetTop}, "full": reals{r.Full.Low, r.Full.High},
		"events": events}
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
