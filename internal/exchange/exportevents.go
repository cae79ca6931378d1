package exchange

import (
	"iter"
	"sort"
	"strconv"

	"krund/internal/display"
	"krund/internal/experiment/results"
)

// NewEventsExport returns a table with a row for each event of records.
func NewEventsExport(records iter.Seq[results.Record], o ExportOptions) *Export {
	x := newExport(records, o, "iteration", "kind", "name", "time_ns", "duration_ns", "argument")
	x.rows = func(r *results.Record, add func([]string) error) error {
		same := x.same(r)
		for _, e := range r.Events {
			argument := ""
			if e.Argument != nil {
				argument = strconv.FormatInt(*e.Argument, 10)
			}
			cells := append(same[:len(same):len(same)], iterationAt(r, e.TimeNS),
				display.PlainLine(e.Kind), display.PlainLine(e.Name),
				strconv.FormatInt(e.TimeNS, 10), strconv.FormatInt(e.DurationNS, 10), argument)
			if err := add(cells); err != nil {
				return err
			}
		}
		return nil
	}
	return x
}

// iterationAt returns the number of the iteration that ran at a time; "" if none did.
func iterationAt(r *results.Record, ns int64) string {
	i := sort.Search(len(r.StartNS), func(i int) bool { return r.StartNS[i] > ns }) - 1
	if i < 0 || i >= len(r.WallNS) || ns-r.StartNS[i] >= r.WallNS[i] {
		return ""
	}
	return strconv.Itoa(i)
}
