//go:build !slow

package history

// The numbers of simulated histories: see slow_test.go.
const (
	simulatedKeys    = 12
	simulatedChanges = 20
)
