package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"krund/internal/display"
	"krund/internal/experiment"
	"krund/internal/key"
	"krund/internal/results"
)

// wideRow is a process execution in warmup_stats' form.
type wideRow struct {
	key    key.Key
	pexec  int
	slot   int
	values []string
}

// language is what a file of warmup_stats is about: it is told VM and language
// on its command line.
type language struct{ vm, variant string }

func (g language) file() string { return g.vm + "_" + g.variant + ".csv" }

func (a *app) exportWide(m *experiment.Records, o exportOptions) error {
	groups, order, err := wideRows(m, o)
	if err != nil {
		return err
	}
	if isDirectory(o.output) {
		return a.wideDirectory(groups, order, o.output)
	}
	if len(order) > 1 {
		var names []string
		for _, g := range order {
			names = append(names, fmt.Sprintf("*:%s:%s", g.vm, g.variant))
		}
		return fmt.Errorf("warmup_stats wants one VM and variant per file, and here are %s; choose one with --key, or write a file for each with -o FOLDER/",
			strings.Join(names, ", "))
	}
	var rows []wideRow
	if len(order) == 1 {
		rows = groups[order[0]]
	}
	return a.toOutput(o.output, func(w io.Writer) error { return writeWide(w, rows) })
}

// wideDirectory writes a file for each language.
func (a *app) wideDirectory(groups map[language][]wideRow, order []language, dir string) error {
	const usual = 0o755
	if err := a.fsys.Mkdir(filepath.Clean(dir), usual); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the directory for the files: %w", err)
	}
	for _, g := range order {
		file := filepath.Join(dir, g.file())
		if err := a.toOutput(file, func(w io.Writer) error { return writeWide(w, groups[g]) }); err != nil {
			return err
		}
		a.talk("%s: %s", file, display.Count(len(groups[g]), "process execution"))
	}
	return nil
}

// wideRows reads what is exported, by language, and checks that each has the
// same number of iterations throughout.
func wideRows(m *experiment.Records, o exportOptions) (map[language][]wideRow, []language, error) {
	groups := make(map[language][]wideRow)
	var order []language
	for rec := range m.All() {
		if !rec.Counts {
			continue
		}
		values, err := wideValues(rec.Record, o)
		if err != nil {
			return nil, nil, err
		}
		g := language{rec.Key.VM, rec.Key.Variant}
		rows, seen := groups[g]
		if !seen {
			order = append(order, g)
		} else if before := rows[0]; len(before.values) != len(values) {
			return nil, nil, fmt.Errorf("slot %d has %s and slot %d has %d; warmup_stats wants the same number in all rows: choose keys with --key or a common part with --iterations",
				before.slot, display.Count(len(before.values), "iteration"), rec.Slot, len(values))
		}
		groups[g] = append(rows, wideRow{key: rec.Key, pexec: rec.Pexec, slot: rec.Slot, values: values})
	}
	return groups, order, nil
}

// wideValues are the seconds of the iterations, or the values of the column
// that was asked for.
func wideValues(r results.Record, o exportOptions) ([]string, error) {
	from, too := min(o.from, len(r.WallNS)), min(o.too, len(r.WallNS))
	values := make([]string, 0, too-from)
	if len(o.columns) == 0 {
		for _, ns := range r.WallNS[from:too] {
			values = append(values, secondsText(ns))
		}
		return values, nil
	}
	for _, c := range r.Columns {
		if columnName(c) != o.columns[0] {
			continue
		}
		for i := from; i < too; i++ {
			v := cell(c, i)
			if v == "" {
				return nil, fmt.Errorf("slot %d has no value of %s in iteration %d; --wide cannot leave it out, use --long", r.Slot, o.columns[0], i)
			}
			values = append(values, v)
		}
		return values, nil
	}
	return nil, fmt.Errorf("slot %d has no column %q; `krunctl show` lists the columns of a record", r.Slot, o.columns[0])
}

// writeWide writes the file: benchmark by benchmark in the order of the
// schedule, and its process executions numbered from 0 without gaps, which is
// what warmup_stats insists on.
func writeWide(w io.Writer, rows []wideRow) error {
	out := newCSVRows(w)
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
		if err := out.row(append([]string{strconv.Itoa(number), r.key.Benchmark}, r.values...)); err != nil {
			return err
		}
		number++
	}
	return out.end()
}
