package exchange

import (
	"fmt"
	"iter"
	"slices"
	"strconv"

	"krund/internal/experiment/results"
)

// columnID distinguishes series: a counter and a user column may share a name.
type columnID struct {
	kind results.Kind
	name string // including the core
}

func idOf(c results.Column) columnID { return columnID{c.Kind, c.Label()} }

// NewLongExport returns a table with a row for each iteration. It reads all records once to
// determine the columns, because machines with different numbers of processors may have
// contributed. The error names a requested column that no record has.
func NewLongExport(records iter.Seq[results.Record], o ExportOptions) (*Export, error) {
	x := newExport(records, o, "iteration", "start_ns", "wall_ns", "wall_s")
	at := make(map[columnID]int) // index in heads
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
			if _, ok := at[idOf(c)]; !ok {
				at[idOf(c)] = len(x.heads)
				x.heads = append(x.heads, x.unused(c))
			}
		}
	}
	for _, name := range o.Columns {
		if !wanted[name] {
			return nil, fmt.Errorf(
				"no record has a column %q; `krunctl show` lists the columns of a record", name)
		}
	}
	x.rows = func(r *results.Record, add func([]string) error) error { return x.iterations(r, at, add) }
	return x, nil
}

// unused returns a name for c that no other column has.
func (x *Export) unused(c results.Column) string {
	name := c.Label()
	for slices.Contains(x.heads, name) {
		name = string(c.Kind) + "_" + name
	}
	return name
}

// iterations passes the rows of the long form to add; at is the index of each series in heads.
func (x *Export) iterations(r *results.Record, at map[columnID]int, add func([]string) error) error {
	cells := make([]string, len(x.heads))
	own := cells[copy(cells, x.same(r)):]
	for i := x.options.From; i < min(x.options.To, len(r.WallNS)); i++ {
		clear(own)
		own[0] = strconv.Itoa(i)
		if i < len(r.StartNS) {
			own[1] = strconv.FormatInt(r.StartNS[i], 10)
		}
		own[2], own[3] = strconv.FormatInt(r.WallNS[i], 10), secondsText(r.WallNS[i])
		for _, c := range r.Columns {
			if j, ok := at[idOf(c)]; ok {
				cells[j] = c.Text(i)
			}
		}
		if err := add(cells); err != nil {
			return err
		}
	}
	return nil
}
