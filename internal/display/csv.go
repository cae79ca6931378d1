package display

import (
	"encoding/csv"
	"errors"
	"io"
	"strconv"
	"strings"
)

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
