package optimize

import (
	"fmt"
	"math"
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/parallel"
)

// DefaultChange is the paper's minimum relevant performance change.
const DefaultChange = 0.03

// Direction is the sign of a performance change.
type Direction int

// The directions.
const (
	Faster    Direction = -1
	Unchanged Direction = 0
	Slower    Direction = 1
)

func (d Direction) String() string { return [...]string{"faster", "same", "slower"}[d-Faster] }

// Change reports the direction in which a benchmark's result changed, if it did: the averages
// differ by more than limit, relative to the old one, and the intervals do not overlap (touching is
// not overlapping). A result that is NaN never counts as changed.
func Change(before, after Summary, limit float64) Direction {
	change := float64((after.Average - before.Average) / before.Average)
	switch {
	case change > limit && after.Low >= before.High:
		return Slower
	case change < -limit && after.High <= before.Low:
		return Faster
	}
	return Unchanged
}

// Both is the result of a benchmark with the full and with the reduced configuration.
type Both struct{ Full, Reduced Summary }

// Changed is a benchmark whose result changed.
type Changed struct {
	Name    string    `json:"key"`
	Full    Direction `json:"full"`
	Reduced Direction `json:"minimal"`
}

// Comparison is the comparison of two successive versions. The full configuration is the ground
// truth. A change detected in the opposite direction counts as detected.
type Comparison struct {
	Before     string `json:"before"`
	After      string `json:"after"`
	Benchmarks int    `json:"compared"` // with both results in both versions
	Full       int    `json:"full_changes"`
	Reduced    int    `json:"minimal_changes"`
	// changes and no changes with the reduced configuration, true and false
	TP  int       `json:"true_positives"`
	FP  int       `json:"false_positives"`
	TN  int       `json:"true_negatives"`
	FN  int       `json:"false_negatives"`
	FPR float64   `json:"false_positive_rate"` // FP/(FP+TN), 0 when there are no negatives
	FNR float64   `json:"false_negative_rate"` // FN/(FN+TP), 0 when there are no positives
	All []Changed `json:"changed"`
}

func rate(wrong, right int) float64 {
	if wrong+right == 0 {
		return 0
	}
	return float64(wrong) / float64(wrong+right)
}

// Compare finds changes beyond limit in the benchmarks of both versions. With slowdowns, only
// increases count.
func Compare(before, after map[string]Both, limit float64, slowdowns bool) Comparison {
	var names []string
	for name := range before {
		if _, both := after[name]; both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	c := Comparison{Benchmarks: len(names), All: []Changed{}}
	for _, name := range names {
		x, y := before[name], after[name]
		found := Changed{name, Change(x.Full, y.Full, limit), Change(x.Reduced, y.Reduced, limit)}
		if slowdowns {
			found.Full, found.Reduced = max(found.Full, Unchanged), max(found.Reduced, Unchanged)
		}
		switch full, reduced := found.Full != Unchanged, found.Reduced != Unchanged; {
		case full && reduced:
			c.TP++
		case full:
			c.FN++
		case reduced:
			c.FP++
		default:
			c.TN++
			continue
		}
		c.All = append(c.All, found)
	}
	c.Full, c.Reduced = c.TP+c.FN, c.TP+c.FP
	c.FPR, c.FNR = rate(c.FP, c.TN), rate(c.FN, c.TP)
	return c
}

// Rates aggregates comparisons as in the paper's Table 2. The rates are minimum, maximum and median
// over the pairs of versions.
type Rates struct {
	Full           int        `json:"full_changes"`
	Reduced        int        `json:"minimal_changes"`
	FPR            [3]float64 `json:"false_positive_rate"`
	FNR            [3]float64 `json:"false_negative_rate"`
	FalsePositives int        `json:"-"`
	FalseNegatives int        `json:"-"`
}

// Sum aggregates comparisons; the rates are NaN when there are none.
func Sum(comparisons []Comparison) Rates {
	var r Rates
	var fpr, fnr []float64
	for i := range comparisons {
		c := &comparisons[i]
		r.Full += c.Full
		r.Reduced += c.Reduced
		r.FalsePositives += c.FP
		r.FalseNegatives += c.FN
		fpr, fnr = append(fpr, c.FPR), append(fnr, c.FNR)
	}
	r.FPR, r.FNR = extremes(fpr), extremes(fnr)
	return r
}

func extremes(x []float64) [3]float64 {
	if len(x) == 0 {
		return [3]float64{math.NaN(), math.NaN(), math.NaN()}
	}
	return [3]float64{slices.Min(x), slices.Max(x), arith.MedianOf(x)}
}

// Versions applies the minimal configurations of the first version to all versions, and compares
// each version with the next. Benchmarks missing from the first version are skipped, and in a
// comparison those without a value. results are those of Optimize for the first version, with the
// same options. The errors are those of Optimize, and wrap ErrData when the versions differ in
// their levels.
func Versions(versions []*Suite, results []Result, limit float64, o Options) ([]Comparison, error) {
	chosen := map[string]Position{}
	for i := range results {
		chosen[results[i].Name] = results[i].Minimal.At
	}
	pairs := make([]map[string]Both, len(versions))
	for i, v := range versions {
		o, err := v.ready(o)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(v.Levels, versions[0].Levels) {
			return nil, fmt.Errorf("%w: %s and %s do not repeat on the same levels", ErrData,
				versions[0].Source, v.Source)
		}
		pairs[i] = pairsOf(v, chosen, o)
	}
	var list []Comparison
	for i := range max(len(versions)-1, 0) {
		c := Compare(pairs[i], pairs[i+1], limit, o.Published)
		c.Before, c.After = versions[i].Source, versions[i+1].Source
		list = append(list, c)
	}
	return list, nil
}

// pairsOf estimates the benchmarks of a version with both configurations.
func pairsOf(v *Suite, chosen map[string]Position, o Options) map[string]Both {
	list := make([]Both, len(v.Benchmarks))
	parallel.Each(len(list), o.Workers, func(i int) {
		s := newSearch(v, i, o)
		if at, ok := chosen[s.benchmark.Name]; ok {
			need := o.Metric.interval()
			list[i] = Both{s.estimate(s.benchmark.Full, need).Summary, s.estimate(at, need).Summary}
		}
	})
	pairs := map[string]Both{}
	for i, p := range list {
		name := v.Benchmarks[i].Name
		if _, ok := chosen[name]; ok && p.Full.known() && p.Reduced.known() {
			pairs[name] = p
		}
	}
	return pairs
}

func (s Summary) known() bool {
	return !math.IsNaN(float64(s.Average + s.Low + s.High))
}
