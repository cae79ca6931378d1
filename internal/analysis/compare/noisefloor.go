package compare

// This file computes how much identical process executions of a program differ, and how
// small a change a comparison could find on top of that. Start reading at Of.

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

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

// NoiseFloorOf returns the floor of executions: their iterations' times, in any unit. The value of
// an execution is the level of its second half (steady.LevelOf), because the first half may be
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

// Interval returns the 95 % interval of the standard deviation of n executions:
// (n-1) sd^2 / sigma^2 has a chi-squared distribution with n-1 degrees of freedom, as far as the
// logarithms are normal.
func (f NoiseFloor) Interval(n int) (low, high float64) {
	df := float64(n - 1)
	chi := distuv.ChiSquared{K: df}
	return f.SDLog * math.Sqrt(df/chi.Quantile(0.975)), f.SDLog * math.Sqrt(df/chi.Quantile(0.025))
}

// RatioOfPairs returns the geometric mean of the ratios b/a of pairs of blocks, at least two, and
// its 95 % interval by Student's t: a pair's blocks follow each other, so drift cancels.
func RatioOfPairs(a, b []NoiseFloor) (ratio, low, high float64) {
	var logs []float64
	for i := range min(len(a), len(b)) {
		logs = append(logs, math.Log(b[i].Mean/a[i].Mean))
	}
	mean, sd := stat.MeanStdDev(logs, nil)
	n := float64(len(logs))
	half := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) * sd / math.Sqrt(n)
	return math.Exp(mean), math.Exp(mean - half), math.Exp(mean + half)
}

// Detectable returns the relative change that krunctl compare finds of n executions, at least 2,
// against n others with probability 0.8 at level 0.05.
func (f NoiseFloor) Detectable(n int) float64 { return Need{SD: f.SDLog}.Detectable(n) }
