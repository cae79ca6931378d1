package main

import (
	"io"
	"slices"
	"strconv"

	"krund/internal/experiment"
	"krund/internal/results"
)

// executionHeads are the heads of --executions that every experiment has.
func executionHeads(outcome bool) []string {
	heads := []string{"benchmark", "vm", "variant", "pexec", "slot", "attempt"}
	if outcome {
		heads = append(heads, "outcome")
	}
	return append(heads, "iterations", "process_wall_ns", "utime_ns", "stime_ns", "maxrss_bytes", "exec_to_init_ns", "exec_to_first_ns",
		"daemon_cpu_ns", "daemon_wake_ups", "kernel_threads_cpu_ns")
}

// exportExecutions writes a row for each process execution: what is known of it as a whole.
func (a *app) exportExecutions(m *experiment.Records, o exportOptions) error {
	heads := executionHeads(o.allOutcomes)
	fixed := len(heads)
	for rec := range m.All() {
		if !rec.Counts && !o.allOutcomes {
			continue
		}
		for _, v := range executionValues(rec.Record) {
			if !slices.Contains(heads, v.head) {
				heads = append(heads, v.head)
			}
		}
	}
	return a.toOutput(o.output, func(w io.Writer) error {
		var rows rowWriter = newCSVRows(w)
		if o.jsonl {
			rows = &jsonRows{w: w, heads: heads, fixed: fixed}
		} else if err := rows.row(heads); err != nil {
			return err
		}
		for rec := range m.All() {
			if !rec.Counts && !o.allOutcomes {
				continue
			}
			cells := make([]string, len(heads))
			copy(cells, executionCells(rec.Record, o.allOutcomes))
			for _, v := range executionValues(rec.Record) {
				if at := slices.Index(heads, v.head); at >= fixed {
					cells[at] = v.text
				}
			}
			if err := rows.row(cells); err != nil {
				return err
			}
		}
		return rows.end()
	})
}

// executionCells are the values under executionHeads; "" is unknown.
func executionCells(r results.Record, outcome bool) []string {
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
	cells := []string{r.Key.Benchmark, r.Key.VM, r.Key.Variant, strconv.Itoa(r.Pexec), strconv.Itoa(r.Slot), strconv.Itoa(r.Attempt)}
	if outcome {
		cells = append(cells, string(r.Outcome))
	}
	kernel := ""
	if k := r.Daemon.KernelThreads; k != nil {
		kernel = number(k.Benchmark.CPUNS)
	}
	p := r.Process
	return append(cells, strconv.Itoa(len(r.WallNS)), number(p.WallNS), number(p.UTimeNS), number(p.STimeNS), number(p.MaxRSSBytes),
		since(r.Startup.InitNS), since(r.Startup.FirstNS), number(r.Daemon.CPUNS), known(r.Daemon.WakeUps), kernel)
}

// executionValue is a value that not every machine has.
type executionValue struct{ head, text string }

// executionValues are the counters that were read around the whole execution, and the energy it used; "" is missing.
func executionValues(r results.Record) []executionValue {
	text := func(n *uint64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatUint(*n, 10)
	}
	var list []executionValue
	for _, t := range r.Totals {
		list = append(list, executionValue{"total_" + columnName(results.Column{Name: t.Name, Core: t.Core}), text(t.Value)})
	}
	for _, e := range r.Energy {
		list = append(list, executionValue{"energy_uj_" + e.Name + "_" + e.Zone, text(e.UJ)})
	}
	return list
}
