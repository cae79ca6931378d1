package outlier

import (
	"testing"

	"krund/rig/must"
)

// FuzzFind checks Find against sorting every window, with many ties.
func FuzzFind(f *testing.F) {
	f.Add([]byte{1, 2, 1, 2, 1, 90, 1, 2, 1, 2, 1}, uint8(5), uint8(7))
	f.Fuzz(func(t *testing.T, data []byte, window, divisor uint8) {
		series := make([]float64, min(len(data), 500))
		for i := range series {
			series[i] = float64(data[i]) / (1 + float64(divisor))
		}
		got, err := Find(series, int(window))
		if err != nil {
			must.Be(t, window < 2, "window", window, "was refused", err)
			return
		}
		must.EqualList(t, got, findBySorting(series, int(window)))
	})
}
