package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/warmup"
)

// MachineEffect is how much the machines that share an experiment differ, for one key.
type MachineEffect struct {
	Machines int `json:"machines"`
	// Spread is the level of the slowest machine relative to the fastest, before the change: 0.03
	// is 3 %. Share is that of the variance between machines in the variance of an execution
	// (intraclass correlation, from a one-way analysis of variance; Shrout and Fleiss 1979).
	Spread warmup.Real `json:"spread"`
	Share  warmup.Real `json:"share"`
	// P is the p-value of equal levels of all machines (F test), ChangeP that of the same change on
	// all machines. They are NaN (null) if there are too few executions.
	P               warmup.Real `json:"p"`
	Corrected       float64     `json:"p_corrected"`
	ChangeP         warmup.Real `json:"change_p"`
	ChangeCorrected float64     `json:"change_p_corrected"`
}

// machines returns the names of the machines with a value.
func (s sample) machines() []string {
	var names []string
	for _, o := range slices.Concat(s.before, s.after) {
		if !slices.Contains(names, o.Machine) {
			names = append(names, o.Machine)
		}
	}
	return names
}

// cell has the values of one machine on both sides, in the scale of the test.
type cell struct {
	machine string
	x, y    []float64
}

// cells splits a sample by machine.
func (e *estimate) cells(s sample) []cell {
	var cells []cell
	at := func(o Observation) *cell {
		i := slices.IndexFunc(cells, func(c cell) bool { return c.machine == o.Machine })
		if i < 0 {
			i = len(cells)
			cells = append(cells, cell{machine: o.Machine})
		}
		return &cells[i]
	}
	for i, v := range e.scaled(s.before) {
		c := at(s.before[i])
		c.x = append(c.x, v)
	}
	for i, v := range e.scaled(s.after) {
		c := at(s.after[i])
		c.y = append(c.y, v)
	}
	return cells
}

// onBoth are the cells with values on both sides.
func onBoth(cells []cell) []cell {
	return slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return len(c.x) == 0 || len(c.y) == 0 })
}

func (c cell) change() float64 { return arith.MeanOf(c.y) - arith.MeanOf(c.x) }

// weight is the reciprocal of the variance of the change, in variances of an execution.
func (c cell) weight() float64 { return 1 / (1/float64(len(c.x)) + 1/float64(len(c.y))) }

// common returns the change that cells have in common, and the sum of their weights.
func common(cells []cell) (change, weights float64) {
	for _, c := range cells {
		weights += c.weight()
		change += c.weight() * c.change()
	}
	return change / weights, weights
}

// within estimates an effect from the differences within machines: least squares with a level for
// each machine and one effect. ok is false if no machine has values on both sides.
func (e *estimate) within(s sample) (ok bool) {
	cells := e.cells(s)
	both := onBoth(cells)
	if len(both) == 0 {
		return false
	}
	squares := 0.0
	for _, c := range cells {
		squares += squaresOf(slices.Concat(c.x, c.y))
	}
	effect, weights := common(both)
	e.freedom, e.factor = float64(len(s.before)+len(s.after)-len(cells)-1), 1/weights
	if e.ok = e.freedom >= 1; e.ok {
		e.after = e.before + effect
		e.variance = max(0, squares-effect*effect*weights) / e.freedom
	}
	return true
}

// squaresOf is the sum of squares of the differences from the mean.
func squaresOf(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	return variance(values) * float64(len(values)-1)
}

// components are those of a one-way analysis of variance: the numbers of values and groups, the
// mean squares between and within groups (NaN with too few values), and the mean size of a group.
type components struct{ n, k, between, within, size float64 }

func componentsOf(groups [][]float64) components {
	all := slices.Concat(groups...)
	v := components{n: float64(len(all)), k: float64(len(groups)), within: math.NaN()}
	if v.k < 2 || v.n <= v.k {
		return v
	}
	inside, squaredSizes := 0.0, 0.0
	for _, g := range groups {
		inside += squaresOf(g)
		squaredSizes += float64(len(g) * len(g))
	}
	v.between, v.within = (squaresOf(all)-inside)/(v.k-1), inside/(v.n-v.k)
	v.size = (v.n - squaredSizes/v.n) / (v.k - 1)
	return v
}

// analysis is a one-way analysis of variance of groups of values. p is at least that of Welch's
// analysis, which allows a variance for each group, if each has enough values for one, or if the
// groups are unlike.
type analysis struct{ p, share float64 }

func analysisOf(groups [][]float64) analysis {
	v := componentsOf(groups)
	if !(v.within > 0) { // NaN; 0: rounded values
		return analysis{math.NaN(), math.NaN()}
	}
	share := (v.between - v.within) / (v.between + (v.size-1)*v.within)
	p := fTail(v.between/v.within, v.k-1, v.n-v.k)
	const enough = 4 // with fewer, Welch's analysis has hardly any power
	few := slices.ContainsFunc(groups, func(g []float64) bool { return len(g) < enough })
	if !few && !slices.ContainsFunc(groups, constant) || unlike(groups) {
		p = max(p, welchOf(groups))
	}
	return analysis{p, max(0, share)}
}

func constant(values []float64) bool { return variance(values) == 0 }

