package summary

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"

	"krund/internal/display"
	"krund/internal/execution/verdict"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/reading/experiment"
)

// CountersFormat is the version of Counters. docs/output.md describes its fields.
const CountersFormat = 1

// Counters reports where cores left the frequency that they are held at. Add fills it.
type Counters struct {
	Format     int                `json:"format"`
	Experiment string             `json:"experiment"`
	Directory  string             `json:"folder"`
	Tolerance  float64            `json:"ratio_tolerance"`
	Threshold  float64            `json:"busy_threshold"` // 0: derived for each record
	Damaged    int                `json:"damaged_records"`
	Keys       []CountersRow      `json:"keys"`
	Violating  []CounterViolation `json:"violating"`

	rows   map[key.Key]int
	reason string // why a record has no counters
}

// CountersRow is the result for a key.
type CountersRow struct {
	Key       string `json:"key"`
	Records   int    `json:"records"`
	Judged    int    `json:"judged"`
	Violating int    `json:"violating_records"`
	Frequency
}

// CounterViolation is a record that exceeds the limits.
type CounterViolation struct {
	SlotState
	Outcome results.Outcome `json:"outcome"`
	Reasons []string        `json:"reasons"`
	Frequency
}

// Frequency counts how often, and how far, busy cores left the frequency that they are held at. The
// ratios are relative to the expected ones, which in records of older versions are 1.
type Frequency struct {
	Iterations int      `json:"iterations"`
	Throttled  int      `json:"throttled_iterations"`
	Turbo      int      `json:"turbo_iterations"`
	Lowest     *float64 `json:"lowest_ratio"`  // null: no core was busy
	Highest    *float64 `json:"highest_ratio"` // null also when it is infinite
}

// ErrNoCounters reports that no record has APERF and MPERF.
var ErrNoCounters = errors.New("no record has APERF and MPERF, so there is nothing to judge")

// LimitsOf returns the limits of the experiment's configuration, with the sections of host. say
// gets a message if it cannot be read; the limits are then the study's.
func LimitsOf(f experiment.Experiment, host string, say func(string, ...any)) verdict.CounterLimits {
	cfg, err := f.Config(host)
	if err != nil {
		say("krunctl: the experiment's limits are unknown; using the study's limits: %s", FirstProblem(err))
		return verdict.CounterLimits{Tolerance: verdict.DefaultTolerance}
	}
	return verdict.CounterLimits{Tolerance: cfg.Verdict.RatioTolerance,
		BusyThreshold: cfg.Verdict.BusyThreshold}
}

// NewCounters returns an empty document about the experiment in dir.
func NewCounters(dir string) *Counters {
	return &Counters{
		Format: CountersFormat, Directory: dir, Keys: []CountersRow{}, Violating: []CounterViolation{},
		rows: make(map[key.Key]int),
	}
}

// Add evaluates a record.
func (d *Counters) Add(rec results.Record, limits verdict.CounterLimits) {
	d.Experiment = rec.Experiment
	if _, seen := d.rows[rec.Key]; !seen {
		d.rows[rec.Key] = len(d.Keys)
		d.Keys = append(d.Keys, CountersRow{Key: rec.Key.String()})
	}
	row := &d.Keys[d.rows[rec.Key]]
	row.Records++
	run, ok := verdict.RunOf(rec)
	if !ok || !run.HasRatio() {
		d.reason = fmt.Sprintf("counters of record %d-%d: %s (%s)", rec.Slot, rec.Attempt,
			rec.CounterSource, rec.CounterReason)
		return
	}
	f, reasons := judgeFrequency(run, limits)
	row.Judged++
	row.add(f)
	if len(reasons) == 0 {
		return
	}
	row.Violating++
	d.Violating = append(d.Violating, CounterViolation{
		SlotState: recordOf(&rec), Outcome: rec.Outcome, Reasons: reasons, Frequency: f,
	})
}

// Err returns an error when no record could be evaluated; it wraps ErrNoCounters if there are
// records.
func (d *Counters) Err() error {
	for _, k := range d.Keys {
		if k.Judged > 0 {
			return nil
		}
	}
	if d.reason != "" {
		return fmt.Errorf("%w; %s", ErrNoCounters, d.reason)
	}
	return errors.New("there are no records to judge")
}

// add combines the counts and extremes of two values.
func (f *Frequency) add(g Frequency) {
	f.Iterations, f.Throttled, f.Turbo = f.Iterations+g.Iterations, f.Throttled+g.Throttled, f.Turbo+g.Turbo
	if g.Lowest != nil {
		f.see(*g.Lowest)
	}
	if g.Highest != nil {
		f.see(*g.Highest)
	}
}

