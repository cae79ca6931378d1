package main

import (
	"strings"
	"unicode/utf8"
)

// table prints rows in columns. Columns whose name starts with ">" are flush
// right. Cells are made fit for a terminal. Trailing blanks are left out.
func (a *app) table(columns []string, rows [][]string) {
	width := make([]int, len(columns))
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = visible(strings.TrimPrefix(c, ">"))
		width[i] = utf8.RuneCountInString(names[i])
	}
	cells := make([][]string, 0, len(rows)+1)
	cells = append(cells, names)
	for _, row := range rows {
		clean := make([]string, len(columns))
		for i, cell := range row {
			clean[i] = visible(cell)
			width[i] = max(width[i], utf8.RuneCountInString(clean[i]))
		}
		cells = append(cells, clean)
	}
	for _, row := range cells {
		var line strings.Builder
		for i, cell := range row {
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
}
