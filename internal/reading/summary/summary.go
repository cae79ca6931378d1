// Package summary describes an experiment in a few numbers.
//
//   - [Collector]: the executions of each key: their number and outcomes, the durations of
//     iterations, start-up and process, and the activity of the daemon.
//   - [StartupOf]: the start-up times of VMs, as in the study's Table 3, from the stamps that every
//     record has, with a bootstrap confidence interval of the mean.
//   - [Counters]: cores that left their base frequency, from APERF and MPERF.
//   - [StatusOf], [PlanOf]: the progress of an experiment, and the slots it would run.
//   - [Estimate]: the remaining duration of an experiment, from the completed executions and the
//     configured waits.
//
// StatusOf and PlanOf read the experiment's directory. Everything else is pure: the same records
// and the same seed give the same numbers, whatever the order of the VMs and the number of
// processors. Whether a key warms up is decided by the analysis. Start reading at Collector.
package summary

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/reading/experiment"
)

// Outcomes counts records by outcome, reruns included.
type Outcomes struct {
	Completed int `json:"completed"`
	Error     int `json:"error"`
	Timeout   int `json:"timeout"`
	Rerun     int `json:"rerun"`
}

// Spread describes a set of durations in nanoseconds. Percentiles are linearly interpolated (type
// 7).
type Spread struct {
	Min    float64 `json:"min_ns"`
	Median float64 `json:"median_ns"`
	Mean   float64 `json:"mean_ns"`
	P95    float64 `json:"p95_ns"`
	Max    float64 `json:"max_ns"`
}

// Row describes one key. All fields except Outcomes refer to the records that count: the first
// completed one of each slot.
type Row struct {
	Key  key.Key `json:"-"`
	Name string  `json:"key"`
	// process executions in the schedule; 0 if unknown
	Planned    int      `json:"executions_planned"`
	Executions int      `json:"executions"` // that count
	Outcomes   Outcomes `json:"outcomes"`

	Iterations     int `json:"iterations"`     // in all executions
	IterationsLow  int `json:"iterations_min"` // in the execution with the fewest
	IterationsHigh int `json:"iterations_max"` // and the most

	Wall    *Spread `json:"wall"`          // of all iterations; nil when there are none
	Init    *Spread `json:"exec_to_init"`  // to the first call of libkrun, by execution; nil without stamps
	First   *Spread `json:"exec_to_first"` // to the first iteration
	Process *Spread `json:"process_wall"`  // wall time of the process

	// Maxima over the executions; nil when no record has them. The times are in nanoseconds:
	// processor time of krund, how often krund's threads got a processor, and processor time of the
	// kernel's threads on the benchmark's processors.
	DaemonCPU *int64 `json:"daemon_cpu_max_ns"`
	WakeUps   *int64 `json:"daemon_wake_ups_max"`
	KernelCPU *int64 `json:"kernel_threads_cpu_max_ns"`

	Groups string `json:"groups,omitempty"` // into which the executions fall, by their median iterations; "" if not
}

// fewestGrouped is the number of executions in which groups are looked for.
const fewestGrouped = 4

// Collector collects records in any order and makes the rows.
type Collector struct {
	order []key.Key
	keys  map[key.Key]*state
}

type state struct {
	row                        Row
	wall, init, first, process []float64
	levels                     []float64 // logarithms of the executions' median iterations
}

// Plan sets the number of process executions of k in the schedule. Keys are ordered by first
// occurrence.
func (c *Collector) Plan(k key.Key, executions int) { c.of(k).row.Planned = executions }

func (c *Collector) of(k key.Key) *state {
	if s, ok := c.keys[k]; ok {
		return s
	}
	if c.keys == nil {
		c.keys = make(map[key.Key]*state)
	}
	s := &state{row: Row{Key: k, Name: k.String()}}
	c.keys[k] = s
	c.order = append(c.order, k)
	return s
}

// Add adds a record. counts reports whether it is the record of its slot that counts; for others
// only the outcome is used. The record is not retained.
func (c *Collector) Add(r results.Record, counts bool) {
	s := c.of(r.Key)
	s.row.Outcomes.add(string(r.Outcome))
	if !counts {
		return
	}
	s.iterations(len(r.WallNS))
	for _, w := range r.WallNS {
		s.wall = append(s.wall, float64(w))
	}
	if level := spread(s.wall[len(s.wall)-len(r.WallNS):]); level != nil && level.Median > 0 {
		s.levels = append(s.levels, math.Log(level.Median))
	}
	if exec := r.Startup.ExecNS; exec != nil {
		if r.Startup.InitNS != nil {
			s.init = append(s.init, float64(*r.Startup.InitNS-*exec))
		}
		if r.Startup.FirstNS != nil {
			s.first = append(s.first, float64(*r.Startup.FirstNS-*exec))
		}
	}
	s.process = append(s.process, float64(r.Process.WallNS))
	s.row.DaemonCPU = worst(s.row.DaemonCPU, &r.Daemon.CPUNS)
	s.row.WakeUps = worst(s.row.WakeUps, r.Daemon.WakeUps)
	if k := r.Daemon.KernelThreads; k != nil {
		s.row.KernelCPU = worst(s.row.KernelCPU, &k.Benchmark.CPUNS)
	}
}

