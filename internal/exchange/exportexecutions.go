package exchange

import (
	"io"
	"iter"
	"slices"
	"strconv"

	"krund/internal/results"
)

// recordHeads are the columns that identify a record.
func recordHeads(outcome, arms bool) []string {
	heads := []string{"benchmark", "vm", "variant"}
	if arms {
		heads = append(heads, "arm")
	}
	heads = append(heads, "pexec", "slot", "attempt")
	if outcome {
		heads = append(heads, "outcome")
	}
	return heads
}

// recordCells are the values under recordHeads.
func recordCells(r *results.Record, outcome, arms bool) []string {
	cells := []string{r.Key.Benchmark, r.Key.VM, r.Key.Variant}
	if arms {
		cells = append(cells, r.Key.Arm)
	}
	cells = append(cells, strconv.Itoa(r.Pexec), strconv.Itoa(r.Slot), strconv.Itoa(r.Attempt))
	if outcome {
		cells = append(cells, string(r.Outcome))
	}
	return cells
}

// haveArms reports whether the keys of an experiment have arms: all of them, or none.
func haveArms(records iter.Seq[results.Record]) bool {
	for rec := range records {
		return rec.Key.Arm != ""
	}
	return false
}

// executionHeads are the columns common to all experiments.
func executionHeads(outcome, arms bool) []string {
	return append(recordHeads(outcome, arms), "iterations",
		"process_wall_ns", "utime_ns", "stime_ns", "maxrss_bytes",
		"exec_to_init_ns", "exec_to_first_ns", "daemon_cpu_ns", "daemon_wake_ups",
		"kernel_threads_cpu_ns")
}

// ExecutionsExport is a table with a row for each process execution.
type ExecutionsExport struct {
	records iter.Seq[results.Record]
	options ExportOptions
	arms    bool // the keys have arms
	heads   []string
	fixed   int // number of columns common to all experiments
}

// NewExecutionsExport reads all records once to determine the columns.
func NewExecutionsExport(records iter.Seq[results.Record], o ExportOptions) *ExecutionsExport {
	x := &ExecutionsExport{records: records, options: o, arms: haveArms(records)}
	x.heads = executionHeads(o.Outcome, x.arms)
	x.fixed = len(x.heads)
	for rec := range records {
		for _, v := range executionValues(rec) {
			if !slices.Contains(x.heads, v.head) {
				x.heads = append(x.heads, v.head)
			}
		}
	}
	return x
}

// Write writes the table.
func (x *ExecutionsExport) Write(w io.Writer) error {
	rows, err := newRows(w, x.options.JSON, x.heads, x.fixed)
	if err != nil {
		return err
	}
	for rec := range x.records {
		cells := make([]string, len(x.heads))
		copy(cells, executionCells(rec, x.options.Outcome, x.arms))
		for _, v := range executionValues(rec) {
			if at := slices.Index(x.heads, v.head); at >= x.fixed {
				cells[at] = v.text
			}
		}
		if err := rows.row(cells); err != nil {
			return err
		}
	}
	return rows.end()
}

// executionCells are the values under executionHeads; "" is unknown.
func executionCells(r results.Record, outcome, arms bool) []string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	known := func(n *int64) string {
		if n == nil {
			return ""
		}
		return number(*n)
	}
	since := func(stamp *int64) string {
		if stamp == nil || r.Startup.ExecNS == nil {
			return ""
		}
		return number(*stamp - *r.Startup.ExecNS)
	}
	kernel := ""
	if k := r.Daemon.KernelThreads; k != nil {
		kernel = number(k.Benchmark.CPUNS)
	}
	p := r.Process
	return append(recordCells(&r, outcome, arms), strconv.Itoa(len(r.WallNS)),
		number(p.WallNS), number(p.UTimeNS),
		number(p.STimeNS), number(p.MaxRSSBytes), since(r.Startup.InitNS), since(r.Startup.FirstNS),
		number(r.Daemon.CPUNS), known(r.Daemon.WakeUps), kernel)
}

// executionValue is a value that only some machines record.
type executionValue struct{ head, text string }

// executionValues are the counters read around the whole execution, and the energy it used; "" is
// missing.
func executionValues(r results.Record) []executionValue {
	text := func(n *uint64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatUint(*n, 10)
	}
	var list []executionValue
	for _, t := range r.Totals {
		list = append(list,
			executionValue{"total_" + results.Column{Name: t.Name, Core: t.Core}.Label(), text(t.Value)})
	}
	for _, e := range r.Energy {
		list = append(list, executionValue{"energy_uj_" + e.Name + "_" + e.Zone, text(e.UJ)})
	}
	return list
}
