package main

import (
	"math"
	"strconv"
	"strings"

	"krund/internal/analysis/optimise"
	"krund/internal/analysis/warmup"
)

// optimiseFormat is the version of optimiseJSON.
const optimiseFormat = 1

// optimiseJSON is what optimise --json prints of an experiment.
type optimiseJSON struct {
	Format     int              `json:"format"`
	Source     sourceJSON       `json:"source"`
	Unit       string           `json:"unit"`
	Metric     string           `json:"metric"`
	Published  bool             `json:"published"`
	Threshold  float64          `json:"threshold"`
	Accuracy   float64          `json:"accuracy"`
	Level      float64          `json:"confidence_level"`
	Resamples  int              `json:"resamples"`
	Seed       string           `json:"seed"`
	Levels     []string         `json:"levels"`
	Keys       []optimisedJSON  `json:"keys"`
	Strategies []strategyJSON   `json:"strategies"`
	Shared     *shared          `json:"shared"`
	Changes    []comparisonJSON `json:"changes"`
	Problems   []string         `json:"problems"`
}

// optimisedJSON is a key.
type optimisedJSON struct {
	Key         string      `json:"key"`
	Stable      bool        `json:"stable"`
	Minimal     choiceJSON  `json:"minimal"`
	Full        choiceJSON  `json:"full"`
	Saved       float64     `json:"saved_s"`
	SavedShare  warmup.Real `json:"saved"`
	AverageDiff warmup.Real `json:"average_diff"`
	LowDiff     warmup.Real `json:"low_diff"`
	HighDiff    warmup.Real `json:"high_diff"`
	Confidence  warmup.Real `json:"confidence"`
	Skip        int         `json:"skip"`
	Warnings    []string    `json:"warnings"`
}

