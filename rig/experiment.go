package rig

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"

	"krund/internal/durable"
	"krund/internal/folder"
	"krund/internal/results"
	"krund/internal/schedule"
)

// Experiment is what an experiment's folder holds: the evidence that suites judge.
type Experiment struct {
	Dir     string // on the host
	Size    int64  // of the schedule, bytes
	Header  schedule.Header
	Slots   []schedule.Slot
	Records []results.Record // by slot, then attempt
}

// Experiment reads a folder NAME.krun from the disk of a machine that is off. A schedule or record that cannot be read fails the test.
func (m *Machine) Experiment(dir string) *Experiment {
	m.tb.Helper()
	e, err := ReadExperiment(m.Disk().Dump(dir))
	m.check(err)
	return e
}

// ReadExperiment reads the folder of an experiment. Every slot and every record must be readable: the error joins all that are not.
func ReadExperiment(dir string) (*Experiment, error) {
	f, err := folder.Open(durable.OS(), dir)
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

// Finished says whether nothing is left to run.
func (e *Experiment) Finished() bool {
	for _, slot := range e.Slots {
		if !slot.Flag.Final() {
			return false
		}
	}
	return true
}

// Count returns how many slots have the flag.
func (e *Experiment) Count(flag schedule.Flag) int {
	n := 0
	for _, slot := range e.Slots {
		if slot.Flag == flag {
			n++
		}
	}
	return n
}

// Problems returns what must never be so, whatever happened to the machine, a sentence each: a completed slot without its record, two results of
// one execution, an attempt that was not counted before it ran, two executions in one boot.
func (e *Experiment) Problems() []string {
	var problems []string
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	completed := make(map[int]int)
	boots := make(map[string]string)
	for _, r := range e.Records {
		name := results.Name{Slot: r.Slot, Attempt: r.Attempt}.String()
		if r.Slot >= len(e.Slots) || e.Slots[r.Slot].Key != r.Key || e.Slots[r.Slot].Pexec != r.Pexec {
			say("%s is of %s execution %d, which is not what its slot was planned for", name, r.Key, r.Pexec)
			continue
		}
		slot := e.Slots[r.Slot]
		if r.Attempt > slot.Attempts {
			say("%s: the schedule has counted %d attempts only", name, slot.Attempts)
		}
		if r.Outcome == results.Completed {
			completed[r.Slot]++
			if slot.Flag.Final() && slot.Flag != schedule.Completed {
				say("%s is completed, its slot says %s", name, slot.Flag)
			}
		}
		if other, seen := boots[r.BootID]; seen && r.Reboot == results.RebootHardware {
			say("%s and %s ran in the same boot", other, name)
		}
		boots[r.BootID] = name
	}
	for _, slot := range e.Slots {
		switch n := completed[slot.Index]; {
		case n > 1:
			say("slot %d has %d completed records: counted twice", slot.Index, n)
		case n == 0 && slot.Flag == schedule.Completed:
			say("slot %d is completed and has no completed record: lost", slot.Index)
		}
	}
	return problems
}

// Since returns what must never have happened between the earlier state of the same experiment and this one: a record that is gone or changed, a
// finished slot that is not what it was, attempts or reboots uncounted, a schedule of another size.
func (e *Experiment) Since(earlier *Experiment) []string {
	var problems []string
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if e.Size != earlier.Size || len(e.Slots) != len(earlier.Slots) {
		say("the schedule had %d bytes and %d slots, now %d and %d", earlier.Size, len(earlier.Slots), e.Size, len(e.Slots))
		return problems
	}
	if e.Header.Reboots < earlier.Header.Reboots {
		say("%d reboots were counted, now %d", earlier.Header.Reboots, e.Header.Reboots)
	}
	now := make(map[results.Name]results.Record)
	for _, r := range e.Records {
		now[results.Name{Slot: r.Slot, Attempt: r.Attempt}] = r
	}
	for _, was := range earlier.Records {
		name := results.Name{Slot: was.Slot, Attempt: was.Attempt}
		if r, ok := now[name]; !ok {
			say("%s is gone", name)
		} else if !reflect.DeepEqual(r, was) {
			say("%s has changed", name)
		}
	}
	for i, was := range earlier.Slots {
		slot := e.Slots[i]
		if was.Flag.Final() && slot.Flag != was.Flag {
			say("slot %d was %s, now %s", i, was.Flag, slot.Flag)
		}
		if slot.Attempts < was.Attempts {
			say("slot %d had %d attempts, now %d", i, was.Attempts, slot.Attempts)
		}
	}
	return problems
}
