package exchange

import (
	"io"
	"iter"
	"sort"
	"strconv"

	"krund/internal/display"
	"krund/internal/results"
)

// EventHeads are the columns of the table of events.
func EventHeads(outcome, arms bool) []string {
	return append(recordHeads(outcome, arms), "iteration", "kind", "name", "time_ns", "duration_ns",
		"argument")
}

// EventsExport is a table with a row for each event.
type EventsExport struct {
	records iter.Seq[results.Record]
	options ExportOptions
}

// NewEventsExport returns the table of the events of records.
func NewEventsExport(records iter.Seq[results.Record], o ExportOptions) *EventsExport {
	return &EventsExport{records, o}
}

// Write writes the table, record by record.
func (x *EventsExport) Write(w io.Writer) error {
	arms := haveArms(x.records)
	heads := EventHeads(x.options.Outcome, arms)
	rows, err := newRows(w, x.options.JSON, heads, len(heads))
	if err != nil {
		return err
	}
	for rec := range x.records {
		same := recordCells(&rec, x.options.Outcome, arms)
		for _, e := range rec.Events {
			argument := ""
			if e.Argument != nil {
				argument = strconv.FormatInt(*e.Argument, 10)
			}
			cells := append(same[:len(same):len(same)], iterationAt(&rec, e.TimeNS),
				display.PlainLine(e.Kind), display.PlainLine(e.Name),
				strconv.FormatInt(e.TimeNS, 10), strconv.FormatInt(e.DurationNS, 10), argument)
			if err := rows.row(cells); err != nil {
				return err
			}
		}
	}
	return rows.end()
}

// iterationAt returns the number of the iteration that ran at a time; "" if none did.
func iterationAt(r *results.Record, ns int64) string {
	i := sort.Search(len(r.StartNS), func(i int) bool { return r.StartNS[i] > ns }) - 1
	if i < 0 || i >= len(r.WallNS) || ns-r.StartNS[i] >= r.WallNS[i] {
		return ""
	}
	return strconv.Itoa(i)
}
