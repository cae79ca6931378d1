package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/quantile"
	"krund/internal/analysis/warmup"
)

// CompareTable is a comparison as a table for readers.
func CompareTable(r *compare.Result) Table {
	t := Table{
		Caption: fmt.Sprintf("%s → %s: %d better, %d worse, %d the same, %d cannot be told", r.Before.Name,
			r.After.Name,
			r.Counts[compare.Better], r.Counts[compare.Worse], r.Counts[compare.Same],
			r.Counts[compare.CannotTell]),
		Label: "tab:compare",
		Columns: []TableColumn{
			{"Key", false}, {"Verdict", false}, {"Class", false}, {"Steady iter (#)", true}, {"",
				false}, {"Steady iter (s)", true}, {"", false},
			{"Steady perf, after/before", true}, {"", false}, {"Cliff's delta", true}, {"Intervals", false},
		},
	}
	for i := range r.Changes {
		t.Rows = append(t.Rows, compareRow(&r.Changes[i]))
	}
	t.Notes = compareNotes(r)
	return t
}

func compareRow(c *compare.Change) []Cell {
	class := Cell{Class: func(symbol func(classify.PairClass) string) string {
		if c.Before == c.After {
			return symbolOr(symbol, c.Before)
		}
		return symbolOr(symbol, c.Before) + " to " + symbolOr(symbol, c.After)
	}}
	row := []Cell{{Text: c.Key}, {Text: string(c.Verdict)}, class}
	for _, i := range []compare.Interval{c.SteadyIteration, c.SteadySeconds} {
		row = append(row, Cell{Text: changeText(i.Before, i.After)}, Cell{Text: string(i.Verdict)})
	}
	ratio, effect := "", ""
	if c.Ratio.Resamples > 0 {
		ratio = fmt.Sprintf("%.4f (%.4f, %.4f)", c.Ratio.Ratio, c.Ratio.Low, c.Ratio.High)
		effect = fmt.Sprintf("%+.2f", c.Ratio.Effect)
	}
	return append(row, Cell{Text: ratio}, Cell{Text: string(c.Ratio.Verdict)}, Cell{Text: effect},
		Cell{Text: string(c.Performance.Verdict)})
}

func symbolOr(symbol func(classify.PairClass) string, c classify.PairClass) string {
	if c == classify.None {
		return "?"
	}
	return symbol(c)
}

func changeText(before, after *quantile.Spread) string {
	text := func(s *quantile.Spread) string {
		if s == nil {
			return "none"
		}
		return Number(s.Median)
	}
	if before == nil && after == nil {
		return ""
	}
	return text(before) + " → " + text(after)
}

func compareNotes(r *compare.Result) []string {
	notes := []string{fmt.Sprintf(
		"%d ratios were tested: each interval has a confidence of %s, so that all of them hold together "+
			"with %s (Bonferroni); ratios within 1±%s are the same",
		r.Tests, Number(r.Level), Number(r.Confidence), Number(r.Margin))}
	for _, w := range r.Warnings {
		notes = append(notes, w.Text)
	}
	return append(notes, keyNotes(r)...)
}

// keyNotes are the warnings about keys. Warnings of one kind about one side are combined and use
// the text of the first.
func keyNotes(r *compare.Result) []string {
	keys := map[string][]string{}
	texts := map[string]string{}
	var order []string
	for _, c := range r.Changes {
		for _, w := range c.Warnings {
			side, _, _ := strings.Cut(w.Text, ":")
			kind := w.Code + " " + side
			if w.Code == "ratio" || w.Code == "only_one" {
				kind = w.Text
			}
			if keys[kind] == nil {
				order = append(order, kind)
				texts[kind] = w.Text
			}
			if !slices.Contains(keys[kind], c.Key) {
				keys[kind] = append(keys[kind], c.Key)
			}
		}
	}
	var notes []string
	for _, kind := range order {
		text := keys[kind][0]
		if more := len(keys[kind]) - 1; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		notes = append(notes, text+": "+texts[kind])
	}
	return notes
}

// CompareCSV writes a comparison as CSV for programs.
func CompareCSV(w io.Writer, r *compare.Result) error {
	rows := [][]string{{
		"key", "verdict", "only_in", "classification_before", "classification_after", "classification",
		"steady_iteration_before", "steady_iteration_after", "steady_iteration",
		"steady_seconds_before", "steady_seconds_after", "steady_seconds",
		"ratio", "ratio_low", "ratio_high", "level", "performance", "cliffs_delta", "performance_intervals",
		"warnings", "warnings_of_all",
	}}
	median := func(s *quantile.Spread) string {
		if s == nil {
			return ""
		}
		return exact(s.Median)
	}
	for _, c := range r.Changes {
		row := []string{cellText(c.Key), string(c.Verdict), c.OnlyIn, string(c.Before), string(c.After),
			string(c.Classification)}
		for _, i := range []compare.Interval{c.SteadyIteration, c.SteadySeconds} {
			row = append(row, median(i.Before), median(i.After), string(i.Verdict))
		}
		numbers := []string{"", "", "", exact(r.Level)}
		effect := ""
		if c.Ratio.Resamples > 0 {
			numbers = []string{exact(c.Ratio.Ratio), exact(c.Ratio.Low), exact(c.Ratio.High), exact(r.Level)}
			effect = strconv.FormatFloat(c.Ratio.Effect, 'g', -1, 64)
		}
		row = append(append(row, numbers...), string(c.Ratio.Verdict), effect, string(c.Performance.Verdict),
			codes(c.Warnings), codes(r.Warnings))
		rows = append(rows, row)
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// CompareJSON writes a complete comparison as JSON; values that could not be computed are null.
func CompareJSON(w io.Writer, r *compare.Result) error {
	changes := make([]changeJSON, len(r.Changes))
	for i, c := range r.Changes {
		changes[i] = changeJSON{Change: c, Ratio: ratioJSON{Resamples: c.Ratio.Resamples,
			Verdict: c.Ratio.Verdict, Reason: c.Ratio.Reason}}
		if c.Warnings == nil {
			changes[i].Warnings = []warmup.Warning{}
		}
		if n := &changes[i].Ratio; c.Ratio.Resamples > 0 {
			n.Ratio, n.Low, n.High, n.Effect = &c.Ratio.Ratio, &c.Ratio.Low, &c.Ratio.High, &c.Ratio.Effect
		}
	}
	return writeJSON(w, struct {
		Format int `json:"format"`
		*compare.Result
		Changes []changeJSON `json:"changes"`
	}{jsonFormat, r, changes})
}

// changeJSON is a change whose ratio may be missing.
type changeJSON struct {
	compare.Change
	Ratio ratioJSON `json:"steady_performance_ratio"`
}

type ratioJSON struct {
	Ratio     *float64        `json:"ratio"`
	Low       *float64        `json:"low"`
	High      *float64        `json:"high"`
	Effect    *float64        `json:"cliffs_delta"`
	Resamples int             `json:"resamples"`
	Verdict   compare.Verdict `json:"verdict"`
	Reason    string          `json:"reason"`
}
