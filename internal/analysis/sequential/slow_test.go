//go:build slow

package sequential

// The number of simulated series for the figures of docs/stopping.md: `make stop-bench`.
const simulatedSeries = 100_000
