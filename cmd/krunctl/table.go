package main

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// table prints rows in columns. Columns whose name starts with ">" are flush
// right. Cells are made fit for a terminal. Trailing blanks are left out.
func (a *app) table(columns []string, rows [][]string) {
	a.longTable(columns, slices.Values(rows))
}

// longTable is table for rows that are too many to keep: it ranges over them
// twice, for the widths and for the printing. A row may be changed once it was
// yielded.
func (a *app) longTable(columns []string, rows iter.Seq[[]string]) {
	width := make([]int, len(columns))
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = visible(strings.TrimPrefix(c, ">"))
		width[i] = utf8.RuneCountInString(names[i])
	}
	for row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(visible(cell)))
		}
	}
	a.row(columns, width, names)
	for row := range rows {
		a.row(columns, width, row)
	}
}

// row prints one row of a table; cells that it lacks are empty.
func (a *app) row(columns []string, width []int, cells []string) {
	var line strings.Builder
	for i := range columns {
		cell := ""
		if i < len(cells) {
			cell = visible(cells[i])
		}
		pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
		if i > 0 {
			line.WriteString("  ")
		}
		if strings.HasPrefix(columns[i], ">") {
			line.WriteString(pad + cell)
		} else {
			line.WriteString(cell + pad)
		}
	}
	a.print("%s\n", strings.TrimRight(line.String(), " "))
}
