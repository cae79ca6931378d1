package optimize_test

import (
	"fmt"

	"krund/internal/analysis/optimize"
)

// The recipe of the package comment: three executions of four iterations, the
// first of which is disturbed.
func Example() {
	times := [][]float64{{130, 100, 101, 100}, {101, 100, 100, 101}, {100, 101, 100, 100}}
	b := optimize.Benchmark{Name: "fasta", Full: optimize.Position{3, 4, 1}, Seconds: 0.1}
	for e, list := range times {
		for i, v := range list {
			b.Rows = append(b.Rows, optimize.Row{Instance: 1, At: optimize.Position{int32(e + 1),
				int32(i + 1), 1}, Value: v})
		}
	}
	s := &optimize.Suite{Unit: "ms", Levels: []optimize.Level{optimize.Executions(), optimize.Iterations()},
		Benchmarks: []optimize.Benchmark{b}}
	results, err := optimize.Optimize(s, optimize.Options{Metric: optimize.RMAD}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := results[0]
	fmt.Printf("executions %d, iterations %d: rmad %.4f, %.0f%% saved, %+.1f%% off\n", r.Minimal.At[0],
		r.Minimal.At[1], r.Minimal.RMAD, 100*r.SavedSeconds/r.Full.Seconds, 100*r.AverageDiff)
	// Output: executions 1, iterations 3: rmad 0.0099, 75% saved, +1.0% off
}
