package warmup

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/rig/must"
)

func TestBreakLines(t *testing.T) {
	in := `{"a":1,"list":[1,2],"pairs":[{"k":"x,{\"}","e":[{"n":[]},{"n":[3]}]},{"k":"y","e":[]}],"empty":{}}`
	want := `{
 "a":1,
 "list":[1,2],
 "pairs":[
  {
   "k":"x,{\"}",
   "e":[
    {"n":[]},
    {"n":[3]}
   ]
  },
  {"k":"y","e":[]}
 ],
 "empty":{}
}
`
	must.Equal(t, string(breakLines([]byte(in))), want)
}

func TestEncodeDecode(t *testing.T) {
	doc := mustAnalyze(t, experiment(), quick(classify.Paper), Options{})
	text := must.Get(doc.Encode())(t)
	must.Be(t, json.Valid(text), "the text is not JSON")
	again := must.Get(Decode(text))(t)
	must.Equal(t, marshal(t, again), marshal(t, doc), "another document came back")
	for _, c := range []struct{ text, want string }{
		{"", "unexpected end"},
		{`{"wallclock_times": {}}`, `format is ""`},
		{`{"format": "krund-analysis", "version": 2}`, "version 2"},
		{strings.Replace(string(text), `"pairs":[`, `"pairs":{`, 1), "invalid character"},
		{`{"format": "krund-analysis", "version": 1, "parameters": {"delta": "x"}}`, `delta "x"`},
	} {
		_, err := Decode([]byte(c.text))
		must.Be(t, errors.Is(err, ErrDocument) && strings.Contains(err.Error(), c.want), c.text, err, "want",
			c.want)
	}
}

// FuzzDecode checks that no text makes Decode panic, and that what it accepts can be written again.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"format":"krund-analysis","version":1,"parameters":{"mode":"paper","window":"10%","steady":"25%","delta":"0.001","cost":"meanvar","penalty":"15logn","arithmetic":"r","bootstrap_scheme":"pooled","seed":"1"},"pairs":[{"executions":[{"segments":[{"lag1":null}]}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Decode(text)
		if err != nil {
			return
		}
		must.Get(d.Encode())(t, "read, but not written again")
	})
}

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
