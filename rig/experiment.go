package rig

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"krund/internal/durable"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
)

// Experiment is the contents of an experiment's directory: the evidence that suites check.
type Experiment struct {
	Dir     string // on the host
	Size    int64  // of the schedule, bytes
	Header  schedule.Header
	Slots   []schedule.Slot
	Records []results.Record // by slot, then attempt
}

// Experiment reads a directory NAME.krun from the disk of a machine that is off. An unreadable
// schedule or record fails the test.
func (m *Machine) Experiment(dir string) *Experiment {
	m.tb.Helper()
	e, err := ReadExperiment(m.Disk().Dump(dir))
	m.check(err)
	return e
}

// ReadExperiment reads the directory of an experiment. Every slot and record must be readable: the
// error joins all that are not.
func ReadExperiment(dir string) (*Experiment, error) {
	f, err := directory.Open(durable.OS(), dir)
	if err != nil {
		return nil, fmt.Errorf("read the experiment: %w", err)
	}
	e := &Experiment{Dir: dir}
	info, err := durable.OS().Lstat(f.Schedule())
	if err != nil {
		return nil, fmt.Errorf("read the experiment: %w", err)
	}
	e.Size = info.Size()
	s, err := schedule.Open(durable.OS(), f.Schedule(), false)
	if err != nil {
		return nil, fmt.Errorf("read the experiment: %w", err)
	}
	e.Header = s.Header()
	var errs []error
	for slot, err := range s.Slots() {
		e.Slots = append(e.Slots, slot)
		errs = append(errs, err)
	}
	errs = append(errs, s.Close())
	for record, err := range results.NewReader(durable.OS(), f.Results()).All() {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		e.Records = append(e.Records, record)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("read the experiment in %s: %w", filepath.Base(dir), err)
	}
	return e, nil
}

// Finished reports whether no slot is outstanding.
func (e *Experiment) Finished() bool {
	return !slices.ContainsFunc(e.Slots, func(slot schedule.Slot) bool { return !slot.Flag.Final() })
}

// Count returns the number of slots with the flag.
func (e *Experiment) Count(flag schedule.Flag) int {
	n := 0
	for _, slot := range e.Slots {
		if slot.Flag == flag {
			n++
		}
	}
	return n
}

// Reasons returns the reasons of a record without those about a busy machine: emulated processors
// are withheld from the guest at any time.
func Reasons(r results.Record) []string {
	return slices.DeleteFunc(slices.Clone(r.Reasons), func(reason string) bool {
		return strings.HasPrefix(reason, results.BusyMachine)
	})
}
