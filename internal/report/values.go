package report

import (
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// ResultCSV writes the study's Table 2 for programs: a header and a row per key, with
// full-precision numbers and empty cells for missing values. Warnings are codes; those about all
// keys are repeated in each row. facts may be nil.
func ResultCSV(w io.Writer, doc *warmup.Document, facts *Facts) error {
	type row struct {
		*Row
		VariantArm string           `json:"variant_arm"`
		Unit       string           `json:"unit"`
		All        []warmup.Warning `json:"warnings_of_all"`
	}
	table := Rows(doc)
	rows := make([]row, len(table))
	for i := range table {
		rows[i] = row{&table[i], table[i].VariantArm(), doc.Unit, documentWarnings(doc, facts)}
	}
	return display.NewCSV(w).WriteAll(csvRows(`benchmark vm variant=variant_arm executions analysed
		classification flat=counts.flat warmup=counts.warmup slowdown=counts.slowdown
		no_steady_state=counts.no_steady_state steady_iteration_median=steady_iteration.median
		steady_iteration_p5=steady_iteration.p5 steady_iteration_p95=steady_iteration.p95
		steady_seconds_median=steady_seconds.median steady_seconds_p5=steady_seconds.p5
		steady_seconds_p95=steady_seconds.p95 steady_performance=steady_performance.mean
		steady_performance_low=steady_performance.low steady_performance_high=steady_performance.high unit
		warnings warnings_of_all level_median=levels.median level_mean=levels.mean`, false, rows))
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
