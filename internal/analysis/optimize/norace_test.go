//go:build !race

package optimize_test

const raced = false
