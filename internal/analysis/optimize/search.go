package optimize

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/warmup"
)

// search looks for the minimal configuration of one benchmark.
type search struct {
	levels    []Level
	benchmark *Benchmark
	Options   // complete
}

func newSearch(s *Suite, i int, o Options) search {
	return search{levels: s.Levels, benchmark: &s.Benchmarks[i], Options: o}
}

func (s search) run() Result {
	b := s.benchmark
	warnings := append([]string{}, b.Warnings...)
	warn := func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }
	full := s.choice(b.Full)
	found, any := s.least(full.Average)
	minimal, stable := full, false
	switch v := float64(full.Metric(s.Metric)); {
	case len(b.Rows) == 0:
		warn("nothing was measured")
	case full.Values == 0:
		warn("nothing was measured on the first %d of the instances", s.Instances)
	case found != nil:
		minimal, stable = s.choice(found.at), true
	case !any:
		warn("fewer than %d repetitions were measured, so the experiment cannot be shortened",
			fewestRepetitions)
	case math.IsNaN(v) || math.IsInf(v, 0):
		warn("%s cannot be computed for any configuration: the average is 0, or there are too few values",
			s.Metric)
	default:
		warn("no configuration is stable: %s of the full one is %.4g, not below %g", s.Metric, v, s.Threshold)
	}
	r := s.result(full, minimal)
	r.Stable, r.Confidence = stable, s.confidence(minimal.At, full.Average)
	if want := b.Full.cells() * float64(s.Instances); full.Values > 0 && float64(full.Values) < want {
		warn("%d of %.0f values are missing", int(want)-full.Values, want)
	}
	if stable && !s.near(minimal.Average, full.Average) {
		warn("the recommended result deviates by %+.1f%% from the full one: it is stable, but at a "+
			"different level; keep the full configuration, or request one with a result near the full one",
			100*r.AverageDiff)
	}
	r.Warnings = warnings
	return r
}

// result compares a configuration with the full one.
func (s search) result(full, minimal Choice) Result {
	saved := full.Seconds - minimal.Seconds
	return Result{Name: s.benchmark.Name, Full: full, Minimal: minimal, SavedSeconds: saved,
		Saved:       warmup.Real(saved / full.Seconds),
		AverageDiff: (minimal.Average - full.Average) / full.Average,
		LowDiff:     (minimal.Low - full.Low) / full.Low,
		HighDiff:    (minimal.High - full.High) / full.High,
		Confidence:  warmup.Real(math.NaN()), Skip: s.benchmark.Skip}
}

// stable uses a strict comparison: NaN is not stable.
func (o Options) stable(v warmup.Real) bool { return v < warmup.Real(o.Threshold) }

// near reports whether an average is within the accuracy of the full one.
func (o Options) near(average, full warmup.Real) bool {
	return math.Abs(float64((average-full)/full)) <= o.Accuracy
}

// choice computes all estimates of a configuration.
func (s search) choice(at Position) Choice {
	return s.with(at, needs{mean: true, t: true, median: true})
}

// average computes what needs no bootstrap.
func (s search) average(at Position) Choice { return s.with(at, needs{}) }

func (s search) with(at Position, need needs) Choice {
	c := Choice{At: at, Repetitions: map[string]int{}, Seconds: s.time(at), Estimate: s.estimate(at, need)}
	for i, l := range s.levels {
		c.Repetitions[l.field()] = int(at[i])
		if i == len(s.levels)-1 {
			c.Repetitions[l.field()] += s.benchmark.Skip
		}
	}
	return c
}

func (s search) time(at Position) float64 { return s.benchmark.time(at, len(s.levels), s.Overhead) }

func (s search) estimate(at Position, need needs) Estimate {
	return s.estimateOf(s.benchmark.values(at, s.Instances), at, need)
}

func (s search) estimateOf(values []float64, at Position, need needs) Estimate {
	name := s.benchmark.Name
	return estimate(values, need, s.Options, streams{percentile: source(s.Seed, "percentile", name, at),
		t: source(s.Seed, "t", name, at)})
}

// least returns the stable candidate with the shortest duration; nil when there is none. Candidates
// longer than the first stable one are not evaluated. any reports whether there was a candidate.
// full is the full average.
func (s search) least(full warmup.Real) (found *candidate, any bool) {
	list, best := s.candidates(), warmup.Real(math.Inf(1))
	for i := range list {
		c := &list[i]
		if found != nil && c.seconds > found.seconds {
			break
		}
		v, average := s.value(c.at)
		if s.stable(v) && (found == nil || v < best) && (!s.Near || s.near(average, full)) {
			found, best = c, v
		}
	}
	return found, len(list) > 0
}

