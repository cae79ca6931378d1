package summary

import (
	"errors"
	"iter"
	"runtime"
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/bootstrap"
	"krund/internal/experiment/results"
	"krund/internal/reading/experiment"
)

// By selects what a row describes.
type By string

// The kinds of rows.
const (
	ByVM  By = "vm"  // all benchmarks and variants of a VM together
	ByKey By = "key" // each key separately
)

// StartupFormat is the version of Startup. docs/output.md describes its fields.
const StartupFormat = 1

// Startup tells how long VMs or keys take to start.
type Startup struct {
	Format     int          `json:"format"`
	Experiment string       `json:"experiment"`
	Directory  string       `json:"folder"`
	By         By           `json:"by"`
	Confidence float64      `json:"confidence"`
	Resamples  int          `json:"resamples"`
	Seed       uint64       `json:"seed"`
	Damaged    int          `json:"damaged_records"`
	Rows       []StartupRow `json:"rows"`
}

// StartupOf describes the records of the experiment in dir.
func StartupOf(dir string, m *experiment.Records, by By) (Startup, error) {
	doc := Startup{Format: StartupFormat, Directory: dir, By: by, Confidence: bootstrap.DefaultConfidence,
		Resamples: bootstrap.DefaultResamples}
	var err error
	doc.Rows, err = StartupRows(by, func(yield func(results.Record) bool) {
		for rec := range m.All() {
			doc.Experiment = rec.Experiment
			if rec.Counts && !yield(rec.Record) {
				return
			}
		}
	})
	doc.Damaged = m.Damaged
	return doc, err
}

// StartupTime describes one of the times over the executions of a row, in nanoseconds.
type StartupTime struct {
	Executions int     `json:"executions"` // with both stamps
	Mean       float64 `json:"mean_ns"`    // of them
	// bounds of the confidence interval of the mean; nil for fewer than two executions
	Low    *float64 `json:"low_ns"`
	High   *float64 `json:"high_ns"` //
	Min    int64    `json:"min_ns"`
	Median float64  `json:"median_ns"`
	Max    int64    `json:"max_ns"`
}

// StartupRow describes a VM or a key.
type StartupRow struct {
	Name       string  `json:"-"` // of the VM or the key
	VM         string  `json:"vm"`
	Key        *string `json:"key"`        // nil in a row of a VM
	Executions int     `json:"executions"` // number of records, with or without stamps
	// up to the runner's first call of libkrun; nil without stamps
	Init  *StartupTime `json:"exec_to_init"`
	First *StartupTime `json:"exec_to_first"` // to the begin of the first iteration
}

// StartupRows describes the records that count, in rows ordered by first occurrence. A stamp before
// exec is treated as missing, because a benchmark can write anything into its buffer.
func StartupRows(by By, records iter.Seq[results.Record]) ([]StartupRow, error) {
	type times struct{ init, first []int64 }
	rows, all, at := []StartupRow{}, []times{}, map[string]int{}
	for r := range records {
		row := StartupRow{Name: r.Key.VM, VM: r.Key.VM}
		if by == ByKey {
			row.Name = r.Key.String()
			row.Key = &row.Name
		}
		i, known := at[row.Name]
		if !known {
			i = len(rows)
			at[row.Name], rows, all = i, append(rows, row), append(all, times{})
		}
		rows[i].Executions++
		all[i].init = since(all[i].init, r.Startup.ExecNS, r.Startup.InitNS)
		all[i].first = since(all[i].first, r.Startup.ExecNS, r.Startup.FirstNS)
	}
	for i := range rows {
		var wrong, alsoWrong error
		rows[i].Init, wrong = describe(all[i].init)
		rows[i].First, alsoWrong = describe(all[i].first)
		if err := errors.Join(wrong, alsoWrong); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func since(times []int64, exec, stamp *int64) []int64 {
	if exec == nil || stamp == nil || *stamp < *exec {
		return times
	}
	return append(times, *stamp-*exec)
}

// describe resamples the executions repeatedly with replacement; the quantiles of the means bound
// the interval (Efron's percentile bootstrap). Values are sorted first, so that the order of the
// records does not matter.
func describe(times []int64) (*StartupTime, error) {
	if len(times) == 0 {
		return nil, nil //nolint:nilnil // missing stamps are not an error
	}
	times = slices.Sorted(slices.Values(times))
	values := make([]float64, len(times))
	for i, ns := range times {
		values[i] = float64(ns)
	}
	t := &StartupTime{Executions: len(times), Mean: arith.MeanOf(values), Min: times[0],
		Median: arith.Median(values), Max: times[len(times)-1]}
	interval, err := bootstrap.Mean([][][]float64{{values}}, bootstrap.Options{
		Workers: runtime.GOMAXPROCS(0), Exact: true,
	})
	if err != nil {
		return nil, err
	}
	if len(times) > 1 {
		t.Low, t.High = &interval.Low, &interval.High
	}
	return t, nil
}
