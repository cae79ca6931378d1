package optimize

import (
	"strconv"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
)

// Format is the version of Document. docs/output.md describes its fields.
const Format = 1

// Document is the JSON form of Findings.
type Document struct {
	Format     int                  `json:"format"`
	Source     dataset.Info         `json:"source"`
	Unit       string               `json:"unit"`
	Metric     string               `json:"metric"`
	Published  bool                 `json:"published"`
	Threshold  float64              `json:"threshold"`
	Accuracy   float64              `json:"accuracy"`
	Level      float64              `json:"confidence_level"`
	Resamples  int                  `json:"resamples"`
	Seed       string               `json:"seed"`
	Levels     []string             `json:"levels"`
	Keys       []KeyDocument        `json:"keys"`
	Strategies []StrategyDocument   `json:"strategies"`
	Shared     *Shared              `json:"shared"`
	Changes    []ComparisonDocument `json:"changes"`
	Problems   []string             `json:"problems"`
}

// KeyDocument is the result of a benchmark.
type KeyDocument struct {
	Key         string         `json:"key"`
	Stable      bool           `json:"stable"`
	Minimal     ChoiceDocument `json:"minimal"`
	Full        ChoiceDocument `json:"full"`
	Saved       float64        `json:"saved_s"`
	SavedShare  warmup.Real    `json:"saved"`
	AverageDiff warmup.Real    `json:"average_diff"`
	LowDiff     warmup.Real    `json:"low_diff"`
	HighDiff    warmup.Real    `json:"high_diff"`
	Confidence  warmup.Real    `json:"confidence"`
	Skip        int            `json:"skip"`
	Warnings    []string       `json:"warnings"`
}

// ChoiceDocument is a configuration and its result.
type ChoiceDocument struct {
	Repetitions map[string]int `json:"repetitions"` // by level
	Time        float64        `json:"time_s"`
	Values      int            `json:"values"`
	Average     warmup.Real    `json:"average"`
	Low         warmup.Real    `json:"low"`
	High        warmup.Real    `json:"high"`
	CV          warmup.Real    `json:"cv"`
	RMAD        warmup.Real    `json:"rmad"`
	RCIW1       warmup.Real    `json:"rciw1"`
	RCIW2       warmup.Real    `json:"rciw2"`
	RCIW3       warmup.Real    `json:"rciw3"`
}

// StrategyDocument holds the savings of a strategy over all keys.
type StrategyDocument struct {
	Strategy string      `json:"strategy"`
	Full     float64     `json:"full_s"`
	Time     float64     `json:"time_s"`
	Saved    float64     `json:"saved_s"`
	Share    warmup.Real `json:"saved"`
	Within1  warmup.Real `json:"within_1_percent"`
	Within3  warmup.Real `json:"within_3_percent"`
	Within5  warmup.Real `json:"within_5_percent"`
	Within10 warmup.Real `json:"within_10_percent"`
	// Changes are absent unless versions were compared.
	Changes *RatesDocument `json:"changes,omitempty"`
}

// RatesDocument holds the changes that a strategy finds between versions. The rates are minimum,
// maximum and median over the pairs of versions.
type RatesDocument struct {
	Full    int        `json:"full_changes"`
	Reduced int        `json:"minimal_changes"`
	FPR     [3]float64 `json:"false_positive_rate"`
	FNR     [3]float64 `json:"false_negative_rate"`
}

// ComparisonDocument is the comparison of two successive versions.
type ComparisonDocument struct {
	Before         string    `json:"before"`
	After          string    `json:"after"`
	Keys           int       `json:"compared"`
	Full           int       `json:"full_changes"`
	Reduced        int       `json:"minimal_changes"`
	TruePositives  int       `json:"true_positives"`
	FalsePositives int       `json:"false_positives"`
	TrueNegatives  int       `json:"true_negatives"`
	FalseNegatives int       `json:"false_negatives"`
	FPR            float64   `json:"false_positive_rate"`
	FNR            float64   `json:"false_negative_rate"`
	Changed        []Changed `json:"changed"`
}

