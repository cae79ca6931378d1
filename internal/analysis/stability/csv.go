package stability

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// csvHeader returns the columns of WriteCSV; the first four describe the key, the others a
// criterion.
func csvHeader() []string {
	return []string{
		"source", "key", "problem", "step", "criterion", "profile", "threshold", "executions",
		"executions_used", "reached", "warmup_steps", "warmup_not_reached", "time_s", "full_time_s",
		"saved", "mean_s", "full_mean_s", "ratio", "ratio_low", "ratio_high", "change_rate", "same",
	}
}

// WriteCSV writes a row for each key and criterion, or one for a key without criteria, preceded by
// the header if it is wanted.
func (d *Document) WriteCSV(w display.CSV, header bool) error {
	var rows [][]string
	if header {
		rows = append(rows, csvHeader())
	}
	for i := range d.Keys {
		k := &d.Keys[i]
		head := []string{d.Source.Source, k.Key, k.Problem, k.Step}
		if len(k.Criteria) == 0 {
			rows = append(rows, append(head, make([]string, len(csvHeader())-len(head))...))
		}
		for j := range k.Criteria {
			rows = append(rows, slices.Concat(head, k.Criteria[j].row(k, d.Parameters.Profile)))
		}
	}
	return w.WriteAll(rows)
}

func (c *CriterionDocument) row(k *KeyDocument, profile Profile) []string {
	steps, missed := make([]string, c.Used), 0
	for i, w := range c.Warmup[:c.Used] {
		steps[i] = strconv.Itoa(w.Steps)
		if !w.Reached {
			missed++
		}
	}
	return []string{
		string(c.Criterion), string(profile), exact(c.Threshold), strconv.Itoa(len(k.Executions)),
		strconv.Itoa(c.Used), strconv.FormatBool(c.Reached), strings.Join(steps, " "),
		strconv.Itoa(missed), exact(c.Time), realText(k.FullTime), realText(c.Saved), realText(c.Mean),
		realText(k.FullMean), realText(c.Ratio), realText(c.Low), realText(c.High), realText(c.Change),
		strconv.FormatBool(c.Same),
	}
}

// realText formats v; "" when it could not be computed.
func realText(v warmup.Real) string {
	if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
		return ""
	}
	return exact(float64(v))
}

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
