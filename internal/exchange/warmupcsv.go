package exchange

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/display"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// FormatWarmupCSV is dataset.Info.Format of warmup_stats' CSV files.
const FormatWarmupCSV = "warmup_stats CSV"

// WarmupCSVOptions supply what the format lacks. warmup_stats takes them from its command line.
type WarmupCSVOptions struct {
	VM      string // "" becomes "vm"
	Variant string // the language; "" becomes "default"
	Uname   string // output of uname -a; "" is unknown
}

// ReadWarmupCSV reads the format that warmup_stats accepts: a header, then a row per process
// execution with its index, the benchmark's name, and one value in seconds per iteration. The
// header is that of warmup_stats' documentation: process_exec_num (or process_exec_idx or process
// num), bench_name, and the iterations from 0. warmup_stats itself takes any header, but other
// tables of numbers would pass, too. All rows have the same number of iterations. A row with
// "crash" as the first value, or with only empty values, is an execution that crashed. The errors
// wrap ErrFormat and name the line, or are those of r.
func ReadWarmupCSV(r io.Reader, o WarmupCSVOptions) (*dataset.Dataset, error) {
	rows := csv.NewReader(r)
	rows.TrimLeadingSpace = true
	rows.FieldsPerRecord = -1 // crashed executions may be shorter
	header, err := rows.Read()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("%w: there is no header", ErrFormat)
		}
		return nil, csvError(err)
	}
	if !isWarmupHeader(header, false) {
		return nil, fmt.Errorf("read CSV: %w: %s", ErrFormat, wrongColumns(header))
	}
	d := &dataset.Dataset{Info: dataset.Info{Format: FormatWarmupCSV, Machine: machineOf(o.Uname)}}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return d, nil
		}
		if err != nil {
			return nil, csvError(err)
		}
		line, _ := rows.FieldPos(0)
		if len(row) < 3 || len(row) != len(header) && strings.TrimSpace(row[2]) != crash {
			return nil, fmt.Errorf("read CSV: %w: line %d has %d columns, the header %d", ErrFormat, line,
				len(row), len(header))
		}
		e, err := csvExecution(row[2:])
		err = errors.Join(err, tooLong("benchmark", row[1]))
		if err != nil {
			return nil, fmt.Errorf("read CSV: %w: line %d, %w", ErrFormat, line, err)
		}
		d.Add(o.key(row[1]), e)
	}
}

// isWarmupHeader reports whether columns are those of warmup_stats' documentation; cut: the last
// one may be cut off.
func isWarmupHeader(columns []string, cut bool) bool {
	named := func(i int, names ...string) bool {
		name := strings.TrimPrefix(strings.TrimSpace(columns[i]), byteOrderMark)
		return slices.Contains(names, strings.ReplaceAll(strings.ToLower(name), " ", "_"))
	}
	if len(columns) < 3 || !named(0, warmupColumns[0], "process_exec_idx", "process_num") ||
		!named(1, warmupColumns[1]) {
		return false
	}
	if cut {
		columns = columns[:len(columns)-1]
	}
	for i, column := range columns[2:] {
		if strings.TrimSpace(column) != strconv.Itoa(i) {
			return false
		}
	}
	return true
}

// wrongColumns describes a header that is neither ours nor warmup_stats'.
func wrongColumns(columns []string) string {
	const most, some = 60, 2 // bytes of the header, iterations of the example
	return fmt.Sprintf("its columns are %s; name them %s (a row: fib,1,1,0.25,s), or %s,... for a row per "+
		"process execution in seconds", display.Head(strings.Join(columns, ","), most), plainHeader,
		strings.Join(warmupHeader(some), ","))
}

func (o WarmupCSVOptions) key(benchmark string) key.Key {
	return key.Key{Benchmark: strings.TrimSpace(benchmark), VM: cmp.Or(o.VM, "vm"),
		Variant: cmp.Or(o.Variant, "default")}
}

func csvError(err error) error { return (&table{what: "CSV"}).unread(err) }

// crash is the first value of an execution that crashed.
const crash = "crash"

// csvExecution parses the iterations of a row. An empty cell is a missing value, NaN, which the
// analysis rejects with the number of the iteration; a row of empty cells is an execution that
// crashed.
func csvExecution(cells []string) (dataset.Execution, error) {
	e := dataset.Execution{Outcome: results.Completed}
	values := make([]float64, 0, len(cells))
	empty := 0
	if strings.TrimSpace(cells[0]) == crash {
		cells = make([]string, len(cells))
	}
	for i, cell := range cells {
		cell = strings.TrimSpace(cell)
		if cell == "" {
			empty++
			values = append(values, math.NaN())
			continue
		}
		v, err := strconv.ParseFloat(cell, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return e, fmt.Errorf("iteration %d: %q is not a number", i+1, cell)
		}
		values = append(values, v)
	}
	if empty == len(cells) {
		e.Outcome, values = results.Error, values[:0]
		e.Reasons = []string{"it has no iterations: it crashed"}
	}
	e.Columns = []dataset.Column{{Name: dataset.Wall, Unit: dataset.Seconds, Core: dataset.NoCore,
		Reals: values}}
	return e, nil
}
