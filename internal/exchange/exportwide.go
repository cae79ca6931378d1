package exchange

import (
	"fmt"
	"iter"
	"slices"
	"strconv"

	"krund/internal/display"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// wideRow is a process execution in the format of warmup_stats.
type wideRow struct {
	key    key.Key
	pexec  int
	slot   int
	values []string
}

// NewWideExport makes the CSV of warmup_stats from records, and checks that each VM and variant has
// the same number of iterations throughout. At most one of o.Columns is exported, instead of the
// seconds.
func NewWideExport(records iter.Seq[results.Record], o ExportOptions) (*WarmupCSV, error) {
	x := &WarmupCSV{files: make(map[language][][]string)}
	groups := make(map[language][]wideRow)
	for rec := range records {
		values, err := wideValues(rec, o)
		if err != nil {
			return nil, err
		}
		g := languageOf(rec.Key)
		rows, seen := groups[g]
		if !seen {
			x.order = append(x.order, g)
		} else if before := rows[0]; len(before.values) != len(values) {
			return nil, fmt.Errorf("slot %d has %s and slot %d has %d; warmup_stats requires the same "+
				"number in all rows: choose keys with --key or a common part with --iterations", before.slot,
				display.Count(len(before.values), "iteration"), rec.Slot, len(values))
		}
		groups[g] = append(rows, wideRow{key: rec.Key, pexec: rec.Pexec, slot: rec.Slot, values: values})
	}
	for g, rows := range groups {
		x.files[g] = wideTable(rows)
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

// wideTable returns the header and the rows of a file: benchmark by benchmark in the order of the
// schedule, with process executions numbered from 0 without gaps, as warmup_stats requires.
func wideTable(rows []wideRow) [][]string {
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
	table := [][]string{warmupHeader(len(rows[0].values))}
	number := 0
	for i, r := range sorted {
		if i > 0 && r.key.Benchmark != sorted[i-1].key.Benchmark {
			number = 0
		}
		table = append(table, append([]string{strconv.Itoa(number), r.key.Benchmark}, r.values...))
		number++
	}
	return table
}
