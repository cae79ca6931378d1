package main

import (
	"iter"

	"krund/internal/directory"
	"krund/internal/key"
	"krund/internal/results"
)

// measurement is a record, and whether it counts: of each slot the first
// completed one does, and no other.
type measurement struct {
	results.Record
	Counts bool
}

// measurements reads all records of f in order, on all processors. Records
// that cannot be read, or contradict themselves, are left out and counted in
// damaged; the others follow. The pattern, when it is not nil, leaves out other
// keys.
type measurements struct {
	app     *app
	source  string
	names   []results.Name
	reader  *results.Reader
	pattern *key.Pattern
	damaged int
}

func (a *app) measurements(f directory.Directory, pattern *key.Pattern) (*measurements, error) {
	if pattern != nil {
		if err := checkPattern(pattern, a.knownKeys(f)); err != nil {
			return nil, err
		}
	}
	r := a.reader(f)
	list, err := r.List()
	if err != nil {
		return nil, err
	}
	return &measurements{app: a, source: f.Dir(), names: list.Records, reader: r, pattern: pattern}, nil
}

// all may be ranged over more than once; a damaged record is told once.
func (m *measurements) all() iter.Seq[measurement] {
	return func(yield func(measurement) bool) {
		completed := -1 // slot of the last completed record
		m.damaged = 0
		leaveOut := func(err error) { m.app.leaveOut(m.source, err.Error()); m.damaged++ }
		for rec := range m.reader.Usable(m.names, leaveOut) {
			if m.pattern != nil && !m.pattern.Match(rec.Key) {
				continue
			}
			counts := rec.Outcome == results.Completed && rec.Slot != completed
			if counts {
				completed = rec.Slot
			}
			if !yield(measurement{Record: rec, Counts: counts}) {
				return
			}
		}
	}
}
