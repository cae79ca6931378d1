//go:build !slow

package enough

// The numbers of repetitions: see slow_test.go.
const (
	splits    = 20
	steady    = false // find the steady states, as `krunctl enough` does; else second halves
	simulated = 1000
)