// unlike reports whether a variance for all groups would be mostly that of some of them, or groups
// differ in their variance.
func unlike(groups [][]float64) bool {
	bySize := func(a, b []float64) int { return cmp.Compare(len(a), len(b)) }
	byVariance := func(a, b []float64) int { return cmp.Compare(variance(a), variance(b)) }
	fewest, most := slices.MinFunc(groups, bySize), slices.MaxFunc(groups, bySize)
	if len(fewest) < 2 {
		return false
	}
	low, high := slices.MinFunc(groups, byVariance), slices.MaxFunc(groups, byVariance)
	return !constant(low) && (float64(len(most)) > balanced*float64(len(fewest)) ||
		unequal(variance(high), variance(low), float64(len(high)), float64(len(low))))
}

// welchOf is the p-value of equal means of groups with variances of their own (Welch, "On the
// comparison of several mean values", Biometrika 38, 1951; R: oneway.test).
func welchOf(groups [][]float64) float64 {
	k, sum, weighted := float64(len(groups)), 0.0, 0.0
	weight := func(g []float64) float64 { return float64(len(g)) / variance(g) }
	for _, g := range groups {
		sum += weight(g)
		weighted += weight(g) * arith.MeanOf(g)
	}
	between, lambda := 0.0, 0.0
	for _, g := range groups {
		d, rest := arith.MeanOf(g)-weighted/sum, 1-weight(g)/sum
		between += weight(g) * d * d / (k - 1)
		lambda += rest * rest / float64(len(g)-1)
	}
	f := between / (1 + 2*(k-2)/(k*k-1)*lambda)
	return fTail(f, k-1, (k*k-1)/(3*lambda))
}

// machineEffect compares the levels of the machines, and the changes; nil for one machine.
func (e *estimate) machineEffect(s sample, paired bool) *MachineEffect {
	m := &MachineEffect{Machines: len(s.machines()), Corrected: 1, ChangeCorrected: 1}
	if m.Machines < 2 {
		return nil
	}
	if paired {
		s, _ = complete(s)
	}
	cells := e.cells(s)
	var levels, changes [][]float64
	low, high := math.Inf(1), math.Inf(-1)
	for _, c := range cells {
		if len(c.x) > 0 {
			levels = append(levels, c.x)
			low, high = min(low, arith.MeanOf(c.x)), max(high, arith.MeanOf(c.x))
		}
	}
	a := analysisOf(levels)
	m.P, m.Share, m.Spread = warmup.Real(a.p), warmup.Real(a.share), warmup.Real(e.relative(high-low))
	if !paired {
		m.ChangeP = warmup.Real(interaction(onBoth(cells)))
		return m
	}
	for _, c := range cells {
		changes = append(changes, differences(c.x, c.y))
	}
	m.ChangeP = warmup.Real(analysisOf(changes).p)
	return m
}

// interaction is the p-value of the same change on all machines, which have values on both sides.
func interaction(cells []cell) float64 {
	n, inside, between := 0, 0.0, 0.0
	change, _ := common(cells)
	for _, c := range cells {
		n += len(c.x) + len(c.y)
		inside += squaresOf(c.x) + squaresOf(c.y)
		d := c.change() - change
		between += c.weight() * d * d
	}
	k := float64(len(cells))
	freedom := float64(n) - 2*k
	if k < 2 || freedom <= 0 || inside == 0 {
		return math.NaN()
	}
	return fTail(between/(k-1)/(inside/freedom), k-1, freedom)
}

// machines reports the differences between machines that share the experiment.
func (r *Result) machines(rows []row, f family, o Options) {
	var levels, changes []hypothesis
	var shared []*Change
	for i, c := range r.both() {
		e := &f.rows[i].steady
		if !e.ok {
			continue
		}
		if c.Machines = e.machineEffect(rows[i].sample(ofSteady), o.Paired); c.Machines == nil {
			continue
		}
		shared = append(shared, c)
		levels = known(levels, c.Machines.P, &c.Machines.Corrected)
		changes = known(changes, c.Machines.ChangeP, &c.Machines.ChangeCorrected)
	}
	o.Correction.adjust(levels, 1)
	o.Correction.adjust(changes, 1)
	differ := slices.DeleteFunc(slices.Clone(shared), func(c *Change) bool {
		return c.Machines.Corrected > o.alpha()
	})
	if len(differ) > 0 {
		worst := slices.MaxFunc(differ, func(a, b *Change) int {
			return cmp.Compare(a.Machines.Spread, b.Machines.Spread)
		})
		r.warn("machine_levels", "the machines are not equally fast in %d of %d keys, by up to %s (%s, %s "+
			"of the variance): the comparison is within machines, where this cancels", len(differ),
			len(levels), Percent(float64(worst.Machines.Spread)), worst.Key,
			Percent(float64(worst.Machines.Share)))
	}
	change := slices.DeleteFunc(shared, func(c *Change) bool {
		return c.Machines.ChangeCorrected > o.alpha()
	})
	if len(change) > 0 {
		names := change[0].Key
		if more := len(change) - 1; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		r.warn("machine_changes", "the change is not the same on all machines (%s): the verdict is about "+
			"the mean of these machines; compare each machine's directory alone", names)
	}
}

// known appends a hypothesis unless its p-value is NaN.
func known(list []hypothesis, p warmup.Real, corrected *float64) []hypothesis {
	if math.IsNaN(float64(p)) {
		return list
	}
	return append(list, hypothesis{float64(p), corrected})
}
