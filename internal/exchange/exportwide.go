package exchange

import (
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

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/key"
	"krund/internal/results"
)

// wideRow is a process execution in the format of warmup_stats.
type wideRow struct {
	key    key.Key
	pexec  int
	slot   int
	values []string
}

// language identifies a file of warmup_stats, which takes VM and language on its command line.
// Each arm has a file of its own.
type language struct{ vm, variant string }

// file is percent-encoded: names in other tools' files may have slashes.
func (g language) file() string { return url.PathEscape(g.vm+"_"+g.variant) + ".csv" }

func languageOf(k key.Key) language { return language{k.VM, k.VariantArm()} }

// WideExport is warmup_stats' CSV: a row for each process execution, and a file for each VM and
// variant.
type WideExport struct {
	groups map[language][]wideRow
	order  []language
}

// checkSingle returns an error when there are several VMs or variants, which need separate files.
func checkSingle(order []language) error {
	if len(order) <= 1 {
		return nil
	}
	var names []string
	for _, g := range order {
		names = append(names, fmt.Sprintf("*:%s:%s", g.vm, g.variant))
	}
	return fmt.Errorf("warmup_stats requires one VM and variant per file, but there are %s; choose one "+
		"with --key, or write a file for each with -o DIRECTORY/", strings.Join(names, ", "))
}

// Write writes the one file of an export.
func (x *WideExport) Write(w io.Writer) error {
	if err := checkSingle(x.order); err != nil {
		return err
	}
	var rows []wideRow
	if len(x.order) == 1 {
		rows = x.groups[x.order[0]]
	}
	return writeWide(w, rows)
}

// WriteDirectory writes a file for each VM and variant into dir: see writeLanguages.
func (x *WideExport) WriteDirectory(fsys durable.FS, dir string, wrote func(file string, rows int)) error {
	return writeLanguages(fsys, dir, x.order, func(g language) (int, func(io.Writer) error) {
		return len(x.groups[g]), func(w io.Writer) error { return writeWide(w, x.groups[g]) }
	}, wrote)
}

// writeLanguages writes a file of warmup_stats for each VM and variant into dir, which it creates
// if necessary. of returns the number of rows of a file, and what writes them. It calls wrote with
// each file that is written. Two files of the same name are an error, and nothing is written.
func writeLanguages(fsys durable.FS, dir string, order []language,
	of func(language) (rows int, write func(io.Writer) error), wrote func(file string, rows int)) error {
	names := make(map[string]language)
	for _, g := range order {
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
	for _, g := range order {
		file := filepath.Join(dir, g.file())
		rows, write := of(g)
		if err := durable.WriteUserFile(file, write); err != nil {
			return err
		}
		wrote(file, rows)
	}
	return nil
}

// NewWideExport reads the records and checks that each VM and variant has the same number of
// iterations throughout. At most one of o.Columns is exported, instead of the seconds.
func NewWideExport(records iter.Seq[results.Record], o ExportOptions) (*WideExport, error) {
	x := &WideExport{groups: make(map[language][]wideRow)}
	for rec := range records {
		values, err := wideValues(rec, o)
		if err != nil {
			return nil, err
		}
		g := languageOf(rec.Key)
		rows, seen := x.groups[g]
		if !seen {
			x.order = append(x.order, g)
		} else if before := rows[0]; len(before.values) != len(values) {
			return nil, fmt.Errorf(
				"slot %d has %s and slot %d has %d; warmup_stats requires the same number in all rows: "+
					"choose keys with --key or a common part with --iterations",
				before.slot,
				display.Count(len(before.values), "iteration"),
				rec.Slot,
				len(values),
			)
		}
		x.groups[g] = append(rows, wideRow{key: rec.Key, pexec: rec.Pexec, slot: rec.Slot, values: values})
	}
	return x, nil
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

// writeWide writes the file: benchmark by benchmark in the order of the schedule, with process
// executions numbered from 0 without gaps, as warmup_stats requires.
func writeWide(w io.Writer, rows []wideRow) error {
	out := csvRows{display.NewCSV(w)}
	head := slices.Clone(warmupColumns[:])
	if len(rows) > 0 {
		for i := range rows[0].values {
			head = append(head, strconv.Itoa(i))
		}
	}
	if err := out.row(head); err != nil {
		return err
	}
	first := make(map[string]int)
	for i, r := range rows {
		if _, ok := first[r.key.Benchmark]; !ok {
			first[r.key.Benchmark] = i
		}
	}
	sorted := slices.SortedStableFunc(slices.Values(rows), func(a, b wideRow) int {
		if a.key.Benchmark != b.key.Benchmark {
			return first[a.key.Benchmark] - first[b.key.Benchmark]
		}
		return a.pexec - b.pexec
	})
	number := 0
	for i, r := range sorted {
		if i > 0 && r.key.Benchmark != sorted[i-1].key.Benchmark {
			number = 0
		}
		if err := out.row(
			append([]string{strconv.Itoa(number), r.key.Benchmark}, r.values...)); err != nil {
			return err
		}
		number++
	}
	return out.end()
}
