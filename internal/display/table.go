package display

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Table prints rows in columns. Columns whose name starts with ">" are flush right. Cells are made
// fit for a terminal (Terminal). Trailing blanks are left out. Write errors are left to w. If w has
// a Width, the table is narrow: the columns before the first that is flush right name the row.
func Table(w io.Writer, columns []string, rows [][]string) {
	terminal, ok := w.(interface{ Width() int })
	named := slices.IndexFunc(columns, func(c string) bool { return strings.HasPrefix(c, ">") })
	if !ok || named < 1 {
		LongTable(w, columns, slices.Values(rows))
		return
	}
	NarrowTable(w, terminal.Width(), named, columns, rows)
}

// LongTable is Table for rows that are too many to keep: it ranges over them twice, for the widths
// and for the printing. A row may be modified after it was yielded.
func LongTable(w io.Writer, columns []string, rows iter.Seq[[]string]) {
	names, width := layout(columns, rows)
	printRow(w, columns, width, names)
	for row := range rows {
		printRow(w, columns, width, row)
	}
}

// NarrowTable is Table for a terminal of most characters a line: columns that do not fit follow
// below, beside the first ones, named in number, which name the row. If most is 0, all fit.
func NarrowTable(w io.Writer, most, named int, columns []string, rows [][]string) {
	_, width := layout(columns, slices.Values(rows))
	names := 2 * (named - 1) // the space between them
	for _, n := range width[:named] {
		names += n
	}
	for first := named; ; {
		end, used := first, names
		for end < len(columns) && (most <= 0 || end == first || used+2+width[end] <= most) {
			used += 2 + width[end]
			end++
		}
		part := func(row []string) []string {
			return append(row[:named:named], row[min(first, len(row)):min(end, len(row))]...)
		}
		rest := make([][]string, len(rows))
		for i, row := range rows {
			rest[i] = part(row)
		}
		LongTable(w, part(columns), slices.Values(rest))
		if first = end; first >= len(columns) {
			return
		}
		fmt.Fprintln(w)
	}
}

// layout returns the names of columns and their widths.
func layout(columns []string, rows iter.Seq[[]string]) (names []string, width []int) {
	width = make([]int, len(columns))
	names = make([]string, len(columns))
	for i, c := range columns {
		names[i] = Terminal(strings.TrimPrefix(c, ">"))
		width[i] = utf8.RuneCountInString(names[i])
	}
	for row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(Terminal(cell)))
		}
	}
	return names, width
}

// printRow prints one row of a table; cells that it lacks are empty.
func printRow(w io.Writer, columns []string, width []int, cells []string) {
	var line strings.Builder
	for i := range columns {
		cell := ""
		if i < len(cells) {
			cell = Terminal(cells[i])
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
	fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
}

// WriteJSON writes all JSON documents for people and programs.
func WriteJSON(w io.Writer, document any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(document)
}

// CSV writes all CSV of the project. Spreadsheets do not interpret its text as a formula: text that
// begins like one and is no number gets an apostrophe before it.
type CSV struct{ w *csv.Writer }

// NewCSV returns a writer of rows to w.
func NewCSV(w io.Writer) CSV { return CSV{csv.NewWriter(w)} }

// Write writes a row, which may be buffered until Flush.
func (c CSV) Write(cells []string) error {
	safe := cells
	for i, cell := range cells {
		if !formula(cell) {
			continue
		}
		if &safe[0] == &cells[0] { // the caller's row stays as it is
			safe = append([]string{}, cells...)
		}
		safe[i] = "'" + cell
	}
	return c.w.Write(safe)
}

// Flush writes what is buffered, and returns the first error of all writes.
func (c CSV) Flush() error {
	c.w.Flush()
	return c.w.Error()
}

// WriteAll writes rows and flushes.
func (c CSV) WriteAll(rows [][]string) error {
	for _, row := range rows {
		if err := c.Write(row); err != nil {
			return err
		}
	}
	return c.Flush()
}

func formula(s string) bool {
	if s == "" || !strings.ContainsRune("=+-@\t\r\n", rune(s[0])) {
		return false
	}
	_, err := strconv.ParseFloat(s, 64)
	return err != nil && !errors.Is(err, strconv.ErrRange)
}
