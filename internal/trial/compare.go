package trial

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/sequential"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
	"krund/internal/experiment/results"
	"krund/internal/experiment/stop"
)

// compare compares each subject with the reference, or with the fastest, as package compare does
// for an experiment with blocks: the executions are interleaved, so those with the same number are
// a pair that met the same machine. With n subjects the intervals are corrected for n-1 comparisons
// (Bonferroni). A subject that is too short has no ratio. If the number of runs was decided by
// looking at them, the intervals are those of the sequential test.
func (a *Answer) compare(p Plan) error {
	fastest, n := -1, 0
	a.warn()
	var short []string
	for i, r := range a.Subjects {
		if r.TooShort {
			short = append(short, r.Name)
		}
		if len(r.levels) == 0 {
			continue
		}
		n++
		if fastest < 0 || r.Level.Mean < a.Subjects[fastest].Level.Mean {
			fastest = i
		}
	}
	if len(short) > 0 && len(a.Subjects) > 1 {
		a.Warnings = append(a.Warnings, fmt.Sprintf("no ratio with %s: what is too short to tell cannot be "+
			"compared; -N starts commands without a shell", strings.Join(short, ", ")))
	}
	if n < 2 {
		return nil
	}
	a.Fastest = a.Subjects[fastest].Name
	if p.Referred {
		fastest = 0
	}
	base := a.Subjects[fastest]
	if a.Base = base.Name; len(base.levels) == 0 {
		return nil // what is wrong with it has been said
	}
	for i, r := range a.Subjects {
		if i == fastest || len(r.levels) == 0 {
			continue
		}
		v, err := r.versus(base, 1-(1-confidence)/float64(n-1))
		if p.Looked {
			v, err = r.anytime(base, (1-confidence)/p.statements(n)), nil
		}
		if err != nil {
			return fmt.Errorf("compare %s with %s: %w", r.Text, base.Text, err)
		}
		v.Told = v.Low > 1 || v.High < 1
		v.Same = v.Low > 1/(1+margin) && v.High < 1+margin
		a.Compared = append(a.Compared, v)
	}
	return nil
}

// ratioTo is the comparison of a subject with the fastest without an interval.
func (r *Timing) ratioTo(fastest Timing) Versus {
	nan := warmup.Real(math.NaN())
	return Versus{Name: r.Name, Ratio: float64(r.Level.Mean / fastest.Level.Mean), Low: nan, High: nan,
		Margin: margin}
}

// versus compares a subject with the fastest.
func (r *Timing) versus(fastest Timing, level float64) (Versus, error) {
	v := r.ratioTo(fastest)
	var sides [2]compare.Side
	for i, executions := range [][]dataset.Execution{fastest.measured(), r.measured()} {
		var err error
		if sides[i], err = analyze(executions); err != nil {
			return v, err
		}
	}
	result, err := compare.Of(sides[0], sides[1], compare.Options{Confidence: level, Paired: true})
	if err != nil {
		return v, err
	}
	if effect := result.Changes[0].Steady; effect != nil && effect.Ratio != nil {
		ratio := effect.Ratio
		v.Ratio, v.Low, v.High = float64(ratio.Estimate), ratio.AloneLow, ratio.AloneHigh
	}
	return v, nil
}

// anytime compares a subject with the fastest by the sequential test: on the differences of the
// logarithms in the rounds, with the probability alpha of being wrong at any look.
func (r *Timing) anytime(fastest Timing, alpha float64) Versus {
	v := r.ratioTo(fastest)
	var differences []float64
	for number, level := range r.levels {
		if before := fastest.levels[number]; before > 0 && level > 0 {
			differences = append(differences, math.Log(level/before))
		}
	}
	slices.Sort(differences) // the order of a map must not decide about the last digit
	s := sequential.SampleOf(differences)
	if half := s.Half(alpha); s.N == len(r.levels) && !math.IsInf(half, 0) {
		v.Ratio, v.Low, v.High = math.Exp(s.Mean), warmup.Real(math.Exp(s.Mean-half)),
			warmup.Real(math.Exp(s.Mean+half))
	}
	return v
}

// measured returns the executions to compare. Each run of a command is a process of its own, so
// the level of an execution is the mean of its runs, and not of the last of them.
func (r *Timing) measured() []dataset.Execution {
	if !r.Command {
		return r.good
	}
	var list []dataset.Execution
	for _, number := range slices.Sorted(maps.Keys(r.levels)) {
		list = append(list, execution(number, []float64{r.levels[number]}))
	}
	return list
}

// execution is one with only these times, in seconds.
func execution(number int, times []float64) dataset.Execution {
	return dataset.Execution{Number: number, Outcome: results.Completed, Columns: []dataset.Column{
		{Name: dataset.Wall, Unit: dataset.Seconds, Core: dataset.NoCore, Reals: times}}}
}

