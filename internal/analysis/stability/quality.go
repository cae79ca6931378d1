package stability

import (
	"math"
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/bootstrap"
	"krund/internal/analysis/warmup"
)

// Quality compares the result of the shortened experiment with that of the full one.
type Quality struct {
	// seconds, of the shortened experiment: the mean of its steps' means
	Mean   warmup.Real `json:"mean_s"`
	Ratio  warmup.Real `json:"ratio"`     // shortened/full; NaN when the full mean is 0
	Low    warmup.Real `json:"ratio_low"` // of the ratio's interval; NaN where there is none
	High   warmup.Real `json:"ratio_high"`
	Change warmup.Real `json:"change_rate"` // |Ratio-1|
	Same   bool        `json:"same"`        // A/A test: the interval contains 1
}

// rounding is the tolerance of the ratio of equal constants.
const rounding = 1e-12

// side is one side of the A/A test: calls by execution and step.
type side struct {
	p    *Parameters
	seed uint64

	values, counts []float64
	place          [][2]int // execution and step of each value
	tree           *bootstrap.Hierarchy
	means          []float64
}

func newSide(p *Parameters, seed uint64) *side { return &side{p: p, seed: seed} }

// add adds the steps from up to to of an execution.
func (d *side) add(execution int, s *Steps, from, to int) {
	for k := from; k < to; k++ {
		for i := s.Start(k); i < s.Start(k+1); i++ {
			d.values = append(d.values, s.series[i])
			d.counts = append(d.counts, s.calls(i))
			d.place = append(d.place, [2]int{execution, k})
		}
	}
}

// finish removes outliers (except in profile Paper, whose text does not mention it here), draws
// calls if there are too many, and resamples them hierarchically.
func (d *side) finish(tables bootstrap.Tables, seed uint64) {
	low, high := 0.0, math.Inf(1)
	if d.p.Profile != Paper {
		_, limits := NewHistogram(d.values, d.counts).Inliers()
		low, high = limits[0], limits[1]
	}
	times := d.frequencies(low, high)
	var tree [][][]float64
	last := [2]int{-1, -1}
	for i, n := range times {
		if n == 0 {
			continue
		}
		if d.place[i][0] != last[0] {
			tree = append(tree, nil)
		}
		e := &tree[len(tree)-1]
		if d.place[i] != last {
			*e = append(*e, nil)
		}
		last = d.place[i]
		for range n {
			(*e)[len(*e)-1] = append((*e)[len(*e)-1], d.values[i])
		}
	}
	h, err := bootstrap.NewHierarchy(tree, d.p.Index, tables)
	if err != nil {
		return // no values: there is no mean
	}
	d.tree, d.means = h, make([]float64, d.p.QualityResamples)
	h.Fill(d.means, seed, 1)
}

// frequencies returns how often each value is in the sample: all calls, or as many as are drawn.
func (d *side) frequencies(low, high float64) []int {
	times := make([]int, len(d.values))
	var kept Histogram // not sorted by value
	var index []int
	for i, v := range d.values {
		if v >= low && v <= high {
			index = append(index, i)
			kept.Values, kept.Counts = append(kept.Values, v), append(kept.Counts, d.counts[i])
		}
	}
	kept.ends = make([]float64, len(index))
	kept.sum()
	if kept.Total() <= float64(d.p.QualityDraws) {
		for k, i := range index {
			times[i] = int(kept.Counts[k])
		}
		return times
	}
	r := random(d.seed)
	for range d.p.QualityDraws {
		times[index[kept.pick(r)]]++
	}
	return times
}

func (d *side) metric() float64 {
	if d.tree == nil {
		return math.NaN()
	}
	return d.tree.Metric
}

func quality(full, short *side, p *Parameters) Quality {
	none := warmup.Real(math.NaN())
	q := Quality{Mean: warmup.Real(short.metric()), Ratio: none, Low: none, High: none, Change: none}
	if !(full.metric() > 0) || short.tree == nil {
		q.Same = full.metric() == 0 && q.Mean == 0
		return q
	}
	ratio, low, high := Ratio(full.means, short.means, p.Confidence, p.Index)
	if p.Index == bootstrap.Uniform {
		ratio = short.metric() / full.metric()
	}
	q.Ratio, q.Low, q.High = warmup.Real(ratio), warmup.Real(low), warmup.Real(high)
	q.Change = warmup.Real(math.Abs(ratio - 1))
	q.Same = low <= 1+rounding && 1-rounding <= high
	return q
}

