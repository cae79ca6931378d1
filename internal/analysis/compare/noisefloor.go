package compare

// This file computes how much identical process executions of a program differ, and how
// small a change a comparison could find on top of that. Start reading at Of.

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/stat"

	"krund/internal/analysis/steady"
)

// NoiseFloor is the variation between identical executions.
type NoiseFloor struct {
	Mean  float64 // of the executions' means
	SDLog float64 // standard deviation of the logarithms of the executions' means
}

// ErrFloorTooFew is returned for fewer than three executions, or an execution without positive
// values.
var ErrFloorTooFew = errors.New("too few values for a noise floor")

// Of returns the floor of executions: their iterations' times, in any unit. The value of an
// execution is the level of its second half (steady.LevelOf), because the first half may be
// warm-up, and single long iterations are the census's matter.
func NoiseFloorOf(executions [][]float64) (NoiseFloor, error) {
	if len(executions) < 3 {
		return NoiseFloor{}, ErrFloorTooFew
	}
	var means, logs []float64
	for _, all := range executions {
		if len(all) == 0 {
			return NoiseFloor{}, ErrFloorTooFew
		}
		mean := steady.LevelOf(all, nil, nil).Value
		if !(mean > 0) || math.IsInf(mean, 0) {
			return NoiseFloor{}, ErrFloorTooFew
		}
		means, logs = append(means, mean), append(logs, math.Log(mean))
	}
	return NoiseFloor{Mean: stat.Mean(means, nil), SDLog: stat.StdDev(logs, nil)}, nil
}

// Detectable returns the relative change that krunctl compare finds of n executions, at least 2,
// against n others with probability 0.8 at level 0.05.
func (f NoiseFloor) Detectable(n int) float64 { return Need{SD: f.SDLog}.Detectable(n) }
