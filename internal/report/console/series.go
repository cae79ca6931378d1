package console

import (
	"cmp"
	"strconv"

	"krund/internal/display"
	"krund/internal/experiment/results"
)

// Series writes a row for each iteration, numbered from 0 as in exports.
func (out *Console) Series(r results.Record) {
	columns := []string{">iteration", ">start", ">wall"}
	for _, c := range r.Columns {
		columns = append(columns, ">"+c.Label())
	}
	stamps := []results.Column{{Values: r.StartNS}, {Values: r.WallNS}}
	series := append(stamps, r.Columns...)
	row := make([]string, len(columns))
	rows := func(yield func([]string) bool) {
		for i := range r.WallNS {
			row[0] = strconv.Itoa(i)
			for j, c := range series {
				row[1+j] = cmp.Or(c.Text(i), "-")
			}
			if !yield(row) {
				return
			}
		}
	}
	out.print("start and wall in ns\n")
	display.LongTable(out.w, columns, rows)
}
