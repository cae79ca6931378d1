//go:build slow

package changepoint

import "testing"

// TestGroupedPELTIsPlainPELTOften takes a few minutes.
func TestGroupedPELTIsPlainPELTOften(t *testing.T) {
	comparePELT(t, 11, 100, 300)
	comparePELT(t, 12, 10, 2000)
}
