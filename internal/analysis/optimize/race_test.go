//go:build race

package optimize_test

// raced tells that the race detector is on, which makes bootstraps ten times
// slower.
const raced = true
