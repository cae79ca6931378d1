package exchange

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"krund/internal/analysis/dataset"
	"krund/internal/display"
	"krund/internal/durable"
)

// WarmupCSV is warmup_stats' CSV of a dataset, which ReadWarmupCSV reads: seconds, exact for
// nanoseconds. A file has one VM and variant.
type WarmupCSV struct {
	files map[language][][]string // rows
	order []language
}

// NewWarmupCSV converts the times. The format cannot represent units other than time, or executions
// of different lengths in one file; a dataset with these is rejected. Executions that were rerun
// are omitted, failed ones have "crash" as their first value, and executions are numbered from 0
// without gaps, as warmup_stats requires.
func NewWarmupCSV(d *dataset.Dataset) (*WarmupCSV, error) {
	x := &WarmupCSV{files: make(map[language][][]string)}
	pairs := make(map[language][]*dataset.Pair)
	for i := range d.Pairs {
		p := &d.Pairs[i]
		g := languageOf(p.Key)
		if pairs[g] == nil {
			x.order = append(x.order, g)
		}
		pairs[g] = append(pairs[g], p)
	}
	for _, g := range x.order {
		rows, err := warmupRows(pairs[g])
		if err != nil {
			return nil, fmt.Errorf("write CSV: %w", err)
		}
		x.files[g] = rows
	}
	return x, nil
}

// Write writes the one file of a dataset with one VM and variant.
func (x *WarmupCSV) Write(w io.Writer) error {
	if err := checkSingle(x.order); err != nil {
		return err
	}
	rows := [][]string{warmupColumns[:]}
	if len(x.order) > 0 {
		rows = x.files[x.order[0]]
	}
	return writeRows(w, rows)
}

// WriteDirectory writes a file for each VM and variant into dir: see writeLanguages.
func (x *WarmupCSV) WriteDirectory(fsys durable.FS, dir string, wrote func(file string, rows int)) error {
	return writeLanguages(fsys, dir, x.order, func(g language) (int, func(io.Writer) error) {
		return len(x.files[g]) - 1, func(w io.Writer) error { return writeRows(w, x.files[g]) }
	}, wrote)
}

func writeRows(w io.Writer, rows [][]string) error {
	if err := display.NewCSV(w).WriteAll(rows); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

// warmupColumns precede the iterations.
var warmupColumns = [...]string{"process_exec_num", "bench_name"}

// warmupRows returns the rows of a file, after its header.
func warmupRows(pairs []*dataset.Pair) ([][]string, error) {
	rows := [][]string{nil}
	width := -1
	for _, p := range pairs {
		number := 0
		for i := range p.Executions {
			e := &p.Executions[i]
			if e.Outcome == dataset.Rerun {
				continue
			}
			cells, err := csvSeconds(e)
			if err != nil {
				return nil, fmt.Errorf("%s: execution %d: %w", p.Key, e.Number, err)
			}
			if cells != nil && width >= 0 && len(cells) != width {
				return nil, fmt.Errorf("%s: execution %d has %d iterations, others have %d; the format "+
					"wants as many in each", p.Key, e.Number, len(cells), width)
			}
			if cells != nil {
				width = len(cells)
			}
			if cells == nil {
				cells = []string{crash}
			}
			rows = append(rows, append([]string{strconv.Itoa(number), p.Key.Benchmark}, cells...))
			number++
		}
	}
	if width < 0 && len(rows) > 1 {
		width = 1 // all crashed
	}
	rows[0] = slices.Clone(warmupColumns[:])
	for i := range max(width, 0) {
		rows[0] = append(rows[0], strconv.Itoa(i))
	}
	for i, row := range rows {
		rows[i] = append(row, make([]string, len(rows[0])-len(row))...)
	}
	return rows, nil
}

// csvSeconds returns an execution's times; nil if it failed.
func csvSeconds(e *dataset.Execution) ([]string, error) {
	c, ok := e.Column(dataset.Wall, dataset.NoCore)
	if !ok || krunFlag(e) != "C" || c.Len() == 0 {
		return nil, nil
	}
	cells := make([]string, c.Len())
	for i := range cells {
		switch {
		case c.Unit == dataset.Nanoseconds && c.Ints != nil && c.Ints[i] != dataset.MissingInt:
			cells[i] = string(appendSeconds(nil, c.Ints[i]))
		case c.Unit == dataset.Seconds && c.Reals != nil:
			cells[i] = strconv.FormatFloat(c.Reals[i], 'g', -1, 64)
		default:
			return nil, fmt.Errorf("%w: iteration %d has no time in seconds (unit %q)", ErrFormat, i, c.Unit)
		}
	}
	return cells, nil
}
