// Package similarity compares the process executions of a key, as series, by the two methods of
//
//	A. Bauer, M. Straesser, M. Leznik, L. Beierlieb, M. Hadry, N. Hudson,
//	K. Chard, S. Kounev, I. Foster: Searching for the Ground Truth: Assessing
//	the Similarity of Benchmarking Runs. ICPE '23 Companion.
//
// Of runs these steps:
//
//  1. Each pair of executions gets five dissimilarities, each from 0 (alike) to 1: correlation,
//     compression of their SAX words, distance of Fourier coefficients, cosine, and the
//     Kolmogorov-Smirnov statistic (section 3.1).
//  2. The heuristic averages each over all pairs of executions. The executions are dissimilar when
//     at least three averages are above 0.25 (Algorithm 1).
//  3. SAME clusters the executions by four other distances. They are dissimilar when there is more
//     than one cluster (section 2.3).
//  4. If a cluster has more than half of the executions, the others are reported as outliers, and
//     the heuristic is applied to the cluster alone. This step is an addition of krund.
//
// Kappa and Confusion are the paper's measures of reviewers and methods.
//
// The paper specifies neither "compression" nor the details of SAME. The comment of each function
// describes the choice made here and the reason. Nothing reads a file or a clock, and nothing is
// random. Start reading at [Of].
package similarity

import (
	"errors"
	"fmt"
	"math"
)

// ErrData reports that series cannot be compared, ErrSettings that a setting is out of range.
var (
	ErrData     = errors.New("cannot be compared")
	ErrSettings = errors.New("invalid setting")
)

// Verdict is the recommendation of a method.
type Verdict string

// The verdicts. NotApplicable is the verdict for fewer than two executions.
const (
	Similar       Verdict = "similar"
	Dissimilar    Verdict = "dissimilar"
	NotApplicable Verdict = "n/a"
)

func verdict(dissimilar bool) Verdict {
	if dissimilar {
		return Dissimilar
	}
	return Similar
}

// Result is the similarity of the executions of a key.
type Result struct {
	Verdict  Verdict    // of the heuristic
	Averages Measures   // over all pairs; zeros for fewer than two executions
	Above    int        // number of Averages above the threshold
	Pairs    []Measures // (0,1), (0,2), ..., (1,2), ...: see Pair
	ByRun    []Measures // of each execution, averaged over all others
	Same     *Same      // nil for fewer than two executions

	// Outliers are the indexes of the executions outside the cluster of SAME that has more than
	// half of them; empty if there is no such cluster. Rest is the heuristic's verdict for that
	// cluster alone, NotApplicable without outliers.
	Outliers []int
	Rest     Verdict

	Lengths []int // number of values of each execution
	Used    int   // number of values compared in the shortest pair
}

// Of compares the executions of a key. Each pair is compared over the length of the shorter series.
// The error wraps ErrData or ErrSettings.
func Of(runs [][]float64, s Options) (*Result, error) {
	s = s.filled()
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := checkRuns(runs); err != nil {
		return nil, err
	}
	r := &Result{Verdict: NotApplicable, Rest: NotApplicable}
	for i, x := range runs {
		r.Lengths = append(r.Lengths, len(x))
		if i == 0 || len(x) < r.Used {
			r.Used = len(x)
		}
	}
	if len(runs) < 2 {
		return r, nil
	}
	scale := scaleOf(runs...)
	made := make([]*run, len(runs))
	for i, x := range runs {
		made[i] = newRun(x, scale, s)
	}
	r.comparePairs(runs, made, scale, s)
	r.Above = r.Averages.Above(s.Threshold)
	r.Verdict = verdict(r.Averages.Dissimilar(s.Threshold))
	r.Same = s.same(made, widthOf(made))
	r.outliers(s)
	return r, nil
}

// comparePairs fills in Pairs, Averages and ByRun.
func (r *Result) comparePairs(runs [][]float64, made []*run, scale float64, s Options) {
	n := len(made)
	r.Pairs = make([]Measures, 0, n*(n-1)/2)
	r.ByRun = make([]Measures, n)
	for i := range made {
		for j := i + 1; j < n; j++ {
			a, b := made[i], made[j]
			if length := min(len(a.values), len(b.values)); len(a.values) > length {
				a = newRun(runs[i][:length], scale, s)
			} else if len(b.values) > length {
				b = newRun(runs[j][:length], scale, s)
			}
			m := measures(a, b)
			r.Pairs = append(r.Pairs, m)
			for k, v := range m {
				r.ByRun[i][k] += v / float64(n-1)
				r.ByRun[j][k] += v / float64(n-1)
			}
		}
	}
	r.Averages = mean(r.Pairs)
}

func mean(all []Measures) Measures {
	var sum Measures
	for _, m := range all {
		for k, v := range m {
			sum[k] += v
		}
	}
	for k := range sum {
		sum[k] /= float64(len(all))
	}
	return sum
}

// Pair returns the measures of two different executions, by index.
func (r *Result) Pair(i, j int) Measures {
	i, j = min(i, j), max(i, j)
	return r.Pairs[i*(2*len(r.Lengths)-i-1)/2+j-i-1]
}

// outliers reports the executions outside the majority cluster.
func (r *Result) outliers(s Options) {
	sizes := make([]int, r.Same.Count)
	for _, c := range r.Same.Clusters {
		sizes[c]++
	}
	largest := 0
	for c, n := range sizes {
		if n > sizes[largest] {
			largest = c
		}
	}
	if r.Same.Count < 2 || 2*sizes[largest] <= len(r.Lengths) {
		return
	}
	var inside []int
	for i, c := range r.Same.Clusters {
		if c == largest {
			inside = append(inside, i)
		} else {
			r.Outliers = append(r.Outliers, i)
		}
	}
	var rest []Measures
	for a, i := range inside {
		for _, j := range inside[a+1:] {
			rest = append(rest, r.Pair(i, j))
		}
	}
	r.Rest = verdict(mean(rest).Dissimilar(s.Threshold)) // most of three or more are two or more
}

// widthOf is the range of the values of all executions.
func widthOf(runs []*run) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, r := range runs {
		low, high = min(low, r.sorted[0]), max(high, r.sorted[len(r.sorted)-1])
	}
	return high - low
}

func (s Options) check() error {
	switch {
	case !(s.Threshold > 0 && s.Threshold < 1):
		return fmt.Errorf("%w: threshold %v must be above 0 and below 1", ErrSettings, s.Threshold)
	case s.Frames < 1 || s.Frames > 1<<20:
		return fmt.Errorf("%w: number of frames %d must be 1 to %d", ErrSettings, s.Frames, 1<<20)
	case s.Alphabet < 2 || s.Alphabet > 26:
		return fmt.Errorf("%w: alphabet size %d must be 2 to 26", ErrSettings, s.Alphabet)
	case !(s.Merge > 0 && s.Merge < math.Inf(1)):
		return fmt.Errorf("%w: merge distance %v must be above 0", ErrSettings, s.Merge)
	}
	return nil
}

func checkRuns(runs [][]float64) error {
	for i, x := range runs {
		if len(x) == 0 {
			return fmt.Errorf("series %d has no values: %w", i+1, ErrData)
		}
		for k, v := range x {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("series %d has %v at iteration %d: %w", i+1, v, k, ErrData)
			}
		}
	}
	return nil
}
