package report

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"

	"krund/internal/analysis/quantile"
	"krund/internal/analysis/warmup"
)

// ResultCSV writes the study's Table 2 for programs: a header and a row per
// key, numbers with all digits, empty where there is none.
func ResultCSV(w io.Writer, doc *warmup.Document) error {
	out := csv.NewWriter(w)
	rows := [][]string{{
		"benchmark", "vm", "variant", "executions", "analysed", "classification", "flat", "warmup", "slowdown", "no_steady_state",
		"steady_iteration_median", "steady_iteration_p5", "steady_iteration_p95",
		"steady_seconds_median", "steady_seconds_p5", "steady_seconds_p95",
		"steady_performance", "steady_performance_low", "steady_performance_high", "unit", "warnings",
	}}
	for _, r := range Rows(doc) {
		row := []string{r.Benchmark, r.VM, r.Variant, strconv.Itoa(r.Executions), strconv.Itoa(r.Analysed), string(r.Class)}
		for _, n := range []int{r.Counts.Flat, r.Counts.Warmup, r.Counts.Slowdown, r.Counts.NoSteadyState} {
			row = append(row, strconv.Itoa(n))
		}
		row = append(row, spreadCells(r.SteadyIteration)...)
		row = append(row, spreadCells(r.SteadySeconds)...)
		row = append(row, performanceCells(r.SteadyPerformance)...)
		codes := ""
		for i, warning := range r.Warnings {
			if i > 0 {
				codes += " "
			}
			codes += warning.Code
		}
		rows = append(rows, append(row, doc.Unit, codes))
	}
	return out.WriteAll(rows)
}

func spreadCells(s *quantile.Spread) []string {
	if s == nil {
		return []string{"", "", ""}
	}
	return []string{exact(s.Median), exact(s.P5), exact(s.P95)}
}

func performanceCells(p *warmup.Performance) []string {
	if p == nil {
		return []string{"", "", ""}
	}
	return []string{exact(p.Mean), exact(p.Low), exact(p.High)}
}

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// jsonFormat is the number of the form of the JSON documents here. A change
// that an old reader would misunderstand raises it.
const jsonFormat = 1

// ResultJSON writes both tables of the study as one object. facts may be nil.
func ResultJSON(w io.Writer, doc *warmup.Document, facts *Facts) error {
	return writeJSON(w, struct {
		Format     int               `json:"format"`
		Source     warmup.Source     `json:"source"`
		Parameters warmup.Parameters `json:"parameters"`
		Unit       string            `json:"unit"`
		Rows       []Row             `json:"rows"`
		Shares     []Share           `json:"shares"`
		Warnings   []warmup.Warning  `json:"warnings"`
	}{jsonFormat, doc.Source, doc.Parameters, doc.Unit, Rows(doc), Shares(doc), append(append([]warmup.Warning{}, facts.Warnings()...), doc.Warnings...)})
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(v)
}
