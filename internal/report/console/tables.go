package console

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"krund/internal/display"
	"krund/internal/experiment/results"
	"krund/internal/reading/summary"
	"krund/internal/report"
)

// table writes a table, fit for the terminal.
func (out *Console) table(t report.Table) {
	t.Narrow, t.Missing = out.width, "-"
	_ = t.Write(out.w, report.Text) // the buffer behind it keeps write errors
}

// Summary prints a row per key. Columns that no key has are left out, such as the daemon's in
// files of other tools.
func (out *Console) Summary(rows []summary.Row) {
	t := report.Table{Columns: []report.Head{
		"key", ">done", ">error", ">timeout", ">rerun", ">iterations", ">min", ">median", ">mean", ">p95",
		">init", ">first", ">process", ">daemon", ">wakes", ">kernel",
	}}
	const always = 10 // columns
	for i := range rows {
		t.Rows = append(t.Rows, summaryCells(&rows[i]))
	}
	for c := len(t.Columns) - 1; c >= always && len(rows) > 0; c-- {
		if !slices.ContainsFunc(t.Rows, func(row []report.Cell) bool { return row[c] != nil }) {
			t.Columns = slices.Delete(t.Columns, c, c+1)
			for i := range t.Rows {
				t.Rows[i] = slices.Delete(t.Rows[i], c, c+1)
			}
		}
	}
	out.table(t)
	for _, r := range rows {
		if r.Groups != "" {
			out.print("%s\n", out.warning("", r.Name+": "+r.Groups))
		}
	}
}

func summaryCells(r *summary.Row) []report.Cell {
	iterations := strconv.Itoa(r.IterationsLow)
	if r.IterationsLow != r.IterationsHigh {
		iterations += "-" + strconv.Itoa(r.IterationsHigh)
	}
	row := []report.Cell{r.Key, fmt.Sprintf("%d/%d", r.Executions, r.Planned), r.Outcomes.Error,
		r.Outcomes.Timeout, r.Outcomes.Rerun, iterations, nil, nil, nil, nil, median(r.Init), median(r.First),
		median(r.Process), report.Time(r.DaemonCPU), nil, report.Time(r.KernelCPU)}
	if w := r.Wall; w != nil {
		for i, ns := range []float64{w.Min, w.Median, w.Mean, w.P95} {
			row[6+i] = report.Time(&ns)
		}
	}
	if r.WakeUps != nil {
		row[14] = *r.WakeUps
	}
	return row
}

func median(s *summary.Spread) report.Cell {
	if s == nil {
		return nil
	}
	return report.Time(&s.Median)
}

// Startup writes how long VMs or keys take to start, with intervals of this confidence.
func (out *Console) Startup(doc summary.Startup) {
	interval := report.Head(">" + strconv.FormatFloat(100*doc.Confidence, 'f', -1, 64) + "% interval")
	t := report.Table{Columns: []report.Head{report.Head(doc.By), ">executions", ">runner", interval,
		">first", interval}}
	for _, r := range doc.Rows {
		row := []report.Cell{r.Name, fmt.Sprintf("0/%d", r.Executions), nil, nil, nil, nil}
		if r.First != nil {
			row[1] = fmt.Sprintf("%d/%d", r.First.Executions, r.Executions)
		}
		for i, s := range []*summary.StartupTime{r.Init, r.First} {
			if s == nil {
				continue
			}
			row[2+2*i] = report.Time(&s.Mean)
			if s.Low != nil && s.High != nil {
				row[3+2*i] = display.Nanoseconds(*s.Low) + " - " + display.Nanoseconds(*s.High)
			}
		}
		t.Add(row...)
	}
	out.table(t)
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
	t := report.Table{Columns: []report.Head{"key", ">judged", ">violating", ">iterations", ">throttled",
		">turbo", ">lowest", ">highest"}}
	for _, k := range d.Keys {
		t.Add(k.Key, fmt.Sprintf("%d/%d", k.Judged, k.Records), k.Violating, k.Iterations, k.Throttled,
			k.Turbo, ratioText(k.Lowest), ratioText(k.Highest))
	}
	out.table(t)
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
	if ratio == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *ratio)
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
