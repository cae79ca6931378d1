package optimize

import (
	"math/rand/v2"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
)

// Format is the version of Findings as JSON. docs/output.md describes its fields.
const Format = 1

// Findings are all results for a suite.
type Findings struct {
	Format int          `json:"format"`
	Source dataset.Info `json:"source"`
	Unit   string       `json:"unit"`
	Options
	Levels     []string     `json:"levels"`     // their names as those of fields
	Results    []Result     `json:"keys"`       // one for each benchmark
	Strategies []Strategy   `json:"strategies"` // the metric first, then the baselines
	Shared     *Shared      `json:"shared"`     // nil unless OfIterations, and some key is good
	Changes    []Comparison `json:"changes"`
	Problems   []string     `json:"problems"`

	Suite *Suite `json:"-"`
}

// Strategy is a method of choosing a configuration for every benchmark, with its savings.
type Strategy struct {
	Name string `json:"strategy"`
	Saving
	// Rates of the changes between versions (the paper's Tables 2 and 3); nil: not compared.
	Rates *Rates `json:"changes,omitempty"`

	results []Result
}

// Find optimizes a suite and compares the savings with those of the baselines. done, which may be
// nil, is called with the number of benchmarks completed so far. The errors are those of Optimize.
func Find(s *Suite, o Options, done func(int)) (*Findings, error) {
	o, err := s.ready(o)
	if err != nil {
		return nil, err
	}
	f := &Findings{Format: Format, Source: s.Info, Unit: s.Unit, Options: o, Levels: s.levelNames(),
		Problems: append([]string{}, s.Warnings...), Suite: s}
	if f.Results, err = Optimize(s, o, done); err != nil {
		return nil, err
	}
	add := func(name string, results []Result) {
		f.Strategies = append(f.Strategies, Strategy{Name: name, Saving: Saved(results), results: results})
	}
	add(string(o.Metric), f.Results)
	for _, baseline := range []Baseline{Minimum, Random} {
		results, err := Choose(s, baseline, o)
		if err != nil {
			return nil, err
		}
		add(string(baseline), results)
	}
	if s.OfIterations() {
		f.Shared = f.share()
	}
	return f, nil
}

// levelNames returns the levels as field names.
func (s *Suite) levelNames() []string {
	names := make([]string, len(s.Levels))
	for i, l := range s.Levels {
		names[i] = l.field()
	}
	return names
}

func (l Level) field() string { return strings.ReplaceAll(l.Name, " ", "_") }

// FindChanges applies the configurations of each strategy for the first version to all versions,
// and compares the changes between successive versions with those of the full data. limit is the
// smallest relevant change. The errors are those of Versions.
func (f *Findings) FindChanges(versions []*Suite, limit float64) error {
	for i := range f.Strategies {
		s := &f.Strategies[i]
		changes, err := Versions(versions, s.results, limit, f.Options)
		if err != nil {
			return err
		}
		s.Rates = new(Sum(changes))
		if i == 0 {
			f.Changes = changes
		}
	}
	return nil
}

// Shared is a configuration for all keys of an experiment: the maximum of the executions and
// iterations that a good key needs. A key is good when it is stable and its result is within the
// accuracy of the full one.
type Shared struct {
	Executions int         `json:"executions"`
	Iterations int         `json:"iterations"`
	VMs        []VMMinimum `json:"vms"`       // those that need fewer iterations
	Good       int         `json:"good_keys"` // keys that are good with this configuration
}

// VMMinimum is a VM whose keys need fewer iterations than the other keys.
type VMMinimum struct {
	VM         string `json:"vm"`
	Iterations int    `json:"iterations"`
}

// share combines the recommendations of good keys; nil when there are none.
func (f *Findings) share() *Shared {
	c := &Shared{VMs: []VMMinimum{}}
	var vms []string
	need := map[string]int{}
	for i := range f.Results {
		r := &f.Results[i]
		if !f.good(r) {
			continue
		}
		vm := f.Suite.Benchmarks[i].Key.VM
		if _, known := need[vm]; !known {
			vms = append(vms, vm)
		}
		c.Executions = max(c.Executions, r.Minimal.Repetitions[executions])
		need[vm] = max(need[vm], r.Minimal.Repetitions[iterations])
		c.Iterations = max(c.Iterations, need[vm])
	}
	if len(vms) == 0 {
		return nil
	}
	for _, vm := range vms {
		if need[vm] < c.Iterations {
			c.VMs = append(c.VMs, VMMinimum{vm, need[vm]})
		}
	}
	for i := range f.Results {
		b := &f.Suite.Benchmarks[i]
		n, known := need[b.Key.VM]
		if !known {
			n = c.Iterations
		}
		at := Position{int32(c.Executions), int32(n - b.Skip), 1}
		for k, full := range b.Full { // others may have more
			at[k] = min(max(at[k], 1), full)
		}
		choice := newSearch(f.Suite, i, f.Options).choice(at)
		if f.stable(choice.Metric(f.Metric)) && f.near(choice.Average, f.Results[i].Full.Average) {
			c.Good++
		}
	}
	return c
}

