package trial

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/classify"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// Format is the version of Answer. docs/output.md describes its fields.
const Format = 1

// Answer is what `krunctl time` found out. Times are in seconds.
type Answer struct {
	Format     int     `json:"format"`
	Machine    string  `json:"machine"`
	Directory  string  `json:"directory"` // of the saved experiment; "" if it was not saved
	Confidence float64 `json:"confidence"`
	// what the commands and benchmark files found when they ran
	Environment Environment `json:"environment"`

	Subjects []Timing `json:"subjects"` // in the order of the arguments
	Fastest  string   `json:"fastest"`  // name of the subject with the lowest level; "" with fewer than two
	// name of the second copy of the base, which shows what chance and the machine do; "": none
	Null     string   `json:"null"`
	Base     string   `json:"base"`     // that of the reference of the comparisons, usually the fastest
	Compared []Versus `json:"compared"` // the others with the base, in the order of the arguments
	Shell    *Shell   `json:"shell"`    // start of the shell, subtracted from commands; null if none
	Warnings []string `json:"warnings"`
}

// Environment is where the commands ran. It has no values that the caller did not name, because
// these may be secret.
type Environment struct {
	Of        string   `json:"of"`        // config.EnvironmentCaller or config.EnvironmentClean
	Directory string   `json:"directory"` // of commands; benchmark files run in their own
	Inherited []string `json:"inherited"` // names of the variables of the caller; empty if clean
	Set       []string `json:"set"`       // "NAME=value" of the variables that are added, or replaced
}

// Shell is the start of the shell: the mean over executions of the median, which single slow starts
// do not move.
type Shell struct {
	Estimate
	Slow float64 `json:"slow"` // 90th percentile of all starts
}

// Estimate is a mean over executions with its confidence interval.
type Estimate struct {
	Mean warmup.Real `json:"mean"` // null: nothing was measured
	Low  warmup.Real `json:"low"`  // null: too few executions for an interval
	High warmup.Real `json:"high"`
}

// Timing is what is known about one subject.
type Timing struct {
	Name       string  `json:"name"`
	Text       string  `json:"text"`
	Values     []Value `json:"parameters"`
	Command    bool    `json:"command"` // a whole command, else a benchmark file
	Executions int     `json:"executions"`
	Failed     int     `json:"failed_executions"`
	Reason     string  `json:"reason"` // why the first of them failed

	// of all runs of a command; of the steady iterations of a benchmark file, or of all if an
	// execution has no steady state; null if none was completed, or TooShort
	Runs   int         `json:"runs"`
	Mean   warmup.Real `json:"mean"`
	SD     warmup.Real `json:"standard_deviation"` // null also of a single run
	Median warmup.Real `json:"median"`
	Min    warmup.Real `json:"min"`
	Max    warmup.Real `json:"max"`
	User   *float64    `json:"user"`   // mean processor time of a command
	System *float64    `json:"system"` //
	MaxRSS *int64      `json:"maxrss_bytes"`
	NotOK  int         `json:"failed_runs"` // with another exit status than 0, if these are ignored
	// a command takes less time than the start of its shell varies, so that its time is not known
	TooShort bool `json:"too_short"`

	Level    Estimate           `json:"level"` // of the executions
	Class    classify.PairClass `json:"class"` // of the series; "" if it is too short
	Steady   float64            `json:"steady_from"`
	Outliers int                `json:"outliers"`
	Times    []float64          `json:"times"` // every run or iteration, execution after execution
	// of every run of a command: its exit status, 128 + N if a signal ended it; largest size
	ExitCodes []int    `json:"exit_codes"`
	Memory    []int64  `json:"memory_bytes"`
	Warnings  []string `json:"warnings"`

	levels map[int]float64     // by number of the execution
	good   []dataset.Execution // the completed ones
	busy   []string            // remarks of executions on a busy machine
	// an execution of a benchmark file has no steady state, so all iterations are described
	unsteady bool
}

// Versus compares a subject with the fastest.
type Versus struct {
	Name string `json:"name"`
	// Ratio of its level to that of the fastest, with the interval that holds for all comparisons
	// together
	Ratio float64     `json:"ratio"`
	Low   warmup.Real `json:"low"` // null: too few executions for an interval
	High  warmup.Real `json:"high"`
	Told  bool        `json:"told_apart"` // there is an interval, and it does not contain 1
	// the interval lies within a margin around 1: a difference, if there is one, does not matter
	Same   bool    `json:"same"`
	Margin float64 `json:"margin"` // 0.01 is 1 %
}

