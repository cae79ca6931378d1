package report

import (
	"bytes"
	"strings"
	"testing"

	"krund/internal/analysis/stability"
	"krund/internal/experiment/fixtures"
	"krund/rig/must"
)

// TestLaaberTable3 prints the time saving of the authors' decisions (KRUND_FIXTURES, six of their
// ten projects), and compares the cells with the paper's Table 3.
func TestLaaberTable3(t *testing.T) {
	var file struct {
		Projects map[string]map[stability.Criterion]struct{ Rows [][]int }
	}
	fixtures.JSON(t, fixtures.Path(t, "laaber", "time_saving.json.gz"), &file)
	published := map[string]string{
		"byte-buddy": "4.42h (81.7%) 2.62h (48.4%) 4.22h (77.8%)",
		"jctools":    "17.42h (84.8%) 11.45h (55.7%) 17.13h (83.3%)",
		"jenetics":   "4.78h (86.0%) 3.37h (60.7%) 4.52h (81.4%)",
		"jmh-core":   "12.76h (83.5%) 12.69h (83.1%) 12.42h (81.3%)",
		"protostuff": "3.43h (79.6%) 2.91h (67.7%) 3.44h (79.8%)",
		"squidlib":   "43.07h (84.5%) 30.70h (60.2%) 41.11h (80.7%)",
	}
	var docs []*stability.Document
	for project, criteria := range file.Projects {
		d := &stability.Document{Parameters: stability.Parameters{WarmupMax: 50, Measure: 10,
			Full: 50, Overhead: -1}}
		d.Source.Source = project
		for i := range criteria[stability.CV].Rows {
			k := stability.KeyResult{Result: stability.Result{Executions: []int{1, 2, 3, 4, 5}}}
			for _, c := range stability.Criteria {
				row := criteria[c].Rows[i]
				o := stability.CriterionResult{Criterion: c}
				for e, steps := range row[1:] {
					o.Warmups = append(o.Warmups, stability.Warmup{Used: e < row[0], Steps: steps})
				}
				k.Criteria = append(k.Criteria, o)
			}
			d.Keys = append(d.Keys, k)
		}
		docs = append(docs, d)
	}
	var out bytes.Buffer
	LaaberTables(&out, stability.Criteria, docs)
	compared := 0
	for _, line := range strings.Split(out.String(), "\n") {
		name, cells, _ := strings.Cut(line, " ")
		want, ok := published[name]
		if !ok {
			continue
		}
		compared += len(stability.Criteria)
		must.Equal(t, strings.Join(strings.Fields(cells), " "), want, name)
	}
	must.Equal(t, compared, 18, "cells compared")
	t.Logf("%d cells of Table 3 compared", compared)
}
