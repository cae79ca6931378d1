//go:build !slow

package sequential

// The number of simulated series; `make stop-bench` has more.
const simulatedSeries = 2000
