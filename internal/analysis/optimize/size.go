package optimize

import (
	"math"

	"krund/internal/experiment/key"
)

// Size is the smallest sufficient number of executions and iterations of a benchmark in a VM.
type Size struct {
	Benchmark, VM                string
	Executions, Iterations       int
	AllExecutions, AllIterations int // of the full experiment
	Keys                         []string
}

// Sizes returns the recommendations for a configuration of krund: for each benchmark and VM the
// maximum over its variants and arms. A key that is not good (see Shared) needs the full size; a
// benchmark whose keys all do is left out. ok is false if the levels are not executions and
// iterations, or the names are no keys.
func (f *Findings) Sizes() (sizes []Size, ok bool) {
	s := f.Suite
	if len(s.Levels) != 2 || s.Levels[0] != Executions() || s.Levels[1] != Iterations() {
		return nil, false
	}
	at := map[[2]string]int{}
	var all []Size
	for i := range f.Results {
		r := &f.Results[i]
		k, err := key.Parse(r.Name)
		if err != nil {
			return nil, false
		}
		choice := r.Minimal.At
		if !r.good(f.options.Accuracy) {
			choice = r.Full.At
		}
		place := [2]string{k.Benchmark, k.VM}
		n, known := at[place]
		if !known {
			n = len(all)
			at[place] = n
			all = append(all, Size{Benchmark: k.Benchmark, VM: k.VM})
		}
		z := &all[n]
		z.Keys = append(z.Keys, r.Name)
		z.Executions = max(z.Executions, f.Repetitions(i, 0, choice))
		z.Iterations = max(z.Iterations, f.Repetitions(i, 1, choice))
		z.AllExecutions = max(z.AllExecutions, f.Repetitions(i, 0, r.Full.At))
		z.AllIterations = max(z.AllIterations, f.Repetitions(i, 1, r.Full.At))
	}
	for _, z := range all {
		if z.Executions < z.AllExecutions || z.Iterations < z.AllIterations {
			sizes = append(sizes, z)
		}
	}
	return sizes, true
}

// good reports whether a result is stable and within the accuracy of the full one.
func (r *Result) good(accuracy float64) bool {
	return r.Stable && math.Abs(r.AverageDiff) <= accuracy
}
