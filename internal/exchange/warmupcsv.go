package exchange

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// FormatWarmupCSV is dataset.Info.Format of warmup_stats' CSV files.
const FormatWarmupCSV = "warmup_stats CSV"

// ReadWarmupCSV reads the format that warmup_stats accepts: a header, then a row per process
// execution with its index, the benchmark's name, and one value in seconds per iteration. The
// header is that of warmup_stats' documentation: process_exec_num (or process_exec_idx or process
// num), bench_name, and the iterations from 0. warmup_stats itself takes any header, but other
// tables of numbers would pass, too. All rows have the same number of iterations. A row with
// "crash" as the first value, or with only empty values, is an execution that crashed. The errors
// wrap ErrFormat and name the line, or are those of r.
func ReadWarmupCSV(r io.Reader, o FileOptions) (*dataset.Dataset, error) {
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

func (o FileOptions) key(benchmark string) key.Key {
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

// WarmupCSV is warmup_stats' CSV, which ReadWarmupCSV reads: a file for each VM and variant, with a
// row for each process execution. Times are in seconds, exact for nanoseconds.
type WarmupCSV struct {
	files map[language][][]string // the header, and the rows
	order []language
}

// language identifies a file of warmup_stats, which takes VM and language on its command line.
// Each arm has a file of its own.
type language struct{ vm, variant string }

// file is percent-encoded: names in other tools' files may have slashes.
func (g language) file() string { return url.PathEscape(g.vm+"_"+g.variant) + ".csv" }

func languageOf(k key.Key) language { return language{k.VM, k.VariantArm()} }

// warmupRow is a process execution.
type warmupRow struct {
	key    key.Key
	number int      // the rows of a benchmark are in the order of these
	what   string   // in errors, "slot 5"
	values []string // of its iterations; none if it crashed
}

// newWarmupCSV makes the files: benchmark by benchmark in the order of the rows, with process
// executions numbered from 0 without gaps and the same number of iterations throughout, as
// warmup_stats requires.
func newWarmupCSV(rows []warmupRow) (*WarmupCSV, error) {
	x := &WarmupCSV{files: make(map[language][][]string)}
	groups, first := map[language][]warmupRow{}, map[key.Key]int{}
	for i, r := range rows {
		g := languageOf(r.key)
		if groups[g] == nil {
			x.order = append(x.order, g)
		}
		if _, seen := first[r.key]; !seen {
			first[r.key] = i
		}
		groups[g] = append(groups[g], r)
	}
	for _, g := range x.order {
		rows := groups[g]
		slices.SortStableFunc(rows, func(a, b warmupRow) int {
			return cmp.Or(first[a.key]-first[b.key], a.number-b.number)
		})
		width := rows[max(0, slices.IndexFunc(rows, func(r warmupRow) bool { return r.values != nil }))]
		table, number := [][]string{warmupHeader(max(len(width.values), 1))}, 0
		for i, r := range rows {
			if number++; i == 0 || r.key != rows[i-1].key {
				number = 0
			}
			if r.values == nil {
				r.values = append([]string{crash}, make([]string, len(table[0])-len(warmupColumns)-1)...)
			} else if len(r.values) != len(width.values) {
				return nil, fmt.Errorf("%s has %s and %s has %d; warmup_stats requires the same number in "+
					"all rows: choose keys with --key or a common part with --iterations", width.what,
					display.Count(len(width.values), "iteration"), r.what, len(r.values))
			}
			table = append(table, append([]string{strconv.Itoa(number), r.key.Benchmark}, r.values...))
		}
		x.files[g] = table
	}
	return x, nil
}

// NewWarmupCSV converts the times of a dataset. The format cannot represent units other than time;
// they are an error. Executions that were rerun are omitted.
func NewWarmupCSV(d *dataset.Dataset) (*WarmupCSV, error) {
	var rows []warmupRow
	for _, p := range d.Pairs {
		for i := range p.Executions {
			e := &p.Executions[i]
			if dataset.Replaced(e.Outcome) {
				continue
			}
			what := fmt.Sprintf("%s: execution %d", p.Key, e.Number)
			values, err := csvSeconds(e)
			if err != nil {
				return nil, fmt.Errorf("write CSV: %s: %w", what, err)
			}
			rows = append(rows, warmupRow{p.Key, i, what, values})
		}
	}
	return newWarmupCSV(rows)
}

// NewWideExport is NewWarmupCSV of records. At most one of o.Columns is exported, instead of the
// seconds.
func NewWideExport(records iter.Seq[results.Record], o ExportOptions) (*WarmupCSV, error) {
	var rows []warmupRow
	for r := range records {
		values, err := wideValues(r, o)
		if err != nil {
			return nil, err
		}
		rows = append(rows, warmupRow{r.Key, r.Pexec, fmt.Sprint("slot ", r.Slot), values})
	}
	return newWarmupCSV(rows)
}

// wideValues returns the seconds of the iterations, or the values of the requested column.
func wideValues(r results.Record, o ExportOptions) ([]string, error) {
	from, too := min(o.From, len(r.WallNS)), min(o.To, len(r.WallNS))
	values := make([]string, 0, too-from)
	if len(o.Columns) == 0 {
		for _, ns := range r.WallNS[from:too] {
			values = append(values, secondsText(ns))
		}
		return values, nil
	}
	for _, c := range r.Columns {
		if c.Label() != o.Columns[0] {
			continue
		}
		for i := from; i < too; i++ {
			v := c.Text(i)
			if v == "" {
				return nil, fmt.Errorf(
					"slot %d has no value of %s in iteration %d; --wide cannot leave it out, use --long",
					r.Slot, o.Columns[0], i)
			}
			values = append(values, v)
		}
		return values, nil
	}
	return nil, fmt.Errorf("slot %d has no column %q; `krunctl show` lists the columns of a record",
		r.Slot, o.Columns[0])
}

// Write writes the only file; it is an error when there are several.
func (x *WarmupCSV) Write(w io.Writer) error {
	if len(x.order) > 1 {
		var names []string
		for _, g := range x.order {
			names = append(names, fmt.Sprintf("*:%s:%s", g.vm, g.variant))
		}
		return fmt.Errorf("warmup_stats requires one VM and variant per file, but there are %s; choose one "+
			"with --key, or write a file for each with -o DIRECTORY/", strings.Join(names, ", "))
	}
	rows := [][]string{warmupHeader(0)}
	if len(x.order) > 0 {
		rows = x.files[x.order[0]]
	}
	return writeRows(w, rows)
}

// WriteDirectory writes a file for each VM and variant into dir, which it creates if necessary. It
// calls wrote with each file that is written and the number of its executions. Two files of the
// same name are an error, and nothing is written.
func (x *WarmupCSV) WriteDirectory(fsys durable.FS, dir string, wrote func(file string, rows int)) error {
	names := make(map[string]language)
	for _, g := range x.order {
		if other, taken := names[g.file()]; taken {
			return fmt.Errorf("*:%s:%s and *:%s:%s would both be written to %s; choose one with --key",
				other.vm, other.variant, g.vm, g.variant, g.file())
		}
		names[g.file()] = g
	}
	const usual = 0o755
	if err := fsys.Mkdir(filepath.Clean(dir), usual); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create the directory for the files: %w", err)
	}
	for _, g := range x.order {
		file, rows := filepath.Join(dir, g.file()), x.files[g]
		write := func(w io.Writer) error { return writeRows(w, rows) }
		if err := durable.WriteUserFile(file, write); err != nil {
			return err
		}
		wrote(file, len(rows)-1)
	}
	return nil
}

func writeRows(w io.Writer, rows [][]string) error {
	if err := display.NewCSV(w).WriteAll(rows); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

// warmupColumns precede the iterations.
var warmupColumns = [...]string{"process_exec_num", "bench_name"}

// warmupHeader names the columns of a file with a number of iterations.
func warmupHeader(iterations int) []string {
	header := slices.Clone(warmupColumns[:])
	for i := range iterations {
		header = append(header, strconv.Itoa(i))
	}
	return header
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
			cells[i] = secondsText(c.Ints[i])
		case c.Unit == dataset.Seconds && c.Reals != nil:
			cells[i] = strconv.FormatFloat(c.Reals[i], 'g', -1, 64)
		default:
			return nil, fmt.Errorf("%w: iteration %d has no time in seconds (unit %q)", ErrFormat, i, c.Unit)
		}
	}
	return cells, nil
}
