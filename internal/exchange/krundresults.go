package exchange

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"krund/internal/analysis/dataset"
	"krund/internal/durable"
	"krund/internal/key"
	"krund/internal/results"
)

// FormatKrund is dataset.Info.Format of krund's own records.
const FormatKrund = "krund"

// ReadKrundResults reads the records in a results directory. Of their columns
// those are kept for which keep (called with a name, from several goroutines)
// is true, and always the wall times; a nil keep keeps all. Executions are
// ordered by key as they first occur in the schedule, and within a key by
// number and attempt. Attempts that were run again are kept, with the outcome
// that says so; of a slot with several completed attempts the first counts, and
// the others are such too.
//
// A record that cannot be read does not end the reading: it becomes one of the
// dataset's Problems, and is in LeftOut, too. The error is that of the directory.
func ReadKrundResults(fsys durable.FS, dir string, keep func(column string) bool) (*dataset.Dataset, error) {
	reader := results.NewReader(fsys, dir)
	list, err := reader.List()
	if err != nil {
		return nil, fmt.Errorf("read krund results: %w", err)
	}
	d := &dataset.Dataset{Info: dataset.Info{Format: FormatKrund}}
	pairs := map[key.Key]int{}
	counts := map[int]int{} // by slot: the attempt that counts
	for _, r := range loadRecords(reader, list.Records, keep) {
		if r.problem != "" {
			d.Problems, d.LeftOut = append(d.Problems, r.problem), append(d.LeftOut, r.problem)
			continue
		}
		if r.execution.Outcome == dataset.Completed {
			if attempt, ok := counts[r.slot]; ok {
				r.execution.Outcome = dataset.Rerun
				r.execution.Reasons = append(r.execution.Reasons, fmt.Sprintf("attempt %d of this slot was completed before", attempt))
			} else {
				counts[r.slot] = r.attempt
			}
		}
		i, ok := pairs[r.key]
		if !ok {
			i = len(d.Pairs)
			pairs[r.key] = i
			d.Pairs = append(d.Pairs, dataset.Pair{Key: r.key})
		}
		d.Pairs[i].Executions = append(d.Pairs[i].Executions, r.execution)
		noteSource(d, r.host, r.experiment)
	}
	for i := range d.Pairs {
		slices.SortStableFunc(d.Pairs[i].Executions, func(a, b dataset.Execution) int { return a.Number - b.Number })
	}
	return d, nil
}

// loaded is what is kept of a record, or why there is nothing.
type loaded struct {
	key              key.Key
	slot, attempt    int
	host, experiment string
	execution        dataset.Execution
	problem          string
}

// loadRecords reads records on all processors: unpacking them is most of the
// work of an analysis. The order is that of names.
func loadRecords(reader *results.Reader, names []results.Name, keep func(string) bool) []loaded {
	list := make([]loaded, len(names))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(names)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(names); i = int(next.Add(1)) - 1 {
				list[i] = loadRecord(reader, names[i], keep)
			}
		})
	}
	workers.Wait()
	return list
}

func loadRecord(reader *results.Reader, name results.Name, keep func(string) bool) loaded {
	r, err := reader.Load(name)
	if err != nil {
		return loaded{problem: err.Error()}
	}
	if err := r.Usable(); err != nil {
		return loaded{problem: err.Error()}
	}
	return loaded{
		key: r.Key, slot: r.Slot, attempt: r.Attempt, host: r.Host, experiment: r.Experiment,
		execution: krundExecution(&r, keep),
	}
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
			problem := fmt.Sprintf("records of several %ss lie in one directory: %s and %s", what, *name, now)
			if !slices.Contains(d.Problems, problem) {
				d.Problems = append(d.Problems, problem)
			}
		}
	}
	note("machine", &d.Machine, machine)
	note("experiment", &d.Experiment, experiment)
}
