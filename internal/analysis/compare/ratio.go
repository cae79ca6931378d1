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

// Ratio is after/before of the steady performance: 0.9 means that after needs a tenth less. All
// numbers are 0 when there is none, and Reason says why.
type Ratio struct {
	Ratio float64 `json:"ratio"` // of the means over executions
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// -1: every execution after is faster than every one before; 1: slower
	Effect    float64 `json:"cliffs_delta"`
	Resamples int     `json:"resamples"`
	Verdict   Verdict `json:"verdict"`
	Reason    string  `json:"reason"` // why there is no ratio, or no verdict
}

const (
	// fewestExecutions is what a bootstrap over executions needs to see that they differ from each
	// other.
	fewestExecutions = 3
	// meansPerExecution are drawn from once its iterations are resampled.
	meansPerExecution = 200
	// tail is how many resamples should lie outside each end of an interval.
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

// ratioOf is the ratio of y to x with its interval and effect, from n resamples.
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
	cut := int((1 - level) / 2 * float64(n)) // the same from both ends: the mirror has the reciprocals
	wide := math.Exp(welch(mx, my, level))
	r.Low, r.High = min(ratios[cut], r.Ratio/wide), max(ratios[n-1-cut], r.Ratio*wide)
	return r, nil
}

// judge uses logarithms' symmetry: within the margin means between 1/(1+m) and 1+m.
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

// resampled gives n means over executions: as many executions as there are, drawn with replacement,
// each with one of its resampled means. The draws depend on the values alone, so that they are the
// same on either side.
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

// cliff is Cliff's delta: the part of the pairs (before, after) in which after is larger, less the
// part in which it is smaller (Cliff, "Dominance statistics", 1993).
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
