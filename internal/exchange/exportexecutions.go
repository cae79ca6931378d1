package exchange

import (
	"iter"
	"slices"
	"strconv"

	"krund/internal/experiment/results"
)

// NewExecutionsExport returns a table with a row for each process execution. It reads all records
// once to determine the columns.
func NewExecutionsExport(records iter.Seq[results.Record], o ExportOptions) *Export {
	x := newExport(records, o, "iterations", "process_wall_ns", "utime_ns", "stime_ns", "maxrss_bytes",
		"exec_to_init_ns", "exec_to_first_ns", "daemon_cpu_ns", "daemon_wake_ups", "kernel_threads_cpu_ns")
	for rec := range records {
		for _, v := range executionValues(&rec) {
			if !slices.Contains(x.heads, v.head) {
				x.heads = append(x.heads, v.head)
			}
		}
	}
	x.rows = func(r *results.Record, add func([]string) error) error {
		cells := make([]string, len(x.heads))
		copy(cells, append(x.same(r), executionCells(r)...))
		for _, v := range executionValues(r) {
			if at := slices.Index(x.heads, v.head); at >= x.fixed {
				cells[at] = v.text
			}
		}
		return add(cells)
	}
	return x
}

// executionCells are the values common to all experiments; "" is unknown.
func executionCells(r *results.Record) []string {
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
	return []string{strconv.Itoa(len(r.WallNS)), number(p.WallNS), number(p.UTimeNS), number(p.STimeNS),
		number(p.MaxRSSBytes), since(r.Startup.InitNS), since(r.Startup.FirstNS), number(r.Daemon.CPUNS),
		known(r.Daemon.WakeUps), kernel}
}

// executionValue is a value that only some machines record.
type executionValue struct{ head, text string }

// executionValues are the counters read around the whole execution, and the energy it used; "" is
// missing.
func executionValues(r *results.Record) []executionValue {
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
