package exchange

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"krund/internal/analysis/dataset"
)

// WriteWarmupCSV writes the times as warmup_stats' CSV, which ReadWarmupCSV reads: seconds, exact
// for nanoseconds. The format cannot represent VM and variant, units other than time, or executions
// of different lengths; a dataset with these is rejected. Executions that were rerun are omitted,
// failed ones have "crash" as their first value, and executions are numbered from 0 without gaps,
// as warmup_stats requires.
func WriteWarmupCSV(w io.Writer, d *dataset.Dataset) error {
	rows := [][]string{nil}
	width := -1
	for _, p := range d.Pairs {
		if first := d.Pairs[0].Key; p.Key.VM != first.VM || p.Key.VariantArm() != first.VariantArm() {
			return fmt.Errorf("write CSV: the format is limited to one VM and variant, but there are %s and "+
				"%s", first,
				p.Key)
		}
		number := 0
		for i := range p.Executions {
			e := &p.Executions[i]
			if e.Outcome == dataset.Rerun {
				continue
			}
			cells, err := csvSeconds(e)
			if err != nil {
				return fmt.Errorf("write CSV: %s: execution %d: %w", p.Key, e.Number, err)
			}
			if cells != nil && width >= 0 && len(cells) != width {
				return fmt.Errorf("write CSV: %s: execution %d has %d iterations, others have %d; the "+
					"format wants as many in each", p.Key, e.Number, len(cells), width)
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
	const names = 2 // columns before the iterations
	rows[0] = []string{"process_exec_num", "bench_name"}
	if width < 0 && len(rows) > 1 {
		width = 1 // all crashed
	}
	for i := range max(width, 0) {
		rows[0] = append(rows[0], strconv.Itoa(i))
	}
	for i, row := range rows {
		rows[i] = append(row, make([]string, names+max(width, 0)-len(row))...)
	}
	if err := csv.NewWriter(w).WriteAll(rows); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
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
