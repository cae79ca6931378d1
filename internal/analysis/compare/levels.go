package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// KeyMachines is a key with the values of its executions, above 0, and their machines.
type KeyMachines struct {
	Key    string
	Values []Observation
}

// Levels is how much the machines of an experiment differ. Keys of one machine, or with a value
// that is not positive, are left out.
type Levels struct {
	// Keys are those that differ first, and of these the one with the largest spread.
	Keys    []KeyLevels `json:"keys"`
	Tests   int         `json:"tests"`   // F tests, one per key, that Holm's method corrects for
	Differ  int         `json:"differ"`  // keys whose machines differ
	Omitted int         `json:"omitted"` // keys that are not in the list
}

// KeyLevels are the levels of the machines in one key.
type KeyLevels struct {
	Key string `json:"key"`
	// Spread, Share, P and Corrected are those of Result, from all executions of the key.
	MachineEffect
	Low    warmup.Real    `json:"spread_low"` // interval of Spread
	High   warmup.Real    `json:"spread_high"`
	Levels []MachineLevel `json:"levels"` // in the order of the argument
}

// MachineLevel is the level of a machine relative to the mean of the machines: 0.03 is 3 % slower.
// The mean is that of the logarithms, in which each machine counts the same.
type MachineLevel struct {
	Machine    string      `json:"machine"`
	Executions int         `json:"executions"`
	Relative   warmup.Real `json:"relative"`
	Low        warmup.Real `json:"low"`
	High       warmup.Real `json:"high"`
}

// LevelsOf compares the machines of an experiment in each key, the arms apart because executions of
// a block are not independent. doc is the analysis of d. No key is in the result if executions
// are from one machine. most is the largest number of keys in the list.
func LevelsOf(d *dataset.Dataset, doc *warmup.Document, confidence float64, most int) Levels {
	var keys []KeyMachines
	for i := range d.Pairs {
		k := KeyMachines{Key: doc.Pairs[i].Key}
		for _, e := range Executions(&d.Pairs[i], &doc.Pairs[i], doc.Parameters.Column) {
			k.Values = append(k.Values, Observation{Value: e.Value, Machine: e.Machine})
		}
		keys = append(keys, k)
	}
	return MachineLevels(keys, confidence, most)
}

// MachineLevels compares the machines of an experiment in each key, like Of does for two sides: by
// an F test of the logarithms, with Holm's correction over the keys. The unit is the execution. The
// intervals hold together with the confidence: those of the machines over all keys and machines,
// that of the spread over all keys and pairs of machines (Bonferroni). Their variance is that
// within machines, which is shrunk as Of does, or each machine's own (Welch 1947) if those differ.
// Most is the largest number of keys in the list.
func MachineLevels(keys []KeyMachines, confidence float64, most int) Levels {
	l := Levels{Keys: []KeyLevels{}}
	var groups []levelGroups
	var residuals []estimate
	for _, k := range keys {
		if g, ok := groupsOf(k); ok {
			groups, residuals = append(groups, g), append(residuals, g.residual())
		}
	}
	squeezeAll(residuals)
	var tests []hypothesis
	for i, g := range groups {
		effect := residuals[i].machineEffect(sample{before: g.Values}, false)
		l.Keys = append(l.Keys, KeyLevels{Key: g.Key, MachineEffect: *effect})
	}
	for i := range l.Keys {
		tests = known(tests, l.Keys[i].P, &l.Keys[i].Corrected)
	}
	Holm.adjust(tests, 1)
	l.Tests = len(tests)
	for i := range l.Keys {
		groups[i].describe(&l.Keys[i], residuals[i], (1-confidence)/float64(max(l.Tests, 1)))
		if l.Keys[i].Corrected <= 1-confidence {
			l.Differ++
		}
	}
	slices.SortStableFunc(l.Keys, func(a, b KeyLevels) int {
		differs := func(k KeyLevels) int { return arith.One(k.Corrected <= 1-confidence) }
		return cmp.Or(differs(b)-differs(a), cmp.Compare(b.Spread, a.Spread))
	})
	l.Omitted = max(len(l.Keys)-most, 0)
	l.Keys = l.Keys[:len(l.Keys)-l.Omitted]
	return l
}

