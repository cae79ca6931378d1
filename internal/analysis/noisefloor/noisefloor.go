// Package noisefloor computes how much identical process executions of a program differ, and how
// small a change a comparison could find on top of that. Start reading at Of.
package noisefloor

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/stat"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/steady"
)

// Floor is the variation between identical executions.
type Floor struct {
	Mean  float64 // of the executions' means
	SDLog float64 // standard deviation of the logarithms of the executions' means
}

// ErrTooFew is returned for fewer than three executions, or an execution without positive values.
var ErrTooFew = errors.New("too few values for a noise floor")

// Of returns the floor of executions: their iterations' times, in any unit. The value of an
// execution is the level of its second half (steady.LevelOf), because the first half may be
// warm-up, and single long iterations are the census's matter.
func Of(executions [][]float64) (Floor, error) {
	if len(executions) < 3 {
		return Floor{}, ErrTooFew
	}
	var means, logs []float64
	for _, all := range executions {
		if len(all) == 0 {
			return Floor{}, ErrTooFew
		}
		mean := steady.LevelOf(all, nil, nil).Value
		if !(mean > 0) || math.IsInf(mean, 0) {
			return Floor{}, ErrTooFew
		}
		means, logs = append(means, mean), append(logs, math.Log(mean))
	}
	return Floor{Mean: stat.Mean(means, nil), SDLog: stat.StdDev(logs, nil)}, nil
}

// Detectable returns the relative change that krunctl compare finds of n executions, at least 2,
// against n others with probability 0.8 at level 0.05.
func (f Floor) Detectable(n int) float64 { return compare.Need{SD: f.SDLog}.Detectable(n) }
