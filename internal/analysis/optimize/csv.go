package optimize

import (
	"math"
	"strconv"
	"strings"

	"krund/internal/display"
)

// csvLevels are the levels with columns of their own.
func csvLevels() []string { return []string{"suite_runs", "executions", "iterations", "seconds"} }

func csvHeader() []string {
	header := append([]string{"source", "key", "stable"}, csvLevels()...)
	for _, l := range csvLevels() {
		header = append(header, "full_"+l)
	}
	return append(header, "time_s", "full_time_s", "saved_s", "saved", "unit", "average", "low", "high",
		"full_average", "full_low", "full_high", "average_diff", "low_diff", "high_diff", "cv", "rmad",
		"rciw1", "rciw2", "rciw3", "confidence", "warnings")
}

// WriteCSV writes a row for each benchmark, preceded by the header if it is wanted.
func (f *Findings) WriteCSV(w display.CSV, header bool) error {
	var rows [][]string
	if header {
		rows = append(rows, csvHeader())
	}
	for i := range f.Results {
		rows = append(rows, f.row(i))
	}
	return w.WriteAll(rows)
}

// row returns the cells of a benchmark; missing values are empty.
func (f *Findings) row(i int) []string {
	r := &f.Results[i]
	cells := []string{f.Suite.Source, r.Name, strconv.FormatBool(r.Stable)}
	for _, at := range []Position{r.Minimal.At, r.Full.At} {
		byLevel := map[string]string{}
		for k, name := range levelNames(f.Suite) {
			byLevel[name] = strconv.Itoa(f.Repetitions(i, k, at))
		}
		for _, name := range csvLevels() {
			cells = append(cells, byLevel[name])
		}
	}
	minimal, full := r.Minimal.Summary(f.options.Metric), r.Full.Summary(f.options.Metric)
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
	cells = append(cells, f.Suite.Unit)
	number(minimal.Average, minimal.Low, minimal.High, full.Average, full.Low, full.High)
	number(r.AverageDiff, r.LowDiff, r.HighDiff)
	number(r.Minimal.CV, r.Minimal.RMAD, r.Minimal.RCIW1, r.Minimal.RCIW2, r.Minimal.RCIW3, r.Confidence)
	return append(cells, strings.Join(r.Warnings, "; "))
}
