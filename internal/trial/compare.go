package trial

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// compare compares each subject with the fastest. The executions are interleaved, so execution n of
// one subject and execution n of another are a pair that met the same machine: the interval is
// Student's t interval of the mean difference of the logarithms of their levels. With n subjects it
// is corrected for n-1 comparisons (Bonferroni).
func (a *Answer) compare() {
	fastest := -1
	n := 0
	for i, r := range a.Subjects {
		if len(r.levels) == 0 {
			continue
		}
		n++
		if fastest < 0 || r.Level.Mean < a.Subjects[fastest].Level.Mean {
			fastest = i
		}
	}
	a.warn()
	if n < 2 {
		return
	}
	base := a.Subjects[fastest]
	a.Fastest = base.Name
	for i, r := range a.Subjects {
		if i == fastest || len(r.levels) == 0 {
			continue
		}
		v := Versus{Name: r.Name}
		v.Ratio, v.Low, v.High = ratio(r.levels, base.levels, 1-(1-confidence)/float64(n-1))
		v.Told = v.Low > 1 || v.High < 1
		a.Compared = append(a.Compared, v)
	}
}

// ratio returns the geometric mean of x/y over the executions of both, with its interval.
func ratio(x, y map[int]float64, level float64) (r float64, low, high warmup.Real) {
	var logs []float64
	for _, number := range slices.Sorted(maps.Keys(x)) {
		if x[number] > 0 && y[number] > 0 {
			logs = append(logs, math.Log(x[number]/y[number]))
		}
	}
	e := interval(logs, level)
	return math.Exp(e.Mean), warmup.Real(math.Exp(float64(e.Low))), warmup.Real(math.Exp(float64(e.High)))
}

// estimate returns the mean of executions with its interval.
func estimate(levels map[int]float64) Estimate {
	return interval(slices.Sorted(maps.Values(levels)), confidence)
}

// interval is Student's; fewer than two values have none.
func interval(values []float64, level float64) Estimate {
	n := float64(len(values))
	if n == 0 {
		return Estimate{0, warmup.Real(math.NaN()), warmup.Real(math.NaN())}
	}
	mean := sum(values) / n
	if len(values) < 2 {
		return Estimate{mean, warmup.Real(math.NaN()), warmup.Real(math.NaN())}
	}
	squares := 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	t := -distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile((1 - level) / 2)
	half := t * math.Sqrt(squares/(n-1)/n)
	return Estimate{mean, warmup.Real(mean - half), warmup.Real(mean + half)}
}

// Bounds of warnings.
const (
	shortCommand = 5e-3 // s: below it the start of the shell is most of the time, as hyperfine warns
	coldStart    = 1.5  // the first run took so many times the median
	fewestPairs  = 3
)

// warn adds what a reader should know before believing the numbers.
func (a *Answer) warn() {
	for i := range a.Subjects {
		r := &a.Subjects[i]
		if r.Failed > 0 {
			r.add("%d of %d executions failed: %s", r.Failed, r.Executions, r.Reason)
		}
		if len(r.Times) == 0 {
			continue
		}
		if r.NotOK > 0 {
			r.add("%d of %d runs ended with an exit status other than 0", r.NotOK, r.Runs)
		}
		if len(r.busy) > 0 {
			r.add("%s (in %d of %d executions)", r.busy[0], len(r.busy), r.Executions)
		}
		if r.Command {
			r.warnCommand(a.Shell != nil)
		}
		switch r.Class {
		case classify.PairClass(classify.NoSteadyState), classify.BadInconsistent:
			r.add("its times did not become steady in every execution: the mean describes no state of it")
		case classify.PairClass(classify.Slowdown):
			r.add("it became slower while it was measured")
		}
		if len(r.levels) > 0 && len(r.levels) < fewestPairs {
			r.add("%s: too few for an interval to rely on; give more --runs",
				display.Count(len(r.levels), "execution"))
		}
	}
}

func (r *Result) add(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

func (r *Result) warnCommand(shell bool) {
	switch {
	case shell && r.Min <= 0:
		r.add("it takes less time than the start of its shell varies; -N starts it without a shell")
	case shell && r.Mean < shortCommand:
		r.add("it takes less than 5 ms, and so does the start of its shell; -N starts it without a shell")
	}
	if r.Runs > 1 && r.Median > 0 && r.Times[0] > coldStart*r.Median {
		r.add("the first run took %.1f times the median: caches were cold; see --warmup and --prepare",
			r.Times[0]/r.Median)
	}
}