// see extends the extremes to include a ratio.
func (f *Frequency) see(ratio float64) {
	if math.IsInf(ratio, 0) || math.IsNaN(ratio) {
		return
	}
	if f.Lowest == nil || ratio < *f.Lowest {
		f.Lowest = &ratio
	}
	if f.Highest == nil || ratio > *f.Highest {
		f.Highest = &ratio
	}
}

// judgeFrequency compares one record with the limits.
func judgeFrequency(run verdict.CounterRun, limits verdict.CounterLimits) (Frequency, []string) {
	f := Frequency{Iterations: len(run.WallNS)}
	j := verdict.JudgeCounters(run, limits)
	throttled, turbo := make(map[int]bool), make(map[int]bool)
	for _, v := range j.Violations {
		if v.Kind == verdict.Turbo {
			turbo[v.Iteration] = true
		} else {
			throttled[v.Iteration] = true
		}
	}
	f.Throttled, f.Turbo = len(throttled), len(turbo)
	// With a negative tolerance every ratio of a busy core is reported, which gives the extremes of
	// all.
	all := verdict.CounterLimits{Tolerance: math.Inf(-1), BusyThreshold: j.BusyThreshold}
	for _, v := range verdict.JudgeCounters(run, all).Violations {
		f.see(v.Ratio / v.Expected)
	}
	return f, j.Reasons()
}

// CalibrationFormat is the version of Calibration. docs/output.md describes its fields.
const CalibrationFormat = 1

// Calibration suggests limits for the counters.
type Calibration struct {
	Format    int            `json:"format"`
	Directory string         `json:"folder"`
	Idle      CalibrationRun `json:"idle"`
	Busy      CalibrationRun `json:"busy"`
	Tolerance float64        `json:"ratio_tolerance"`
	Threshold float64        `json:"busy_threshold"`
}

// CalibrationRun describes one of the two runs of a calibration.
type CalibrationRun struct {
	Records    int `json:"records"`
	Iterations int `json:"iterations"`
}

// selection selects records: those of a slot, of one of its attempts, or of keys.
type selection struct {
	pattern       *key.Pattern
	slot, attempt int
}

// selectionOf parses "17", "17-2", or benchmark:vm:variant with * as parts.
func selectionOf(text string) (s selection, err error) {
	if strings.Contains(text, ":") {
		p, err := key.ParsePattern(text)
		return selection{pattern: &p}, err
	}
	if s.slot, s.attempt, err = experiment.ParseRecord(text); err != nil {
		err = fmt.Errorf("%w; or give a key, benchmark:vm:variant", err)
	}
	return s, err
}

func (s selection) match(r *results.Record) bool {
	if s.pattern != nil {
		return s.pattern.Match(r.Key)
	}
	return r.Slot == s.slot && (s.attempt == 0 || r.Attempt == s.attempt)
}

// Calibrate suggests limits from the records of an idle and a busy run of the experiment in dir:
// texts of --idle and --busy. The error is a UsageError, says that there are no such records with
// APERF and MPERF, or is that of verdict.Suggest.
func Calibrate(dir string, records iter.Seq[results.Record], idle, busy string) (Calibration, error) {
	runs := [2]struct {
		flag, text string
		selection
		found []verdict.CounterRun
	}{{flag: "--idle", text: idle}, {flag: "--busy", text: busy}}
	for i := range runs {
		var err error
		if runs[i].selection, err = selectionOf(runs[i].text); err != nil {
			return Calibration{}, experiment.Usage(fmt.Errorf("%s: %w", runs[i].flag, err))
		}
	}
	for rec := range records {
		run, ok := verdict.RunOf(rec)
		if !ok || !run.HasRatio() {
			continue
		}
		for i := range runs {
			if runs[i].match(&rec) {
				runs[i].found = append(runs[i].found, run)
			}
		}
	}
	for _, r := range runs {
		if len(r.found) == 0 {
			return Calibration{}, fmt.Errorf("%s %s: no record of it has APERF and MPERF; `krunctl show %s` "+
				"lists the keys, `krunctl show` prints the counters of a record", r.flag, r.text,
				display.ShellPath(dir))
		}
	}
	i, b := verdict.Join(runs[0].found...), verdict.Join(runs[1].found...)
	limits, err := verdict.Suggest(i, b)
	return Calibration{
		Format: CalibrationFormat, Directory: dir,
		Idle: CalibrationRun{len(runs[0].found), len(i.WallNS)},
		Busy: CalibrationRun{len(runs[1].found), len(b.WallNS)},
		// Round to few digits for readability.
		Tolerance: math.Round(limits.Tolerance*1e4) / 1e4,
		Threshold: math.Round(limits.BusyThreshold),
	}, err
}
