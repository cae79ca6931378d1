package stability

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"time"

	"krund/internal/analysis/bootstrap"
	"krund/internal/analysis/dataset"
)

// Length is the length of a step: a number of seconds, or of recorded iterations. The zero value is
// Auto.
type Length struct {
	Seconds    float64
	Iterations int
}

// Auto selects the paper's one second if every execution is long enough for it, else the number of
// iterations with which the shortest execution has twice as many steps as warm-up may last.
var Auto = Length{}

// ParseLength parses "auto", a duration such as "1s" or "500ms", or a number of iterations.
func ParseLength(s string) (Length, error) {
	if s == "auto" {
		return Auto, nil
	}
	if n, err := strconv.Atoi(s); err == nil && n > 0 {
		return Length{Iterations: n}, nil
	}
	if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return Length{Seconds: d.Seconds()}, nil
	}
	return Length{}, fmt.Errorf("step %q; write auto, a duration such as 1s, or a number of iterations "+
		"above 0", s)
}

// String returns the form that ParseLength parses.
func (l Length) String() string {
	switch {
	case l.Seconds > 0:
		return strconv.FormatFloat(l.Seconds, 'g', -1, 64) + "s"
	case l.Iterations > 0:
		return strconv.Itoa(l.Iterations)
	}
	return "auto"
}

// MarshalText returns the text of String.
func (l Length) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Steps is a series divided into steps. An incomplete step at the end is dropped.
type Steps struct {
	Ends    []int     // of each step, the index after its last iteration
	Seconds []float64 // duration of each step

	series []float64
	batch  float64
	// Of a series of calls: the times that each value occurred, and for each step the number of
	// iterations up to its end. Else nil.
	counts     []float64
	iterations []int
}

// Cut divides durations in seconds into steps. With a positive batch, every value is the mean of
// the calls made in at least that many seconds, ceil(batch/v) of them, as JMH records; otherwise it
// is one call. A step of Seconds ends with the iteration at which the total duration of its calls
// reaches that length. (Traini et al., "Towards effective assessment of steady state performance in
// Java software", EMSE 2023, divide their 100 ms batches into seconds this way.) Zeros count as one
// call, which takes a batch. The series is not copied.
func Cut(series []float64, length Length, batch float64) *Steps {
	s := &Steps{series: series, batch: batch}
	c := cutter{length: length, batch: batch}
	for i, v := range series {
		if seconds, ended := c.add(v); ended {
			s.Ends, s.Seconds = append(s.Ends, i+1), append(s.Seconds, seconds)
		}
	}
	return s
}

// CutCalls divides the calls of iterations into steps of whole iterations: as many as are planned
// to take the length, at least one, or for Auto one.
func CutCalls(c *dataset.Calls, length Length) *Steps {
	per := max(length.Iterations, 1)
	if length.Seconds > 0 && c.Seconds > 0 {
		per = int(min(math.Ceil(length.Seconds/c.Seconds), most))
	}
	s := &Steps{}
	for i, h := range c.Iterations {
		s.series, s.counts = append(s.series, h.Values...), append(s.counts, h.Counts...)
		if (i+1)%per == 0 {
			s.Ends = append(s.Ends, len(s.series))
			s.Seconds = append(s.Seconds, float64(per)*c.Seconds)
			s.iterations = append(s.iterations, i+1)
		}
	}
	return s
}

// calls returns how many calls the value at an index stands for.
func (s *Steps) calls(i int) float64 {
	if s.counts != nil {
		return s.counts[i]
	}
	return callsOf(s.series[i], s.batch)
}

// iteration is the index of the first iteration of step k.
func (s *Steps) iteration(k int) int {
	if s.iterations == nil || k == 0 {
		return s.Start(k)
	}
	return s.iterations[k-1]
}

// cutter finds the ends of steps, value by value.
type cutter struct {
	length Length
	batch  float64
	took   float64 // by the present step, in seconds
	values int     // in the present step
}

// add reports whether the step ends with this value, and its duration.
func (c *cutter) add(v float64) (seconds float64, ended bool) {
	c.values++
	if v == 0 {
		c.took += c.batch
	} else {
		c.took += callsOf(v, c.batch) * v
	}
	if c.length.Iterations > 0 && c.values < c.length.Iterations || c.length.Iterations == 0 &&
		c.took < c.length.Seconds {
		return 0, false
	}
	seconds = c.took
	c.took, c.values = 0, 0
	return seconds, true
}

// mostCalls limits the calls of a batch, for values near 0.
const mostCalls = 1e15

// callsOf returns how many calls a recorded value stands for.
func callsOf(v, batch float64) float64 {
	if !(batch > 0) || v == 0 {
		return 1
	}
	return min(math.Ceil(batch/v), mostCalls)
}

// Len is the number of steps.
func (s *Steps) Len() int { return len(s.Ends) }

// Start is the index of the first iteration of step k, from 0; Start(Len()) is the index after the
// last one.
func (s *Steps) Start(k int) int {
	if k == 0 {
		return 0
	}
	return s.Ends[k-1]
}

// Took is the duration of the steps from up to to, in seconds.
func (s *Steps) Took(from, to int) float64 {
	sum := 0.0
	for _, t := range s.Seconds[from:to] {
		sum += t
	}
	return sum
}

// Duration is the time of the calls of the iterations from up to to, in seconds.
func (s *Steps) Duration(from, to int) float64 {
	sum := 0.0
	for _, v := range s.series[from:to] {
		if v == 0 {
			sum += s.batch
		} else {
			sum += callsOf(v, s.batch) * v
		}
	}
	return sum
}

// Histogram is the histogram of the calls of the steps from up to to.
func (s *Steps) Histogram(from, to int) *Histogram {
	values := s.series[s.Start(from):s.Start(to)]
	if !(s.batch > 0) && s.counts == nil {
		return NewHistogram(values, nil)
	}
	counts := make([]float64, len(values))
	for i := range values {
		counts[i] = s.calls(s.Start(from) + i)
	}
	return NewHistogram(values, counts)
}

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
