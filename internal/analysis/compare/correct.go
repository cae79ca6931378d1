package compare

import (
	"cmp"
	"fmt"
	"slices"
)

// Correction is the way in which the p-values of a table are corrected for their number.
type Correction string

// The corrections.
const (
	// Holm bounds the probability of any false verdict in the table (Holm 1979).
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

// hypothesis is one test of a family: its p-value, and where its corrected p-value goes.
type hypothesis struct {
	p         float64
	corrected *float64
}

// adjust fills in the corrected p-values of a family that has the given share of alpha: a
// hypothesis is rejected when its corrected p-value is at most alpha.
func (c Correction) adjust(family []hypothesis, share float64) {
	list := slices.Clone(family)
	slices.SortStableFunc(list, func(a, b hypothesis) int { return cmp.Compare(a.p, b.p) })
	switch c {
	case Holm:
		most := 0.0
		for i, h := range list {
			most = max(most, min(1, float64(len(list)-i)*h.p/share))
			*h.corrected = most
		}
	case BH:
		least := 1.0
		for i := len(list) - 1; i >= 0; i-- {
			least = min(least, float64(len(list))*list[i].p/share/float64(i+1))
			*list[i].corrected = least
		}
	default:
		for _, h := range list {
			*h.corrected = min(1, h.p/share)
		}
	}
}

// level returns the error of a single test of a family of n, at which their intervals hold
// together; without a correction, that of a test alone.
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
