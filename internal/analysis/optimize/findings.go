package optimize

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
)

// Findings are all results for a suite.
type Findings struct {
	Suite      *Suite
	Results    []Result   // one for each benchmark
	Strategies []Strategy // the metric first, then the baselines
	Shared     *Shared    // nil unless the levels are executions and iterations and some key is good
	Changes    []Comparison
	options    Options
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
	f := &Findings{Suite: s, options: o}
	var err error
	if f.Results, err = Optimize(s, o, done); err != nil {
		return nil, err
	}
	f.Strategies = []Strategy{{Name: string(o.Metric), Saving: Saved(f.Results), results: f.Results}}
	for _, baseline := range []Baseline{Minimum, Random} {
		results, err := Choose(s, baseline, o)
		if err != nil {
			return nil, err
		}
		f.Strategies = append(f.Strategies, Strategy{Name: string(baseline), Saving: Saved(results),
			results: results})
	}
	f.Shared, err = share(s, f.Results, o)
	return f, err
}

// FindChanges applies the configurations of each strategy for the first version to all versions,
// and compares the changes between successive versions with those of the full data. limit is the
// smallest relevant change. The errors are those of Versions.
func (f *Findings) FindChanges(versions []*Suite, limit float64) error {
	for i := range f.Strategies {
		s := &f.Strategies[i]
		changes, err := Versions(versions, s.results, limit, f.options)
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

// Repetitions returns the number of repetitions to configure for a level of a benchmark, including
// the skipped iterations.
func (f *Findings) Repetitions(benchmark, level int, at Position) int {
	n := int(at[level])
	if level == len(f.Suite.Levels)-1 {
		n += f.Suite.Benchmarks[benchmark].Skip
	}
	return n
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

// share combines the recommendations of good keys; nil when there are none or when the levels are
// not executions and iterations.
func share(s *Suite, results []Result, o Options) (*Shared, error) {
	if len(s.Levels) != 2 || s.Levels[0] != Executions() || s.Levels[1] != Iterations() {
		return nil, nil //nolint:nilnil // nothing to share is not an error
	}
	c := &Shared{VMs: []VMMinimum{}}
	var vms []string
	need := map[string]int{}
	for i := range results {
		if !results[i].good(o.Accuracy) {
			continue
		}
		at := results[i].Minimal.At
		vm := vmOf(results[i].Name)
		if _, known := need[vm]; !known {
			vms = append(vms, vm)
		}
		c.Executions = max(c.Executions, int(at[0]))
		need[vm] = max(need[vm], int(at[1])+s.Benchmarks[i].Skip)
		c.Iterations = max(c.Iterations, need[vm])
	}
	if len(vms) == 0 {
		return nil, nil //nolint:nilnil // nothing to share is not an error
	}
	for _, vm := range vms {
		if need[vm] < c.Iterations {
			c.VMs = append(c.VMs, VMMinimum{vm, need[vm]})
		}
	}
	for i := range results {
		b := &s.Benchmarks[i]
		iterations, known := need[vmOf(b.Name)]
		if !known {
			iterations = c.Iterations
		}
		_, good, err := Evaluate(s, i, Position{int32(c.Executions), int32(iterations - b.Skip), 1}, o)
		if err != nil {
			return nil, err
		}
		if good {
			c.Good++
		}
	}
	return c, nil
}

// vmOf returns the VM in the name of a key; "" for any other name.
func vmOf(name string) string {
	parts := strings.Split(name, ":")
	if len(parts) != 3 {
		return ""
	}
	return parts[1]
}

// Evaluate returns the result of a configuration for the benchmark with the index i, and reports
// whether it is stable with an average within the accuracy of the full one. It is for a
// configuration that several benchmarks share. Repetitions beyond those measured are ignored. The
// errors are those of Optimize.
func Evaluate(s *Suite, i int, at Position, o Options) (c Choice, good bool, err error) {
	if o, err = o.Complete(); err != nil {
		return c, false, err
	}
	if i < 0 || i >= len(s.Benchmarks) {
		return c, false, fmt.Errorf("%w: benchmark %d of %d", ErrOptions, i, len(s.Benchmarks))
	}
	if err := s.Check(); err != nil {
		return c, false, err
	}
	for k, full := range s.Benchmarks[i].Full {
		at[k] = min(max(at[k], 1), full)
	}
	search := newSearch(s, i, o)
	c = search.choice(at)
	full := search.estimate(s.Benchmarks[i].Full, needs{})
	good = search.stable(c.Metric(o.Metric)) && search.near(c.Summary(o.Metric).Average,
		full.Summary(o.Metric).Average)
	return c, good, nil
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
// benchmark whose keys all do is left out. ok is false if the levels are not executions and
// iterations, or the names are no keys.
func (f *Findings) Sizes() (sizes []Size, ok bool) {
	s := f.Suite
	if len(s.Levels) != 2 || s.Levels[0] != Executions() || s.Levels[1] != Iterations() {
		return nil, false
	}
	at := map[[2]string]int{}
	var all []Size
	for i := range f.Results {
		r := &f.Results[i]
		k, err := key.Parse(r.Name)
		if err != nil {
			return nil, false
		}
		choice := r.Minimal.At
		if !r.good(f.options.Accuracy) {
			choice = r.Full.At
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
		z.Executions = max(z.Executions, f.Repetitions(i, 0, choice))
		z.Iterations = max(z.Iterations, f.Repetitions(i, 1, choice))
		z.AllExecutions = max(z.AllExecutions, f.Repetitions(i, 0, r.Full.At))
		z.AllIterations = max(z.AllIterations, f.Repetitions(i, 1, r.Full.At))
	}
	for _, z := range all {
		if z.Executions < z.AllExecutions || z.Iterations < z.AllIterations {
			sizes = append(sizes, z)
		}
	}
	return sizes, true
}

// good reports whether a result is stable and within the accuracy of the full one.
func (r *Result) good(accuracy float64) bool {
	return r.Stable && math.Abs(r.AverageDiff) <= accuracy
}

// Saving aggregates the savings of configurations over benchmarks.
type Saving struct {
	Benchmarks   int         `json:"-"`
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
	s := Saving{Benchmarks: len(results)}
	for _, within := range []struct {
		limit float64
		share *warmup.Real
	}{{0.01, &s.Within1}, {0.03, &s.Within3}, {0.05, &s.Within5}, {0.10, &s.Within10}} {
		n := 0
		for i := range results {
			if math.Abs(results[i].AverageDiff) <= within.limit {
				n++
			}
		}
		*within.share = warmup.Real(n) / warmup.Real(len(results))
	}
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

// Choose returns the results of a baseline, for comparison with those of Optimize. Stable,
// Confidence and Warnings are not filled in. The errors are those of Optimize.
func Choose(s *Suite, how Baseline, o Options) ([]Result, error) {
	o, err := o.Complete()
	if err != nil {
		return nil, err
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	results := make([]Result, len(s.Benchmarks))
	for i := range results {
		search := newSearch(s, i, o)
		results[i] = search.at(search.pick(how))
	}
	return results, nil
}

// pick returns the configuration that a baseline chooses, or the full one when there is no
// candidate.
func (s search) pick(how Baseline) Position {
	groups := byTime(s.candidates())
	if len(groups) == 0 {
		return s.benchmark.Full
	}
	if how == Minimum {
		return groups[0][0].at
	}
	n := 0
	for _, g := range groups {
		n += len(g)
	}
	k := rand.New(source(s.o.Seed, string(how), s.benchmark.Name, s.benchmark.Full)).IntN(n)
	for _, g := range groups {
		if k < len(g) {
			return g[k].at
		}
		k -= len(g)
	}
	return s.benchmark.Full
}

// at returns the averages of a configuration together with the full ones, without intervals.
func (s search) at(at Position) Result {
	b := s.benchmark
	choice := func(at Position) Choice {
		return Choice{At: at, Seconds: b.time(at, len(s.levels), s.o.Overhead), Estimate: s.estimate(at,
			needs{})}
	}
	r := Result{Name: b.Name, Full: choice(b.Full), Minimal: choice(at), LowDiff: math.NaN(),
		HighDiff: math.NaN(), Confidence: math.NaN()}
	full := r.Full.Summary(s.o.Metric).Average
	r.AverageDiff = (r.Minimal.Summary(s.o.Metric).Average - full) / full
	r.SavedSeconds = r.Full.Seconds - r.Minimal.Seconds
	return r
}
