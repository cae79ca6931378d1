package main

import (
	"fmt"
	"math"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/stability"
	"krund/internal/analysis/warmup"
)

// Format of the JSON of stability. See docs/output.md.
const stabilityFormat = 1

type (
	stabilityJSON struct {
		Format     int                 `json:"format"`
		Source     sourceJSON          `json:"source"`
		Parameters stabilityParameters `json:"parameters"`
		Keys       []stabilityKeyJSON  `json:"keys"`
		Totals     []stabilityTotal    `json:"totals"`
		Problems   []string            `json:"problems"`
	}
	stabilityParameters struct {
		Profile        stability.Profile `json:"profile"`
		Window         int               `json:"window"`
		Step           string            `json:"step"`
		Batch          float64           `json:"batch_s"`
		WarmupMin      int               `json:"warmup_min"`
		WarmupMax      int               `json:"warmup_max"`
		Measure        int               `json:"measure"`
		ExecutionsMin  int               `json:"executions_min"`
		ExecutionsMax  int               `json:"executions_max"`
		Full           int               `json:"full"`
		Draws          int               `json:"draws"` // 0: all calls
		Resamples      int               `json:"resamples"`
		RatioResamples int               `json:"ratio_resamples"`
		Confidence     float64           `json:"confidence"`
		Bootstrap      string            `json:"bootstrap"`
		Seed           uint64            `json:"seed,string"`
	}
	stabilityKeyJSON struct {
		names      []string
		Key        string                   `json:"key"`
		Problem    string                   `json:"problem"`
		LeftOut    []leftOut                `json:"left_out"`
		Step       string                   `json:"step"`
		Executions []int                    `json:"executions"` // numbers of those considered
		FullTime   warmup.Real              `json:"full_time_s"`
		FullMean   warmup.Real              `json:"full_mean_s"`
		Criteria   []stabilityCriterionJSON `json:"criteria"`
	}
	stabilityCriterionJSON struct {
		Criterion stability.Criterion   `json:"criterion"`
		Threshold float64               `json:"threshold"`
		Warmup    []stabilityWarmupJSON `json:"warmup"`
		Values    []warmup.Real         `json:"values"`
		Reached   bool                  `json:"reached"`
		Used      int                   `json:"executions_used"`
		Time      float64               `json:"time_s"`
		Saved     warmup.Real           `json:"saved"`
		Mean      warmup.Real           `json:"mean_s"`
		Ratio     warmup.Real           `json:"ratio"`
		Low       warmup.Real           `json:"ratio_low"`
		High      warmup.Real           `json:"ratio_high"`
		Change    warmup.Real           `json:"change_rate"`
		Same      bool                  `json:"same"`
	}
	stabilityWarmupJSON struct {
		Execution int           `json:"execution"`
		Used      bool          `json:"used"`
		Reached   bool          `json:"reached"`
		Steps     int           `json:"steps"`
		From      int           `json:"first_measured"`
		To        int           `json:"last_measured"`
		Time      float64       `json:"warmup_time_s"`
		Values    []warmup.Real `json:"values"`
	}
	stabilityTotal struct {
		Criterion stability.Criterion `json:"criterion"`
		Keys      int                 `json:"keys"`
		Same      int                 `json:"same"`
		ChangeOf  int                 `json:"changes"` // keys with a change rate
		Change    warmup.Real         `json:"change_rate_mean"`
		ChangeSD  warmup.Real         `json:"change_rate_sd"`
		Time      float64             `json:"time_s"`
		FullTime  float64             `json:"full_time_s"`
		Saved     warmup.Real         `json:"saved"`
	}
)

func newStability(d *dataset.Dataset, o stabilityOptions) *stabilityJSON {
	p := o.p
	if p.Exact {
		p.Draws = 0
	}
	return &stabilityJSON{
		Format: stabilityFormat, Source: sourceOf(d), Keys: make([]stabilityKeyJSON, len(d.Pairs)), Totals: []stabilityTotal{}, Problems: append([]string{}, d.Problems...),
		Parameters: stabilityParameters{
			Profile: p.Profile, Window: p.Window, Step: p.Step.String(), Batch: p.Batch, WarmupMin: p.WarmupMin, WarmupMax: p.WarmupMax, Measure: p.Measure,
			ExecutionsMin: p.ExecutionsMin, ExecutionsMax: p.ExecutionsMax, Full: p.Full, Draws: p.Draws, Resamples: p.Resamples,
			RatioResamples: p.QualityResamples, Confidence: p.Confidence, Bootstrap: p.Index.String(), Seed: p.Seed,
		},
	}
}

func newStabilityKey(s *keySeries) stabilityKeyJSON {
	none := warmup.Real(math.NaN())
	return stabilityKeyJSON{names: s.names, Key: s.key, LeftOut: s.out, Executions: []int{}, FullTime: none, FullMean: none, Criteria: []stabilityCriterionJSON{}}
}

func (k *stabilityKeyJSON) fill(s *keySeries, r *stability.Result) {
	k.Step, k.Executions = r.Step.String(), s.numberOf(r.Executions)
	k.FullTime, k.FullMean = warmup.Real(r.FullSeconds), warmup.Real(r.FullMean)
	for i, n := range s.numberOf(r.Short) {
		k.LeftOut = append(k.LeftOut, leftOut{n, fmt.Sprintf("it is too short: %s of the %d needed", plural(r.ShortSteps[i], "step"), r.Least)})
	}
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		c := stabilityCriterionJSON{
			Criterion: o.Criterion, Threshold: o.Rule.Threshold, Values: reals(o.Values), Reached: o.Reached, Used: o.Used, Time: o.Seconds,
			Saved: warmup.Real(o.Saved), Mean: warmup.Real(o.Quality.Mean), Ratio: warmup.Real(o.Quality.Ratio), Low: warmup.Real(o.Quality.Low),
			High: warmup.Real(o.Quality.High), Change: warmup.Real(o.Quality.Change), Same: o.Quality.Same,
		}
		for e, w := range o.Warmups {
			c.Warmup = append(c.Warmup, stabilityWarmupJSON{
				Execution: k.Executions[e], Used: e < o.Used, Reached: w.Reached, Steps: w.Steps, From: w.From, To: w.To - 1, Time: w.Seconds, Values: reals(w.Values),
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

// total sums up the keys for each criterion, as the paper's Tables 2 and 3 do.
func (d *stabilityJSON) total(criteria []stability.Criterion) {
	for i, c := range criteria {
		t := stabilityTotal{Criterion: c}
		sum, squares := 0.0, 0.0
		for k := range d.Keys {
			if i >= len(d.Keys[k].Criteria) {
				continue
			}
			o := &d.Keys[k].Criteria[i]
			t.Keys++
			t.Time += o.Time
			t.FullTime += float64(d.Keys[k].FullTime)
			if o.Same {
				t.Same++
			}
			if v := float64(o.Change); !math.IsNaN(v) {
				t.ChangeOf++
				sum += v
				squares += v * v
			}
		}
		n := float64(t.ChangeOf)
		t.Change = warmup.Real(sum / n)
		t.ChangeSD = warmup.Real(math.Sqrt(max(squares-sum*sum/n, 0) / (n - 1)))
		t.Saved = warmup.Real(1 - t.Time/t.FullTime)
		d.Totals = append(d.Totals, t)
	}
}
