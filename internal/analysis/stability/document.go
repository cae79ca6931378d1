package stability

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/parallel"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
)

// Format is the version of Document. docs/output.md describes its fields.
const Format = 1

// Document reports for every key of a dataset where it could have stopped.
type Document struct {
	Format     int                `json:"format"`
	Source     dataset.Info       `json:"source"`
	Parameters ParametersDocument `json:"parameters"`
	Keys       []KeyDocument      `json:"keys"`
	Totals     []Total            `json:"totals"` // one for each criterion
	Problems   []string           `json:"problems"`
}

// ParametersDocument holds the parameters of a document.
type ParametersDocument struct {
	Profile        Profile `json:"profile"`
	Window         int     `json:"window"`
	Step           string  `json:"step"`
	Batch          float64 `json:"batch_s"`
	WarmupMin      int     `json:"warmup_min"`
	WarmupMax      int     `json:"warmup_max"`
	Measure        int     `json:"measure"`
	ExecutionsMin  int     `json:"executions_min"`
	ExecutionsMax  int     `json:"executions_max"`
	Full           int     `json:"full"`
	Draws          int     `json:"draws"` // 0: all calls
	Resamples      int     `json:"resamples"`
	RatioResamples int     `json:"ratio_resamples"`
	Confidence     float64 `json:"confidence"`
	Overhead       float64 `json:"overhead"` // negative: as measured in the paper
	Bootstrap      string  `json:"bootstrap"`
	Seed           uint64  `json:"seed,string"`
}

// KeyDocument is the result of a key. Executions are identified by their numbers, from 1.
type KeyDocument struct {
	Name       key.Key             `json:"-"`
	Key        string              `json:"key"`
	Problem    string              `json:"problem"` // why it could not be evaluated; "" if it was
	LeftOut    []warmup.LeftOut    `json:"left_out"`
	Step       string              `json:"step"`
	Executions []int               `json:"executions"` // the executions considered
	FullTime   warmup.Real         `json:"full_time_s"`
	FullMean   warmup.Real         `json:"full_mean_s"`
	Criteria   []CriterionDocument `json:"criteria"`
}

// CriterionDocument is the stopping point of a criterion, and the quality of the result there.
type CriterionDocument struct {
	Criterion Criterion        `json:"criterion"`
	Threshold float64          `json:"threshold"`
	Warmup    []WarmupDocument `json:"warmup"`
	Values    []warmup.Real    `json:"values"`
	Reached   bool             `json:"reached"`
	Used      int              `json:"executions_used"`
	Time      float64          `json:"time_s"`
	Saved     warmup.Real      `json:"saved"`
	Mean      warmup.Real      `json:"mean_s"`
	Ratio     warmup.Real      `json:"ratio"`
	Low       warmup.Real      `json:"ratio_low"`
	High      warmup.Real      `json:"ratio_high"`
	Change    warmup.Real      `json:"change_rate"`
	Same      bool             `json:"same"`
}

// WarmupDocument is the warm-up of one execution.
type WarmupDocument struct {
	Execution int           `json:"execution"`
	Used      bool          `json:"used"`
	Reached   bool          `json:"reached"`
	Steps     int           `json:"steps"`
	From      int           `json:"first_measured"`
	To        int           `json:"last_measured"`
	Time      float64       `json:"warmup_time_s"`
	Values    []warmup.Real `json:"values"`
}

// JudgeKeys applies the criteria to every key of d on the given number of goroutines. A key that is
// too short has a Problem. done, which may be nil, is called with the number of executions
// evaluated so far and the total; calls do not overlap. The errors are those of Of.
func JudgeKeys(d *dataset.Dataset, criteria []Criterion, p Parameters, workers int,
	done func(n, of int)) (*Document, error) {
	doc := newDocument(d, p)
	all, judged := 0, 0
	for i := range d.Pairs {
		all += len(d.Pairs[i].Executions)
	}
	var lock sync.Mutex
	failed := make([]error, len(d.Pairs))
	parallel.Each(len(d.Pairs), workers, func(i int) {
		doc.Keys[i], failed[i] = judgeKey(&d.Pairs[i], criteria, p)
		lock.Lock()
		defer lock.Unlock()
		judged += len(d.Pairs[i].Executions)
		if done != nil {
			done(judged, all)
		}
	})
	doc.Totals = TotalsOf(criteria, doc)
	return doc, errors.Join(failed...)
}

