package stability

import (
	"math"
	"slices"
	"sort"

	"krund/internal/analysis/bootstrap"
)

// Histogram is a weighted list of values in ascending order. A value may occur twice.
type Histogram struct {
	Values []float64
	Counts []float64 // whole numbers above 0

	ends []float64 // running sums of Counts
}

// NewHistogram builds a histogram of values and counts of equal length, which it copies. With nil
// counts every value counts once.
func NewHistogram(values, counts []float64) *Histogram {
	h := &Histogram{Values: slices.Clone(values), Counts: make([]float64, len(values)),
		ends: make([]float64, len(values))}
	if counts == nil {
		slices.Sort(h.Values)
		for i := range h.Counts {
			h.Counts[i] = 1
		}
	} else {
		copy(h.Counts, counts)
		sort.Sort(byValue{h.Values, h.Counts})
	}
	h.sum()
	return h
}

func (h *Histogram) sum() {
	total := 0.0
	for i, c := range h.Counts {
		total += c
		h.ends[i] = total
	}
}

type byValue struct{ values, counts []float64 }

func (b byValue) Len() int           { return len(b.values) }
func (b byValue) Less(i, j int) bool { return b.values[i] < b.values[j] }
func (b byValue) Swap(i, j int) {
	b.values[i], b.values[j] = b.values[j], b.values[i]
	b.counts[i], b.counts[j] = b.counts[j], b.counts[i]
}

// Total is the number of calls.
func (h *Histogram) Total() float64 {
	if len(h.ends) == 0 {
		return 0
	}
	return h.ends[len(h.ends)-1]
}

// at returns the value of call k, from 0, of all calls in the order of their values.
func (h *Histogram) at(k float64) float64 {
	i := sort.SearchFloat64s(h.ends, k)
	for h.ends[i] == k { // ends are exclusive
		i++
	}
	return h.Values[i]
}

// Median is the median of all calls; NaN when there are none.
func (h *Histogram) Median() float64 {
	n := h.Total()
	if n == 0 {
		return math.NaN()
	}
	upper := h.at(math.Floor(n / 2))
	if math.Mod(n, 2) == 1 {
		return upper
	}
	return (h.at(n/2-1) + upper) / 2
}

// far is the factor above or below the median from which a call is an outlier.
const far = 10

// Inliers removes outliers: it keeps the values from median/10 to 10 median, inclusive. (The paper
// mentions only the upper limit.) Limits are the two bounds.
func (h *Histogram) Inliers() (kept *Histogram, limits [2]float64) {
	median := h.Median()
	limits = [2]float64{median / far, far * median}
	from := sort.Search(len(h.Values), func(i int) bool { return h.Values[i] >= limits[0] })
	to := from + sort.Search(len(h.Values)-from, func(i int) bool { return h.Values[from+i] > limits[1] })
	kept = &Histogram{Values: h.Values[from:to], Counts: h.Counts[from:to], ends: make([]float64, to-from)}
	kept.sum()
	return kept, limits
}

// moments are the number of calls, their mean, and the sum of squared deviations from it.
type moments struct{ n, mean, square float64 }

func (h *Histogram) moments() moments {
	m := moments{n: h.Total()}
	for i, v := range h.Values {
		m.mean += v * (h.Counts[i] / m.n)
	}
	for i, v := range h.Values {
		m.square += h.Counts[i] * (v - m.mean) * (v - m.mean)
	}
	return m
}

func momentsOf(x []float64) moments {
	m := moments{n: float64(len(x)), mean: bootstrap.MeanOf(x)}
	for _, v := range x {
		m.square += (v - m.mean) * (v - m.mean)
	}
	return m
}

// of returns the moments of n calls with the same distribution.
func (m moments) of(n float64) moments { return moments{n, m.mean, m.square / m.n * n} }

// add pools two samples (Chan, Golub and LeVeque 1983).
func (m moments) add(o moments) moments {
	if m.n == 0 {
		return o
	}
	n, d := m.n+o.n, o.mean-m.mean
	return moments{n, m.mean + d*o.n/n, m.square + o.square + d*d*m.n/n*o.n}
}

// cv is the coefficient of variation, with the standard deviation over n-1. NaN for a mean of 0.
func (m moments) cv() float64 {
	if m.n < 2 {
		return 0 / m.mean
	}
	return math.Sqrt(m.square/(m.n-1)) / m.mean
}