// add counts an outcome of a record or of a dataset; they have the same names. "" is completed.
func (o *Outcomes) add(outcome string) {
	switch results.Outcome(outcome) {
	case results.Completed, "":
		o.Completed++
	case results.Error:
		o.Error++
	case results.Timeout:
		o.Timeout++
	case results.Rerun:
		o.Rerun++
	}
}

// iterations counts an execution of n iterations.
func (s *state) iterations(n int) {
	if s.row.Executions == 0 || n < s.row.IterationsLow {
		s.row.IterationsLow = n
	}
	s.row.IterationsHigh = max(s.row.IterationsHigh, n)
	s.row.Iterations += n
	s.row.Executions++
}

// worst returns the larger value; nil is unknown.
func worst(a, b *int64) *int64 {
	if b == nil || a != nil && *a >= *b {
		return a
	}
	return new(*b)
}

// Rows returns a row per key.
func (c *Collector) Rows() []Row {
	rows := make([]Row, 0, len(c.order))
	for _, k := range c.order {
		s := c.keys[k]
		row := s.row
		row.Wall, row.Init, row.First, row.Process = spread(s.wall), spread(s.init), spread(s.first),
			spread(s.process)
		row.Groups = warmup.GroupsText(s.levels, fewestGrouped)
		rows = append(rows, row)
	}
	return rows
}

// spread describes values without changing them; nil when there are none.
func spread(values []float64) *Spread {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	return &Spread{
		Min: sorted[0], Median: arith.Median(sorted), Mean: arith.Mean(sorted),
		P95: arith.Percentile(sorted, 95), Max: sorted[len(sorted)-1],
	}
}

// RowsOf describes the keys of a dataset of another tool, whose wall times are in seconds: number,
// outcomes and iterations of the executions, and the durations of the completed ones. Nothing is
// known about the processes.
func RowsOf(d *dataset.Dataset) []Row {
	rows := make([]Row, len(d.Pairs))
	for i := range d.Pairs {
		p := &d.Pairs[i]
		s := state{row: Row{Key: p.Key, Name: p.Key.String(), Planned: len(p.Executions)}}
		for j := range p.Executions {
			s.addExecution(&p.Executions[j])
		}
		s.row.Wall = spread(s.wall)
		rows[i] = s.row
	}
	return rows
}

func (s *state) addExecution(e *dataset.Execution) {
	s.row.Outcomes.add(string(e.Outcome))
	if e.Outcome != results.Completed && e.Outcome != "" {
		return
	}
	values, _ := e.Values(dataset.Wall)
	s.iterations(len(values))
	for _, v := range values {
		if !math.IsNaN(v) {
			s.wall = append(s.wall, v*1e9)
		}
	}
}

// documentFormat is Document.Format. See docs/output.md.
const documentFormat = 1

// Document is a row per key, of one experiment or file of results.
type Document struct {
	Format     int      `json:"format"`
	Experiment string   `json:"experiment"`
	Directory  string   `json:"folder"`
	Hosts      []string `json:"hosts"`
	Damaged    int      `json:"damaged_records"`
	Keys       []Row    `json:"keys"`
}

// OfFile summarizes a file of results.
func OfFile(r experiment.Reader, arg string, pattern *key.Pattern) (Document, error) {
	in, err := r.Read(arg, experiment.Selection{Column: dataset.Wall})
	if err != nil {
		return Document{}, err
	}
	if err := experiment.OnlyKeys(in.Data, pattern); err != nil {
		return Document{}, err
	}
	doc := Document{Format: documentFormat, Experiment: in.Data.Experiment, Directory: arg,
		Hosts: []string{}, Keys: append([]Row{}, RowsOf(in.Data)...)}
	if in.Data.Machine != "" {
		doc.Hosts = append(doc.Hosts, in.Data.Machine)
	}
	return doc, nil
}

// OfExperiment summarizes the keys of an experiment that match the pattern; nil matches all. m has
// their records. say gets a message if the schedule cannot be read.
func OfExperiment(f experiment.Experiment, m *experiment.Records, pattern *key.Pattern,
	say func(format string, args ...any)) (Document, error) {
	var c Collector
	s, err := f.OpenSchedule()
	if err != nil {
		say("krunctl: the number of planned executions is unknown: %v", err)
	} else {
		sum, err := s.Summarize()
		if err = errors.Join(err, s.Close()); err != nil {
			return Document{}, fmt.Errorf("read the schedule: %w", err)
		}
		for _, k := range sum.Keys {
			if pattern == nil || pattern.Match(k.Key) {
				c.Plan(k.Key, k.Total())
			}
		}
	}
	doc := Document{Format: documentFormat, Directory: f.Dir(), Hosts: []string{}, Keys: []Row{}}
	for rec := range m.All() {
		doc.Experiment = rec.Experiment
		if !slices.Contains(doc.Hosts, rec.Host) {
			doc.Hosts = append(doc.Hosts, rec.Host)
		}
		c.Add(rec.Record, rec.Counts)
	}
	doc.Keys, doc.Damaged = append(doc.Keys, c.Rows()...), m.Damaged
	return doc, nil
}
