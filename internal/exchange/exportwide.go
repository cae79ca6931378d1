package exchange

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
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

func (g language) file() string { return g.vm + "_" + g.variant + ".csv" }

// WideExport is warmup_stats' CSV: a row for each process execution, and a file for each VM and
// variant.
type WideExport struct {
	groups map[language][]wideRow
	order  []language
}

// CheckSingle returns an error when there are several VMs or variants, which need separate files.
func (x *WideExport) CheckSingle() error {
	if len(x.order) > 1 {
		var names []string
		for _, g := range x.order {
			names = append(names, fmt.Sprintf("*:%s:%s", g.vm, g.variant))
		}
		return fmt.Errorf(
			"warmup_stats requires one VM and variant per file, but there are %s; choose one with --key, "+
				"or write a file for each with -o DIRECTORY/",
			strings.Join(names, ", "),
		)
	}
	return nil
}

// Write writes the one file of an export.
func (x *WideExport) Write(w io.Writer) error {
	if err := x.CheckSingle(); err != nil {
		return err
	}
	var rows []wideRow
	if len(x.order) == 1 {
		rows = x.groups[x.order[0]]
	}
	return writeWide(w, rows)
}

// WriteDirectory writes a file for each VM and variant into dir, which it creates if necessary. It
// calls wrote with each file and its number of rows.
func (x *WideExport) WriteDirectory(fsys durable.FS, dir string, wrote func(file string, rows int)) error {
	const usual = 0o755
	if err := fsys.Mkdir(filepath.Clean(dir), usual); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create the directory for the files: %w", err)
	}
	for _, g := range x.order {
		file := filepath.Join(dir, g.file())
		write := func(w io.Writer) error { return writeWide(w, x.groups[g]) }
		if err := durable.WriteUserFile(file, write); err != nil {
			return err
		}
		wrote(file, len(x.groups[g]))
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
		g := language{rec.Key.VM, rec.Key.VariantArm()}
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
	out := csvRows{csv.NewWriter(w)}
	head := []string{"process_exec_num", "bench_name"}
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
