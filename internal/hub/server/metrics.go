package server

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"krund/internal/hub/database"
)

// metrics is what /metrics shows.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	records  prometheus.Counter
	db       *database.DB
}

func newMetrics(registry *prometheus.Registry, db *database.DB) metrics {
	m := metrics{
		registry: registry, db: db,
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "krunhub_request_seconds", Help: "Time to answer a request.",
			Buckets: []float64{.001, .003, .01, .03, .1, .3, 1, 3, 10, 30},
		}, []string{"method", "code"}),
		records: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "krunhub_records_received_total",
			Help: "Records that were new, since the start of this process.",
		}),
	}
	registry.MustRegister(m.requests, m.records, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// serve shows them to who asks, who sees the rows of some projects.
func (m metrics) serve(w http.ResponseWriter, r *http.Request) {
	own := prometheus.NewRegistry()
	own.MustRegister(counts{r.Context(), m.db})
	promhttp.HandlerFor(prometheus.Gatherers{m.registry, own}, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// count observes every request.
func (m metrics) count(next http.Handler) http.Handler {
	return promhttp.InstrumentHandlerDuration(m.requests, next)
}

// counts are numbers of rows, read when they are asked for.
type counts struct {
	ctx context.Context // of who asks
	db  *database.DB
}

var countDescription = prometheus.NewDesc("krunhub_rows", "What the hub knows of, by kind and state.",
	[]string{"kind", "state"}, nil)

// Describe implements prometheus.Collector.
func (c counts) Describe(to chan<- *prometheus.Desc) { to <- countDescription }

// Collect implements prometheus.Collector.
func (c counts) Collect(to chan<- prometheus.Metric) {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(c.ctx, patience)
	defer cancel()
	rows, err := c.db.Counts(ctx)
	if err != nil {
		to <- prometheus.NewInvalidMetric(countDescription, err)
		return
	}
	for _, row := range rows {
		to <- prometheus.MustNewConstMetric(countDescription, prometheus.GaugeValue, float64(row.N), row.Kind,
			row.State)
	}
}
