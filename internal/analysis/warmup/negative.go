package warmup

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/classify"
)

// warnControl is the code of warnings about rounds in which a negative control changed.
const warnControl = "negative_control"

// A round's level of a negative control has moved when its modified z-score, 0.6745 (x - median) /
// MAD, exceeds 3.5 (Iglewicz and Hoaglin: How to Detect and Handle Outliers, 1993, p. 11). x is the
// logarithm of the level. Fewer rounds than leastRounds have no usable MAD.
const (
	mostScore   = 3.5
	scoreFactor = 0.6745
	leastRounds = 5
)

// controlWarnings names the rounds in which a negative control was not flat, or in which its level
// was not that of the other rounds: what was measured in them is to be doubted. keys are the
// controls.
func controlWarnings(d *Document, keys []string) []Warning {
	var list []Warning
	for i := range d.Pairs {
		p := &d.Pairs[i]
		if !slices.Contains(keys, p.Key) {
			continue
		}
		var unsteady, moved []string
		median, mad := centre(logs(p))
		for j := range p.Executions {
			e := &p.Executions[j]
			if e.Status != Analysed {
				continue
			}
			if e.Classification != classify.Flat {
				unsteady = append(unsteady, fmt.Sprintf("%d (%s)", e.Number, e.Classification))
			}
			if e.Level == nil || mad == 0 {
				continue
			}
			if x := math.Log(e.Level.Value) - median; math.Abs(x)*scoreFactor/mad > mostScore {
				moved = append(moved, fmt.Sprintf("%d (%+.2g %%)", e.Number, 100*math.Expm1(x)))
			}
		}
		list = append(list, roundsWarning(p.Key, "was not flat", unsteady)...)
		list = append(list, roundsWarning(p.Key, "took another time than in the other rounds", moved)...)
	}
	return list
}

func roundsWarning(key, what string, rounds []string) []Warning {
	if len(rounds) == 0 {
		return nil
	}
	return []Warning{{warnControl, fmt.Sprintf("the negative control %s %s: round %s; the machine changed "+
		"in these rounds, so doubt the other executions in them", key, what, strings.Join(rounds, ", "))}}
}

// logs returns the logarithms of the levels of a pair's executions.
func logs(p *Pair) []float64 {
	var list []float64
	for i := range p.Executions {
		if e := &p.Executions[i]; e.Status == Analysed && e.Level != nil && e.Level.Value > 0 {
			list = append(list, math.Log(e.Level.Value))
		}
	}
	return list
}

// centre returns the median and the median absolute deviation; a deviation of 0 if there are too
// few values for one.
func centre(values []float64) (median, mad float64) {
	if len(values) < leastRounds {
		return 0, 0
	}
	median = arith.MedianOf(values)
	deviations := make([]float64, len(values))
	for i, v := range values {
		deviations[i] = math.Abs(v - median)
	}
	return median, arith.MedianOf(deviations)
}
