package similarity_test

import (
	"fmt"

	"krund/internal/analysis/similarity"
)

// Three executions warm up alike, the fourth is slower throughout.
func Example() {
	warm := []float64{3, 2, 1.5, 1, 1.01, 1, 0.99, 1, 1.02, 1}
	runs := [][]float64{warm, warm, {4, 4.1, 4, 4.2, 4, 3.9, 4, 4, 4.1, 4}, warm}
	r, err := similarity.Of(runs, similarity.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Verdict, r.Above, "of 5")
	fmt.Println("clusters:", r.Same.Count, "outliers:", r.Outliers, "the rest:", r.Rest)
	// Output:
	// dissimilar 3 of 5
	// clusters: 2 outliers: [2] the rest: similar
}
