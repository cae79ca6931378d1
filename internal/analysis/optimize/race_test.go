//go:build race

package optimize_test

// raced reports that the race detector is on, which makes bootstraps ten times
// slower.
const raced = true
