package warmup

import (
	"math"
	"slices"
)

// gridSize is the resolution of the distribution of bootstrapped means.
const gridSize = 2048

// grid holds the distribution of each execution's bootstrapped means at common points, so that the
// quantiles of any sample of executions are computed without sorting.
type grid struct {
	low, step float64
	below     [][]float64 // below[execution][point]: share of its means <= low + point*step
}

func newGrid(means [][]float64) grid {
	low, high := math.Inf(1), math.Inf(-1)
	for _, m := range means {
		for _, v := range m {
			low, high = min(low, v), max(high, v)
		}
	}
	g := grid{low: low, step: (high - low) / gridSize, below: make([][]float64, len(means))}
	for e, m := range means {
		if len(m) == 0 {
			continue
		}
		sorted := slices.Sorted(slices.Values(m))
		g.below[e] = make([]float64, gridSize+1)
		next := 0
		for p := range g.below[e] {
			for at := g.at(p); next < len(sorted) && (sorted[next] <= at || p == gridSize); next++ {
			}
			g.below[e][p] = float64(next) / float64(len(sorted))
		}
	}
	return g
}

func (g grid) at(point int) float64 { return g.low + float64(point)*g.step }

// quantile returns the q-quantile of the chosen executions' means.
func (g grid) quantile(chosen []int, q float64) float64 {
	lo, hi := 0, gridSize
	for lo < hi {
		mid := (lo + hi) / 2
		sum := 0.0
		for _, e := range chosen {
			sum += g.below[e][mid]
		}
		if sum/float64(len(chosen)) >= q {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return g.at(lo)
}
