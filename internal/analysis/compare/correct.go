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

// hypothesis is one test of a family: its p-value, its share of the error, and where its corrected
// p-value goes.
type hypothesis struct {
	p, weight float64
	adjusted  *float64
}

// adjust fills in the corrected p-values of a family: a hypothesis is rejected when its corrected
// p-value is at most alpha. Each hypothesis may use its weight's share of alpha.
func (c Correction) adjust(family []hypothesis) {
	list := slices.Clone(family)
	slices.SortStableFunc(list, func(a, b hypothesis) int { return cmp.Compare(a.p/a.weight, b.p/b.weight) })
	total := 0.0
	for _, h := range list {
		total += h.weight
	}
	switch c {
	case Holm:
		left, most := total, 0.0
		for _, h := range list {
			most = max(most, min(1, left*h.p/h.weight))
			*h.adjusted = most
			left -= h.weight
		}
	case BH:
		least := 1.0
		for i := len(list) - 1; i >= 0; i-- {
			h := list[i]
			least = min(least, total*h.p/h.weight/float64(i+1))
			*h.adjusted = least
		}
	default:
		for _, h := range list {
			*h.adjusted = h.p
		}
	}
}

// level returns the level of a single test with the given weight, of a family with the given total,
// at which intervals hold together. For BH and None it is what the procedure allows a single test.
func (c Correction) level(alpha, weight, total float64) float64 {
	if c == None || total <= 0 {
		return alpha
	}
	return alpha * weight / total
}
