package exchange

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"krund/internal/display"
)

// rowWriter takes the cells of a row, in the order of the columns; "" is missing.
type rowWriter interface {
	row(cells []string) error
	end() error
}

// newRows returns a writer of the table as CSV or as JSON lines. fixed is the number of columns
// that are not series.
func newRows(w io.Writer, jsonLines bool, heads []string, fixed int) (rowWriter, error) {
	if jsonLines {
		return &jsonRows{w: w, heads: heads, fixed: fixed}, nil
	}
	rows := csvRows{display.NewCSV(w)}
	return rows, rows.row(heads)
}

type csvRows struct{ display.CSV }

func (c csvRows) row(cells []string) error { return c.Write(cells) }

func (c csvRows) end() error { return c.Flush() }

// jsonRows writes an object per row. All cells except names are numbers; missing ones are null.
type jsonRows struct {
	w     io.Writer
	heads []string
	fixed int // number of columns that are not series
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

var textHeads = map[string]bool{"benchmark": true, "vm": true, "variant": true, "arm": true,
	"outcome": true, "kind": true, "name": true}

// secondsText writes nanoseconds as seconds, exactly: "0.000012345".
func secondsText(ns int64) string {
	sign, abs := "", uint64(ns)
	if ns < 0 {
		sign, abs = "-", -uint64(ns)
	}
	return fmt.Sprintf("%s%d.%09d", sign, abs/1e9, abs%1e9)
}