// Document returns the JSON form of the findings.
func (f *Findings) Document() *Document {
	o := f.options
	d := &Document{
		Format: Format, Source: f.Suite.Info, Unit: f.Suite.Unit, Metric: string(o.Metric),
		Published: o.Published, Threshold: o.Threshold, Accuracy: o.Accuracy, Level: o.Level,
		Resamples: o.Resamples, Seed: strconv.FormatUint(o.Seed, 10), Levels: levelNames(f.Suite),
		Keys: []KeyDocument{}, Shared: f.Shared, Problems: append([]string{}, f.Suite.Warnings...),
	}
	for i := range f.Results {
		d.Keys = append(d.Keys, f.key(i))
	}
	for _, t := range f.Strategies {
		v := t.Saving
		var changes *RatesDocument
		if r := t.Rates; r != nil {
			changes = &RatesDocument{r.Full, r.Reduced, [3]float64{r.FPRMin, r.FPRMax, r.FPRMedian},
				[3]float64{r.FNRMin, r.FNRMax, r.FNRMedian}}
		}
		d.Strategies = append(d.Strategies, StrategyDocument{
			t.Name, v.FullSeconds, v.Seconds, v.SavedSeconds, warmup.Real(v.Saved),
			warmup.Real(v.Within1), warmup.Real(v.Within3), warmup.Real(v.Within5), warmup.Real(v.Within10),
			changes,
		})
	}
	for i := range f.Changes {
		d.Changes = append(d.Changes, newComparisonDocument(&f.Changes[i]))
	}
	return d
}

func (f *Findings) key(i int) KeyDocument {
	r := &f.Results[i]
	return KeyDocument{
		Key: r.Name, Stable: r.Stable, Minimal: f.choice(i, &r.Minimal), Full: f.choice(i, &r.Full),
		Saved: r.SavedSeconds, SavedShare: warmup.Real(r.SavedSeconds / r.Full.Seconds),
		AverageDiff: warmup.Real(r.AverageDiff), LowDiff: warmup.Real(r.LowDiff),
		HighDiff: warmup.Real(r.HighDiff), Confidence: warmup.Real(r.Confidence),
		Skip: f.Suite.Benchmarks[i].Skip, Warnings: append([]string{}, r.Warnings...),
	}
}

func (f *Findings) choice(i int, c *Choice) ChoiceDocument {
	summary := c.Summary(f.options.Metric)
	d := ChoiceDocument{
		Repetitions: map[string]int{}, Time: c.Seconds, Values: c.Values,
		Average: warmup.Real(summary.Average), Low: warmup.Real(summary.Low),
		High: warmup.Real(summary.High), CV: warmup.Real(c.CV), RMAD: warmup.Real(c.RMAD),
		RCIW1: warmup.Real(c.RCIW1), RCIW2: warmup.Real(c.RCIW2), RCIW3: warmup.Real(c.RCIW3),
	}
	for k, name := range levelNames(f.Suite) {
		d.Repetitions[name] = f.Repetitions(i, k, c.At)
	}
	return d
}

// levelNames returns the levels as field names.
func levelNames(s *Suite) []string {
	names := make([]string, len(s.Levels))
	for i, l := range s.Levels {
		names[i] = strings.ReplaceAll(l.Name, " ", "_")
	}
	return names
}

func newComparisonDocument(c *Comparison) ComparisonDocument {
	return ComparisonDocument{
		Before: c.Before, After: c.After, Keys: c.Benchmarks, Full: c.Full(), Reduced: c.Reduced(),
		TruePositives: c.TP, FalsePositives: c.FP, TrueNegatives: c.TN, FalseNegatives: c.FN,
		FPR: c.FPR(), FNR: c.FNR(), Changed: c.Changes,
	}
}
