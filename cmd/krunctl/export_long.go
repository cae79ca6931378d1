package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"krund/internal/experiment"
	"krund/internal/results"
)

// columnID tells series apart: a counter and a user column may share a name.
type columnID struct {
	kind results.Kind
	name string // with the core
}

func idOf(c results.Column) columnID { return columnID{c.Kind, columnName(c)} }

// fixedColumns are the heads of the long form before those of the series.
func fixedColumns(outcome bool) []string {
	heads := []string{"benchmark", "vm", "variant", "pexec", "slot", "attempt"}
	if outcome {
		heads = append(heads, "outcome")
	}
	return append(heads, "iteration", "start_ns", "wall_ns", "wall_s")
}

// layout is which series are exported under which head.
type layout struct {
	heads []string
	fixed int              // heads that are the same for every experiment
	at    map[columnID]int // index in heads
}

// layoutOf reads all records once, to know the columns of all of them: a
// machine with another number of processors may have come in between.
func layoutOf(m *experiment.Records, o exportOptions) (layout, error) {
	l := layout{heads: fixedColumns(o.allOutcomes), at: make(map[columnID]int)}
	l.fixed = len(l.heads)
	wanted := make(map[string]bool)
	for _, name := range o.columns {
		wanted[name] = false
	}
	for rec := range m.All() {
		if !rec.Counts && !o.allOutcomes {
			continue
		}
		for _, c := range rec.Columns {
			name := columnName(c)
			if _, ok := wanted[name]; len(o.columns) > 0 && !ok {
				continue
			}
			wanted[name] = true
			if _, ok := l.at[idOf(c)]; !ok {
				l.at[idOf(c)] = len(l.heads)
				l.heads = append(l.heads, l.head(c))
			}
		}
	}
	for _, name := range o.columns {
		if !wanted[name] {
			return l, fmt.Errorf("no record has a column %q; `krunctl show` lists the columns of a record", name)
		}
	}
	return l, nil
}

// head is a name for c that is not taken.
func (l *layout) head(c results.Column) string {
	name := columnName(c)
	for slices.Contains(l.heads, name) {
		name = string(c.Kind) + "_" + name
	}
	return name
}

// rowWriter takes the cells of a row, in the order of the heads; "" is missing.
type rowWriter interface {
	row(cells []string) error
	end() error
}

func (a *app) exportLong(m *experiment.Records, o exportOptions) error {
	l, err := layoutOf(m, o)
	if err != nil {
		return err
	}
	return a.toOutput(o.output, func(w io.Writer) error {
		var rows rowWriter = newCSVRows(w)
		if o.jsonl {
			rows = &jsonRows{w: w, heads: l.heads, fixed: l.fixed}
		} else if err := rows.row(l.heads); err != nil {
			return err
		}
		for rec := range m.All() {
			if !rec.Counts && !o.allOutcomes {
				continue
			}
			if err := l.write(rows, rec.Record, o); err != nil {
				return err
			}
		}
		return rows.end()
	})
}

// write adds the rows of one record.
func (l layout) write(rows rowWriter, r results.Record, o exportOptions) error {
	cells := make([]string, len(l.heads))
	copy(cells, []string{r.Key.Benchmark, r.Key.VM, r.Key.Variant, strconv.Itoa(r.Pexec), strconv.Itoa(r.Slot), strconv.Itoa(r.Attempt)})
	if o.allOutcomes {
		cells[l.fixed-5] = string(r.Outcome)
	}
	for i := o.from; i < min(o.too, len(r.WallNS)); i++ {
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
				cells[j] = cell(c, i)
			}
		}
		if err := rows.row(cells); err != nil {
			return err
		}
	}
	return nil
}

type csvRows struct{ *csv.Writer }

func newCSVRows(w io.Writer) csvRows { return csvRows{csv.NewWriter(w)} }

func (c csvRows) row(cells []string) error { return c.Write(cells) }

func (c csvRows) end() error {
	c.Flush()
	return c.Error()
}

// jsonRows writes an object per row. All but names are numbers; what is
// missing is null.
type jsonRows struct {
	w     io.Writer
	heads []string
	fixed int // so many of them are not series
}

func (j *jsonRows) row(cells []string) error {
	var b strings.Builder
	for i, value := range cells {
		name, err := json.Marshal(j.heads[i])
		if err != nil {
			return err
		}
		switch {
		case i < j.fixed && textHeads[j.heads[i]]:
			quoted, err := json.Marshal(value)
			if err != nil {
				return err
			}
			value = string(quoted)
		case value == "":
			value = "null"
		}
		fmt.Fprintf(&b, ",%s:%s", name, value)
	}
	_, err := fmt.Fprintf(j.w, "{%s}\n", b.String()[1:])
	return err
}

func (j *jsonRows) end() error { return nil }

var textHeads = map[string]bool{"benchmark": true, "vm": true, "variant": true, "outcome": true}
