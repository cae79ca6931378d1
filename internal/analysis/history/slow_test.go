//go:build slow

package history

// The numbers of simulated histories for the figures of docs/history.md: `make history-bench`.
const (
	simulatedKeys    = 1000
	simulatedChanges = 500
	simulatedRivals  = 60
)
