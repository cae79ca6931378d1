package compare

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"krund/internal/analysis/bootstrap"
)

// Ratio is after/before of the steady-state performance: 0.9 means that after takes 10% less. If it
// could not be computed all numbers are 0, and Reason gives the cause.
type Ratio struct {
	Ratio float64 `json:"ratio"` // of the means over executions
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// Cliff's delta; -1: every execution after is faster than every one before
	Effect    float64 `json:"cliffs_delta"`
	Resamples int     `json:"resamples"`
	Verdict   Verdict `json:"verdict"`
	Reason    string  `json:"reason"` // why there is no ratio or no verdict
}

const (
	// fewestExecutions is the minimum from which a bootstrap can estimate the variation between
	// executions.
	fewestExecutions = 3
	// meansPerExecution is the number of resampled means per execution from which means over
	// executions are drawn.
	meansPerExecution = 200
	// tail is the minimum number of resamples outside each end of an interval.
	tail         = 10
	resamples    = 10_000
	mostResample = 1_000_000
)

func ratio(before, after half, level float64, o Options) Ratio {
	if before.pair.SteadyPerformance == nil || after.pair.SteadyPerformance == nil {
		return Ratio{Verdict: CannotTell,
			Reason: "an execution has no steady state, so there is no steady performance to compare"}
	}
	x, y := before.steadyValues(), after.steadyValues()
	if len(x) < fewestExecutions || len(y) < fewestExecutions {
		return Ratio{Verdict: CannotTell, Reason: fmt.Sprintf(
			"%d executions before and %d after are too few to tell a change from the difference between "+
				"executions; measure %d or more, better 10",
			len(x), len(y), fewestExecutions)}
	}
	n := o.Resamples
	if n == 0 {
		n = min(max(resamples, int(math.Ceil(2*tail/(1-level)))), mostResample)
	}
	r, err := ratioOf(x, y, level, n)
	if err != nil {
		return Ratio{Verdict: CannotTell, Reason: err.Error()}
	}
	r.Verdict = r.judge(o.Margin)
	if r.Verdict == CannotTell {
		r.Reason = "the interval of the ratio holds 1 and reaches beyond the margin; more executions would " +
			"narrow it"
	}
	return r
}

var errNoRatio = errors.New("a mean of zero has no ratio")

// ratioOf returns the ratio of y to x with its interval and effect size, from n resamples.
func ratioOf(x, y [][][]float64, level float64, n int) (Ratio, error) {
	a, err := resampled(x, n)
	if err != nil {
		return Ratio{}, err
	}
	b, err := resampled(y, n)
	if err != nil {
		return Ratio{}, err
	}
	ratios := make([]float64, n)
	for i := range ratios {
		ratios[i] = b[i] / a[i]
	}
	slices.Sort(ratios)
	mx, my := means(x), means(y)
	r := Ratio{Ratio: grand(y) / grand(x), Effect: cliff(mx, my), Resamples: n}
	if !(ratios[0] > 0) || math.IsInf(ratios[n-1], 0) || !(r.Ratio > 0) {
		return Ratio{}, errNoRatio
	}
	cut := int((1 - level) / 2 * float64(n)) // symmetric: exchanging the sides gives the reciprocals
	wide := math.Exp(welch(mx, my, level))
	r.Low, r.High = min(ratios[cut], r.Ratio/wide), max(ratios[n-1-cut], r.Ratio*wide)
	return r, nil
}

// judge works on logarithms, so that it is symmetric: the margin is the range from 1/(1+m) to 1+m.
func (r *Ratio) judge(margin float64) Verdict {
	switch {
	case r.Low >= 1/(1+margin) && r.High <= 1+margin:
		return Same
	case r.High < 1:
		return Better
	case r.Low > 1:
		return Worse
	}
	return CannotTell
}

// resampled returns n means over executions: as many executions as there are, drawn with
// replacement, each with one of its resampled means. The draws depend only on the values, so they
// are the same whichever side the values are on.
func resampled(executions [][][]float64, n int) ([]float64, error) {
	seed := seedOf(executions)
	drawn, err := bootstrap.Resample(executions, bootstrap.Options{
		Scheme: bootstrap.Pooled, Resamples: meansPerExecution * len(executions), Seed: seed,
	})
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(seed, 0x6b72756e64))
	list := make([]float64, n)
	for i := range list {
		sum := 0.0
		for range drawn {
			e := drawn[r.IntN(len(drawn))]
			sum += e[r.IntN(len(e))]
		}
		list[i] = sum / float64(len(drawn))
	}
	return list, nil
}

func seedOf(executions [][][]float64) uint64 {
	h := fnv.New64a()
	var word [8]byte
	for _, segments := range executions {
		for _, values := range segments {
			for _, v := range values {
				bits := math.Float64bits(v)
				for i := range word {
					word[i] = byte(bits >> (8 * i))
				}
				_, _ = h.Write(word[:]) // a hash has no errors
			}
		}
	}
	return h.Sum64()
}

func means(executions [][][]float64) []float64 {
	list := make([]float64, len(executions))
	for i, e := range executions {
		list[i] = meanOf(e)
	}
	return list
}

// grand is the mean of the executions' means.
func grand(executions [][][]float64) float64 {
	sum := 0.0
	for _, m := range means(executions) {
		sum += m
	}
	return sum / float64(len(executions))
}

// cliff is Cliff's delta: the share of the pairs (before, after) in which after is larger, minus
// the share in which it is smaller (Cliff, "Dominance statistics", 1993).
func cliff(before, after []float64) float64 {
	n := 0
	for _, b := range before {
		for _, a := range after {
			switch {
			case a > b:
				n++
			case a < b:
				n--
			}
		}
	}
	return float64(n) / float64(len(before)*len(after))
}
