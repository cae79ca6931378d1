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
// The paper specifies neither "compression" nor the details of SAME. The comment of each function
// describes the choice made here and the reason. Nothing reads a file or a clock, and nothing is
// random. Start reading at [Of].
package similarity

import (
	"errors"
	"fmt"
	"math"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
)

// ErrData reports that series cannot be compared, ErrSettings that a setting is out of range.
var (
	ErrData     = errors.New("cannot be compared")
	ErrSettings = errors.New("invalid setting")
)

// Format is the version of Document. docs/output.md describes its fields.
const Format = 1

// Document compares the executions of every key of a dataset.
type Document struct {
	Format int          `json:"format"`
	Source dataset.Info `json:"source"`
	Column string       `json:"column"`
	Options
	Linkage  string      `json:"linkage"` // "average"
	Keys     []KeyResult `json:"keys"`
	Problems []string    `json:"problems"`
}

// KeyResult compares the executions of one key.
type KeyResult struct {
	Name       key.Key          `json:"-"`
	Key        string           `json:"key"`
	Executions []int            `json:"executions"` // the executions compared
	LeftOut    []warmup.LeftOut `json:"left_out"`
	Result
}

// CompareKeys compares the executions of every key of d on the given number of goroutines. The
// errors are those of Of.
func CompareKeys(d *dataset.Dataset, column string, o Options, workers int) (*Document, error) {
	doc := &Document{Format: Format, Source: d.Info, Column: column, Options: o.filled(),
		Linkage: "average", Problems: append([]string{}, d.Problems...)}
	var err error
	doc.Keys, err = warmup.EachKey(d, column, workers,
		func(_ *dataset.Pair, s warmup.KeySeries) (KeyResult, error) {
			k := KeyResult{Name: s.Key, Key: s.Key.String(), Executions: append([]int{}, s.Numbers...),
				LeftOut: s.LeftOut}
			r, err := Of(s.Series, s.Numbers, o)
			if err == nil {
				k.Result = *r
			}
			return k, err
		}, nil)
	return doc, err
}

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

// Result is the similarity of the executions of a key, which are identified by their numbers, from
// 1.
type Result struct {
	Lengths  []int     `json:"lengths"`  // number of values of each execution
	Used     int       `json:"compared"` // number of values compared in the shortest pair
	Verdict  Verdict   `json:"verdict"`  // of the heuristic
	Averages *Measures `json:"averages"` // over all pairs; nil for fewer than two executions
	Above    int       `json:"above"`    // number of Averages above the threshold
	// Outliers are the executions outside the cluster of SAME that has more than half of them;
	// empty if there is no such cluster. Rest is the heuristic's verdict for that cluster alone,
	// NotApplicable without outliers.
	Outliers []int          `json:"outliers"`
	Rest     Verdict        `json:"verdict_of_rest"`
	Same     *Same          `json:"same"` // nil for fewer than two executions
	ByRun    []RunMeasures  `json:"by_execution"`
	Pairs    []PairMeasures `json:"pairs"` // (1, 2), (1, 3), ..., (2, 3), ...
}

// RunMeasures are the mean dissimilarities of an execution to all others.
type RunMeasures struct {
	Execution int `json:"execution"`
	Measures
}

// PairMeasures are the dissimilarities of two executions.
type PairMeasures struct {
	A int `json:"a"`
	B int `json:"b"`
	Measures
}

// Of compares the executions of a key. Each pair is compared over the length of the shorter series.
// numbers are those of the executions; nil: 1, 2, ... The error wraps ErrData or ErrSettings.
func Of(runs [][]float64, numbers []int, s Options) (*Result, error) {
	s = s.filled()
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := checkRuns(runs); err != nil {
		return nil, err
	}
	r := &Result{Verdict: NotApplicable, Rest: NotApplicable, Lengths: []int{}, Outliers: []int{},
		ByRun: []RunMeasures{}, Pairs: []PairMeasures{}}
	for i, x := range runs {
		r.Lengths = append(r.Lengths, len(x))
		if i == 0 || len(x) < r.Used {
			r.Used = len(x)
		}
		if len(numbers) < len(runs) {
			numbers = append(numbers, i+1)
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
	r.comparePairs(runs, made, numbers, scale, s)
	r.Above = r.Averages.Above(s.Threshold)
	r.Verdict = verdict(r.Averages.Dissimilar(s.Threshold))
	r.Same = s.same(made, widthOf(made))
	r.outliers(numbers, s)
	return r, nil
}

// comparePairs fills in Pairs, Averages and ByRun.
func (r *Result) comparePairs(runs [][]float64, made []*run, numbers []int, scale float64, s Options) {
	var all []Measures
	for i := range made {
		r.ByRun = append(r.ByRun, RunMeasures{Execution: numbers[i]})
	}
	for i := range made {
		for j := i + 1; j < len(made); j++ {
			a, b := made[i], made[j]
			if length := min(len(a.values), len(b.values)); len(a.values) > length {
				a = newRun(runs[i][:length], scale, s)
			} else if len(b.values) > length {
				b = newRun(runs[j][:length], scale, s)
			}
			m, others := measures(a, b), float64(len(made)-1)
			all = append(all, m)
			r.Pairs = append(r.Pairs, PairMeasures{numbers[i], numbers[j], m})
			r.ByRun[i].Measures = r.ByRun[i].plus(m, others)
			r.ByRun[j].Measures = r.ByRun[j].plus(m, others)
		}
	}
	r.Averages = new(mean(all))
}

// outliers reports the executions outside the majority cluster.
func (r *Result) outliers(numbers []int, s Options) {
	sizes := make([]int, r.Same.Clusters+1)
	largest := 0
	for _, c := range r.Same.Cluster {
		if sizes[c]++; sizes[c] > sizes[largest] {
			largest = c
		}
	}
	if r.Same.Clusters < 2 || 2*sizes[largest] <= len(numbers) {
		return
	}
	inside := map[int]bool{}
	for i, c := range r.Same.Cluster {
		if c == largest {
			inside[numbers[i]] = true
		} else {
			r.Outliers = append(r.Outliers, numbers[i])
		}
	}
	var rest []Measures
	for _, p := range r.Pairs {
		if inside[p.A] && inside[p.B] {
			rest = append(rest, p.Measures)
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
