//go:build slow

package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"krund/rig/must"
)

// TestMachinesAlike prints how often machines that are alike are found to differ: the share of
// tables with any such key (docs/statistics.md).
func TestMachinesAlike(t *testing.T) {
	const tables, keys = 1000, 20
	for _, c := range []struct {
		name        string
		executions  []int // of each machine
		noise       func(r *rand.Rand) float64
		times       float64 // spread of the first machine, relative to that of the others
		correlation float64 // of neighboring executions on a machine
		most        float64 // share of tables; 0: the assumption is violated
	}{
		{"2 machines, 2 executions each", []int{2, 2}, gauss, 1, 0, 0.05},
		{"3 machines, 3 executions each", []int{3, 3, 3}, gauss, 1, 0, 0.05},
		{"3 machines, 10 executions each", []int{10, 10, 10}, gauss, 1, 0, 0.05},
		{"10 machines, 3 executions each", []int{3, 3, 3, 3, 3, 3, 3, 3, 3, 3}, gauss, 1, 0, 0.05},
		{"3 machines, 3, 10 and 30 executions", []int{3, 10, 30}, gauss, 1, 0, 0.05},
		{"3 machines, 5 each, heavy tails", []int{5, 5, 5}, student3, 1, 0, 0.05},
		{"3 machines, 5 each, one with 4 times the spread", []int{5, 5, 5}, gauss, 4, 0, 0},
		{"3 machines, 10 each, one with 4 times the spread", []int{10, 10, 10}, gauss, 4, 0, 0},
		{"3, 10 and 30 executions, 4 times the spread of the first", []int{3, 10, 30}, gauss, 4, 0, 0},
		{"3 machines, 10 each, executions with autocorrelation 0.3", []int{10, 10, 10}, gauss, 1, 0.3, 0},
		{"the same, 0.6", []int{10, 10, 10}, gauss, 1, 0.6, 0},
	} {
		r := rand.New(rand.NewPCG(3002, 7))
		wrong := 0
		for range tables {
			var list []KeyMachines
			for k := range keys {
				sd := deviation(r, 0.01)
				var groups [][]float64
				for m, n := range c.executions {
					s := sd
					if m == 0 {
						s *= c.times
					}
					groups = append(groups, correlated(r, n, c.correlation, s, c.noise))
				}
				list = append(list, keyOf(fmt.Sprint(k), groups...))
			}
			if MachineLevels(list, 0.95, 1).Differ > 0 {
				wrong++
			}
		}
		low, high := Binomial(wrong, tables, 0.95)
		t.Logf("%-57s %.3f (%.3f, %.3f)", c.name, float64(wrong)/tables, low, high)
		must.Be(t, c.most <= 0 || low <= c.most, c.name, "more than", c.most)
	}
}

// correlated are values of standard deviation sd with this autocorrelation.
func correlated(r *rand.Rand, n int, correlation, sd float64, noise func(r *rand.Rand) float64) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = sd * noise(r)
		if i > 0 {
			list[i] = correlation*list[i-1] + math.Sqrt(1-correlation*correlation)*list[i]
		}
	}
	return list
}
