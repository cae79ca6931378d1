package optimise_test

import (
	"fmt"

	"krund/internal/analysis/optimise"
)

// The recipe of the package comment: three executions of four iterations, the
// first of which is disturbed.
func Example() {
	times := [][]float64{{130, 100, 101, 100}, {101, 100, 100, 101}, {100, 101, 100, 100}}
	b := optimise.Benchmark{Name: "fasta", Full: optimise.Position{3, 4, 1}, Seconds: 0.1}
	for e, list := range times {
		for i, v := range list {
			b.Rows = append(b.Rows, optimise.Row{Instance: 1, At: optimise.Position{int32(e + 1), int32(i + 1), 1}, Value: v})
		}
	}
	s := &optimise.Suite{Unit: "ms", Levels: []optimise.Level{optimise.Executions(), optimise.Iterations()}, Benchmarks: []optimise.Benchmark{b}}
	results, err := optimise.Optimise(s, optimise.Options{Metric: optimise.RMAD}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := results[0]
	fmt.Printf("executions %d, iterations %d: rmad %.4f, %.0f%% saved, %+.1f%% off\n",
		r.Minimal.At[0], r.Minimal.At[1], r.Minimal.RMAD, 100*r.SavedSeconds/r.Full.Seconds, 100*r.AverageDiff)
	// Output: executions 1, iterations 3: rmad 0.0099, 75% saved, +1.0% off
}
