//go:build !race

package external

import (
	"strings"
	"testing"
)

// TestNothingIsAllocated: krund must not collect garbage while it reads. The race detector
// allocates.
func TestNothingIsAllocated(t *testing.T) {
	r := NewReader(1 << 20)
	_, _ = r.Write([]byte(`{"wallclock_times": [0.5`))
	piece := []byte(strings.Repeat(", 0.25, 1e-3", 100))
	if n := testing.AllocsPerRun(100, func() { _, _ = r.Write(piece) }); n > 0 {
		t.Errorf("%v allocations per piece", n)
	}
}