// good reports whether a result is stable and within the accuracy of the full one.
func (f *Findings) good(r *Result) bool {
	return r.Stable && f.near(r.Minimal.Average, r.Full.Average)
}

// Size is the smallest sufficient number of executions and iterations of a benchmark in a VM.
type Size struct {
	Benchmark, VM                string
	Executions, Iterations       int
	AllExecutions, AllIterations int // of the full experiment
	Keys                         []string
}

// Sizes returns the recommendations for a configuration of krund: for each benchmark and VM the
// maximum over its variants and arms. A key that is not good (see Shared) needs the full size; a
// benchmark whose keys all do is left out. ok is false unless the suite is OfIterations.
func (f *Findings) Sizes() (sizes []Size, ok bool) {
	if !f.Suite.OfIterations() {
		return nil, false
	}
	at := map[[2]string]int{}
	var all []Size
	for i := range f.Results {
		r, k := &f.Results[i], f.Suite.Benchmarks[i].Key
		choice, full := r.Minimal.Repetitions, r.Full.Repetitions
		if !f.good(r) {
			choice = full
		}
		place := [2]string{k.Benchmark, k.VM}
		n, known := at[place]
		if !known {
			n = len(all)
			at[place] = n
			all = append(all, Size{Benchmark: k.Benchmark, VM: k.VM})
		}
		z := &all[n]
		z.Keys = append(z.Keys, r.Name)
		z.Executions = max(z.Executions, choice[executions])
		z.Iterations = max(z.Iterations, choice[iterations])
		z.AllExecutions = max(z.AllExecutions, full[executions])
		z.AllIterations = max(z.AllIterations, full[iterations])
	}
	for _, z := range all {
		if z.Executions < z.AllExecutions || z.Iterations < z.AllIterations {
			sizes = append(sizes, z)
		}
	}
	return sizes, true
}

// Saving aggregates the savings of configurations over benchmarks.
type Saving struct {
	FullSeconds  float64     `json:"full_s"`
	Seconds      float64     `json:"time_s"`
	SavedSeconds float64     `json:"saved_s"`
	Saved        warmup.Real `json:"saved"` // share of FullSeconds; NaN when that is 0
	// Shares of the benchmarks whose average is within 1%, 3%, 5% and 10% of the full one; NaN
	// without benchmarks.
	Within1  warmup.Real `json:"within_1_percent"`
	Within3  warmup.Real `json:"within_3_percent"`
	Within5  warmup.Real `json:"within_5_percent"`
	Within10 warmup.Real `json:"within_10_percent"`
}

// Saved aggregates results.
func Saved(results []Result) Saving {
	var s Saving
	within := func(limit warmup.Real) warmup.Real {
		n := 0
		for i := range results {
			if d := results[i].AverageDiff; -limit <= d && d <= limit {
				n++
			}
		}
		return warmup.Real(n) / warmup.Real(len(results))
	}
	s.Within1, s.Within3, s.Within5, s.Within10 = within(0.01), within(0.03), within(0.05), within(0.10)
	for i := range results {
		s.FullSeconds += results[i].Full.Seconds
		s.Seconds += results[i].Minimal.Seconds
	}
	s.SavedSeconds = s.FullSeconds - s.Seconds
	s.Saved = warmup.Real(s.SavedSeconds / s.FullSeconds)
	return s
}

// Baseline is a method of choosing configurations without considering the values.
type Baseline string

// The baselines.
const (
	Minimum Baseline = "minimum" // the candidate with the shortest duration
	Random  Baseline = "random"  // a candidate drawn uniformly
)

// Choose returns the results of a baseline, for comparison with those of Optimize: the averages,
// without intervals, Stable, Confidence and Warnings. The errors are those of Optimize.
func Choose(s *Suite, how Baseline, o Options) ([]Result, error) {
	o, err := s.ready(o)
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(s.Benchmarks))
	for i := range results {
		search := newSearch(s, i, o)
		full := search.benchmark.Full
		results[i] = search.result(search.average(full), search.average(search.pick(how)))
	}
	return results, nil
}

// pick returns the configuration that a baseline chooses, or the full one when there is no
// candidate.
func (s search) pick(how Baseline) Position {
	list := s.candidates()
	switch {
	case len(list) == 0:
		return s.benchmark.Full
	case how == Minimum:
		return list[0].at
	}
	random := rand.New(source(s.Seed, string(how), s.benchmark.Name, s.benchmark.Full))
	return list[random.IntN(len(list))].at
}
