package compare

// This file estimates how much of the variation of a key's executions lies between the boots
// of the hardware, when several executions follow each of them by faster restarts. It shows what
// the faster restarts do not vary. Start reading at [Of].

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// RestartSpread is the variation of the executions' levels, as standard deviations of their
// logarithms: 0.01 is about 1 %.
type RestartSpread struct {
	Boots      int     `json:"boots"`      // of the hardware, with at least one execution
	Executions int     `json:"executions"` //
	Between    float64 `json:"between"`    // standard deviation between boots; a negative estimate is 0
	Within     float64 `json:"within"`     // between executions after the same boot
	// Share is Between² / (Between² + Within²), with its 95 % interval.
	Share float64    `json:"share"`
	Range [2]float64 `json:"share_interval"`
	P     float64    `json:"p"` // of the F test that nothing varies between boots
}

// confidence of RestartSpread.Range.
const confidence = 0.95

// Of estimates the variance components of a one-way random effects model with unequal group sizes
// by analysis of variance (Searle, Casella and McCulloch, Variance Components, 1992, section 3.6),
// and the interval of the share by the approximation of Thomas and Hultquist (Annals of Statistics
// 6, 1978), which replaces the group size by the harmonic mean. boots are the levels of the
// executions after each boot, positive. ok is false unless there are at least two boots, and more
// executions than boots; the model assumes that both variations are normal on the log scale.
func RestartSpreadOf(boots [][]float64) (s RestartSpread, ok bool) {
	var means []float64
	total, sum, squares, inverse, within := 0.0, 0.0, 0.0, 0.0, 0.0
	for _, levels := range boots {
		if len(levels) == 0 {
			continue
		}
		n, mean := float64(len(levels)), 0.0
		for _, v := range levels {
			if !(v > 0) || math.IsInf(v, 0) {
				return RestartSpread{}, false
			}
			mean += math.Log(v) / n
		}
		for _, v := range levels {
			within += (math.Log(v) - mean) * (math.Log(v) - mean)
		}
		means = append(means, mean)
		total, sum, squares, inverse = total+n, sum+n*mean, squares+n*n, inverse+1/n
	}
	k := float64(len(means))
	if k < 2 || total <= k {
		return RestartSpread{}, false
	}
	between, unweighted, plain := 0.0, 0.0, 0.0
	for _, m := range means {
		plain += m / k
	}
	i := 0
	for _, levels := range boots {
		if len(levels) > 0 {
			between += float64(len(levels)) * (means[i] - sum/total) * (means[i] - sum/total)
			unweighted += (means[i] - plain) * (means[i] - plain)
			i++
		}
	}
	msb, msw := between/(k-1), within/(total-k)
	size := (total - squares/total) / (k - 1)
	s = RestartSpread{Boots: len(means), Executions: int(total), Within: math.Sqrt(msw)}
	variance := max(0, (msb-msw)/size)
	s.Between = math.Sqrt(variance)
	if msw == 0 {
		return s, false
	}
	s.Share = variance / (variance + msw)
	harmonic := k / inverse
	f := harmonic * unweighted / (k - 1) / msw
	d := distuv.F{D1: k - 1, D2: total - k}
	s.P = d.Survival(msb / msw)
	for j, p := range []float64{(1 + confidence) / 2, (1 - confidence) / 2} {
		ratio := max(0, (f/d.Quantile(p)-1)/harmonic)
		s.Range[j] = ratio / (1 + ratio)
	}
	return s, true
}
