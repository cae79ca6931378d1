package report

import (
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// ResultCSV writes the study's Table 2 for programs: a header and a row per key, with
// full-precision numbers and empty cells for missing values. Warnings are codes; those about all
// keys are repeated in each row. facts may be nil.
func ResultCSV(w io.Writer, doc *warmup.Document, facts *Facts) error {
	out := display.NewCSV(w)
	all := codes(documentWarnings(doc, facts))
	rows := [][]string{{
		"benchmark", "vm", "variant", "executions", "analysed", "classification", "flat", "warmup",
		"slowdown", "no_steady_state",
		"steady_iteration_median", "steady_iteration_p5", "steady_iteration_p95",
		"steady_seconds_median", "steady_seconds_p5", "steady_seconds_p95",
		"steady_performance", "steady_performance_low", "steady_performance_high", "unit", "warnings",
		"warnings_of_all",
		"level_median", "level_mean",
	}}
	for _, r := range Rows(doc) {
		row := []string{r.Benchmark, r.VM, r.VariantArm(),
			strconv.Itoa(r.Executions), strconv.Itoa(r.Analysed), string(r.Class)}
		for _, n := range []int{r.Counts.Flat, r.Counts.Warmup, r.Counts.Slowdown, r.Counts.NoSteadyState} {
			row = append(row, strconv.Itoa(n))
		}
		row = append(row, spreadCells(r.SteadyIteration)...)
		row = append(row, spreadCells(r.SteadySeconds)...)
		row = append(row, performanceCells(r.SteadyPerformance)...)
		row = append(row, doc.Unit, codes(r.Warnings), all, "", "")
		if l := r.Levels; l != nil {
			row[len(row)-2], row[len(row)-1] = exact(l.Median), exact(l.Mean)
		}
		rows = append(rows, row)
	}
	return out.WriteAll(rows)
}

// codes returns the codes of warnings, each once.
func codes(warnings []warmup.Warning) string {
	var list []string
	for _, w := range warnings {
		if !slices.Contains(list, w.Code) {
			list = append(list, w.Code)
		}
	}
	return strings.Join(list, " ")
}

func spreadCells(s *arith.Spread) []string {
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

// jsonFormat is the version of the JSON documents here. It increases with a change that an old
// reader would misunderstand.
const jsonFormat = 1

// ResultJSON writes both tables of the study as one object. facts may be nil.
func ResultJSON(w io.Writer, doc *warmup.Document, facts *Facts) error {
	return writeJSON(w, struct {
		Format     int               `json:"format"`
		Source     warmup.Source     `json:"source"`
		Parameters warmup.Parameters `json:"parameters"`
		Unit       string            `json:"unit"`
		Rows       []Row             `json:"rows"`
		Shares     []ClassRow        `json:"shares"`
		Warnings   []warmup.Warning  `json:"warnings"`
	}{jsonFormat, doc.Source, doc.Parameters, doc.Unit, Rows(doc), ClassRows(doc),
		documentWarnings(doc, facts)})
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(v)
}
