package stability

import (
	"math"

	"krund/internal/analysis/warmup"
)

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

func (t *Total) add(k *KeyDocument, o *CriterionDocument, p *ParametersDocument) {
	t.Keys++
	t.Time += o.Time
	t.FullTime += float64(k.FullTime)
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
	for _, w := range o.Warmup {
		t.Warmups++
		if !w.Reached {
			t.Unstable++
		}
		if w.Used {
			steps = append(steps, w.Steps)
		}
	}
	overhead := p.Overhead
	if overhead < 0 {
		overhead = o.Criterion.Overhead()
	}
	if p.Full > 0 {
		t.Nominal.Add(steps, p.Measure, overhead, len(k.Executions), p.WarmupMax, p.Full)
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
