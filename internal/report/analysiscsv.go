package report

import (
	"krund/internal/analysis/arith"
	"krund/internal/analysis/optimize"
	"krund/internal/analysis/similarity"
	"krund/internal/analysis/stability"
)

// stoppedAt is where a criterion stops, in StabilityRows.
type stoppedAt struct {
	*stability.CriterionDocument
	Key     *stability.KeyDocument `json:"of"`
	Profile stability.Profile      `json:"profile"`
	Steps   []int                  `json:"warmup_steps"`
	Missed  int                    `json:"warmup_not_reached"`
}

// StabilityRows are the CSV of a document: the header, then a row for each key and criterion, or
// one for a key without criteria.
func StabilityRows(d *stability.Document) [][]string {
	type row struct {
		Source string                 `json:"source"`
		Key    *stability.KeyDocument `json:"k"`
		*stoppedAt
	}
	var rows []row
	for i := range d.Keys {
		k := &d.Keys[i]
		if len(k.Criteria) == 0 {
			rows = append(rows, row{d.Source.Source, k, nil})
		}
		for j := range k.Criteria {
			at := &stoppedAt{CriterionDocument: &k.Criteria[j], Key: k, Profile: d.Parameters.Profile}
			for _, w := range at.Warmup[:at.Used] {
				at.Steps = append(at.Steps, w.Steps)
				at.Missed += arith.One(!w.Reached)
			}
			rows = append(rows, row{d.Source.Source, k, at})
		}
	}
	return csvRows(`source key=k.key problem=k.problem step=k.step criterion profile threshold
		executions=of.executions.# executions_used reached warmup_steps warmup_not_reached time_s
		full_time_s=of.full_time_s saved mean_s full_mean_s=of.full_mean_s ratio ratio_low ratio_high
		change_rate same`, true, rows)
}

// SimilarityRows are the CSV of a document: the header, then a row for each key.
func SimilarityRows(d *similarity.Document) [][]string {
	type row struct {
		Source string `json:"source"`
		*similarity.KeyDocument
		Above *int               `json:"numbers_above"` // nil without two executions
		Same  similarity.Verdict `json:"same_verdict"`
	}
	rows := make([]row, len(d.Keys))
	for i := range d.Keys {
		k := &d.Keys[i]
		rows[i] = row{Source: d.Source.Source, KeyDocument: k, Same: k.Verdict}
		if k.Averages != nil {
			rows[i].Above, rows[i].Same = &k.Above, k.Same.Verdict
		}
	}
	return csvRows(`source key executions=executions.# left_out=left_out.# compared m1=averages.m1
		m2=averages.m2 m3=averages.m3 m4=averages.m4 m5=averages.m5 above=numbers_above verdict
		same=same_verdict clusters=same.clusters last_merge=same.last_merge outliers verdict_of_rest`, false,
		rows)
}

// OptimizedRows are the CSV of a document: the header, then a row for each benchmark.
func OptimizedRows(d *optimize.Document) [][]string {
	type row struct {
		Source string `json:"source"`
		Unit   string `json:"unit"`
		*optimize.KeyDocument
	}
	rows := make([]row, len(d.Keys))
	for i := range d.Keys {
		rows[i] = row{d.Source.Source, d.Unit, &d.Keys[i]}
	}
	return csvRows(`source key stable suite_runs=minimal.repetitions.suite_runs
		executions=minimal.repetitions.executions iterations=minimal.repetitions.iterations
		seconds=minimal.repetitions.seconds full_suite_runs=full.repetitions.suite_runs
		full_executions=full.repetitions.executions full_iterations=full.repetitions.iterations
		full_seconds=full.repetitions.seconds time_s=minimal.time_s full_time_s=full.time_s saved_s saved unit
		average=minimal.average low=minimal.low high=minimal.high full_average=full.average
		full_low=full.low full_high=full.high average_diff low_diff high_diff cv=minimal.cv
		rmad=minimal.rmad rciw1=minimal.rciw1 rciw2=minimal.rciw2 rciw3=minimal.rciw3 confidence warnings`,
		true, rows)
}
