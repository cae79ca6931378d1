package warmup

// This file evaluates whether a shorter experiment would have led to the same conclusions (section
// 9.1 of the study, Figures 9 and 11).
//
// A pair's conclusion has three characteristics: the proportions of the classes, the steady
// iteration and the steady-state performance. Two conclusions agree in a characteristic when the
// intervals overlap: simultaneous confidence intervals of all class proportions (Sison and Glaz
// 1995), the 5% to 95% range of the steady iterations, and the confidence interval of the
// steady-state performance. If an execution of either has no steady state, the latter two are not
// compared and count neither as agreement nor as disagreement.
//
// Shorter experiments with fewer iterations are simulated by truncating every execution and
// analyzing it again, with windows in proportion; experiments with fewer executions by sampling the
// executions with replacement. Start reading at [HowLong].

import (
	"cmp"
	"slices"

	"krund/internal/analysis/bootstrap"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/parallel"
)

// ShorterOptions select the shorter experiments that HowLong evaluates.
type ShorterOptions struct {
	Percents  []float64 // of the iterations; nil: 5% to 95% in steps of 5
	Sizes     []int     // numbers of executions; nil: 2 to as many as there are
	Samples   int       // of executions per pair and size; 0: 1000, as in the study
	Resamples int       // bootstrapped means per pair; 0: 10,000
	Workers   int
}

// HowLong evaluates how many iterations and executions would have been sufficient for a dataset and
// the document that Analyze produced from it. The result depends on the data, the parameters and
// the options other than Workers.
func HowLong(d *dataset.Dataset, doc *Document, o ShorterOptions) (*Study, error) {
	o.fill(doc)
	p := doc.Parameters
	full := make([]Conclusion, len(doc.Pairs))
	errs := make([]error, len(doc.Pairs))
	parallel.Each(len(doc.Pairs), o.Workers, func(i int) {
		w := prepare(&d.Pairs[i], p)
		w.result.Executions = doc.Pairs[i].Executions
		full[i], errs[i] = w.conclusion(p, o.Resamples)
	})
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	study := &Study{
		Confidence: p.Confidence, Samples: o.Samples, Iterations: make([]Point, len(o.Percents)),
		Both:       []Shorter{},
		Executions: agreeByExecutions(full, full, o.Sizes, o.Samples, p.Confidence, p.Seed),
	}
	longest := longestExecution(doc)
	both := make([][]Shorter, len(o.Percents))
	fails := make([]error, len(o.Percents))
	parallel.Each(len(o.Percents), o.Workers, func(k int) {
		part := o.Percents[k] / 100
		study.Iterations[k], both[k], fails[k] = cutStudy(d, full, part, int(part*float64(longest)), p, o)
	})
	for _, list := range both {
		study.Both = append(study.Both, list...)
	}
	return study, cmp.Or(fails...)
}

// bothSamples is the number of samples drawn from truncated executions, and bothSizes the numbers
// of executions evaluated.
const bothSamples = 100

var bothSizes = []int{3, 5, 10, 15, 20, 30}

// cutStudy compares the conclusions from truncated executions with the full ones. n is the number
// of iterations to which the longest execution is truncated.
func cutStudy(d *dataset.Dataset, full []Conclusion, part float64, n int, p Parameters,
	o ShorterOptions) (Point, []Shorter, error) {
	short := make([]Conclusion, len(full))
	for i := range full {
		var err error
		if short[i], err = cutConclusion(&d.Pairs[i], part, p, o.Resamples); err != nil {
			return Point{}, nil, err
		}
	}
	var sizes []int
	for _, size := range bothSizes {
		if len(o.Sizes) > 0 && size <= slices.Max(o.Sizes) {
			sizes = append(sizes, size)
		}
	}
	var both []Shorter
	for _, e := range agreeByExecutions(full, short, sizes, min(o.Samples, bothSamples), p.Confidence,
		p.Seed) {
		both = append(both, Shorter{Iterations: n, Executions: e.N, Overall: e.Overall})
	}
	return agreeByIterations(full, short, n, p.Confidence), both, nil
}

func longestExecution(doc *Document) int {
	longest := 0
	for i := range doc.Pairs {
		for _, e := range doc.Pairs[i].Executions {
			longest = max(longest, e.Iterations)
		}
	}
	return longest
}

func (o *ShorterOptions) fill(doc *Document) {
	o.Samples = cmp.Or(o.Samples, 1000)
	o.Resamples = cmp.Or(o.Resamples, 10000)
	if o.Percents == nil {
		for p := 5.0; p < 100; p += 5 {
			o.Percents = append(o.Percents, p)
		}
	}
	if o.Sizes == nil {
		most := 0
		for i := range doc.Pairs {
			most = max(most, doc.Pairs[i].Status.Analysed)
		}
		for n := 2; n <= most; n++ {
			o.Sizes = append(o.Sizes, n)
		}
	}
}

// conclusion collects the characteristics that agree.go compares from the analyzed executions.
func (w *prepared) conclusion(p Parameters, resamples int) (Conclusion, error) {
	var c Conclusion
	o := p.bootstrap(1)
	o.Resamples = resamples
	means, err := bootstrap.Resample(w.steadyValues(), o)
	if err != nil && len(w.steadyValues()) > 0 {
		return c, err
	}
	for _, e := range w.result.Executions {
		if e.Status != Analysed {
			continue
		}
		c.Classes = append(c.Classes, e.Classification)
		if e.Steady == nil {
			c.Iterations = append(c.Iterations, 0)
			c.Means = append(c.Means, nil)
			continue
		}
		c.Iterations = append(c.Iterations, float64(e.Steady.Iteration))
		c.Means = append(c.Means, means[0])
		means = means[1:]
	}
	return c, nil
}

// cutConclusion analyzes a pair whose executions are truncated; windows given in iterations shrink
// in proportion.
func cutConclusion(pair *dataset.Pair, part float64, p Parameters, resamples int) (Conclusion,
	error) {
	p.Window, p.Steady = p.Window.shrink(part), p.Steady.shrink(part)
	short := cutPair(pair, part)
	w := prepare(&short, p)
	for i := range short.Executions {
		w.analyze(i, p)
	}
	return w.conclusion(p, resamples)
}

func (a Amount) shrink(part float64) Amount {
	if !a.Percent {
		a.Value = max(1, float64(int(a.Value*part)))
	}
	return a
}

// cutPair returns a truncated pair that shares the values of the original.
func cutPair(pair *dataset.Pair, part float64) dataset.Pair {
	short := dataset.Pair{Key: pair.Key, Executions: slices.Clone(pair.Executions)}
	for i := range short.Executions {
		e := &short.Executions[i]
		e.Columns = slices.Clone(e.Columns)
		for k := range e.Columns {
			c := &e.Columns[k]
			c.Reals, c.Ints, c.Counts = cutSlice(c.Reals, part), cutSlice(c.Ints, part),
				cutSlice(c.Counts, part)
		}
	}
	return short
}

func cutSlice[T any](values []T, part float64) []T {
	if values == nil {
		return nil
	}
	return values[:int(part*float64(len(values)))]
}
