// Package sequential decides after any number of process executions whether a key needs more of
// them. Its statements hold although they are looked at after every execution: the probability that
// one is ever false is bounded, however often one looks, and whatever makes one stop.
//
// The level of a key and the verdict of a comparison use a confidence sequence, the class of a key
// an e-process. Start reading at [Policy.Decide]; sequential.go has the inference, rules.go the
// questions, replay.go the replay of recorded experiments. docs/stopping.md explains the choices.
package sequential

import (
	"math"
	"slices"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
)

// Spread is the variance g of the mixture of standardized effects. It affects how early and how
// often something is found, not the bound on the error. With 10, five values can suffice and 30
// are hardly worse than with smaller spreads.
const Spread = 10

// Sample is the mean of values whose variance is unknown.
type Sample struct {
	Mean     float64
	Variance float64 // unbiased estimate
	N        int
}

// SampleOf summarizes values.
func SampleOf(values []float64) Sample {
	s := Sample{N: len(values), Variance: math.NaN()}
	for i, v := range values {
		s.Mean += (v - s.Mean) / float64(i+1)
	}
	if s.N < 2 {
		return s
	}
	sum := 0.0
	for _, v := range values {
		sum += (v - s.Mean) * (v - s.Mean)
	}
	s.Variance = sum / float64(s.N-1)
	return s
}

// LogE returns the logarithm of the e-value against the mean being at: the Bayes factor of the t
// statistic with the right Haar prior of the variance and a normal mixture of the standardized
// effect (Wang and Ramdas 2023, "Anytime-valid t-tests and confidence sequences for Gaussian means
// with unknown variance"). For independent normal values it is an e-process: the probability that
// it ever reaches log(1/alpha) is at most alpha. It is NaN for less than two values, or when all
// are equal.
func (s Sample) LogE(at float64) float64 {
	if !s.known() {
		return math.NaN()
	}
	n, freedom := float64(s.N), float64(s.N-1)
	u := (s.Mean - at) * (s.Mean - at) * n / s.Variance / freedom // t² / freedom
	w := 1 + n*Spread
	return -math.Log(w)/2 + n/2*(math.Log1p(u)-math.Log1p(u/w))
}

// known reports whether there is an estimate of the variance.
func (s Sample) known() bool { return s.N >= 2 && s.Variance > 0 && !math.IsInf(s.Variance, 0) }

// Half returns the half width of the confidence sequence: all means whose e-value is below 1/alpha.
// It is infinite while no mean can be excluded, and also when the variance is not known.
func (s Sample) Half(alpha float64) float64 {
	if !s.known() {
		return math.Inf(1)
	}
	n, w := float64(s.N), 1+float64(s.N)*Spread
	k := math.Exp(2 / n * (math.Log(w)/2 - math.Log(alpha)))
	if k >= w {
		return math.Inf(1)
	}
	u := (k - 1) / (1 - k/w)
	return math.Sqrt(u * float64(s.N-1) * s.Variance / n)
}

// LogMajority returns the logarithm of the e-value against the share of a class among all
// executions being at most one half, after it was seen in k of n executions: the likelihood ratio
// to one half, mixed uniformly over the shares above it. It is an e-process for independent
// executions.
//
//	e = 1/((n+1) C(n,k)) · sum of C(n+1,j) for j = 0 to k
func LogMajority(k, n int) float64 {
	choose := func(n, k int) float64 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		return a - b - c
	}
	top := choose(n+1, min(k, (n+1)/2)) // the largest term
	sum := 0.0
	for j := range k + 1 {
		sum += math.Exp(choose(n+1, j) - top)
	}
	return top + math.Log(sum) - math.Log(float64(n+1)) - choose(n, k)
}

// Fill sets the executions of a key to the completed ones of a pair, reduced as compare does.
// analyzed is the pair's analysis. series keeps their iterations, too.
func (k *Key) Fill(p *dataset.Pair, analyzed *warmup.Pair, column string, series bool) {
	values := map[int][]float64{}
	if series {
		all := warmup.SeriesOf(p, column)
		for i, n := range all.Numbers {
			values[n] = all.Series[i]
		}
	}
	k.Executions = nil
	for _, e := range compare.Executions(p, analyzed, column) {
		k.Executions = append(k.Executions, Execution{Execution: e, Series: values[e.Number]})
	}
}

// GroupsOf returns the keys of a data set with their analysis, the arms of each key together.
// series is that of Fill.
func GroupsOf(d *dataset.Dataset, doc *warmup.Document, series bool) []Group {
	var groups []Group
	at := map[key.Key]int{}
	for i := range d.Pairs {
		p := &d.Pairs[i]
		k := Key{Name: p.Key, Null: slices.ContainsFunc(d.Arms, func(a dataset.Arm) bool {
			return a.Null && a.Name == p.Key.Arm
		})}
		k.Fill(p, &doc.Pairs[i], doc.Parameters.Column, series)
		all := p.Key
		all.Arm = ""
		g, ok := at[all]
		if !ok {
			g = len(groups)
			at[all], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], k)
	}
	return groups
}
