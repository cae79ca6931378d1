package warmup

import (
	"encoding/binary"
	"math"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/rig/must"
)

// FuzzAnalyze checks that no values make an analysis panic, and that its document can be written
// and read.
func FuzzAnalyze(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\xf0\x7f"), false, false)
	f.Add([]byte("some iterations of some length, and then others"), true, true)
	f.Fuzz(func(t *testing.T, data []byte, small, relative bool) {
		var values []float64
		for ; !small && len(data) >= 8; data = data[8:] {
			values = append(values, math.Float64frombits(binary.LittleEndian.Uint64(data)))
		}
		for _, c := range data {
			values = append(values, float64(c)/64)
		}
		half := len(values) / 2
		d := &dataset.Dataset{}
		for _, v := range [][]float64{values, values[:half], values[half:]} {
			d.Add(key.Key{Benchmark: "b"}, completed(wall(v)))
		}
		mode := classify.Paper
		if relative {
			mode = classify.Relative
		}
		p := Default(mode)
		p.Resamples = 50
		doc := must.Get(Analyze(d, p, Options{}))(t)
		text := must.Get(doc.Encode())(t)
		must.Get(Decode(text))(t)
		must.Get(HowLong(d, doc, ShorterOptions{Percents: []float64{40}, Samples: 5,
			Resamples: 20}))(t)
	})
}
