package warmup

// This file implements the steady-state rule of Georges, Buytaert and Eeckhout (2007), with
// which the study compares its own (section 8): the steady state is the first window of k
// iterations whose coefficient of variation is below a threshold.

import "math"

// GeorgesRule holds the parameters of the rule.
type GeorgesRule struct {
	Window    int     // k
	Threshold float64 // of standard deviation over mean
}

// DefaultGeorges is the more conservative of the thresholds that Georges et al. suggest, with their
// window of ten.
var DefaultGeorges = GeorgesRule{Window: 10, Threshold: 0.01}

// GeorgesResult is the result of the rule.
type GeorgesResult struct {
	Found bool
	// Iteration is the first iteration, from 1, of the first steady window.
	Iteration int
	// CoV is that window's coefficient of variation; if none was found, the minimum over all
	// windows (NaN when there is no full window with a nonzero mean).
	CoV float64
}

// Find applies the rule to the iterations of one execution. It uses the sample standard deviation
// (n-1). A window whose mean is 0 is not steady.
func (r GeorgesRule) Find(values []float64) GeorgesResult {
	least := math.NaN()
	for from := 0; r.Window > 1 && from+r.Window <= len(values); from++ {
		cov := variation(values[from : from+r.Window])
		if cov < r.Threshold {
			return GeorgesResult{Found: true, Iteration: from + 1, CoV: cov}
		}
		if !(least <= cov) {
			least = cov
		}
	}
	return GeorgesResult{CoV: least}
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