// String is one sentence; "" if no key was measured on several machines.
func (l Levels) String() string {
	switch {
	case len(l.Keys) == 0:
		return ""
	case l.Tests == 0:
		return "too few executions to compare the machines"
	case l.Differ == 0:
		return "no difference between the machines was found in " + display.Count(l.Tests, "key")
	}
	verb := "differ"
	if l.Differ == 1 {
		verb = "differs"
	}
	return fmt.Sprintf("the machines differ by up to %s in %s; %d of %s %s",
		l.Keys[0].Range(), l.Keys[0].Key, l.Differ, display.Count(l.Tests, "key"), verb)
}

// Range is the spread with its interval, such as "3.1 % (1.2, 5)".
func (k KeyLevels) Range() string { return Percent(float64(k.Spread)) + interval(k.Low, k.High) }

// PText is the corrected p-value; "" if there are too few executions.
func (k KeyLevels) PText() string {
	if math.IsNaN(float64(k.P)) {
		return ""
	}
	return fmt.Sprintf("%.2g", k.Corrected)
}

// interval is in percent; "" if there are too few executions.
func interval(low, high warmup.Real) string {
	if math.IsNaN(float64(low + high)) {
		return ""
	}
	return fmt.Sprintf(" (%.3g, %.3g)", 100*low, 100*high)
}

// String is a machine's level, such as "m1 +1.2 % (-0.3, 2.7)".
func (m MachineLevel) String() string {
	return fmt.Sprintf("%s %+.3g %%", m.Machine, 100*m.Relative) + interval(m.Low, m.High)
}

// levelGroups are the logarithms of a key's values on each machine.
type levelGroups struct {
	KeyMachines
	machines []string
	logs     [][]float64
}

func groupsOf(k KeyMachines) (g levelGroups, ok bool) {
	g.KeyMachines = k
	if !all(k.Values, func(o Observation) bool { return o.Value > 0 && !math.IsInf(o.Value, 1) }) {
		return g, false
	}
	var e estimate
	for _, c := range e.cells(sample{before: k.Values}) {
		g.machines, g.logs = append(g.machines, c.machine), append(g.logs, c.x)
	}
	return g, len(g.machines) > 1
}

// residual has the variance within machines, with its degrees of freedom.
func (g *levelGroups) residual() estimate {
	e := estimate{test: StudentT}
	squares, n := 0.0, 0
	var all []float64
	for _, logs := range g.logs {
		squares += squaresOf(logs)
		n += len(logs)
		all = append(all, logs...)
	}
	e.freedom = float64(n - len(g.logs))
	if e.ok = e.freedom >= 1; e.ok {
		e.variance = max(squares/e.freedom, Rounding(all))
	}
	return e
}

// describe fills in the levels and their intervals, whose errors have the sum level in each family.
func (g *levelGroups) describe(k *KeyLevels, residual estimate, level float64) {
	machines := float64(len(g.logs))
	means := make([]float64, len(g.logs))
	for i := range g.logs {
		means[i] = arith.MeanOf(g.logs[i])
		weights := slices.Repeat([]float64{-1 / machines}, len(g.logs))
		weights[i]++
		relative, low, high := g.contrast(weights, residual, level/machines)
		k.Levels = append(k.Levels, MachineLevel{g.machines[i], len(g.logs[i]), relative, low, high})
	}
	weights := make([]float64, len(g.logs))
	weights[slices.Index(means, slices.Max(means))]++
	weights[slices.Index(means, slices.Min(means))]--
	_, k.Low, k.High = g.contrast(weights, residual, level/(machines*(machines-1)/2))
}

// contrast returns the sum of the weighted levels as a relative change, with its interval; that is
// NaN if there are too few executions.
func (g *levelGroups) contrast(weights []float64, e estimate, level float64) (
	relative, low, high warmup.Real) {
	e.before, e.after, e.factor = 0, 0, 0
	for i, w := range weights {
		e.after += w * arith.MeanOf(g.logs[i])
		e.factor += w * w / float64(len(g.logs[i]))
	}
	if e.ok && unlike(g.logs) {
		e.welchContrast(weights, g.logs)
	}
	half := math.NaN()
	if e.ok {
		half = e.half(level)
	}
	return warmup.Real(e.relative(e.after)), warmup.Real(e.relative(e.after - half)),
		warmup.Real(e.relative(e.after + half))
}

// welchContrast sets the variance of a weighted sum to that of its means (Satterthwaite 1946).
func (e *estimate) welchContrast(weights []float64, groups [][]float64) {
	sum, squares := 0.0, 0.0
	for i, w := range weights {
		v := w * w * variance(groups[i]) / float64(len(groups[i]))
		sum += v
		squares += v * v / float64(len(groups[i])-1)
	}
	e.variance, e.freedom = sum/e.factor, sum*sum/squares
}
