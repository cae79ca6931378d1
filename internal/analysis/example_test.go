package analysis_test

import (
	"fmt"

	"krund/internal/analysis/changepoint"
	"krund/internal/analysis/classify"
	"krund/internal/analysis/outlier"
	"krund/internal/analysis/steady"
)

// Example goes the way of the package comment for one execution: 40 slow
// iterations, one of them interrupted, and 360 fast ones.
func Example() {
	seconds := make([]float64, 400)
	for i := range seconds {
		seconds[i] = 1 + 0.001*float64(i*7%11)
		if i < 40 {
			seconds[i] += 0.5
		}
	}
	seconds[200] = 3

	outliers, err := outlier.Find(seconds, 40)
	if err != nil {
		fmt.Println(err)
		return
	}
	kept, index := outlier.Remove(seconds, outliers)
	found, err := changepoint.Detect(kept, changepoint.Options{Penalty: changepoint.LogN(15)})
	if err != nil {
		fmt.Println(err)
		return
	}
	segments := found.At(index)
	rule := classify.Rule{Mode: classify.Relative, Delta: classify.RelativeDelta, Steady: 100}
	class := rule.Classify(segments, len(seconds))
	state, _ := steady.Of(seconds, segments, class, rule)
	fmt.Printf("outliers %v, %s, steady from iteration %d after %.1f s at %.3f s\n",
		outliers, class, state.Iteration, state.ToReach, state.Mean)
	// Output: outliers [200], warmup, steady from iteration 41 after 60.2 s at 1.005 s
}