// estimate returns the mean of executions with Student's interval; fewer than two have none.
func estimate(levels map[int]float64) Estimate {
	mean, sd := stat.MeanStdDev(slices.Sorted(maps.Values(levels)), nil)
	half, n := math.NaN(), float64(len(levels))
	if n > 1 {
		half = distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile((1+confidence)/2) * sd / math.Sqrt(n)
	}
	return Estimate{warmup.Real(mean), warmup.Real(mean - half), warmup.Real(mean + half)}
}

// Bounds of warnings.
const (
	shortCommand = 5e-3 // s: below it the start of the shell is most of the time, as hyperfine warns
	coldStart    = 1.5  // the first run took so many times the median
	fewestPairs  = 3
)

// warn adds what a reader should know before believing the numbers.
func (a *Answer) warn() {
	var busy []string
	executions := 0
	for i := range a.Subjects {
		r := &a.Subjects[i]
		if r.Failed > 0 {
			r.add("%d of %d executions failed: %s", r.Failed, r.Executions, r.Reason)
		}
		busy, executions = append(busy, r.busy...), executions+r.Executions
		if r.Runs == 0 {
			continue
		}
		if r.NotOK > 0 {
			r.add("%d of %d runs ended with an exit status other than 0", r.NotOK, r.Runs)
		}
		if text := warmup.LoopText(r.good); text != "" {
			r.add("%s", text)
		}
		if r.Command {
			r.warnCommand(a.Shell != nil)
		}
		r.warnClass()
		if len(r.levels) > 0 && len(r.levels) < fewestPairs {
			r.add("%s: too few for an interval to rely on; give more --runs",
				display.Count(len(r.levels), "execution"))
		}
	}
	if len(busy) > 0 {
		a.Warnings = append(a.Warnings, fmt.Sprintf("%s (in %d of %d executions)", busy[0], len(busy),
			executions))
	}
}

func (r *Timing) add(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// warnClass explains a class that is not that of a program with one speed.
func (r *Timing) warnClass() {
	switch {
	case r.Command && r.Class == classify.PairClass(classify.NoSteadyState):
		r.add("its times did not become steady: the mean describes no state of it")
	case r.unsteady:
		r.add("its times did not become steady in every execution: the mean is that of all iterations, and "+
			"describes no state of it; a comparison takes %s, without the warm-up",
			display.UnitOf("s").For(float64(r.Mean)).Value(float64(r.Level.Mean)))
	case r.Class == classify.PairClass(classify.Slowdown):
		r.add("it became slower while it was measured")
	case r.Class == classify.BadInconsistent:
		r.add("it became slower in some executions")
	}
}

func (r *Timing) warnCommand(shell bool) {
	if r.TooShort {
		return
	}
	if shell && r.Mean < shortCommand {
		r.add("it takes less than 5 ms, and so does the start of its shell; -N starts it without a shell")
	}
	if times := float64(r.Median); r.Runs > 1 && r.Times[0] > coldStart*times {
		r.add("the first run took %.1f times the median: caches were cold; see --warmup and --prepare",
			r.Times[0]/times)
	}
}

// Precision at which the time stops to decide: a level known to 1 %, or a verdict with that margin.
const margin = 0.01

// statements is the number of comparisons that n subjects can have: each with the reference, or, as
// the fastest is not known before, all pairs.
func (p Plan) statements(n int) float64 {
	if p.Referred {
		return float64(n - 1)
	}
	return float64(n * (n - 1) / 2)
}

// policy is the sequential test, whose statements hold although they are looked at again and again.
func policy(rule stop.Rule) sequential.Policy {
	return sequential.Policy{Rules: []stop.Rule{rule}, Minimum: fewRounds, Alpha: 1 - confidence,
		HalfWidth: margin, Margin: margin}
}

// precise reports whether the levels of a single command, or all comparisons of several with the
// reference or the fastest, are known well enough.
func (p Plan) precise(d *dataset.Dataset) bool {
	var shell float64
	if p.Calibrate != nil {
		if s := shellOf(find(d, shellKey())); s != nil {
			shell = float64(s.Mean)
		}
	}
	keys := make(sequential.Group, len(p.Subjects))
	fastest, least := 0, math.Inf(1)
	for i, s := range p.Subjects {
		keys[i].Name, keys[i].Null = p.Key(s), p.Null > 0 && i == p.Null
		levels := means(find(d, p.Key(s)))
		for _, n := range slices.Sorted(maps.Keys(levels)) {
			keys[i].Executions = append(keys[i].Executions, sequential.Execution{
				Execution: compare.Execution{Number: n, Value: levels[n] - shell}})
		}
		if mean := float64(estimate(levels).Mean); mean < least {
			fastest, least = i, mean
		}
	}
	n := len(keys)
	if n == 1 {
		return policy(stop.HalfWidth).Decide(keys, 1).Finish
	}
	if !p.Referred {
		keys[0], keys[fastest] = keys[fastest], keys[0]
	}
	return policy(stop.Verdict).Decide(keys, int(p.statements(n))).Finish
}
