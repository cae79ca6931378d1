package changepoint

import (
	"encoding/binary"
	"math"
	"testing"

	"krund/rig/must"
)

// fuzzSeries takes eight bytes as a double or, when scale is not 0, a byte as a multiple of
// 1/scale, which makes ties.
func fuzzSeries(data []byte, scale uint8) []float64 {
	var x []float64
	if scale == 0 {
		for ; len(data) >= 8; data = data[8:] {
			x = append(x, math.Float64frombits(binary.LittleEndian.Uint64(data)))
		}
		return x
	}
	for _, b := range data {
		x = append(x, float64(b)/float64(scale))
	}
	return x
}

// FuzzDetect checks that no series makes Detect panic, and that the grouped and the plain recursion
// agree on it.
func FuzzDetect(f *testing.F) {
	f.Add([]byte{1, 1, 1, 1, 9, 9, 9, 9, 9, 1, 1, 1, 1, 1, 7, 7, 7, 7}, uint8(3), uint8(2))
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, uint8(0), uint8(15))
	f.Fuzz(func(t *testing.T, data []byte, scale, penalty uint8) {
		x := fuzzSeries(data[:min(len(data), 2000)], scale)
		for _, o := range peltOptionsOf(LogN(float64(penalty) / 4)) {
			found, err := Detect(x, o)
			if err != nil {
				continue
			}
			must.Equal(t, found.Segments[len(found.Segments)-1].End, len(x), o, "the last segment ends at")
			must.Do(t, samePELT(x, o), o)
		}
	})
}

// FuzzParsePenalty checks that what is accepted can be written and read again.
func FuzzParsePenalty(f *testing.F) {
	for _, text := range []string{"15logn", "4 * log n", "1e3", "mbic", "crops"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePenalty(text)
		if err != nil {
			return
		}
		again, err := ParsePenalty(p.String())
		must.Be(t, err == nil && again == p, text, p, "and then", again, err)
	})
}
