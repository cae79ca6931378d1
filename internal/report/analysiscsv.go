package report

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/optimize"
	"krund/internal/analysis/similarity"
	"krund/internal/analysis/stability"
	"krund/internal/analysis/warmup"
)

// StabilityRows are the CSV of a document: the header, then a row for each key and criterion, or
// one for a key without criteria.
func StabilityRows(d *stability.Document) [][]string {
	header := []string{
		"source", "key", "problem", "step", "criterion", "profile", "threshold", "executions",
		"executions_used", "reached", "warmup_steps", "warmup_not_reached", "time_s", "full_time_s",
		"saved", "mean_s", "full_mean_s", "ratio", "ratio_low", "ratio_high", "change_rate", "same",
	}
	rows := [][]string{header}
	for i := range d.Keys {
		k := &d.Keys[i]
		head := []string{d.Source.Source, k.Key, k.Problem, k.Step}
		if len(k.Criteria) == 0 {
			rows = append(rows, append(head, make([]string, len(header)-len(head))...))
		}
		for j := range k.Criteria {
			rows = append(rows, slices.Concat(head, criterionCells(&k.Criteria[j], k, d.Parameters.Profile)))
		}
	}
	return rows
}

func criterionCells(c *stability.CriterionDocument, k *stability.KeyDocument,
	profile stability.Profile) []string {
	steps, missed := make([]string, c.Used), 0
	for i, w := range c.Warmup[:c.Used] {
		steps[i] = strconv.Itoa(w.Steps)
		if !w.Reached {
			missed++
		}
	}
	return slices.Concat([]string{
		string(c.Criterion), string(profile), exact(c.Threshold), strconv.Itoa(len(k.Executions)),
		strconv.Itoa(c.Used), strconv.FormatBool(c.Reached), strings.Join(steps, " "),
		strconv.Itoa(missed), exact(c.Time),
	}, realCells(k.FullTime, c.Saved, c.Mean, k.FullMean, c.Ratio, c.Low, c.High, c.Change),
		[]string{strconv.FormatBool(c.Same)})
}

// SimilarityRows are the CSV of a document: the header, then a row for each key.
func SimilarityRows(d *similarity.Document) [][]string {
	rows := [][]string{{
		"source", "key", "executions", "left_out", "compared", "m1", "m2", "m3", "m4", "m5", "above",
		"verdict", "same", "clusters", "last_merge", "outliers", "verdict_of_rest",
	}}
	for i := range d.Keys {
		rows = append(rows, similarityCells(d.Source.Source, &d.Keys[i]))
	}
	return rows
}

func similarityCells(source string, k *similarity.KeyDocument) []string {
	number := strconv.Itoa
	outliers := make([]string, len(k.Outliers))
	for i, n := range k.Outliers {
		outliers[i] = number(n)
	}
	row := []string{
		source, k.Key, number(len(k.Executions)), number(len(k.LeftOut)), number(k.Compared), "", "", "",
		"", "", "", string(k.Verdict), string(k.Verdict), "", "", strings.Join(outliers, " "),
		string(k.Rest),
	}
	if k.Averages != nil {
		for i, v := range k.Averages.Measures() {
			row[5+i] = exact(v)
		}
		row[10], row[12] = number(k.Above), string(k.Same.Verdict)
		row[13], row[14] = number(k.Same.Clusters), exact(k.Same.LastMerge)
	}
	return row
}

// OptimizedRows are the CSV of a document: the header, then a row for each benchmark.
func OptimizedRows(d *optimize.Document) [][]string {
	levels := []string{"suite_runs", "executions", "iterations", "seconds"} // with columns of their own
	header := append([]string{"source", "key", "stable"}, levels...)
	for _, l := range levels {
		header = append(header, "full_"+l)
	}
	rows := [][]string{append(header, "time_s", "full_time_s", "saved_s", "saved", "unit", "average", "low",
		"high", "full_average", "full_low", "full_high", "average_diff", "low_diff", "high_diff", "cv",
		"rmad", "rciw1", "rciw2", "rciw3", "confidence", "warnings")}
	for i := range d.Keys {
		k := &d.Keys[i]
		cells := []string{d.Source.Source, k.Key, strconv.FormatBool(k.Stable)}
		for _, c := range []optimize.ChoiceDocument{k.Minimal, k.Full} {
			for _, name := range levels {
				text := ""
				if n, has := c.Repetitions[name]; has {
					text = strconv.Itoa(n)
				}
				cells = append(cells, text)
			}
		}
		m, full := &k.Minimal, &k.Full
		cells = append(cells, realCells(warmup.Real(m.Time), warmup.Real(full.Time), warmup.Real(k.Saved),
			k.SavedShare)...)
		cells = append(cells, d.Unit)
		cells = append(cells, realCells(m.Average, m.Low, m.High, full.Average, full.Low, full.High,
			k.AverageDiff, k.LowDiff, k.HighDiff, m.CV, m.RMAD, m.RCIW1, m.RCIW2, m.RCIW3, k.Confidence)...)
		rows = append(rows, append(cells, strings.Join(k.Warnings, "; ")))
	}
	return rows
}

// realCells formats numbers exactly; one that could not be computed is "".
func realCells(values ...warmup.Real) []string {
	cells := make([]string, len(values))
	for i, v := range values {
		if f := float64(v); !math.IsNaN(f) && !math.IsInf(f, 0) {
			cells[i] = exact(f)
		}
	}
	return cells
}
