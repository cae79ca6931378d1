//go:build slow

package enough

// The numbers of repetitions for the tables of docs/enough.md: `make enough-bench`.
const (
	splits    = 500
	steady    = true // find the steady states, as `krunctl enough` does; else second halves
	simulated = 20_000
)
