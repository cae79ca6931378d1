package exchange

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/key"
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

// warmupRows returns the rows of a file, after its header.
func warmupRows(pairs []*dataset.Pair) ([][]string, error) {
	rows := [][]string{nil}
	width := -1
	for _, p := range pairs {
		number := 0
		for i := range p.Executions {
			e := &p.Executions[i]
			if dataset.Replaced(e.Outcome) {
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
	rows[0] = warmupHeader(max(width, 0))
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
			cells[i] = secondsText(c.Ints[i])
		case c.Unit == dataset.Seconds && c.Reals != nil:
			cells[i] = strconv.FormatFloat(c.Reals[i], 'g', -1, 64)
		default:
			return nil, fmt.Errorf("%w: iteration %d has no time in seconds (unit %q)", ErrFormat, i, c.Unit)
		}
	}
	return cells, nil
}
