package warmupend

import (
	"math"
	"math/rand/v2"

	"krund/internal/analysis/stability"
)

// Heights are the relative heights of injected steps.
var Heights = []float64{0.05, 0.2, 1}

// block is the number of successive iterations that are drawn together, so that short-range
// dependence remains.
const block = 10

// fewest is the number of steady iterations that an injection needs to draw from.
const fewest = 20 * block

// Inject makes, of each execution, a series without any change but one: blocks of its steady
// iterations in random order (with replacement), of which the first ones are slower by height. How
// many is random, between 2 and nine tenths of the longest warm-up in steps, on a logarithmic
// scale. Executions with too few steady iterations are left out.
func Inject(list []LabeledSeries, height float64, p stability.Parameters, seed uint64) []LabeledSeries {
	r := rand.New(rand.NewPCG(seed, math.Float64bits(height)))
	var made []LabeledSeries
	for _, e := range list {
		steady := e.Values[min(e.Start, len(e.Values)):]
		if len(steady) < fewest {
			continue
		}
		e.Values = make([]float64, 0, len(e.Values)+block)
		for len(e.Values) < cap(e.Values)-block {
			at := r.IntN(len(steady) - block + 1)
			e.Values = append(e.Values, steady[at:at+block]...)
		}
		slower := make([]float64, len(e.Values))
		for i, v := range e.Values {
			slower[i] = v * (1 + height)
		}
		s := stability.Cut(slower, p.Step, p.Batch)
		if s.Len() < p.WarmupMax+p.Measure {
			continue
		}
		const least = 2
		k := least * math.Pow(0.9*float64(p.WarmupMax)/least, r.Float64())
		from, to := s.Start(int(k)), s.Start(int(k)+1)
		e.Start = from + int((k-math.Floor(k))*float64(to-from))
		copy(e.Values[:e.Start], slower)
		made = append(made, e)
	}
	return made
}
