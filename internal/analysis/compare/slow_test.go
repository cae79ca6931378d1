//go:build slow

package compare

// The numbers of simulated tables for the figures of docs/statistics.md: `make compare-bench`.
const (
	simulatedTables = 2000
	jmhTables       = 2000
	decileTables    = 10_000
	uglyRepetitions = 800
	uglyKeys        = 100
	adviceTables    = 200
)

var adviceSizes = []int{3, 5, 10}