// Ratio is the median of b/a with its interval, from independent resampled means, which it does not
// change. With PA, means of equal rank are divided, a mistake of pa 0.1 that makes the interval
// several times too narrow. All results are NaN when an a is 0.
func Ratio(a, b []float64, confidence float64, index bootstrap.Index) (median, low, high float64) {
	a, b = slices.Clone(a), slices.Clone(b)
	if index == bootstrap.PA {
		slices.Sort(a)
		slices.Sort(b)
	}
	ratios := b[:min(len(a), len(b))]
	for i := range ratios {
		if a[i] == 0 {
			return math.NaN(), math.NaN(), math.NaN()
		}
		ratios[i] /= a[i]
	}
	low, high = bootstrap.Quantiles(ratios, confidence)
	return arith.Median(ratios), low, high
}

// Total aggregates keys for one criterion, as Tables 2 and 3 of the paper do.
type Total struct {
	Criterion Criterion   `json:"criterion"`
	Keys      int         `json:"keys"`
	Same      int         `json:"same"`
	ChangeOf  int         `json:"changes"` // keys with a change rate
	Change    warmup.Real `json:"change_rate_mean"`
	ChangeSD  warmup.Real `json:"change_rate_sd"`
	Below     [3]int      `json:"changes_below_1_2_3_percent"`
	Time      float64     `json:"time_s"`
	FullTime  float64     `json:"full_time_s"`
	Saved     warmup.Real `json:"saved"`
	// Nominal is the time by the paper's accounting, in which each step takes a second; 0 if the
	// full experiment measures all steps, whatever their number.
	Nominal Saving `json:"nominal"`
	// All executions considered, and those whose warm-up was not stable in time; keys whose
	// executions were not enough (section 5.4.1).
	Warmups   int `json:"warmups"`
	Unstable  int `json:"warmups_not_stable"`
	NotEnough int `json:"keys_not_enough"`

	sum, squares float64
}

// TotalsOf aggregates the keys of documents that were made with the same criteria and parameters.
func TotalsOf(criteria []Criterion, docs ...*Document) []Total {
	totals := make([]Total, len(criteria))
	for i, c := range criteria {
		totals[i].Criterion = c
	}
	for _, d := range docs {
		for i := range d.Keys {
			for c := range d.Keys[i].Criteria { // none if the key could not be judged
				totals[c].add(&d.Keys[i], &d.Keys[i].Criteria[c], &d.Parameters)
			}
		}
	}
	for i := range totals {
		totals[i].finish()
	}
	return totals
}

func (t *Total) add(k *KeyResult, o *CriterionResult, p *Parameters) {
	t.Keys++
	t.Time += o.Seconds
	t.FullTime += float64(k.FullSeconds)
	if o.Same {
		t.Same++
	}
	if !o.Reached {
		t.NotEnough++
	}
	if v := float64(o.Change); !math.IsNaN(v) {
		t.ChangeOf++
		t.sum += v
		t.squares += v * v
		for i, limit := range []float64{0.01, 0.02, 0.03} {
			if v < limit {
				t.Below[i]++
			}
		}
	}
	var steps []int
	for _, w := range o.Warmups {
		t.Warmups++
		if !w.Reached {
			t.Unstable++
		}
		if w.Used {
			steps = append(steps, w.Steps)
		}
	}
	if p.Full > 0 {
		t.Nominal.Add(steps, p.Measure, p.overhead(o.Criterion), len(k.Executions), p.WarmupMax, p.Full)
	}
}

func (t *Total) finish() {
	n := float64(t.ChangeOf)
	t.Change = warmup.Real(t.sum / n)
	t.ChangeSD = warmup.Real(math.Sqrt(max(t.squares-t.sum*t.sum/n, 0) / (n - 1)))
	t.Saved = warmup.Real(1 - t.Time/t.FullTime)
}

// Saving is the time that dynamic reconfiguration saves in a suite with steps of one second, by the
// paper's accounting (RQ 2): each executed warm-up step takes 1+overhead seconds, each measured one
// a second.
type Saving struct {
	Total float64 `json:"total_s"` // of the shortened experiment
	Full  float64 `json:"full_s"`
}

// Part is 1 - Total/Full; NaN when nothing was added.
func (s Saving) Part() float64 { return 1 - s.Total/s.Full }

// Add adds a benchmark that ran one execution per element of warmups, the number of its warm-up
// steps, with measure steps in each; the full experiment has executions with warmup and measureFull
// steps.
func (s *Saving) Add(warmups []int, measure int, overhead float64, executions, warmup, measureFull int) {
	for _, n := range warmups {
		s.Total += (1+overhead)*float64(n) + float64(measure)
	}
	s.Full += float64(executions * (warmup + measureFull))
}