func judgeKey(pair *dataset.Pair, criteria []Criterion, p Parameters) (KeyDocument, error) {
	series := warmup.SeriesOf(pair, dataset.Wall)
	none := warmup.Real(math.NaN())
	k := KeyDocument{
		Name: series.Key, Key: series.Key.String(), LeftOut: series.LeftOut, Executions: []int{},
		FullTime: none, FullMean: none, Criteria: []CriterionDocument{},
	}
	p.Numbers, p.Calls = series.Numbers, callsOfAll(pair, series.Numbers)
	r, err := Of(series.Series, criteria, p)
	switch {
	case err == nil:
		k.fill(&series, r, pair)
	case !errors.Is(err, ErrShort) && !errors.Is(err, ErrData):
		return k, fmt.Errorf("%s: %w", series.Key, err)
	case len(series.Series) == 0:
		k.Problem = "there is no usable execution"
	default:
		k.Problem = err.Error()
		if slices.ContainsFunc(pair.Executions, func(e dataset.Execution) bool { return e.Stopped }) {
			k.Problem = "its executions" + whyStopped
		}
	}
	return k, nil
}

// whyStopped explains why executions that the watcher ended are too short.
const whyStopped = " were ended by [stop.iterations] after warm-up and measurement, so they cannot show " +
	"what other rules, or the full experiment, would have found; krunctl show has the decisions. To " +
	"compare rules, record whole executions with dry_run = true"

// callsOfAll returns the calls of the executions with these numbers; nil unless all are known.
func callsOfAll(pair *dataset.Pair, numbers []int) []*dataset.Calls {
	known := map[int]*dataset.Calls{}
	for i := range pair.Executions {
		if e := &pair.Executions[i]; e.Calls != nil {
			known[e.Number] = e.Calls
		}
	}
	var list []*dataset.Calls
	for _, n := range numbers {
		if known[n] == nil {
			return nil
		}
		list = append(list, known[n])
	}
	return list
}

func newDocument(d *dataset.Dataset, p Parameters) *Document {
	if p.Exact {
		p.Draws = 0
	}
	return &Document{
		Format: Format, Source: d.Info, Keys: make([]KeyDocument, len(d.Pairs)), Totals: []Total{},
		Problems: append([]string{}, d.Problems...),
		Parameters: ParametersDocument{
			Profile: p.Profile, Window: p.Window, Step: p.Step.String(), Batch: p.Batch,
			WarmupMin: p.WarmupMin, WarmupMax: p.WarmupMax, Measure: p.Measure,
			ExecutionsMin: p.ExecutionsMin, ExecutionsMax: p.ExecutionsMax, Full: p.Full, Draws: p.Draws,
			Resamples: p.Resamples, RatioResamples: p.QualityResamples, Confidence: p.Confidence,
			Overhead: p.Overhead, Bootstrap: p.Index.String(), Seed: p.Seed,
		},
	}
}

func (k *KeyDocument) fill(s *warmup.KeySeries, r *Result, pair *dataset.Pair) {
	k.Step, k.Executions = r.Step.String(), s.NumbersOf(r.Executions)
	k.FullTime, k.FullMean = warmup.Real(r.FullSeconds), warmup.Real(r.FullMean)
	for i, n := range s.NumbersOf(r.Short) {
		steps := "1 step"
		if r.ShortSteps[i] != 1 {
			steps = fmt.Sprintf("%d steps", r.ShortSteps[i])
		}
		problem := fmt.Sprintf("it is too short: %s of the %d needed", steps, r.Least)
		if slices.ContainsFunc(pair.Executions, func(e dataset.Execution) bool {
			return e.Number == n && e.Stopped
		}) {
			problem += "; [stop.iterations] ended it"
		}
		k.LeftOut = append(k.LeftOut, warmup.LeftOut{Execution: n, Problem: problem})
	}
	for i := range r.Criteria {
		o := &r.Criteria[i]
		q := &o.Quality
		c := CriterionDocument{
			Criterion: o.Criterion, Threshold: o.Rule.Threshold, Values: reals(o.Values),
			Reached: o.Reached, Used: o.Used, Time: o.Seconds, Saved: warmup.Real(o.Saved),
			Mean: warmup.Real(q.Mean), Ratio: warmup.Real(q.Ratio), Low: warmup.Real(q.Low),
			High: warmup.Real(q.High), Change: warmup.Real(q.Change), Same: q.Same,
		}
		for e, w := range o.Warmups {
			c.Warmup = append(c.Warmup, WarmupDocument{
				Execution: k.Executions[e], Used: e < o.Used, Reached: w.Reached, Steps: w.Steps,
				From: w.From, To: w.To - 1, Time: w.Seconds, Values: reals(w.Values),
			})
		}
		k.Criteria = append(k.Criteria, c)
	}
}

func reals(values []float64) []warmup.Real {
	all := make([]warmup.Real, len(values))
	for i, v := range values {
		all[i] = warmup.Real(v)
	}
	return all
}
