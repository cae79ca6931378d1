package console

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"krund/internal/display"
	"krund/internal/experiment/results"
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

// Startup writes how long VMs or keys take to start, with intervals of this confidence.
func (out *Console) Startup(doc summary.Startup) {
	interval := strconv.FormatFloat(100*doc.Confidence, 'f', -1, 64) + "% interval"
	table := make([][]string, 0, len(doc.Rows))
	for _, r := range doc.Rows {
		stamped := 0
		if r.First != nil {
			stamped = r.First.Executions
		}
		cells := []string{r.Name, fmt.Sprintf("%d/%d", stamped, r.Executions)}
		for _, t := range []*summary.StartupTime{r.Init, r.First} {
			if t == nil {
				cells = append(cells, "-", "-")
				continue
			}
			bounds := "-"
			if t.Low != nil && t.High != nil {
				bounds = display.Nanoseconds(*t.Low) + " - " + display.Nanoseconds(*t.High)
			}
			cells = append(cells, display.Nanoseconds(t.Mean), bounds)
		}
		table = append(table, cells)
	}
	display.NarrowTable(out.w, out.width, 1,
		[]string{string(doc.By), ">executions", ">runner", ">" + interval, ">first", ">" + interval}, table)
}

// mostViolating is the number of violating records that are explained; JSON has all.
const mostViolating = 20

// Counters prints what limits the processor's counters, with the first violating records.
func (out *Console) Counters(d *summary.Counters) {
	threshold := "a hundredth of the rate of MPERF"
	if d.Threshold > 0 {
		threshold = fmt.Sprintf("%.0f", d.Threshold)
	}
	judged, violating := 0, 0
	for _, k := range d.Keys {
		judged, violating = judged+k.Judged, violating+k.Violating
	}
	out.print("%d of %s that could be judged violate: APERF/MPERF not within 1 +- %v times the\n"+
		"expected ratio, on cores with at least %s in APERF/s\n\n", violating,
		display.Count(judged, "record"), d.Tolerance, threshold)
	table := make([][]string, 0, len(d.Keys))
	for _, k := range d.Keys {
		table = append(table, []string{
			k.Key, fmt.Sprintf("%d/%d", k.Judged, k.Records), strconv.Itoa(k.Violating),
			strconv.Itoa(k.Iterations), strconv.Itoa(k.Throttled), strconv.Itoa(k.Turbo),
			ratioText(k.Lowest), ratioText(k.Highest),
		})
	}
	display.NarrowTable(out.w, out.width, 1, []string{"key", ">judged", ">violating", ">iterations",
		">throttled", ">turbo", ">lowest", ">highest"}, table)
	if len(d.Violating) > 0 {
		out.print("\n")
	}
	for i, v := range d.Violating {
		if i == mostViolating {
			out.print("... and %s more; --json has all\n", display.Count(len(d.Violating)-i, "record"))
			break
		}
		out.print("%d-%d %s, %s\n", v.Slot, v.Attempt, display.Terminal(v.Key), v.Outcome)
		for _, reason := range v.Reasons {
			out.print("    %s\n", display.Terminal(reason))
		}
	}
}

func ratioText(ratio *float64) string {
	return known(ratio, func(r float64) string { return fmt.Sprintf("%.3f", r) }, "-")
}

// Series writes a row for each iteration, numbered from 0 as in exports.
func (out *Console) Series(r results.Record) {
	columns := []string{">iteration", ">start", ">wall"}
	for _, c := range r.Columns {
		columns = append(columns, ">"+c.Label())
	}
	stamps := []results.Column{{Values: r.StartNS}, {Values: r.WallNS}}
	series := append(stamps, r.Columns...)
	row := make([]string, len(columns))
	rows := func(yield func([]string) bool) {
		for i := range r.WallNS {
			row[0] = strconv.Itoa(i)
			for j, c := range series {
				row[1+j] = cmp.Or(c.Text(i), "-")
			}
			if !yield(row) {
				return
			}
		}
	}
	out.print("start and wall in ns\n")
	display.LongTable(out.w, columns, rows)
}
