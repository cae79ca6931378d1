package optimize

import "fmt"

// Metric is a measure of the instability of values, relative to their average: see the package
// comment.
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

// ParseMetric parses the name of a metric.
func ParseMetric(s string) (Metric, error) {
	for _, m := range Metrics() {
		if s == string(m) {
			return m, nil
		}
	}
	return "", fmt.Errorf("there is no metric %q; write cv, rmad, rciw1, rciw2 or rciw3", s)
}

// OfMedian reports whether the metric's average is the median; otherwise it is the mean.
func (m Metric) OfMedian() bool { return m == RMAD || m == RCIW3 }

// needs selects the intervals to bootstrap.
type needs struct{ mean, t, median bool }

// needs returns the intervals required for the value of a metric.
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

// interval returns the intervals required for the average's interval.
func (m Metric) interval() needs {
	switch {
	case m.OfMedian():
		return needs{median: true}
	case m == RCIW2:
		return needs{t: true}
	}
	return needs{mean: true}
}
