package optimize

import (
	"math"
	"math/rand/v2"

	"krund/internal/analysis/warmup"
)

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
