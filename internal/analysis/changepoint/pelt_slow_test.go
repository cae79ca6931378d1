//go:build slow

package changepoint

import (
	"math/rand/v2"
	"testing"

	"krund/rig/must"
)

// TestGroupedPELTIsPlainPELTOften takes a minute.
func TestGroupedPELTIsPlainPELTOften(t *testing.T) {
	comparePELT(t, 11, 100, 300)
	comparePELT(t, 12, 10, 2000)
}

// TestGroupedPELTIsPlainPELTLong has series in which groups become large, and prefix sums long.
func TestGroupedPELTIsPlainPELTLong(t *testing.T) {
	for i, shape := range shapes {
		r := rand.New(rand.NewPCG(31, uint64(i)))
		for _, o := range []Options{{Penalty: LogN(15)}, {Penalty: SIC},
			{Penalty: LogN(15), Arithmetic: Stable}} {
			must.Do(t, samePELT(shape.make(r, 8000), o), shape.name, o)
		}
	}
	t.Logf("%d long series compared", len(shapes))
}
