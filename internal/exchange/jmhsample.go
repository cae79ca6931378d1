package exchange

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// mostCalls limits the calls of one time in an iteration; whole numbers below are exact.
const mostCalls = 1 << 53

// addSampled adds the forks of an entry in mode sample, or if it has none an empty pair.
func addSampled(d *dataset.Dataset, k key.Key, entry *jmhResult, unit string) error {
	if len(entry.Primary.Histogram) == 0 {
		d.Pairs = append(d.Pairs, dataset.Pair{Key: k})
		return nil
	}
	for f, fork := range entry.Primary.Histogram {
		calls := &dataset.Calls{Seconds: planned(entry.Time)}
		var means []float64
		for n, pairs := range fork {
			h, mean, err := sampled(pairs, unit)
			if err != nil {
				return fmt.Errorf("fork %d, iteration %d: %w", f+1, n+1, err)
			}
			calls.Iterations, means = append(calls.Iterations, h), append(means, mean)
		}
		e := dataset.Execution{Outcome: results.Completed, Calls: calls,
			Columns: []dataset.Column{wallOf(means, "s")}}
		if len(means) == 0 {
			e.Outcome, e.Reasons, e.Calls = results.Error, []string{"the fork has no iterations"}, nil
		}
		d.Add(k, e)
	}
	return nil
}

// sampled returns the histogram of an iteration in seconds, and its mean.
func sampled(pairs [][]float64, unit string) (h dataset.Histogram, mean float64, err error) {
	total, sum := 0.0, 0.0
	for _, p := range pairs {
		if len(p) != 2 || !(p[0] >= 0) || !(p[1] >= 1 && p[1] <= mostCalls) || p[1] != math.Floor(p[1]) {
			return h, 0, fmt.Errorf("%.40q is not a time and a number of calls", fmt.Sprint(p))
		}
		seconds, ok := inSeconds(p[:1], unit)
		if !ok {
			return h, 0, fmt.Errorf("the unit %.40q is not one of time", unit)
		}
		h.Values, h.Counts = append(h.Values, seconds[0]), append(h.Counts, p[1])
		total += p[1]
		sum += p[1] * seconds[0]
	}
	if total == 0 || math.IsInf(sum, 0) {
		return h, 0, fmt.Errorf("it has no calls, or their times are too large")
	}
	return h, sum / total, nil
}

// planned parses JMH's duration of an iteration, such as "10 s"; a second if there is none.
func planned(text string) float64 {
	number, unit, _ := strings.Cut(text, " ")
	v, err := strconv.ParseFloat(number, 64)
	seconds, ok := inSeconds([]float64{v}, unit)
	if err != nil || !ok || !(seconds[0] > 0) || math.IsInf(seconds[0], 0) {
		return 1
	}
	return seconds[0]
}
