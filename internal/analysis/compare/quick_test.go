//go:build !slow

package compare

// The numbers of simulated tables: see slow_test.go.
const (
	simulatedTables = 40
	jmhTables       = 200
	decileTables    = 600
)
