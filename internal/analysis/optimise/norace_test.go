//go:build !race

package optimise_test

const raced = false
