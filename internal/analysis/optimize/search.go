package optimize

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
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

// MostLevels is the maximum number of levels of repetition.
const MostLevels = 3

// Position is a position in an experiment, or a number of repetitions: one number from 1 for each
// level, outermost first, and 1 for unused levels.
type Position [MostLevels]int32

// Level is a level of repetition.
type Level struct {
	Name     string // in the plural: "executions"
	Duration bool   // repetitions extend one measurement
	InOrder  bool   // its repetitions follow each other in one process
}

// fewestRepetitions is the paper's limit: a variance needs several values.
const fewestRepetitions = 3

// candidate is a configuration with its index in the enumeration.
type candidate struct {
	at      Position
	seconds float64
}

// candidates lists the configurations up to full with enough repetitions, in lexicographic order.
// Levels of more than o.Steps repetitions are thinned out.
func candidates(levels []Level, full Position, o Options, seconds func(Position) float64) []candidate {
	var values [MostLevels][]int32
	for i := range values {
		values[i] = stepsOf(full[i], o.Steps)
	}
	outermost := min(int64(full[0]), int64(o.Outermost))
	values[0] = slices.DeleteFunc(values[0], func(n int32) bool { return int64(n) < outermost })
	var list []candidate
	for _, a := range values[0] {
		for _, b := range values[1] {
			for _, c := range values[2] {
				at := Position{a, b, c}
				if repetitions(levels, at) >= fewestRepetitions {
					list = append(list, candidate{at, seconds(at)})
				}
			}
		}
	}
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

// byTime groups candidates of the same duration, shortest first. Each group keeps the order of the
// enumeration.
func byTime(list []candidate) [][]candidate {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(x, y candidate) int { return cmp.Compare(x.seconds, y.seconds) })
	var groups [][]candidate
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && sorted[j].seconds == sorted[i].seconds {
			j++
		}
		groups = append(groups, sorted[i:j])
		i = j
	}
	return groups
}

// The prefix of the measurements that represents a configuration may not be representative.
// Confidence simulates other experiments of its size: on each level it draws as many repetitions as
// the configuration has, without replacement and independently within each repetition of the level
// around it. On levels whose repetitions follow each other in one process it takes the first ones.

const (
	draws  = 500       // simulated experiments
	sparse = 4         // places for each value, in configurations
	large  = 1_000_000 // above this number of places most values are missing
)

// confidence is the share of the draws whose average is within the accuracy of the full average. It
// is NaN when there is no full average or nearly all values are missing.
func (s search) confidence(at Position, full float64) float64 {
	b := s.benchmark
	switch {
	case math.IsNaN(full) || len(b.Rows) == 0:
		return math.NaN()
	case at == b.Full:
		return 1
	case at.cells() > max(large, sparse*float64(len(b.Rows))):
		return math.NaN()
	}
	p := newPlaces(b, s.levels, s.o.Instances)
	random := rand.New(source(s.o.Seed, "confidence", b.Name, at))
	near := 0
	var values []float64
	for range draws {
		values = p.draw(values[:0], 0, Position{}, at, random)
		if math.Abs(s.average(values)-full) <= s.o.Accuracy*full {
			near++
		}
	}
	return float64(near) / draws
}

// average is the metric's average of values, which it reorders.
func (s search) average(values []float64) float64 {
	n := len(values)
	if n == 0 || !s.o.Metric.OfMedian() {
		return mean(values)
	}
	high := nth(values, n/2)
	if n%2 == 1 {
		return high
	}
	low := math.Inf(-1)
	for _, v := range values[:n/2] {
		low = max(low, v)
	}
	return (low + high) / 2
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
