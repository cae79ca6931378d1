package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"

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

// writePairData writes all executions of the analyzed column.
func writePairData(w io.Writer, index int, column string, unit display.Unit, runs []executionView) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "krund.pair(%d,{\"column\":%s,\"executions\":[\n", index, jsonText(column))
	for i, run := range runs {
		if i > 0 {
			b.WriteString(",\n")
		}
		axis := run.Run.axis(unit)
		fmt.Fprintf(b, `{"number":%d,"label":%s,"more":%t,"unit":%s,"factor":%g,"values":`, run.Number,
			jsonText(run.Label), run.HasMore, jsonText(axis.Name()), axis.Scale(1))
		jsonReals(b, run.Run.Values)
		b.WriteString(`,"outliers":`)
		jsonInts(b, run.Run.Outliers)
		b.WriteString(`,"common":`)
		jsonInts(b, run.Run.Common)
		b.WriteString(`,"changes":`)
		jsonInts(b, run.Run.Changes)
		b.WriteString(`,"means":[`)
		for k, m := range run.Run.Means() {
			if k > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(b, "[%g,%g,%s,%d]", m.From, m.To, jsonReal(m.Mean), number(m.Equivalent))
		}
		b.WriteString(`],"moves":[`)
		if c := run.Analysis; c != nil && c.Cores != nil {
			for k, m := range c.Cores.Moves {
				if k > 0 {
					b.WriteByte(',')
				}
				fmt.Fprintf(b, "[%d,%d,%d]", m.Iteration-1, m.From, m.To)
			}
		}
		b.WriteString("],")
		writeMarks(b, &run.Run)
		b.WriteByte('}')
	}
	b.WriteString("]});\n")
	return b.Flush()
}

// writeMarks writes the position of the inset, and events.
func writeMarks(b *bufio.Writer, r *Run) {
	fmt.Fprintf(b, `"inset":[%d,%g,%g],"full":[%g,%g],"events":[`, r.Inset, r.InsetLeft, r.InsetTop,
		r.Full.Low, r.Full.High)
	for i, e := range r.Events {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, `{"at":%g,"kind":%s,"where":%s,"text":%s,"label":%s}`, e.At,
			jsonText(string(e.Kind)), jsonText(e.Where(len(r.Values))), jsonText(display.PlainLine(e.Text)),
			jsonText(e.Label))
	}
	b.WriteByte(']')
}

// writeColumns writes the other columns of one execution.
func writeColumns(w io.Writer, pair, execution int, columns []dataset.Column) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "krund.columns(%d,%d,[", pair, execution)
	for i := range columns {
		c := &columns[i]
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, "\n{\"name\":%s,\"unit\":%s,\"core\":%d,\"values\":", jsonText(c.Name),
			jsonText(c.Unit), c.Core)
		switch {
		case c.Counts != nil:
			jsonList(b, len(c.Counts), func(buf []byte, i int) []byte {
				return strconv.AppendUint(buf,
					c.Counts[i], 10)
			})
		case c.Ints != nil:
			jsonList(b, len(c.Ints), func(buf []byte, i int) []byte {
				if c.Ints[i] == dataset.MissingInt {
					return append(buf, "null"...)
				}
				return strconv.AppendInt(buf, c.Ints[i], 10)
			})
		default:
			jsonReals(b, c.Reals)
		}
		b.WriteByte('}')
	}
	b.WriteString("]);\n")
	return b.Flush()
}

func jsonList(b *bufio.Writer, n int, add func([]byte, int) []byte) {
	var buf [32]byte
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(add(buf[:0], i))
	}
	b.WriteByte(']')
}

func jsonInts(b *bufio.Writer, values []int) {
	jsonList(b, len(values), func(buf []byte, i int) []byte {
		return strconv.AppendInt(buf, int64(values[i]),
			10)
	})
}

func jsonReals(b *bufio.Writer, values []float64) {
	jsonList(b, len(values), func(buf []byte, i int) []byte { return append(buf, jsonReal(values[i])...) })
}

// jsonReal returns the shortest text that parses to the same number; null for none.
func jsonReal(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "null"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
