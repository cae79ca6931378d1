package report

import (
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/optimize"
	"krund/internal/analysis/similarity"
	"krund/internal/analysis/stability"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// tableOf is a table for programs: a row for each item. columns are paths of JSON names in an item,
// such as steady.ratio.low, separated by white space. A path is the head of its column, too, unless
// it is written HEAD=PATH. "#" is the length of a list.
func tableOf[T any](columns string, items []T) *Table {
	t := &Table{Rows: make([][]Cell, len(items))}
	for column := range strings.FieldsSeq(columns) {
		head, path, ok := strings.Cut(column, "=")
		if !ok {
			path = column
		}
		t.Columns = append(t.Columns, Head(head))
		for i := range items {
			t.Rows[i] = append(t.Rows[i], member(reflect.ValueOf(items[i]), path))
		}
	}
	return t
}

// member returns the value at a path below v; nil if there is none.
func member(v reflect.Value, path string) Cell {
	for v.Kind() == reflect.Pointer {
		v = v.Elem() // of a nil pointer the zero Value
	}
	name, rest, _ := strings.Cut(path, ".")
	switch {
	case !v.IsValid():
		return nil
	case path == "":
		return v.Interface()
	case path == "#":
		return v.Len()
	case v.Kind() == reflect.Map:
		v = v.MapIndex(reflect.ValueOf(name))
	default:
		v = jsonMember(v, name)
	}
	return member(v, rest)
}

// jsonMember returns the field that JSON has under a name, which may be in an embedded struct.
func jsonMember(v reflect.Value, name string) reflect.Value {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == name {
			return v.Field(i)
		}
		if inner := reflect.Indirect(v.Field(i)); field.Anonymous && inner.Kind() == reflect.Struct {
			if found := jsonMember(inner, name); found.IsValid() {
				return found
			}
		}
	}
	return reflect.Value{}
}

// Values returns the heads and the rows for programs: numbers with all their digits, of warnings
// the codes, each once. What is not there, or could not be computed, is empty.
func (t *Table) Values() [][]string {
	rows := make([][]string, 1, len(t.Rows)+1)
	for _, c := range t.Columns {
		rows[0] = append(rows[0], c.Name())
	}
	for _, cells := range t.Rows {
		row := make([]string, len(cells))
		for i, c := range cells {
			row[i] = valueText(c)
		}
		rows = append(rows, row)
	}
	return rows
}

func valueText(c Cell) string {
	switch x := c.(type) {
	case nil:
		return ""
	case []warmup.Warning:
		return codes(x)
	case []string:
		return strings.Join(x, "; ")
	case []int:
		return numberList(x)
	case Quantity:
		c = x.Value
	}
	v := reflect.ValueOf(c)
	switch {
	case !v.CanFloat():
		return fmt.Sprint(c)
	case math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0):
		return ""
	}
	return exact(v.Float())
}

// stoppedAt is where a criterion stops, in StabilityRows.
type stoppedAt struct {
	*stability.CriterionResult
	Key     *stability.KeyResult `json:"of"`
	Profile stability.Profile    `json:"profile"`
	Steps   []int                `json:"warmup_steps"`
	Missed  int                  `json:"warmup_not_reached"`
}

// StabilityRows are the CSV of a document: the header, then a row for each key and criterion, or
// one for a key without criteria.
func StabilityRows(d *stability.Document) [][]string {
	type row struct {
		Source string               `json:"source"`
		Key    *stability.KeyResult `json:"k"`
		*stoppedAt
	}
	var rows []row
	for i := range d.Keys {
		k := &d.Keys[i]
		if len(k.Criteria) == 0 {
			rows = append(rows, row{d.Source.Source, k, nil})
		}
		for j := range k.Criteria {
			at := &stoppedAt{CriterionResult: &k.Criteria[j], Key: k, Profile: d.Parameters.Profile}
			for _, w := range at.Warmups[:at.Used] {
				at.Steps = append(at.Steps, w.Steps)
				at.Missed += arith.One(!w.Reached)
			}
			rows = append(rows, row{d.Source.Source, k, at})
		}
	}
	return tableOf(`source key=k.key problem=k.problem step=k.step criterion profile threshold
		executions=of.executions.# executions_used reached warmup_steps warmup_not_reached time_s
		full_time_s=of.full_time_s saved mean_s full_mean_s=of.full_mean_s ratio ratio_low ratio_high
		change_rate same`, rows).Values()
}

// SimilarityRows are the CSV of a document: the header, then a row for each key.
func SimilarityRows(d *similarity.Document) [][]string {
	type row struct {
		Source string `json:"source"`
		*similarity.KeyResult
		Above *int               `json:"numbers_above"` // nil without two executions
		Same  similarity.Verdict `json:"same_verdict"`
	}
	rows := make([]row, len(d.Keys))
	for i := range d.Keys {
		k := &d.Keys[i]
		rows[i] = row{Source: d.Source.Source, KeyResult: k, Same: k.Verdict}
		if k.Averages != nil {
			rows[i].Above, rows[i].Same = &k.Above, k.Same.Verdict
		}
	}
	return tableOf(`source key executions=executions.# left_out=left_out.# compared m1=averages.m1
		m2=averages.m2 m3=averages.m3 m4=averages.m4 m5=averages.m5 above=numbers_above verdict
		same=same_verdict clusters=same.clusters last_merge=same.last_merge outliers verdict_of_rest`, rows).Values()
}

// OptimizedRows are the CSV of findings: the header, then a row for each benchmark.
func OptimizedRows(f *optimize.Findings) [][]string {
	type row struct {
		Source string `json:"source"`
		Unit   string `json:"unit"`
		*optimize.Result
	}
	rows := make([]row, len(f.Results))
	for i := range f.Results {
		rows[i] = row{f.Source.Source, f.Unit, &f.Results[i]}
	}
	return tableOf(`source key stable suite_runs=minimal.repetitions.suite_runs
		executions=minimal.repetitions.executions iterations=minimal.repetitions.iterations
		seconds=minimal.repetitions.seconds full_suite_runs=full.repetitions.suite_runs
		full_executions=full.repetitions.executions full_iterations=full.repetitions.iterations
		full_seconds=full.repetitions.seconds time_s=minimal.time_s full_time_s=full.time_s saved_s saved unit
		average=minimal.average low=minimal.low high=minimal.high full_average=full.average
		full_low=full.low full_high=full.high average_diff low_diff high_diff cv=minimal.cv
		rmad=minimal.rmad rciw1=minimal.rciw1 rciw2=minimal.rciw2 rciw3=minimal.rciw3 confidence warnings`,
		rows).Values()
}

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
	return tableOf(`benchmark vm variant=variant_arm executions analysed
		classification flat=counts.flat warmup=counts.warmup slowdown=counts.slowdown
		no_steady_state=counts.no_steady_state steady_iteration_median=steady_iteration.median
		steady_iteration_p5=steady_iteration.p5 steady_iteration_p95=steady_iteration.p95
		steady_seconds_median=steady_seconds.median steady_seconds_p5=steady_seconds.p5
		steady_seconds_p95=steady_seconds.p95 steady_performance=steady_performance.mean
		steady_performance_low=steady_performance.low steady_performance_high=steady_performance.high unit
		warnings warnings_of_all level_median=levels.median level_mean=levels.mean`, rows).Write(w, CSV)
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
	return display.WriteJSON(w, struct {
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