// confidence of the intervals of an answer.
const confidence = 0.95

// AnswerOf computes the answer from the experiment of a plan.
func AnswerOf(p Plan, d *dataset.Dataset) (Answer, error) {
	a := Answer{Format: Format, Machine: d.Machine, Confidence: confidence, Environment: p.environment(),
		Subjects: []Timing{}, Compared: []Versus{}, Warnings: []string{}}
	var alone []dataset.Execution // the shell
	if p.Calibrate != nil {
		alone = find(d, shellKey())
		a.Shell = shellOf(alone)
	}
	for _, s := range p.Subjects {
		r, err := resultOf(s, find(d, p.Key(s)), a.Shell, alone)
		if err != nil {
			return a, fmt.Errorf("analyze %s: %w", s.Text, err)
		}
		a.Subjects = append(a.Subjects, r)
	}
	if p.Null > 0 {
		a.Null = a.Subjects[p.Null].Name
	}
	if p.Guessed {
		for i := range a.Subjects {
			if r := &a.Subjects[i]; !r.Command {
				r.add("run_iter was called with 1; --parameter gives it another number")
			}
		}
	}
	return a, a.compare(p)
}

func find(d *dataset.Dataset, k key.Key) []dataset.Execution {
	if p := d.Find(k); p != nil {
		return p.Executions
	}
	return nil
}

