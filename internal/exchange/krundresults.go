package exchange

import (
	"errors"
	"fmt"
	"slices"

	"krund/internal/analysis/dataset"
	"krund/internal/durable"
	"krund/internal/key"
	"krund/internal/results"
)

// FormatKrund is dataset.Info.Format of krund's own records.
const FormatKrund = "krund"

// ReadKrundResults reads the records in a results folder. Of their columns
// those are kept for which keep (called with a name) is true, and always the
// wall times; a nil keep keeps all. Executions are ordered by key as they first
// occur in the schedule, and within a key by number and attempt. Attempts that
// were run again are kept, with the outcome that says so; of a slot with
// several completed attempts the first counts, and the others are such too.
//
// A record that cannot be read does not end the reading: it becomes one of the
// dataset's Problems. The error is that of the folder.
func ReadKrundResults(fsys durable.FS, dir string, keep func(column string) bool) (*dataset.Dataset, error) {
	d := &dataset.Dataset{Info: dataset.Info{Format: FormatKrund}}
	pairs := map[key.Key]int{}
	counts := map[int]int{} // by slot: the attempt that counts
	for record, err := range results.NewReader(fsys, dir).All() {
		var damaged *results.FileError
		switch {
		case errors.As(err, &damaged):
			d.Problems = append(d.Problems, err.Error())
			continue
		case err != nil:
			return nil, fmt.Errorf("read krund results: %w", err)
		}
		if err := record.Check(); err != nil {
			d.Problems = append(d.Problems, fmt.Sprintf("record of slot %d, attempt %d, is left out: %v", record.Slot, record.Attempt, err))
			continue
		}
		if record.Outcome == results.Completed {
			if attempt, ok := counts[record.Slot]; ok {
				record.Outcome = results.Rerun
				record.Reasons = append(record.Reasons, fmt.Sprintf("attempt %d of this slot was completed before", attempt))
			} else {
				counts[record.Slot] = record.Attempt
			}
		}
		i, ok := pairs[record.Key]
		if !ok {
			i = len(d.Pairs)
			pairs[record.Key] = i
			d.Pairs = append(d.Pairs, dataset.Pair{Key: record.Key})
		}
		d.Pairs[i].Executions = append(d.Pairs[i].Executions, krundExecution(&record, keep))
		noteSource(d, record.Host, record.Experiment)
	}
	for i := range d.Pairs {
		slices.SortStableFunc(d.Pairs[i].Executions, func(a, b dataset.Execution) int { return a.Number - b.Number })
	}
	return d, nil
}

// krundExecution takes the series out of a record.
func krundExecution(r *results.Record, keep func(string) bool) dataset.Execution {
	e := dataset.Execution{Number: r.Pexec, Outcome: dataset.Outcome(r.Outcome), Reasons: r.Reasons}
	if r.WallNS != nil {
		e.Columns = append(e.Columns, dataset.Column{
			Name: dataset.Wall, Unit: dataset.Nanoseconds, Core: dataset.NoCore, Ints: r.WallNS,
		})
	}
	for _, c := range r.Columns {
		if keep != nil && !keep(c.Name) {
			continue
		}
		column := dataset.Column{Name: c.Name, Unit: c.Unit, Core: dataset.NoCore}
		if c.Core != nil {
			column.Core = *c.Core
		}
		if c.Kind == results.KindCounter {
			column.Counts = c.Counts
		} else {
			column.Ints = c.Values
		}
		e.Columns = append(e.Columns, column)
	}
	return e
}

// noteSource keeps the names of machine and experiment, and says when records
// come from several.
func noteSource(d *dataset.Dataset, machine, experiment string) {
	note := func(what string, name *string, now string) {
		if *name == "" {
			*name = now
		}
		if *name != now {
			problem := fmt.Sprintf("records of several %ss lie in one folder: %s and %s", what, *name, now)
			if !slices.Contains(d.Problems, problem) {
				d.Problems = append(d.Problems, problem)
			}
		}
	}
	note("machine", &d.Machine, machine)
	note("experiment", &d.Experiment, experiment)
}
