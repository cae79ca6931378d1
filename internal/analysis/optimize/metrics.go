package optimize

import (
	"math"

	"krund/internal/analysis/warmup"
)

// MetricsAlpha is the paper's level of the tests between metrics.
const MetricsAlpha = 0.01

// MetricsComparison compares how far the recommendations of the metrics move the results: the
// change rates of the benchmarks (section 4.3 of the paper).
type MetricsComparison struct {
	Format  int              `json:"format"`
	Source  string           `json:"source"`
	Metrics []MetricChanges  `json:"metrics"`
	H       warmup.Real      `json:"kruskal_wallis_h"`
	Freedom int              `json:"degrees_of_freedom"`
	P       warmup.Real      `json:"p"`
	Pairs   []MetricsCompare `json:"pairs"`
}

// MetricChanges summarizes the change rates of a metric.
type MetricChanges struct {
	Metric Metric `json:"metric"`
	Saving Saving `json:"-"`
	Keys   int    `json:"keys"` // with a change rate
}

// MetricsCompare compares two metrics. P is that of Dunn's test, two-sided, times the number of
// pairs (Bonferroni). Delta is Cliff's, positive if the first metric moves results further.
type MetricsCompare struct {
	A     Metric      `json:"a"`
	B     Metric      `json:"b"`
	Z     warmup.Real `json:"dunn_z"`
	P     warmup.Real `json:"p_bonferroni"`
	Delta warmup.Real `json:"cliffs_delta"`
	Size  string      `json:"size"`
}

// CompareMetrics optimizes a suite for each metric, and compares the change rates. progress is that
// of Optimize, over all metrics. The errors are those of Optimize.
func CompareMetrics(s *Suite, o Options, progress func(done int)) (*MetricsComparison, error) {
	c := &MetricsComparison{Format: Format, Source: s.Source, Pairs: []MetricsCompare{}}
	var samples [][]float64
	for i, m := range Metrics() {
		o.Metric = m
		results, err := Optimize(s, o, func(done int) {
			if progress != nil {
				progress(i*len(s.Benchmarks) + done)
			}
		})
		if err != nil {
			return nil, err
		}
		var rates []float64
		for _, r := range results {
			if v := math.Abs(r.AverageDiff); !math.IsNaN(v) {
				rates = append(rates, v)
			}
		}
		samples = append(samples, rates)
		c.Metrics = append(c.Metrics, MetricChanges{Metric: m, Saving: Saved(results), Keys: len(rates)})
	}
	test, pairs := kruskalWallisOf(samples)
	c.H, c.Freedom, c.P = warmup.Real(test.H), test.Freedom, warmup.Real(test.P)
	for _, p := range pairs {
		c.Pairs = append(c.Pairs, MetricsCompare{A: Metrics()[p.A], B: Metrics()[p.B], Z: warmup.Real(p.Z),
			P: warmup.Real(min(1, p.P*float64(len(pairs)))), Delta: warmup.Real(p.Delta),
			Size: cliffsSize(p.Delta)})
	}
	return c, nil
}
