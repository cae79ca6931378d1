package bootstrap

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"krund/internal/analysis/parallel"
	"krund/internal/display"
)

// Index selects how the indexes of a hierarchical resample are drawn.
type Index int

// Uniform draws every index with the same probability. PA draws as the tool pa 0.1 does, which
// Laaber et al. used: the integer part of the absolute value of a normal variate with the mean and
// the standard deviation of 0..n-1, modulo n. Low indexes are more likely: 0.76 and 0.24 for n = 2.
// PA is only for reproducing published numbers.
const (
	Uniform Index = iota
	PA
)

var indexNames = []string{Uniform: "uniform", PA: "pa"}

// ParseIndex parses the name of a method.
func ParseIndex(s string) (Index, error) {
	return display.Word[Index]("sampling method", s, indexNames)
}

// String returns the name of the method.
func (x Index) String() string { return indexNames[x] }

// MarshalText returns the text of String.
func (x Index) MarshalText() ([]byte, error) { return []byte(x.String()), nil }

// Tables caches what PA needs for each length. NewHierarchy fills it; it must not be used by
// several goroutines at once. Nil is allowed.
type Tables map[int]*Weighted

// Hierarchy is values[execution][iteration][invocation], resampled with replacement on every level,
// each with as many draws as it has elements.
type Hierarchy struct {
	values  [][][]float64
	drawers [][]drawer
	index   Index
	tables  Tables
	// Metric is the mean of the iterations' means.
	Metric float64
}

// NewHierarchy prepares values, which it keeps. No level may be empty: the error wraps ErrEmpty.
func NewHierarchy(values [][][]float64, index Index, tables Tables) (*Hierarchy, error) {
	h := &Hierarchy{values: values, index: index, tables: tables, drawers: make([][]drawer, len(values))}
	if len(values) == 0 {
		return nil, ErrEmpty
	}
	if tables == nil {
		h.tables = Tables{}
	}
	h.prepare(len(values))
	iterations := 0
	for e, execution := range values {
		if len(execution) == 0 {
			return nil, fmt.Errorf("execution %d has no iterations: %w", e+1, ErrEmpty)
		}
		h.prepare(len(execution))
		h.drawers[e] = make([]drawer, len(execution))
		for i, invocations := range execution {
			if len(invocations) == 0 {
				return nil, fmt.Errorf("iteration %d of execution %d has no invocations: %w", i, e+1,
					ErrEmpty)
			}
			h.prepare(len(invocations))
			h.drawers[e][i] = newDrawer(invocations)
			h.Metric += MeanOf(invocations)
			iterations++
		}
	}
	h.Metric /= float64(iterations)
	return h, nil
}

// MeanOf is the sum of values over their number.
func MeanOf(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

func (h *Hierarchy) prepare(n int) {
	if h.index == PA && h.tables[n] == nil {
		h.tables[n] = NewWeighted(paWeights(n))
	}
}

// Fill sets each of means to the mean of a resample. The result depends only on the seed and the
// index.
func (h *Hierarchy) Fill(means []float64, seed uint64, workers int) {
	if workers < 2 || len(means) <= blockSize {
		h.fill(means, 0, seed)
		return
	}
	var jobs []func()
	for from := 0; from < len(means); from += blockSize {
		part := means[from:min(from+blockSize, len(means))]
		jobs = append(jobs, func() { h.fill(part, from, seed) })
	}
	parallel.Each(len(jobs), workers, func(i int) { jobs[i]() })
}

func (h *Hierarchy) fill(means []float64, from int, seed uint64) {
	for i := range means {
		random := newStream(seed, uint64(from+i))
		means[i] = h.one(&random)
	}
}

func (h *Hierarchy) one(random *stream) float64 {
	sum, n := 0.0, 0
	for range h.values {
		e := h.draw(random, len(h.values))
		for range h.values[e] {
			i := h.draw(random, len(h.values[e]))
			invocations := h.values[e][i]
			n += len(invocations)
			if h.index == Uniform {
				sum += h.drawers[e][i].sum(random)
				continue
			}
			table := h.tables[len(invocations)]
			for range invocations {
				sum += invocations[table.draw(random)]
			}
		}
	}
	return sum / float64(n)
}

func (h *Hierarchy) draw(random *stream, n int) int {
	if h.index == PA {
		return h.tables[n].draw(random)
	}
	return int(random.index(uint64(n)))
}

// Quantiles sorts the means and returns pa's interval: of B means those with the indexes ceil(B
// a/2) and floor(B (1-a/2)), a = 1-confidence. It returns NaN when there are no means.
func Quantiles(means []float64, confidence float64) (low, high float64) {
	if len(means) == 0 {
		return math.NaN(), math.NaN()
	}
	const million = 1000000
	slices.Sort(means)
	n, exclude := int64(len(means)), int64(math.Round((1-confidence)/2*million))
	lower := (exclude*n + million - 1) / million
	upper := (million - exclude) * n / million
	return means[min(lower, n-1)], means[min(upper, n-1)]
}

// paWeights returns the probabilities of the indexes 0..n-1 under PA.
func paWeights(n int) []float64 {
	weights := make([]float64, n)
	if n == 1 {
		weights[0] = 1
		return weights
	}
	mean := float64(n-1) / 2
	sd := math.Sqrt(float64(n) * float64(n+1) / 12) // of 0..n-1, over n-1
	cdf := func(x float64) float64 { return math.Erfc((mean-x)/(sd*math.Sqrt2)) / 2 }
	const far = 10 // standard deviations
	for k := 0; float64(k) < mean+far*sd; k++ {
		lo, hi := float64(k), float64(k+1)
		weights[k%n] += cdf(hi) - cdf(lo) + cdf(-lo) - cdf(-hi)
	}
	return weights
}

// Weighted draws indexes with given probabilities in constant time (Walker 1977; Vose, "A linear
// algorithm for generating random numbers with a given distribution", IEEE Trans. Softw. Eng. 17,
// 1991).
type Weighted struct {
	keep  []uint64 // probability of staying in the column, in 2^-64, else other
	other []uint64
}

// NewWeighted builds the table. No weight may be negative, and at least one must be positive.
func NewWeighted(weights []float64) *Weighted {
	n, sum := len(weights), 0.0
	for _, w := range weights {
		sum += w
	}
	t := &Weighted{keep: make([]uint64, n), other: make([]uint64, n)}
	keep := make([]float64, n)
	var small, large []int
	for i, w := range weights {
		keep[i], t.other[i] = w/sum*float64(n), uint64(i)
		if keep[i] < 1 {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		t.other[s], t.keep[s] = uint64(l), uint64(keep[s]*0x1p64)
		keep[l] -= 1 - keep[s]
		if keep[l] < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	for _, i := range append(small, large...) { // rounding
		t.keep[i], t.other[i] = math.MaxUint64, uint64(i)
	}
	return t
}

// Draw converts 64 random bits to an index.
func (t *Weighted) Draw(word uint64) int {
	column, rest := bits.Mul64(word, uint64(len(t.keep)))
	index := t.other[column]
	if rest < t.keep[column] { // a conditional move
		index = column
	}
	return int(index)
}

func (t *Weighted) draw(random *stream) int { return t.Draw(random.next()) }