// shellOf returns what the start of the shell takes; nil without a completed execution.
func shellOf(executions []dataset.Execution) *Shell {
	var all []float64
	medians := map[int]float64{}
	for _, e := range executions {
		if values, _ := e.Values(dataset.Wall); e.Outcome == results.Completed && len(values) > 0 {
			sorted := slices.Sorted(slices.Values(values))
			medians[e.Number] = arith.Median(sorted)
			all = append(all, sorted...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	const slow = 90 // percent
	return &Shell{Estimate: estimate(medians), Slow: arith.Percentile(all, slow)}
}

// mean is that of a column over all runs; 0 without any.
func mean(executions []dataset.Execution, column string) float64 {
	var all []float64
	for i := range executions {
		if executions[i].Outcome == results.Completed {
			values, _ := executions[i].Values(column)
			all = append(all, values...)
		}
	}
	return floats.Sum(all) / float64(max(len(all), 1))
}

// resultOf analyzes one subject.
func resultOf(s Subject, executions []dataset.Execution, shell *Shell,
	alone []dataset.Execution) (Timing, error) {
	none := warmup.Real(math.NaN())
	r := Timing{Name: s.Name, Text: s.Text, Values: append([]Value{}, s.Values...), Command: s.IsCommand(),
		Times: []float64{}, ExitCodes: []int{}, Memory: []int64{}, Warnings: []string{},
		Executions: len(executions), Level: estimate(nil),
		Mean: none, SD: none, Median: none, Min: none, Max: none}
	var good []dataset.Execution
	for _, e := range executions {
		if e.Outcome == results.Completed {
			good = append(good, e)
			for _, reason := range e.Reasons {
				if strings.HasPrefix(reason, results.BusyMachine) {
					r.busy = append(r.busy, reason)
				}
			}
			continue
		}
		r.Failed++
		if r.Reason == "" && len(e.Reasons) > 0 {
			r.Reason = e.Reasons[0]
		}
	}
	if len(good) == 0 {
		return r, nil
	}
	if !s.IsCommand() {
		return r, r.benchmark(good)
	}
	r.usage(good, alone)
	return r, r.command(good, shell)
}

// command analyzes the runs of a whole command: they are one series, because each run is a process
// of its own.
func (r *Timing) command(good []dataset.Execution, shell *Shell) error {
	var series []float64
	for i := range good {
		values, _ := good[i].Values(dataset.Wall)
		series = append(series, values...)
	}
	if r.Runs = len(series); shell.hides(series) {
		r.TooShort, r.User, r.System = true, nil, nil
		return nil
	}
	side, err := analyze([]dataset.Execution{execution(1, series)})
	if err != nil {
		return err
	}
	doc := side.Doc
	e := doc.Pairs[0].Executions[0]
	r.Outliers = len(e.Outliers)
	if len(series) >= fewestSeries {
		r.Class = doc.Pairs[0].Classification
		if e.Steady != nil {
			r.Steady = float64(e.Steady.Iteration)
		}
	}
	r.levels = means(good)
	if shell != nil {
		for i := range series {
			series[i] -= float64(shell.Mean)
		}
		for i := range r.levels {
			r.levels[i] -= float64(shell.Mean)
		}
	}
	r.Times = series
	r.describe(series)
	return nil
}

// hides reports whether a command takes less time than the start of its shell varies: a run, the
// start included, took no longer than the start alone usually does, or the typical run ends before
// a slow start alone would.
func (s *Shell) hides(series []float64) bool {
	if s == nil {
		return false
	}
	sorted := slices.Sorted(slices.Values(series))
	return sorted[0] <= float64(s.Mean) || arith.Median(sorted) <= s.Slow
}

// fewestSeries is the length from which the class of a series of runs means something.
const fewestSeries = 30

// benchmark analyzes the iterations of a benchmark file.
func (r *Timing) benchmark(good []dataset.Execution) error {
	side, err := analyze(good)
	if err != nil {
		return err
	}
	pair := side.Doc.Pairs[0]
	r.good = good
	r.levels = map[int]float64{}
	r.Class = pair.Classification
	if pair.SteadyIteration != nil {
		r.Steady = pair.SteadyIteration.Median
	}
	var steady []float64
	for i, e := range pair.Executions {
		values, _ := good[i].Values(dataset.Wall)
		r.Times = append(r.Times, values...)
		r.Outliers += len(e.Outliers)
		if e.Level != nil {
			r.levels[e.Number] = e.Level.Value
		}
		if e.Steady != nil {
			for _, part := range e.Steady.Ranges {
				steady = append(steady, values[part.Start:part.End]...)
			}
		}
	}
	if len(steady) == 0 || r.Class == "" || pair.Counts.NoSteadyState > 0 {
		steady, r.unsteady = slices.Clone(r.Times), true
	}
	r.describe(steady)
	return nil
}

// analyze analyzes executions, all of one key.
func analyze(executions []dataset.Execution) (compare.Side, error) {
	d := &dataset.Dataset{Info: dataset.Info{Blocked: true}}
	for _, e := range executions {
		d.Add(key.Key{Benchmark: Benchmark, VM: "x", Variant: "x"}, e)
	}
	parameters := warmup.Default(classify.Relative)
	parameters.Resamples = 1000 // of an interval that is not used
	doc, err := warmup.Analyze(d, parameters, warmup.Options{})
	return compare.Side{Doc: doc, Data: d}, err
}

// describe fills in the numbers about all runs.
func (r *Timing) describe(values []float64) {
	sorted := slices.Sorted(slices.Values(values))
	mean, sd := stat.MeanStdDev(values, nil)
	r.Runs, r.Mean, r.Median = len(sorted), warmup.Real(mean), warmup.Real(arith.Median(sorted))
	r.SD, r.Min, r.Max = warmup.Real(sd), warmup.Real(sorted[0]), warmup.Real(sorted[len(sorted)-1])
	r.Level = estimate(r.levels)
}

// usage fills in what the runner for commands says about each run, without what the shell uses
// alone.
func (r *Timing) usage(good, shell []dataset.Execution) {
	user := max(0, mean(good, "user")-mean(shell, "user"))
	system := max(0, mean(good, "system")-mean(shell, "system"))
	r.User, r.System = &user, &system
	for i := range good {
		if memory, _ := good[i].Values("maxrss"); len(memory) > 0 {
			most := int64(slices.Max(memory))
			if r.MaxRSS != nil {
				most = max(most, *r.MaxRSS)
			}
			r.MaxRSS = &most
			for _, bytes := range memory {
				r.Memory = append(r.Memory, int64(bytes))
			}
		}
		exits, _ := good[i].Values("exit")
		if wall, _ := good[i].Values(dataset.Wall); len(exits) == 0 { // only successful runs count
			exits = make([]float64, len(wall))
		}
		for _, status := range exits {
			r.ExitCodes = append(r.ExitCodes, int(status))
			if status != 0 {
				r.NotOK++
			}
		}
	}
}

// means are the means of the completed executions, by number.
func means(executions []dataset.Execution) map[int]float64 {
	all := map[int]float64{}
	for i := range executions {
		values, _ := executions[i].Values(dataset.Wall)
		if executions[i].Outcome == results.Completed && len(values) > 0 {
			all[executions[i].Number] = stat.Mean(values, nil)
		}
	}
	return all
}
