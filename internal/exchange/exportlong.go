package exchange

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"

	"krund/internal/results"
)

// columnID distinguishes series: a counter and a user column may share a name.
type columnID struct {
	kind results.Kind
	name string // including the core
}

func idOf(c results.Column) columnID { return columnID{c.Kind, c.Label()} }

// LongHeads are the columns of the long form before those of the series.
func LongHeads(outcome, arms bool) []string {
	return append(recordHeads(outcome, arms), "iteration", "start_ns", "wall_ns", "wall_s")
}

// ExportOptions select the part of an experiment to export.
type ExportOptions struct {
	Outcome bool     // add a column with the outcome of the record
	Columns []string // labels of the series; none: all
	From    int      // iterations [From, To)
	To      int
	JSON    bool // JSON lines instead of CSV
}

// LongExport is a table with a row for each iteration.
type LongExport struct {
	records iter.Seq[results.Record]
	options ExportOptions
	arms    bool // the keys have arms
	heads   []string
	fixed   int              // number of columns common to all experiments
	at      map[columnID]int // index in heads
}

// NewLongExport reads all records once to determine the columns, because machines with different
// numbers of processors may have contributed. The error names a requested column that no record
// has.
func NewLongExport(records iter.Seq[results.Record], o ExportOptions) (*LongExport, error) {
	l := &LongExport{records: records, options: o, at: make(map[columnID]int)}
	l.arms = haveArms(records)
	l.heads = LongHeads(o.Outcome, l.arms)
	l.fixed = len(l.heads)
	wanted := make(map[string]bool)
	for _, name := range o.Columns {
		wanted[name] = false
	}
	for rec := range records {
		for _, c := range rec.Columns {
			name := c.Label()
			if _, ok := wanted[name]; len(o.Columns) > 0 && !ok {
				continue
			}
			wanted[name] = true
			if _, ok := l.at[idOf(c)]; !ok {
				l.at[idOf(c)] = len(l.heads)
				l.heads = append(l.heads, l.head(c))
			}
		}
	}
	for _, name := range o.Columns {
		if !wanted[name] {
			return nil, fmt.Errorf(
				"no record has a column %q; `krunctl show` lists the columns of a record", name)
		}
	}
	return l, nil
}

// head returns an unused name for c.
func (l *LongExport) head(c results.Column) string {
	name := c.Label()
	for slices.Contains(l.heads, name) {
		name = string(c.Kind) + "_" + name
	}
	return name
}

// Write writes the table.
func (l *LongExport) Write(w io.Writer) error {
	rows, err := newRows(w, l.options.JSON, l.heads, l.fixed)
	if err != nil {
		return err
	}
	for rec := range l.records {
		if err := l.write(rows, rec); err != nil {
			return err
		}
	}
	return rows.end()
}

// write adds the rows of one record.
func (l *LongExport) write(rows rowWriter, r results.Record) error {
	cells := make([]string, len(l.heads))
	copy(cells, recordCells(&r, l.options.Outcome, l.arms))
	for i := l.options.From; i < min(l.options.To, len(r.WallNS)); i++ {
		cells[l.fixed-4] = strconv.Itoa(i)
		cells[l.fixed-3] = ""
		if i < len(r.StartNS) {
			cells[l.fixed-3] = strconv.FormatInt(r.StartNS[i], 10)
		}
		cells[l.fixed-2] = strconv.FormatInt(r.WallNS[i], 10)
		cells[l.fixed-1] = secondsText(r.WallNS[i])
		for j := l.fixed; j < len(cells); j++ {
			cells[j] = ""
		}
		for _, c := range r.Columns {
			if j, ok := l.at[idOf(c)]; ok {
				cells[j] = c.Text(i)
			}
		}
		if err := rows.row(cells); err != nil {
			return err
		}
	}
	return nil
}
