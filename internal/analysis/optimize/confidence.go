package optimize

import (
	"math"
	"math/rand/v2"
)

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
