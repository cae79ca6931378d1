package compare

// This file computes how much identical process executions of a program differ, and how
// small a change a comparison could find on top of that. Start reading at NoiseFloorOf.

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/steady"
)

// NoiseFloor is the variation between identical executions.
type NoiseFloor struct {
	Mean  float64 // of the executions' levels
	SDLog float64 // standard deviation of the logarithms of the levels, with strays

	Levels []float64 // of the executions, in their order
	// By which factor less 1 two executions differ in half of the cases, and its 95 % interval,
	// which assumes no distribution; from LeastForFloor executions on
	Differ, DifferLow, DifferHigh float64
	Strays                        []int // places in Levels of executions that are far from the others
	ShareLow, ShareHigh           float64
	// 95 % limits of the deviation with strays, as far as strays were seen: see limits
	SDLow, SDHigh float64
}

// LeastForFloor is the least number of executions of which the interval has a level of 95 %: six
// independent differences.
const LeastForFloor = 12

// Two of a normal distribution differ by 0.9539 standard deviations in the median (sqrt 2 times the
// normal quantile of 0.75). Executions farther from the median than strayFar such deviations are
// strays: one floor in 100 names one of 12 to 30 normal executions (TestNoiseFloorStrays).
const (
	normalDiffer = 0.953872552
	strayFar     = 4
)

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
	var levels []float64
	for _, all := range executions {
		if len(all) == 0 {
			return NoiseFloor{}, ErrFloorTooFew
		}
		level := steady.LevelOf(all, nil, nil).Value
		if !(level > 0) || math.IsInf(level, 0) {
			return NoiseFloor{}, ErrFloorTooFew
		}
		levels = append(levels, level)
	}
	return noiseFloor(levels), nil
}

// noiseFloor computes the floor of levels. The differences of the executions i and i + n/2 are
// independent, so an interval from one of them in order to another holds their median with a
// binomial probability, whatever the distribution (Thompson 1936). Executions half a measurement
// apart feel what drifts. The estimate is the median of all differences, which varies half as much.
func noiseFloor(levels []float64) NoiseFloor {
	n := len(levels)
	var logs, all, apart []float64
	for i, level := range levels {
		logs = append(logs, math.Log(level))
		for j := range i {
			all = append(all, math.Abs(logs[i]-logs[j]))
		}
		if i >= (n+1)/2 {
			apart = append(apart, math.Abs(logs[i]-logs[i-(n+1)/2]))
		}
	}
	slices.Sort(all)
	slices.Sort(apart)
	f := NoiseFloor{Mean: stat.Mean(levels, nil), SDLog: stat.StdDev(logs, nil), Levels: levels}
	place := medianPlace(len(apart))
	low, high := apart[place], apart[len(apart)-1-place]
	differ := min(max(arith.Median(all), low), high)
	f.Differ, f.DifferLow, f.DifferHigh = math.Expm1(differ), math.Expm1(low), math.Expm1(high)
	middle := arith.Median(slices.Sorted(slices.Values(logs)))
	var squares float64
	for i, x := range logs {
		if far := math.Abs(x - middle); far > strayFar/normalDiffer*differ {
			f.Strays, squares = append(f.Strays, i), squares+far*far/float64(n)
		}
	}
	f.ShareLow, f.ShareHigh = Binomial(len(f.Strays), n, 0.95)
	f.limits(low/normalDiffer, high/normalDiffer, squares)
	return f
}

// limits bounds the deviation with strays: the rest's deviation and the strays' share at the ends
// of their intervals, the strays as large as those that were seen.
func (f *NoiseFloor) limits(low, high, squares float64) {
	if k := float64(len(f.Strays)); k > 0 {
		one := squares * float64(len(f.Levels)) / k
		low, high = math.Hypot(low, math.Sqrt(f.ShareLow*one)), math.Hypot(high, math.Sqrt(f.ShareHigh*one))
	}
	f.SDLow, f.SDHigh = min(low, f.SDLog), max(high, f.SDLog)
}

// medianPlace returns the place, from 0, of the lower end of a 95 % interval of the median in n
// sorted independent values: P(Binomial(n, 1/2) <= place) is at most 0.025, but for n below 6.
func medianPlace(n int) int {
	below := distuv.Binomial{N: float64(n), P: 0.5}
	place := 0
	for below.CDF(float64(place+1)) <= 0.025 {
		place++
	}
	return place
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
