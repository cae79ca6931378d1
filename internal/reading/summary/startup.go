package summary

import (
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
		Resamples: bootstrap.DefaultResamples, Rows: []StartupRow{}}
	c := NewStartup(by)
	for rec := range m.All() {
		doc.Experiment = rec.Experiment
		if rec.Counts {
			c.Add(rec.Record)
		}
	}
	rows, err := c.Rows(StartupOptions{})
	doc.Rows, doc.Damaged = append(doc.Rows, rows...), m.Damaged
	return doc, err
}

// StartupOptions are the options of StartupCollector.
type StartupOptions struct {
	Resamples  int     // 0: bootstrap.DefaultResamples
	Confidence float64 // 0: bootstrap.DefaultConfidence, 0.99
	Seed       uint64
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

// StartupCollector collects records in any order.
type StartupCollector struct {
	by    By
	order []string
	rows  map[string]*startupState
}

type startupState struct {
	row         StartupRow
	init, first []int64
}

// NewStartup returns a collector for rows of the given kind.
func NewStartup(by By) *StartupCollector {
	return &StartupCollector{by: by, rows: make(map[string]*startupState)}
}

// Add adds a record that counts. Rows are ordered by first occurrence. A stamp before exec is
// treated as missing, because a benchmark can write anything into its buffer.
func (c *StartupCollector) Add(r results.Record) {
	name := r.Key.VM
	if c.by == ByKey {
		name = r.Key.String()
	}
	s := c.rows[name]
	if s == nil {
		s = &startupState{row: StartupRow{Name: name, VM: r.Key.VM}}
		if c.by == ByKey {
			s.row.Key = &name
		}
		c.rows[name], c.order = s, append(c.order, name)
	}
	s.row.Executions++
	s.init = since(s.init, r.Startup.ExecNS, r.Startup.InitNS)
	s.first = since(s.first, r.Startup.ExecNS, r.Startup.FirstNS)
}

func since(times []int64, exec, stamp *int64) []int64 {
	if exec == nil || stamp == nil || *stamp < *exec {
		return times
	}
	return append(times, *stamp-*exec)
}

// Rows describes the added records. The errors are those of the bootstrap's options.
func (c *StartupCollector) Rows(o StartupOptions) ([]StartupRow, error) {
	rows := make([]StartupRow, 0, len(c.order))
	for _, name := range c.order {
		s := c.rows[name]
		row := s.row
		var err error
		if row.Init, err = describe(s.init, o); err != nil {
			return nil, err
		}
		if row.First, err = describe(s.first, o); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// describe resamples the executions repeatedly with replacement; the quantiles of the means bound
// the interval (Efron's percentile bootstrap). Values are sorted first, so that the order of the
// records does not matter.
func describe(times []int64, o StartupOptions) (*StartupTime, error) {
	if len(times) == 0 {
		return nil, nil //nolint:nilnil // missing stamps are not an error
	}
	times = slices.Sorted(slices.Values(times))
	values := make([]float64, len(times))
	sum := 0.0
	for i, ns := range times {
		values[i] = float64(ns)
		sum += values[i]
	}
	t := &StartupTime{Executions: len(times), Mean: sum / float64(len(times)), Min: times[0],
		Median: arith.Median(values), Max: times[len(times)-1]}
	interval, err := bootstrap.Mean([][][]float64{{values}}, bootstrap.Options{
		Resamples: o.Resamples, Confidence: o.Confidence, Seed: o.Seed, Workers: runtime.GOMAXPROCS(0),
		Exact: true,
	})
	if err != nil {
		return nil, err
	}
	if len(times) > 1 {
		t.Low, t.High = &interval.Low, &interval.High
	}
	return t, nil
}