// choiceJSON is a configuration and its result.
type choiceJSON struct {
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

// strategyJSON is what a way to choose saves in all.
type strategyJSON struct {
	Strategy string      `json:"strategy"`
	Full     float64     `json:"full_s"`
	Time     float64     `json:"time_s"`
	Saved    float64     `json:"saved_s"`
	Share    warmup.Real `json:"saved"`
	Within1  warmup.Real `json:"within_1_percent"`
	Within3  warmup.Real `json:"within_3_percent"`
	Within5  warmup.Real `json:"within_5_percent"`
	Within10 warmup.Real `json:"within_10_percent"`
}

// comparisonJSON is what changed from one version to the next.
type comparisonJSON struct {
	Before         string        `json:"before"`
	After          string        `json:"after"`
	Keys           int           `json:"compared"`
	Full           int           `json:"full_changes"`
	Reduced        int           `json:"minimal_changes"`
	TruePositives  int           `json:"true_positives"`
	FalsePositives int           `json:"false_positives"`
	TrueNegatives  int           `json:"true_negatives"`
	FalseNegatives int           `json:"false_negatives"`
	FPR            float64       `json:"false_positive_rate"`
	FNR            float64       `json:"false_negative_rate"`
	Changed        []changedJSON `json:"changed"`
}

// changedJSON is a key that changed; the directions are -1 for faster, 1 for
// slower, 0 for no change.
type changedJSON struct {
	Key     string `json:"key"`
	Full    int    `json:"full"`
	Reduced int    `json:"minimal"`
}

func (f *optimised) document(o optimiseOptions) *optimiseJSON {
	s := o.search
	d := &optimiseJSON{
		Format: optimiseFormat, Source: newSource(f.suite.Info), Unit: f.suite.Unit, Metric: o.metric, Published: s.Published, Threshold: s.Threshold,
		Accuracy: s.Accuracy, Level: s.Level, Resamples: s.Resamples, Seed: strconv.FormatUint(s.Seed, 10), Levels: levelNames(f.suite), Keys: []optimisedJSON{}, Shared: f.shared,
		Problems: append([]string{}, f.suite.Warnings...),
	}
	for i := range f.results {
		d.Keys = append(d.Keys, f.key(i, s.Metric))
	}
	for _, t := range f.savings {
		v := t.saved
		d.Strategies = append(d.Strategies, strategyJSON{
			t.name, v.FullSeconds, v.Seconds, v.SavedSeconds, warmup.Real(v.Saved),
			warmup.Real(v.Within1), warmup.Real(v.Within3), warmup.Real(v.Within5), warmup.Real(v.Within10),
		})
	}
	for i := range f.changes {
		d.Changes = append(d.Changes, newComparison(&f.changes[i]))
	}
	return d
}

func (f *optimised) key(i int, m optimise.Metric) optimisedJSON {
	r := &f.results[i]
	return optimisedJSON{
		Key: r.Name, Stable: r.Stable, Minimal: f.choice(i, &r.Minimal, m), Full: f.choice(i, &r.Full, m),
		Saved: r.SavedSeconds, SavedShare: warmup.Real(r.SavedSeconds / r.Full.Seconds),
		AverageDiff: warmup.Real(r.AverageDiff), LowDiff: warmup.Real(r.LowDiff), HighDiff: warmup.Real(r.HighDiff),
		Confidence: warmup.Real(r.Confidence), Skip: f.suite.Benchmarks[i].Skip, Warnings: append([]string{}, r.Warnings...),
	}
}

func (f *optimised) choice(i int, c *optimise.Choice, m optimise.Metric) choiceJSON {
	summary := c.Summary(m)
	j := choiceJSON{
		Repetitions: map[string]int{}, Time: c.Seconds, Values: c.Values,
		Average: warmup.Real(summary.Average), Low: warmup.Real(summary.Low), High: warmup.Real(summary.High),
		CV: warmup.Real(c.CV), RMAD: warmup.Real(c.RMAD), RCIW1: warmup.Real(c.RCIW1), RCIW2: warmup.Real(c.RCIW2), RCIW3: warmup.Real(c.RCIW3),
	}
	for k, name := range levelNames(f.suite) {
		j.Repetitions[name] = f.repetitions(i, k, c.At)
	}
	return j
}

// repetitions is what to configure for a level: with the skipped ones.
func (f *optimised) repetitions(key, level int, at optimise.Position) int {
	n := int(at[level])
	if level == len(f.suite.Levels)-1 {
		n += f.suite.Benchmarks[key].Skip
	}
	return n
}

// levelNames are the levels as names of fields.
func levelNames(s *optimise.Suite) []string {
	names := make([]string, len(s.Levels))
	for i, l := range s.Levels {
		names[i] = strings.ReplaceAll(l.Name, " ", "_")
	}
	return names
}

func newComparison(c *optimise.Comparison) comparisonJSON {
	j := comparisonJSON{
		Before: c.Before, After: c.After, Keys: c.Benchmarks, Full: c.Full(), Reduced: c.Reduced(), TruePositives: c.TP, FalsePositives: c.FP,
		TrueNegatives: c.TN, FalseNegatives: c.FN, FPR: c.FPR(), FNR: c.FNR(), Changed: []changedJSON{},
	}
	for _, x := range c.Changes {
		j.Changed = append(j.Changed, changedJSON{x.Name, int(x.Full), int(x.Reduced)})
	}
	return j
}

// csvLevels are the levels that there may be, in CSV.
func csvLevels() []string { return []string{"suite_runs", "executions", "iterations", "seconds"} }

// optimiseColumns is the head of optimise --csv.
func optimiseColumns() []string {
	columns := []string{"source", "key", "stable"}
	columns = append(columns, csvLevels()...)
	for _, l := range csvLevels() {
		columns = append(columns, "full_"+l)
	}
	return append(columns, "time_s", "full_time_s", "saved_s", "saved", "unit", "average", "low", "high", "full_average", "full_low", "full_high",
		"average_diff", "low_diff", "high_diff", "cv", "rmad", "rciw1", "rciw2", "rciw3", "confidence", "warnings")
}

// row is a key in CSV; what is not there is empty.
func (f *optimised) row(i int) []string {
	r := &f.results[i]
	m := optimise.Metric(f.savings[0].name)
	cells := []string{f.suite.Source, r.Name, strconv.FormatBool(r.Stable)}
	for _, at := range []optimise.Position{r.Minimal.At, r.Full.At} {
		byLevel := map[string]string{}
		for k, name := range levelNames(f.suite) {
			byLevel[name] = strconv.Itoa(f.repetitions(i, k, at))
		}
		for _, name := range csvLevels() {
			cells = append(cells, byLevel[name])
		}
	}
	minimal, full := r.Minimal.Summary(m), r.Full.Summary(m)
	number := func(values ...float64) {
		for _, v := range values {
			cell := ""
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				cell = strconv.FormatFloat(v, 'g', -1, 64)
			}
			cells = append(cells, cell)
		}
	}
	number(r.Minimal.Seconds, r.Full.Seconds, r.SavedSeconds, r.SavedSeconds/r.Full.Seconds)
	cells = append(cells, f.suite.Unit)
	number(minimal.Average, minimal.Low, minimal.High, full.Average, full.Low, full.High, r.AverageDiff, r.LowDiff, r.HighDiff)
	number(r.Minimal.CV, r.Minimal.RMAD, r.Minimal.RCIW1, r.Minimal.RCIW2, r.Minimal.RCIW3, r.Confidence)
	return append(cells, strings.Join(r.Warnings, "; "))
}
