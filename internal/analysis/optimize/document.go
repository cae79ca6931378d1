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
	Format     int           `json:"format"`
	Source     dataset.Info  `json:"source"`
	Unit       string        `json:"unit"`
	Metric     string        `json:"metric"`
	Published  bool          `json:"published"`
	Threshold  float64       `json:"threshold"`
	Accuracy   float64       `json:"accuracy"`
	Level      float64       `json:"confidence_level"`
	Resamples  int           `json:"resamples"`
	Seed       string        `json:"seed"`
	Levels     []string      `json:"levels"`
	Keys       []KeyDocument `json:"keys"`
	Strategies []Strategy    `json:"strategies"`
	Shared     *Shared       `json:"shared"`
	Changes    []Comparison  `json:"changes"`
	Problems   []string      `json:"problems"`
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

// Document returns the JSON form of the findings.
func (f *Findings) Document() *Document {
	o := f.options
	d := &Document{
		Format: Format, Source: f.Suite.Info, Unit: f.Suite.Unit, Metric: string(o.Metric),
		Published: o.Published, Threshold: o.Threshold, Accuracy: o.Accuracy, Level: o.Level,
		Resamples: o.Resamples, Seed: strconv.FormatUint(o.Seed, 10), Levels: levelNames(f.Suite),
		Keys: []KeyDocument{}, Strategies: f.Strategies, Shared: f.Shared, Changes: f.Changes,
		Problems: append([]string{}, f.Suite.Warnings...),
	}
	for i := range f.Results {
		d.Keys = append(d.Keys, f.key(i))
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
