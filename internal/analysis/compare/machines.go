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

// on returns the values of one machine.
func (s sample) on(machine string) sample {
	of := func(list []Observation) []Observation {
		return slices.DeleteFunc(slices.Clone(list), func(o Observation) bool { return o.Machine != machine })
	}
	return sample{of(s.before), of(s.after)}
}

// within estimates an effect from the differences within machines: least squares with a level for
// each machine and one effect. ok is false if no machine has values on both sides.
func (e *estimate) within(s sample, machines []string) (ok bool) {
	weights, weighted, squares, n := 0.0, 0.0, 0.0, 0
	for _, machine := range machines {
		own := s.on(machine)
		x, y := e.scaled(own.before), e.scaled(own.after)
		squares += squaresOf(append(slices.Clone(x), y...))
		n += len(x) + len(y)
		if len(x) > 0 && len(y) > 0 {
			w := 1 / (1/float64(len(x)) + 1/float64(len(y)))
			weights += w
			weighted += w * (arith.MeanOf(y) - arith.MeanOf(x))
		}
	}
	if weights == 0 {
		return false
	}
	effect := weighted / weights
	e.freedom, e.factor = float64(n-len(machines)-1), 1/weights
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

// analysis is a one-way analysis of variance of groups of values. p is at least that of Welch's
// analysis, which allows a variance for each group, if each has enough values for one, or if the
// groups are unlike.
type analysis struct{ p, share float64 }

func analysisOf(groups [][]float64) analysis {
	var all []float64
	inside, squaredSizes := 0.0, 0.0
	for _, g := range groups {
		all = append(all, g...)
		inside += squaresOf(g)
		squaredSizes += float64(len(g) * len(g))
	}
	n, k := float64(len(all)), float64(len(groups))
	if k < 2 || n <= k {
		return analysis{math.NaN(), math.NaN()}
	}
	between, residual := (squaresOf(all)-inside)/(k-1), inside/(n-k)
	if residual == 0 {
		return analysis{math.NaN(), math.NaN()} // rounded values
	}
	size := (n - squaredSizes/n) / (k - 1)
	share := (between - residual) / (between + (size-1)*residual)
	p := fTail(between/residual, k-1, n-k)
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
	machines := s.machines()
	if len(machines) < 2 {
		return nil
	}
	if paired {
		s, _ = complete(s)
	}
	m := &MachineEffect{Machines: len(machines), Corrected: 1, ChangeCorrected: 1}
	var levels, changes, cells [][]float64
	low, high := math.Inf(1), math.Inf(-1)
	for _, machine := range machines {
		own := s.on(machine)
		x, y := e.scaled(own.before), e.scaled(own.after)
		if len(x) > 0 {
			levels = append(levels, x)
			low, high = min(low, arith.MeanOf(x)), max(high, arith.MeanOf(x))
		}
		if len(x) > 0 && len(y) > 0 {
			cells = append(cells, x, y)
		}
		if paired && len(x) > 0 {
			for i := range y {
				y[i] -= x[i]
			}
			changes = append(changes, y)
		}
	}
	a := analysisOf(levels)
	m.P, m.Share, m.Spread = warmup.Real(a.p), warmup.Real(a.share), warmup.Real(e.relative(high-low))
	if paired {
		m.ChangeP = warmup.Real(analysisOf(changes).p)
	} else {
		m.ChangeP = warmup.Real(interaction(cells))
	}
	return m
}

// interaction is the p-value of the same change on all machines, whose values before and after are
// the cells, in turns.
func interaction(cells [][]float64) float64 {
	n, inside, weights, weighted := 0, 0.0, 0.0, 0.0
	for i := 0; i < len(cells); i += 2 {
		x, y := cells[i], cells[i+1]
		n += len(x) + len(y)
		inside += squaresOf(x) + squaresOf(y)
		w := 1 / (1/float64(len(x)) + 1/float64(len(y)))
		weights += w
		weighted += w * (arith.MeanOf(y) - arith.MeanOf(x))
	}
	k := len(cells) / 2
	if k < 2 || n <= len(cells) || inside == 0 {
		return math.NaN()
	}
	between := 0.0
	for i := 0; i < len(cells); i += 2 {
		x, y := cells[i], cells[i+1]
		w := 1 / (1/float64(len(x)) + 1/float64(len(y)))
		d := arith.MeanOf(y) - arith.MeanOf(x) - weighted/weights
		between += w * d * d
	}
	freedom := float64(n - len(cells))
	return fTail(between/float64(k-1)/(inside/freedom), float64(k-1), freedom)
}

// machines reports the differences between machines that share the experiment.
func (r *Result) machines(rows []row, f family, o Options) {
	var levels, changes []hypothesis
	both := r.both()
	for i, c := range both {
		e := &f.rows[i].steady
		if !e.ok {
			continue
		}
		if c.Machines = e.machineEffect(rows[i].sample(ofSteady), o.Paired); c.Machines == nil {
			continue
		}
		if p := float64(c.Machines.P); !math.IsNaN(p) {
			levels = append(levels, hypothesis{p, &c.Machines.Corrected})
		}
		if p := float64(c.Machines.ChangeP); !math.IsNaN(p) {
			changes = append(changes, hypothesis{p, &c.Machines.ChangeCorrected})
		}
	}
	o.Correction.adjust(levels, 1)
	o.Correction.adjust(changes, 1)
	var differ, change []*Change
	for _, c := range both {
		if m := c.Machines; m != nil && m.Corrected <= o.alpha() {
			differ = append(differ, c)
		}
		if m := c.Machines; m != nil && m.ChangeCorrected <= o.alpha() {
			change = append(change, c)
		}
	}
	r.warnMachines(differ, change, len(levels))
}

func (r *Result) warnMachines(differ, change []*Change, tested int) {
	spread := func(a, b *Change) int {
		return int(math.Copysign(1, float64(a.Machines.Spread-b.Machines.Spread)))
	}
	if len(differ) > 0 {
		worst := slices.MaxFunc(differ, spread)
		r.Warnings = append(r.Warnings, warmup.Warning{Code: "machine_levels", Text: fmt.Sprintf(
			"the machines are not equally fast in %d of %d keys, by up to %s (%s, %s of the variance): the "+
				"comparison is within machines, where this cancels", len(differ), tested,
			Percent(float64(worst.Machines.Spread)), worst.Key, Percent(float64(worst.Machines.Share)))})
	}
	if len(change) > 0 {
		names := change[0].Key
		if more := len(change) - 1; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		r.Warnings = append(r.Warnings, warmup.Warning{Code: "machine_changes", Text: fmt.Sprintf(
			"the change is not the same on all machines (%s): the verdict is about the mean of these "+
				"machines; compare each machine's directory alone", names)})
	}
}