// value returns the metric of a candidate, or NaN if it is far from stable, and its average.
func (s search) value(at Position) (v, average warmup.Real) {
	values := s.benchmark.values(at, s.Instances)
	need := s.Metric.needs(s.Published)
	if need != (needs{}) && s.hopeless(values) {
		return warmup.Real(math.NaN()), warmup.Real(math.NaN())
	}
	e := s.estimateOf(values, at, need)
	return e.Metric(s.Metric), e.Average
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
// again as would be stable: intervals that are at least as wide as the 99% ones assumed here.
func (s search) hopeless(x []float64) bool {
	if len(x) < longSample || s.Level < DefaultLevel {
		return false
	}
	n := float64(len(x))
	if s.Metric == RCIW3 && !s.Published {
		sorted := slices.Sorted(slices.Values(x))
		reach := normal995 * math.Sqrt(n) / 2 / far // ranks
		low, high := sorted[int(math.Ceil(n/2-reach))], sorted[int(math.Floor(n/2+reach))]
		return (high-low)/arith.Median(sorted) > s.Threshold
	}
	m := mean(x)
	width := 2 * normal995 * math.Sqrt(squares(x, m)/n) / math.Sqrt(n)
	return width/m > far*s.Threshold
}

// fewestRepetitions is the paper's limit: a variance needs several values.
const fewestRepetitions = 3

// candidate is a configuration with its duration.
type candidate struct {
	at      Position
	seconds float64
}

// candidates lists the configurations up to the full one with enough repetitions, by their
// duration, and those of equal duration in lexicographic order. Levels of more than s.Steps
// repetitions are thinned out.
func (s search) candidates() []candidate {
	full := s.benchmark.Full
	var values [MostLevels][]int32
	for i := range values {
		values[i] = stepsOf(full[i], s.Steps)
	}
	outermost := min(int64(full[0]), int64(s.Outermost))
	values[0] = slices.DeleteFunc(values[0], func(n int32) bool { return int64(n) < outermost })
	var list []candidate
	for _, a := range values[0] {
		for _, b := range values[1] {
			for _, c := range values[2] {
				at := Position{a, b, c}
				if repetitions(s.levels, at) >= fewestRepetitions {
					list = append(list, candidate{at, s.time(at)})
				}
			}
		}
	}
	slices.SortStableFunc(list, func(x, y candidate) int { return cmp.Compare(x.seconds, y.seconds) })
	return list
}

// repetitions is the number of measurements of a configuration.
func repetitions(levels []Level, at Position) int64 {
	n := int64(1)
	for i, l := range levels {
		if !l.Duration {
			n *= int64(at[i])
		}
	}
	return n
}

// cells is the number of values of a configuration if none are missing.
func (p Position) cells() float64 {
	n := 1.0
	for _, k := range p {
		n *= float64(k)
	}
	return n
}

// stepsOf returns 1..full when that are at most steps numbers (0: no limit), else about steps
// numbers from 1 to full in geometric progression.
func stepsOf(full int32, steps int) []int32 {
	var list []int32
	if steps <= 1 || int(full) <= steps {
		for k := range full {
			list = append(list, k+1)
		}
		return list
	}
	for i := range steps {
		k := int32(math.Round(math.Pow(float64(full), float64(i)/float64(steps-1))))
		if n := len(list); n == 0 || list[n-1] < k {
			list = append(list, min(k, full))
		}
	}
	list[len(list)-1] = full
	return list
}

const (
	draws  = 500       // simulated experiments
	sparse = 4         // places for each value, in configurations
	large  = 1_000_000 // above this number of places most values are missing
)

// confidence is the share of the draws whose average is within the accuracy of the full average. It
// is NaN when there is no full average or nearly all values are missing.
//
// The prefix of the measurements that represents a configuration may not be representative: the
// draws simulate other experiments of its size. On each level they have as many repetitions as the
// configuration, without replacement and independently within each repetition of the level around
// it. On levels whose repetitions follow each other in one process they have the first ones.
func (s search) confidence(at Position, full warmup.Real) warmup.Real {
	b := s.benchmark
	switch {
	case math.IsNaN(float64(full)) || len(b.Rows) == 0:
		return warmup.Real(math.NaN())
	case at == b.Full:
		return 1
	case at.cells() > max(large, sparse*float64(len(b.Rows))):
		return warmup.Real(math.NaN())
	}
	p := newPlaces(b, s.levels, s.Instances)
	random := rand.New(source(s.Seed, "confidence", b.Name, at))
	near := 0
	var values []float64
	for range draws {
		values = p.draw(values[:0], 0, Position{}, at, random)
		if math.Abs(s.averageOf(values)-float64(full)) <= s.Accuracy*float64(full) {
			near++
		}
	}
	return warmup.Real(near) / draws
}

// averageOf is the metric's average of values, which it reorders.
func (s search) averageOf(values []float64) float64 {
	n := len(values)
	if n == 0 || !s.Metric.OfMedian() {
		return mean(values)
	}
	high := nth(values, n/2)
	if n%2 == 1 {
		return high
	}
	return (slices.Max(values[:n/2]) + high) / 2
}

// places indexes the values by position.
type places struct {
	levels []Level
	at     map[Position][]float64
	orders [MostLevels][]int32 // for draws
}

func newPlaces(b *Benchmark, levels []Level, instances int) *places {
	p := &places{levels: levels, at: make(map[Position][]float64, len(b.Rows))}
	for i := range b.Rows {
		if r := &b.Rows[i]; int(r.Instance) <= instances {
			p.at[r.At] = append(p.at[r.At], r.Value)
		}
	}
	for i, n := range b.Full {
		for k := range n {
			p.orders[i] = append(p.orders[i], k+1)
		}
	}
	return p
}

// draw appends the values of an experiment of the configuration, from a level on, in the repetition
// at of the levels around it.
func (p *places) draw(values []float64, level int, at, size Position, random *rand.Rand) []float64 {
	if level == MostLevels {
		return append(values, p.at[at]...)
	}
	for _, k := range p.some(level, int(size[level]), random) {
		at[level] = k
		values = p.draw(values, level+1, at, size, random)
	}
	return values
}

// some returns n different repetitions of a level. The slice is valid until the next call for the
// level.
func (p *places) some(level, n int, random *rand.Rand) []int32 {
	order := p.orders[level]
	if level >= len(p.levels) || p.levels[level].InOrder {
		return order[:n]
	}
	for i := range n {
		j := i + random.IntN(len(order)-i)
		order[i], order[j] = order[j], order[i]
	}
	return order[:n]
}
