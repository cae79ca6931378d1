// Package noisefloor computes how much identical process executions of a program differ, and how
// small a change a comparison could find on top of that. Start reading at Of.
package noisefloor

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Floor is the variation between identical executions.
type Floor struct {
	Mean  float64 // of the executions' means
	SDLog float64 // standard deviation of the logarithms of the executions' means
}

// trim is the share of the iterations that is left out at each end.
const trim = 0.2

// ErrTooFew is returned for fewer than three executions, or an execution without positive values.
var ErrTooFew = errors.New("too few values for a noise floor")

// Of returns the floor of executions: their iterations' times, in any unit. The value of an
// execution is the mean of the second half of its iterations without a fifth at each end, because
// the first half may be warm-up, and single long iterations are the census's matter.
func Of(executions [][]float64) (Floor, error) {
	if len(executions) < 3 {
		return Floor{}, ErrTooFew
	}
	var means, logs []float64
	for _, all := range executions {
		half := slices.Clone(all[len(all)/2:])
		slices.Sort(half)
		cut := int(trim * float64(len(half)))
		half = half[cut : len(half)-cut]
		mean := stat.Mean(half, nil)
		if !(mean > 0) || math.IsInf(mean, 0) {
			return Floor{}, ErrTooFew
		}
		means, logs = append(means, mean), append(logs, math.Log(mean))
	}
	return Floor{Mean: stat.Mean(means, nil), SDLog: stat.StdDev(logs, nil)}, nil
}

// Level and power of the comparison.
const (
	level = 0.05
	power = 0.8
)

// Detectable returns the relative change that a two-sided t test of n executions against n others
// finds with probability 0.8 at level 0.05: exp(d)-1 with d = (t(1-level/2) + t(power)) sd
// sqrt(2/n), Student's t with 2n-2 degrees of freedom. This approximates the noncentral t
// distribution to 1 % from n = 5 on (Chow, Shao, Wang: Sample Size Calculations in Clinical
// Research, 3.2.1). n is at least 2.
func (f Floor) Detectable(n int) float64 {
	t := distuv.StudentsT{Sigma: 1, Nu: float64(2*n - 2)}
	d := (t.Quantile(1-level/2) + t.Quantile(power)) * f.SDLog * math.Sqrt(2/float64(n))
	return math.Expm1(d)
}
