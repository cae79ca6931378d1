package exchange

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
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
