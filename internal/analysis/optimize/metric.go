package optimize

import "fmt"

// Metric says how unstable values are, relative to their average: see the
// package comment.
type Metric string

// The metrics.
const (
	CV    Metric = "cv"    // coefficient of variation
	RMAD  Metric = "rmad"  // relative median absolute deviation
	RCIW1 Metric = "rciw1" // relative width of the percentile interval of the mean
	RCIW2 Metric = "rciw2" // relative width of the bootstrap-t interval of the mean
	RCIW3 Metric = "rciw3" // relative width of the percentile interval of the median
)

// Metrics are all metrics, in the order of the paper.
func Metrics() []Metric { return []Metric{CV, RMAD, RCIW1, RCIW2, RCIW3} }

// ParseMetric reads the name of a metric.
func ParseMetric(s string) (Metric, error) {
	for _, m := range Metrics() {
		if s == string(m) {
			return m, nil
		}
	}
	return "", fmt.Errorf("there is no metric %q; write cv, rmad, rciw1, rciw2 or rciw3", s)
}

// OfMedian tells whether the metric's average is the median; else it is the
// mean.
func (m Metric) OfMedian() bool { return m == RMAD || m == RCIW3 }

// needs are the intervals that have to be bootstrapped.
type needs struct{ mean, t, median bool }

// needs is what the value of a metric needs.
func (m Metric) needs(published bool) needs {
	switch m {
	case RCIW1:
		return needs{mean: true}
	case RCIW2:
		return needs{t: true}
	case RCIW3:
		return needs{mean: published, median: !published}
	}
	return needs{}
}

// interval is what the interval of a metric's average needs.
func (m Metric) interval() needs {
	switch {
	case m.OfMedian():
		return needs{median: true}
	case m == RCIW2:
		return needs{t: true}
	}
	return needs{mean: true}
}
