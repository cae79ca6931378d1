package console

import (
	"fmt"
	"slices"
	"strconv"

	"krund/internal/display"
	"krund/internal/reading/summary"
)

// Summary prints a row per key. Columns that no key has are left out, such as the daemon's in
// files of other tools.
func (out *Console) Summary(rows []summary.Row) {
	columns := []string{
		"key", ">done", ">error", ">timeout", ">rerun", ">iterations", ">min", ">median", ">mean", ">p95",
		">init", ">first", ">process", ">daemon", ">wakes", ">kernel",
	}
	const always = 10 // columns
	table := make([][]string, len(rows))
	for i := range rows {
		table[i] = summaryCells(&rows[i])
	}
	for c := len(columns) - 1; c >= always && len(rows) > 0; c-- {
		if !slices.ContainsFunc(table, func(cells []string) bool { return cells[c] != "-" }) {
			columns = slices.Delete(columns, c, c+1)
			for i := range table {
				table[i] = slices.Delete(table[i], c, c+1)
			}
		}
	}
	display.NarrowTable(out.w, out.width, 1, columns, table)
	for _, r := range rows {
		if r.Groups != "" {
			out.print("%s\n", out.warning("", r.Name+": "+r.Groups))
		}
	}
}

func summaryCells(r *summary.Row) []string {
	iterations := strconv.Itoa(r.IterationsLow)
	if r.IterationsLow != r.IterationsHigh {
		iterations += "-" + strconv.Itoa(r.IterationsHigh)
	}
	cells := []string{
		r.Key.String(), fmt.Sprintf("%d/%d", r.Executions, r.Planned), strconv.Itoa(r.Outcomes.Error),
		strconv.Itoa(r.Outcomes.Timeout), strconv.Itoa(r.Outcomes.Rerun), iterations,
	}
	if r.Wall == nil {
		cells = append(cells, "-", "-", "-", "-")
	} else {
		for _, ns := range []float64{r.Wall.Min, r.Wall.Median, r.Wall.Mean, r.Wall.P95} {
			cells = append(cells, display.UnitOf("s").Value(ns/1e9))
		}
	}
	cells = append(cells, median(r.Init), median(r.First), median(r.Process))
	return append(cells, known(r.DaemonCPU, nanoseconds, "-"), known(r.WakeUps, decimal, "-"),
		known(r.KernelCPU, nanoseconds, "-"))
}

func median(s *summary.Spread) string {
	return known(s, func(s summary.Spread) string { return display.Nanoseconds(s.Median) }, "-")
}
