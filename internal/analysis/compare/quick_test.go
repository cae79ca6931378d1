//go:build !slow

package compare

// The numbers of simulated tables: see slow_test.go.
const (
	simulatedTables = 40
	jmhTables       = 200
	decileTables    = 600
	uglyRepetitions = 40
	uglyKeys        = 10
	adviceTables    = 12
)

// adviceSizes are the executions on each side of TestAdvice.
var adviceSizes = []int{5}
