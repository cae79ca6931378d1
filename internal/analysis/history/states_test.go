package history

import (
	"encoding/json"
	"slices"
	"testing"

	"krund/rig/must"
)

// TestStates: two states are named where both come and go, with their shares; a step, a step and
// back, a coarse clock and noise are none.
func TestStates(t *testing.T) {
	fast, slow, odd := []float64{1, 1.001, 1.002}, []float64{1.05, 1.051, 1.052}, []float64{1, 1.051, 1.002}
	of := func(n int, nights ...[]float64) [][]float64 { return slices.Repeat(nights, n) }
	for _, c := range []struct {
		name   string
		values [][]float64
		states States // none: zero
	}{
		{"within nights", of(3, odd), States{1.001, 1.051, 6, 3}},
		{"between nights", of(4, fast, slow, slow), States{1.001, 1.051, 12, 24}},
		{"rare", slices.Concat(of(2, fast), of(1, slow), of(6, fast), of(1, slow), of(7, fast)),
			States{1.001, 1.051, 44, 6}},
		{"a night not measured", of(3, odd, nil), States{1.001, 1.051, 6, 3}},
		{"a step", slices.Concat(of(6, fast), of(2, slow)), States{}},
		{"a step and back", slices.Concat(of(6, fast), of(2, slow), of(6, fast)), States{}},
		{"a coarse clock", of(9, []float64{1, 1.05, 1.1}), States{}},
		{"too few", of(2, odd), States{}},
		{"constant", of(9, []float64{1}), States{}},
		{"1 percent is the least", of(9, []float64{1, 1.009}), States{}},
		{"two nights", of(1, fast, slow), States{}},
		{"extreme", of(9, []float64{1e-300, 1e300}), States{}}, // two values: a coarse clock
	} {
		h := Of(labels(len(c.values)), []Key{{Name: "k", Values: c.values}}, Options{})
		_, err := json.Marshal(h)
		must.Do(t, err)
		got := h.Keys[0].States
		if c.states == (States{}) {
			must.Be(t, got == nil, c.name, got)
			continue
		}
		must.Need(t, got != nil, c.name, h.Keys[0])
		for _, p := range []*float64{&got.Low, &got.High} { // of the geometric mean, the third digit
			for _, want := range []float64{c.states.Low, c.states.High} {
				if *p/want > 0.999 && *p/want < 1.001 {
					*p = want
				}
			}
		}
		must.Equal(t, *got, c.states, c.name)
	}
}
