package main

import (
	"fmt"
	"iter"

	"krund/internal/folder"
	"krund/internal/key"
	"krund/internal/recordscan"
	"krund/internal/results"
)

// measurement is a record, and whether it counts: of each slot the first
// completed one does, and no other.
type measurement struct {
	results.Record
	Counts bool
}

// measurements reads all records of f in order, on all processors. Records
// that cannot be read are told to people and counted in damaged; the others
// follow. The pattern, when it is not nil, leaves out other keys.
type measurements struct {
	app     *app
	names   []results.Name
	reader  *results.Reader
	pattern *key.Pattern
	damaged map[results.Name]bool
}

func (a *app) measurements(f folder.Folder, pattern *key.Pattern) (*measurements, error) {
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
	return &measurements{app: a, names: list.Records, reader: r, pattern: pattern, damaged: make(map[results.Name]bool)}, nil
}

// all may be ranged over more than once; a damaged record is told once.
func (m *measurements) all() iter.Seq[measurement] {
	return func(yield func(measurement) bool) {
		completed := -1 // slot of the last completed record
		for l := range recordscan.Read(m.reader, m.names) {
			if l.Err != nil {
				if !m.damaged[l.Name] {
					m.app.talk("krunctl: left out: %v", l.Err)
				}
				m.damaged[l.Name] = true
				continue
			}
			if m.pattern != nil && !m.pattern.Match(l.Record.Key) {
				continue
			}
			counts := l.Record.Outcome == results.Completed && l.Record.Slot != completed
			if counts {
				completed = l.Record.Slot
			}
			if !yield(measurement{Record: l.Record, Counts: counts}) {
				return
			}
		}
	}
}

// damage is the error to end with when records were left out.
func (m *measurements) damage() error {
	if len(m.damaged) == 0 {
		return nil
	}
	return fmt.Errorf("%s could not be read and left out; `krunctl check-data` says what to do", plural(len(m.damaged), "record"))
}
