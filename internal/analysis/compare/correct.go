package compare

import (
	"cmp"
	"fmt"
	"slices"

	"krund/internal/analysis/arith"
)

// Correction is the way in which the p-values of a table are corrected for their number.
type Correction string

// The corrections.
const (
	// Holm bounds the probability that any verdict or interval of the table is false: Holm's
	// step-down (1979), of which each interval keeps a fixed share, partition.
	Holm Correction = "holm"
	// BH bounds the expected share of false verdicts among the changes reported (Benjamini and
	// Hochberg 1995; with weights Genovese, Roeder and Wasserman 2006).
	BH Correction = "bh"
	// None judges each key as if it were alone.
	None Correction = "none"
)

// ParseCorrection parses the name of a correction.
func ParseCorrection(s string) (Correction, error) {
	switch c := Correction(s); c {
	case Holm, BH, None:
		return c, nil
	}
	return "", fmt.Errorf("unknown correction %q; write holm, bh or none", s)
}

// partition is the share of its error that each test keeps for its interval, whatever the other
// tests reject. The rest is passed on by Holm's step-down. With 1 this is Bonferroni's correction,
// with 0 Holm's, whose intervals are unbounded (Stefansson, Kim and Hsu 1988; Finner and
// Strassburger 2002).
const partition = 0.4

// hypothesis is one test of a family: its p-value, and where its corrected p-value goes.
type hypothesis struct {
	p         float64
	corrected *float64
}

// adjust fills in the corrected p-values of a family that has the given share of alpha, and no
// intervals: a hypothesis is rejected when its corrected p-value is at most alpha.
func (c Correction) adjust(family []hypothesis, share float64) { c.correct(family, share, 0) }

// withIntervals is adjust for a family with intervals. It returns the error of each interval. An
// interval excludes no change only if its test rejects; if the test rejects and the interval does
// not, the interval ends at no change.
func (c Correction) withIntervals(family []hypothesis, alpha, share float64) float64 {
	c.correct(family, share, partition)
	level := c.level(alpha, share, len(family))
	switch c {
	case Holm:
		level *= partition
	case BH: // false coverage rate of the intervals of what is rejected (Benjamini and Yekutieli 2005)
		rejected := 0
		for _, h := range family {
			rejected += arith.One(*h.corrected <= alpha)
		}
		level *= float64(max(rejected, 1))
	}
	return level
}

// correct is adjust with a share of each test's error that is not passed on.
func (c Correction) correct(family []hypothesis, share, keeps float64) {
	list := slices.Clone(family)
	slices.SortStableFunc(list, func(a, b hypothesis) int { return cmp.Compare(a.p, b.p) })
	n := float64(len(list))
	switch c {
	case Holm:
		most := 0.0
		for i, h := range list {
			error := keeps/n + (1-keeps)/(n-float64(i)) // of alpha
			most = max(most, min(1, h.p/error/share))
			*h.corrected = most
		}
	case BH:
		least := 1.0
		for i := len(list) - 1; i >= 0; i-- {
			least = min(least, n*list[i].p/share/float64(i+1))
			*list[i].corrected = least
		}
	default:
		for _, h := range list {
			*h.corrected = min(1, h.p/share)
		}
	}
}

// level returns the error at which a single test of a family of n rejects whatever the others do;
// without a correction, that of a test alone.
func (c Correction) level(alpha, share float64, n int) float64 {
	if c == None {
		return alpha * share
	}
	return alpha * share / float64(max(n, 1))
}

// discrete is a hypothesis whose p-value cannot be smaller than least.
type discrete struct {
	hypothesis
	least float64
}

// attainable returns those of a family whose p-values can be significant at all: with k tests the
// most that can be at alpha/k, for the smallest such k (Tarone, "A modified Bonferroni method for
// discrete data", 1990). The others need no correction, and their corrected p-values stay 1. Which
// they are depends on totals over both sides alone, so that the choice reveals nothing of a change.
func (c Correction) attainable(family []discrete, alpha float64) []hypothesis {
	for k := 1; ; k++ {
		var can []hypothesis
		for _, d := range family {
			if d.least <= alpha/float64(k) {
				can = append(can, d.hypothesis)
			}
		}
		if len(can) <= k || c == None {
			return can
		}
	}
}
