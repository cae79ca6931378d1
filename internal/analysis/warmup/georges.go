package warmup

// This file implements the steady-state rule of Georges, Buytaert and Eeckhout (2007), with
// which the study compares its own (section 8): the steady state is the first window of k
// iterations whose coefficient of variation is below a threshold.

import "math"

// The more conservative of the thresholds that Georges et al. suggest, with their window of ten.
const (
	georgesWindow    = 10
	georgesThreshold = 0.01 // of standard deviation over mean
)

// georges applies the rule to the iterations of one execution. CoV is the coefficient of variation
// of the first steady window; if none was found, the minimum over all windows (NaN when there is no
// full window with a nonzero mean). It uses the sample standard deviation (n-1). A window whose mean
// is 0 is not steady.
func georges(values []float64, window int, threshold float64) Georges {
	least := math.NaN()
	for from := 0; window > 1 && from+window <= len(values); from++ {
		cov := variation(values[from : from+window])
		if cov < threshold {
			return Georges{Found: true, Iteration: from + 1, CoV: Real(cov)}
		}
		if !(least <= cov) {
			least = cov
		}
	}
	return Georges{CoV: Real(least)}
}

// variation is the coefficient of variation of a window.
func variation(window []float64) float64 {
	n := float64(len(window))
	mean, squares := 0.0, 0.0
	for _, v := range window {
		mean += v / n
	}
	for _, v := range window {
		squares += float64((v - mean) * (v - mean))
	}
	if mean == 0 {
		return math.NaN()
	}
	return math.Sqrt(squares/(n-1)) / math.Abs(mean)
}
