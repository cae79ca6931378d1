package stability_test

import (
	"fmt"
	"slices"

	"krund/internal/analysis/stability"
)

// An execution that gets faster for some seconds, and its repetitions. The CV of
// everything so far rises meanwhile, and then falls ever more slowly.
func Example() {
	execution := slices.Concat([]float64{0.9, 0.8, 0.6, 0.4, 0.2},
		slices.Repeat([]float64{0.10, 0.11, 0.09}, 400))
	p := stability.Default()
	p.Exact = true // of all calls: nothing is drawn
	r, err := stability.Of([][]float64{execution, execution, execution}, []stability.Criterion{stability.CV},
		p)
	if err != nil {
		fmt.Println(err)
		return
	}
	o := r.Criteria[0]
	fmt.Printf("steps of %s: warm-up ends after %d, executions after %d of %d\n", r.Step, o.Warmups[0].Steps,
		o.Used, len(r.Executions))
	fmt.Printf("iterations %d to %d are measured, %.0f%% of the time is saved\n", o.Warmups[0].From,
		o.Warmups[0].To-1, 100*o.Saved)
	fmt.Printf("same result: %v\n", o.Quality.Same)
	// Output:
	// steps of 1s: warm-up ends after 17, executions after 2 of 3
	// iterations 160 to 264 are measured, 82% of the time is saved
	// same result: true
}
