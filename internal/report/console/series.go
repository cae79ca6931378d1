package console

import (
	"strconv"

	"krund/internal/display"
	"krund/internal/experiment/results"
)

// Series writes a row for each iteration, numbered from 0 as in exports.
func (out *Console) Series(r results.Skimmed) {
	columns := []string{">iteration", ">start", ">wall"}
	for _, c := range r.Columns {
		columns = append(columns, ">"+c.Label())
	}
	row := make([]string, len(columns))
	rows := func(yield func([]string) bool) {
		cells := []func() string{cellsOf(r.Start, results.StampText), cellsOf(r.Wall, results.StampText)}
		for i, c := range r.Columns {
			text := results.ValueText
			if c.Kind == results.KindCounter {
				text = results.CountText
			}
			cells = append(cells, cellsOf(r.Series[i], text))
		}
		for i := range r.Wall.Len() {
			row[0] = strconv.Itoa(i)
			for j, next := range cells {
				row[1+j] = orDash(next())
			}
			if !yield(row) {
				return
			}
		}
	}
	out.print("start and wall in ns\n")
	display.LongTable(out.w, columns, rows)
}

// cellsOf returns a function that returns the values of a series as texts one by one, and "" after
// the last.
func cellsOf(p *results.Packed, text func(uint64) string) func() string {
	next := p.Cursor()
	return func() string {
		if v, ok := next(); ok {
			return text(v)
		}
		return ""
	}
}
