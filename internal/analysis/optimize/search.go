package optimize

import (
	"fmt"
	"math"
	"slices"

	"krund/internal/analysis/arith"
)

// search looks for the minimal configuration of one benchmark.
type search struct {
	levels    []Level
	benchmark *Benchmark
	o         Options // complete
}

func newSearch(s *Suite, i int, o Options) search {
	return search{levels: s.Levels, benchmark: &s.Benchmarks[i], o: o}
}

func (s search) run() Result {
	b := s.benchmark
	r := Result{Name: b.Name, Full: s.choice(b.Full), Warnings: slices.Clone(b.Warnings)}
	r.Minimal = r.Full
	found, any := s.least(r.Full.Summary(s.o.Metric).Average)
	switch {
	case len(b.Rows) == 0:
		r.Warnings = append(r.Warnings, "nothing was measured")
	case r.Full.Values == 0:
		r.Warnings = append(r.Warnings, fmt.Sprintf("nothing was measured on the first %d of the instances",
			s.o.Instances))
	case found != nil:
		r.Minimal, r.Stable = s.choice(found.at), true
	case !any:
		r.Warnings = append(r.Warnings, fmt.Sprintf("fewer than %d repetitions were measured, "+
			"so the experiment cannot be shortened", fewestRepetitions))
	default:
		r.Warnings = append(r.Warnings, s.unstableWarning(r.Full))
	}
	r.SavedSeconds = r.Full.Seconds - r.Minimal.Seconds
	full, minimal := r.Full.Summary(s.o.Metric), r.Minimal.Summary(s.o.Metric)
	r.AverageDiff = (minimal.Average - full.Average) / full.Average
	r.LowDiff = (minimal.Low - full.Low) / full.Low
	r.HighDiff = (minimal.High - full.High) / full.High
	r.Confidence = s.confidence(r.Minimal.At, full.Average)
	if want := b.Full.cells() * float64(s.o.Instances); r.Full.Values > 0 && float64(r.Full.Values) < want {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d of %.0f values are missing", int(want)-r.Full.Values,
			want))
	}
	if r.Stable && !s.near(r.Minimal.Summary(s.o.Metric).Average, full.Average) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the recommended result deviates by %+.1f%% from the "+
			"full one: it is stable, but at a different level; keep the full configuration, or request one "+
			"with a result near the full one", 100*r.AverageDiff))
	}
	return r
}

func (s search) unstableWarning(full Choice) string {
	v := full.Metric(s.o.Metric)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Sprintf("%s cannot be computed for any configuration: the average is 0, or there are "+
			"too few values", s.o.Metric)
	}
	return fmt.Sprintf("no configuration is stable: %s of the full one is %.4g, not below %g", s.o.Metric, v,
		s.o.Threshold)
}

// stable uses a strict comparison: NaN is not stable.
func (s search) stable(v float64) bool { return v < s.o.Threshold }

// choice computes all estimates of a configuration.
func (s search) choice(at Position) Choice {
	return Choice{At: at, Seconds: s.benchmark.time(at, len(s.levels), s.o.Overhead), Estimate: s.estimate(at,
		needs{mean: true, t: true, median: true})}
}

func (s search) estimate(at Position, need needs) Estimate {
	return s.estimateOf(s.benchmark.values(at, s.o.Instances), at, need)
}

func (s search) estimateOf(values []float64, at Position, need needs) Estimate {
	name, seed := s.benchmark.Name, s.o.Seed
	random := streams{percentile: source(seed, "percentile", name, at), t: source(seed, "t", name, at)}
	return estimate(values, need, sampling{s.o.Resamples, s.o.Level, s.o.Published}, random)
}

// least returns the stable candidate with the shortest duration; nil when there is none. Candidates
// longer than the first stable one are not evaluated. any reports whether there was a candidate.
// full is the full average.
func (s search) least(full float64) (found *candidate, any bool) {
	list, best := s.candidates(), math.Inf(1)
	for _, group := range byTime(list) {
		for i := range group {
			v, average := s.value(group[i].at)
			if s.stable(v) && (found == nil || v < best) && (!s.o.Near || s.near(average, full)) {
				found, best = &group[i], v
			}
		}
		if found != nil {
			break
		}
	}
	return found, len(list) > 0
}

// candidates lists the candidates to choose from.
func (s search) candidates() []candidate {
	return candidates(s.levels, s.benchmark.Full, s.o, func(at Position) float64 {
		return s.benchmark.time(at, len(s.levels), s.o.Overhead)
	})
}

// near reports whether an average is within the accuracy of the full one.
func (s search) near(average, full float64) bool {
	return math.Abs((average-full)/full) <= s.o.Accuracy
}

// value returns the metric of a candidate, or NaN if it is far from stable, and its average.
func (s search) value(at Position) (v, average float64) {
	values := s.benchmark.values(at, s.o.Instances)
	need := s.o.Metric.needs(s.o.Published)
	if need != (needs{}) && s.hopeless(values) {
		return math.NaN(), math.NaN()
	}
	e := s.estimateOf(values, at, need)
	return e.Metric(s.o.Metric), e.Summary(s.o.Metric).Average
}

const (
	// longSample is the number of values from which the normal approximation can rule out stability
	// without a bootstrap.
	longSample = 200
	// far is the factor by which the approximation has to exceed the threshold. The widths differ
	// most when one value carries all variance: the interval of the mean then is that of a Poisson
	// variable of rate 1, 0 to 4, against ±2.58.
	far = 1.5
	// normal995 is the 99.5% quantile of the normal distribution.
	normal995 = 2.5758
)

// hopeless reports, cheaply and for many values, whether their interval is more than half as wide
// again as would be stable.
func (s search) hopeless(x []float64) bool {
	if len(x) < longSample || s.o.Level < 0.9 {
		return false
	}
	n := float64(len(x))
	if s.o.Metric == RCIW3 && !s.o.Published {
		sorted := slices.Sorted(slices.Values(x))
		reach := normal995 * math.Sqrt(n) / 2 / far // ranks
		low, high := sorted[int(math.Ceil(n/2-reach))], sorted[int(math.Floor(n/2+reach))]
		return s.normal() && (high-low)/arith.Median(sorted) > s.o.Threshold
	}
	m := mean(x)
	width := 2 * normal995 * math.Sqrt(squares(x, m)/n) / math.Sqrt(n)
	return s.normal() && width/m > far*s.o.Threshold
}

// normal reports whether intervals are at least as wide as the 99% intervals that hopeless assumes.
func (s search) normal() bool { return s.o.Level >= DefaultLevel }
