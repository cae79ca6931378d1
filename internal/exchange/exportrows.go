package exchange

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"krund/internal/display"
	"krund/internal/experiment/results"
)

// ExportOptions select the part of an experiment to export.
type ExportOptions struct {
	Outcome bool     // add a column with the outcome of the record
	Columns []string // labels of the series; none: all
	From    int      // iterations [From, To)
	To      int
	JSON    bool // JSON lines instead of CSV
}

// Export is a table of an experiment, made record by record while it is written.
type Export struct {
	records iter.Seq[results.Record]
	options ExportOptions
	arms    bool // the keys have arms
	heads   []string
	fixed   int // number of columns common to all experiments
	// rows passes the rows of a record to add, which does not keep them.
	rows func(r *results.Record, add func(cells []string) error) error
}

// newExport returns a table without rows; own are the columns after those that identify a record.
func newExport(records iter.Seq[results.Record], o ExportOptions, own ...string) *Export {
	x := &Export{records: records, options: o, arms: haveArms(records)}
	x.heads = append(recordHeads(o.Outcome, x.arms), own...)
	x.fixed = len(x.heads)
	return x
}

// same returns the cells that identify a record.
func (x *Export) same(r *results.Record) []string { return recordCells(r, x.options.Outcome, x.arms) }

// Write writes the table.
func (x *Export) Write(w io.Writer) error {
	out, err := newRows(w, x.options.JSON, x.heads, x.fixed)
	if err != nil {
		return err
	}
	for rec := range x.records {
		if err := x.rows(&rec, out.Write); err != nil {
			return err
		}
	}
	return out.Flush()
}

// recordHeads are the columns that identify a record.
func recordHeads(outcome, arms bool) []string {
	heads := []string{"benchmark", "vm", "variant"}
	if arms {
		heads = append(heads, "arm")
	}
	heads = append(heads, "pexec", "slot", "attempt")
	if outcome {
		heads = append(heads, "outcome")
	}
	return heads
}

// recordCells are the values under recordHeads.
func recordCells(r *results.Record, outcome, arms bool) []string {
	cells := []string{r.Key.Benchmark, r.Key.VM, r.Key.Variant}
	if arms {
		cells = append(cells, r.Key.Arm)
	}
	cells = append(cells, strconv.Itoa(r.Pexec), strconv.Itoa(r.Slot), strconv.Itoa(r.Attempt))
	if outcome {
		cells = append(cells, string(r.Outcome))
	}
	return cells
}

// haveArms reports whether the keys of an experiment have arms: all of them, or none.
func haveArms(records iter.Seq[results.Record]) bool {
	for rec := range records {
		return rec.Key.Arm != ""
	}
	return false
}

// rowWriter takes the cells of a row, in the order of the columns; "" is missing.
type rowWriter interface {
	Write(cells []string) error
	Flush() error
}

// newRows returns a writer of the table as CSV or as JSON lines. fixed is the number of columns
// that are not series.
func newRows(w io.Writer, jsonLines bool, heads []string, fixed int) (rowWriter, error) {
	if jsonLines {
		return &jsonRows{w: w, heads: heads, fixed: fixed}, nil
	}
	rows := display.NewCSV(w)
	return rows, rows.Write(heads)
}

// jsonRows writes an object per row. All cells except names are numbers; missing ones are null.
type jsonRows struct {
	w     io.Writer
	heads []string
	fixed int // number of columns that are not series
}

func (j *jsonRows) Write(cells []string) error {
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

func (j *jsonRows) Flush() error { return nil }

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

// ParseIterations reads "FROM-TO", "FROM-" or "N" as the iterations from from to before too.
func ParseIterations(s string) (from, too int, err error) {
	const all = int(^uint(0) >> 1)
	if s == "" {
		return 0, all, nil
	}
	first, last, isRange := strings.Cut(s, "-")
	from, err = strconv.Atoi(first)
	if err != nil || from < 0 {
		return 0, 0, fmt.Errorf(
			"--iterations must be FROM-TO, such as 0-99, FROM-, or one number, not %q", s)
	}
	switch {
	case !isRange:
		return from, from + 1, nil
	case last == "":
		return from, all, nil
	}
	to, err := strconv.Atoi(last)
	if err != nil || to < from || to == all {
		return 0, 0, fmt.Errorf("--iterations %q: TO must not be before FROM", s)
	}
	return from, to + 1, nil
}
