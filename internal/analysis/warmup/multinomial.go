package warmup

// This file computes simultaneous confidence intervals for multinomial proportions (Sison
// and Glaz 1995), with which the study compares the classifications of shortened experiments
// (section 9.1).

import (
	"errors"
	"fmt"
	"math"
)

// interval is a range of proportions, within 0 to 1.
type interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Overlaps reports whether two intervals have a proportion in common.
func (i interval) Overlaps(j interval) bool { return i.Low <= j.High && j.Low <= i.High }

// errCounts reports that counts are negative or all zero, or that a confidence level is not between
// 0 and 1.
var errCounts = errors.New("no proportions in these counts")

// sisonGlaz returns one interval per count, which simultaneously cover the true proportions with
// the given confidence, approximately also for small counts: p - c/n to p + (c + 2γ)/n, where c is
// the largest integer for which the probability of all counts being within c of n p is below the
// confidence, and γ interpolates between c and c+1. That probability is computed from independent
// truncated Poisson counts given their sum (Levin 1981), whose distribution is approximated by an
// Edgeworth expansion.
func sisonGlaz(counts []int, confidence float64) ([]interval, error) {
	n := 0
	for _, c := range counts {
		if c < 0 {
			return nil, fmt.Errorf("count %d: %w", c, errCounts)
		}
		n += c
	}
	if n == 0 || !(confidence > 0 && confidence < 1) {
		return nil, fmt.Errorf("%d observations, confidence %v: %w", n, confidence, errCounts)
	}
	c, gamma := halfWidth(counts, n, confidence)
	intervals := make([]interval, len(counts))
	for i, x := range counts {
		p := float64(x) / float64(n)
		intervals[i] = interval{
			Low:  max(0, p-float64(c)/float64(n)),
			High: min(1, p+(float64(c)+2*gamma)/float64(n)),
		}
	}
	return intervals, nil
}

// halfWidth returns c and γ.
func halfWidth(counts []int, n int, confidence float64) (c int, gamma float64) {
	before := 0.0
	for c := 1; c <= n; c++ {
		p := within(counts, n, c)
		if p > confidence && before < confidence {
			return c - 1, (confidence - before) / (p - before)
		}
		before = p
	}
	return n, 0
}

// within is the probability that every count is at most c away from its expectation (the observed
// count).
func within(counts []int, n, c int) float64 {
	mean, variance, third, fourth, product := 0.0, 0.0, 0.0, 0.0, 1.0
	for _, x := range counts {
		m := truncated(float64(x), c)
		mean += m.mean
		variance += m.variance
		third += m.third
		fourth += m.fourth - 3*m.variance*m.variance
		product *= m.inside
	}
	if variance <= 0 {
		return product
	}
	sd := math.Sqrt(variance)
	z := (float64(n) - mean) / sd
	skew, excess := third/(variance*sd), fourth/(variance*variance)
	z2 := z * z
	edgeworth := 1 + skew*(z2*z-3*z)/6 + excess*(z2*z2-6*z2+3)/24 +
		skew*skew*(z2*z2*z2-15*z2*z2+45*z2-15)/72
	density := edgeworth * math.Exp(-z2/2) / math.Sqrt(2*math.Pi)
	return product * density / sd / poisson(n, float64(n))
}

// moments are those of a Poisson count truncated to within c of its mean: mean, central moments,
// and the probability of that range.
type moments struct{ mean, variance, third, fourth, inside float64 }

// truncated computes the moments directly from the distribution.
func truncated(lambda float64, c int) moments {
	from, to := max(0, int(lambda)-c), int(lambda)+c
	var m moments
	for k := from; k <= to; k++ {
		m.inside += poisson(k, lambda)
		m.mean += float64(k) * poisson(k, lambda)
	}
	m.mean /= m.inside
	for k := from; k <= to; k++ {
		d, p := float64(k)-m.mean, poisson(k, lambda)/m.inside
		m.variance += d * d * p
		m.third += d * d * d * p
		m.fourth += d * d * d * d * p
	}
	return m
}

// poisson is the probability of k for a Poisson distribution with mean lambda.
func poisson(k int, lambda float64) float64 {
	if lambda == 0 {
		if k == 0 {
			return 1
		}
		return 0
	}
	gamma, _ := math.Lgamma(float64(k) + 1)
	return math.Exp(float64(k)*math.Log(lambda) - lambda - gamma)
}
