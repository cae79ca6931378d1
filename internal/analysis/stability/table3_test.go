package stability

import (
	"fmt"
	"strings"
	"testing"

	"krund/internal/experiment/fixtures"
	"krund/rig/must"
)

// TestLaaberTable3 computes the time saving of the authors' decisions (KRUND_FIXTURES, six of their
// ten projects), and compares the cells with the paper's Table 3.
func TestLaaberTable3(t *testing.T) {
	var file struct {
		Projects map[string]map[Criterion]struct{ Rows [][]int }
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
	compared := 0
	for project, criteria := range file.Projects {
		d := &Document{Parameters: ParametersDocument{WarmupMax: 50, Measure: 10,
			Full: 50, Overhead: -1}}
		d.Source.Source = project
		for i := range criteria[CV].Rows {
			k := KeyDocument{Executions: []int{1, 2, 3, 4, 5}}
			for _, c := range Criteria {
				row := criteria[c].Rows[i]
				o := CriterionDocument{Criterion: c}
				for e, steps := range row[1:] {
					o.Warmup = append(o.Warmup, WarmupDocument{Used: e < row[0], Steps: steps})
				}
				k.Criteria = append(k.Criteria, o)
			}
			d.Keys = append(d.Keys, k)
		}
		var cells []string
		for _, total := range TotalsOf(Criteria, d) {
			const hour = 3600
			saved := (total.Nominal.Full - total.Nominal.Total) / hour
			cells = append(cells, fmt.Sprintf("%.2fh (%.1f%%)", saved, 100*total.Nominal.Part()))
		}
		compared += len(cells)
		must.Equal(t, strings.Join(cells, " "), published[project], project)
	}
	must.Equal(t, compared, 18, "cells compared")
}
