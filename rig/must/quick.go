//go:build !slow

package must

// Slow says that tests run in their long versions: `-tags slow`.
const Slow = false
