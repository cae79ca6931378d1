package optimize

import (
	"cmp"
	"math"
	"slices"
)

// MostLevels is the maximum number of levels of repetition.
const MostLevels = 3

// Position is a position in an experiment, or a number of repetitions: one number from 1 for each
// level, outermost first, and 1 for unused levels.
type Position [MostLevels]int32

// Level is a level of repetition.
type Level struct {
	Name     string // in the plural: "executions"
	Duration bool   // repetitions extend one measurement
	InOrder  bool   // its repetitions follow each other in one process
}

// fewestRepetitions is the paper's limit: a variance needs several values.
const fewestRepetitions = 3

// candidate is a configuration with its index in the enumeration.
type candidate struct {
	at      Position
	seconds float64
}

// candidates lists the configurations up to full with enough repetitions, in lexicographic order.
// Levels of more than o.Steps repetitions are thinned out.
func candidates(levels []Level, full Position, o Options, seconds func(Position) float64) []candidate {
	var values [MostLevels][]int32
	for i := range values {
		values[i] = stepsOf(full[i], o.Steps)
	}
	outermost := min(int64(full[0]), int64(o.Outermost))
	values[0] = slices.DeleteFunc(values[0], func(n int32) bool { return int64(n) < outermost })
	var list []candidate
	for _, a := range values[0] {
		for _, b := range values[1] {
			for _, c := range values[2] {
				at := Position{a, b, c}
				if repetitions(levels, at) >= fewestRepetitions {
					list = append(list, candidate{at, seconds(at)})
				}
			}
		}
	}
	return list
}

// repetitions is the number of measurements of a configuration.
func repetitions(levels []Level, at Position) int64 {
	n := int64(1)
	for i, l := range levels {
		if !l.Duration {
			n *= int64(at[i])
		}
	}
	return n
}

// cells is the number of values of a configuration if none are missing.
func (p Position) cells() float64 {
	n := 1.0
	for _, k := range p {
		n *= float64(k)
	}
	return n
}

// stepsOf returns 1..full when that are at most steps numbers (0: no limit), else about steps
// numbers from 1 to full in geometric progression.
func stepsOf(full int32, steps int) []int32 {
	var list []int32
	if steps <= 1 || int(full) <= steps {
		for k := range full {
			list = append(list, k+1)
		}
		return list
	}
	for i := range steps {
		k := int32(math.Round(math.Pow(float64(full), float64(i)/float64(steps-1))))
		if n := len(list); n == 0 || list[n-1] < k {
			list = append(list, min(k, full))
		}
	}
	list[len(list)-1] = full
	return list
}

// byTime groups candidates of the same duration, shortest first. Each group keeps the order of the
// enumeration.
func byTime(list []candidate) [][]candidate {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(x, y candidate) int { return cmp.Compare(x.seconds, y.seconds) })
	var groups [][]candidate
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && sorted[j].seconds == sorted[i].seconds {
			j++
		}
		groups = append(groups, sorted[i:j])
		i = j
	}
	return groups
}
