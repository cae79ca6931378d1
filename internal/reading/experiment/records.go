package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"strconv"
	"strings"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/execution/identity"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// Counted is a record with whether it counts: only the first completed record of each slot counts,
// if it is of the same programs as the latest one of its key.
type Counted struct {
	results.Record
	Counts bool
}

// Records are the usable records of an experiment in order.
type Records struct {
	Damaged  int    // number of records that the last pass omitted
	Programs string // which keys were measured with different programs, and why; "": none

	reader   *results.Reader
	names    []results.Name
	pattern  *key.Pattern
	leaveOut func(error)
	others   map[results.Name]bool // of other programs than the latest record of their key
}

// Records returns the records of the keys that match pattern; nil matches all. host is the name of
// this machine. leaveOut is called in every pass for each record that cannot be read or is
// inconsistent. The error reports that no key matches, or is that of the directory.
func (e Experiment) Records(pattern *key.Pattern, host string, leaveOut func(error)) (*Records, error) {
	if pattern != nil {
		if err := checkPattern(pattern, e.Keys(host)); err != nil {
			return nil, err
		}
	}
	r := e.Reader()
	list, err := r.List()
	if err != nil {
		return nil, err
	}
	latest, unknown := e.latest()
	all := &Records{reader: r, names: list.Records, leaveOut: func(error) {}}
	for rec := range all.Counting() {
		latest.Add(&rec)
	}
	all.others, all.Programs = latest.Others()
	all.Programs = also(unknown, all.Programs)
	all.pattern, all.leaveOut = pattern, leaveOut
	return all, nil
}

// latest returns what is known about the programs of the experiment. Without its file of editions,
// as of an earlier version, that is what the records have. unknown says why the file cannot be
// read, if it is there.
func (e Experiment) latest() (latest *identity.Latest, unknown string) {
	editions, err := identity.LoadEditions(e.FS(), e.Editions())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		unknown = "which executions are of the same programs is taken from the records alone: " +
			display.Clip(display.PlainLine(err.Error()), mostUnknown)
	}
	return &identity.Latest{Editions: editions}, unknown
}

// also joins two remarks, of which either may be empty.
func also(first, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return first + "; " + second
}

// mostUnknown bounds the text of an error that may have names from the file, in bytes.
const mostUnknown = 500

// All yields all records. It can be iterated more than once.
func (r *Records) All() iter.Seq[Counted] {
	return func(yield func(Counted) bool) {
		completed := -1 // slot of the last completed record
		r.Damaged = 0
		leaveOut := func(err error) { r.Damaged++; r.leaveOut(err) }
		for rec := range r.reader.Usable(r.names, leaveOut) {
			if r.pattern != nil && !r.pattern.Match(rec.Key) {
				continue
			}
			counts := rec.Outcome == results.Completed && rec.Slot != completed
			if counts {
				completed = rec.Slot
				counts = !r.others[results.Name{Slot: rec.Slot, Attempt: rec.Attempt}]
			}
			if !yield(Counted{rec, counts}) {
				return
			}
		}
	}
}

// Counting yields the records that count. It can be iterated more than once.
func (r *Records) Counting() iter.Seq[results.Record] {
	return r.where(func(r Counted) bool { return r.Counts })
}

// Whole yields all records without the field that Counted adds. It can be iterated more than once.
func (r *Records) Whole() iter.Seq[results.Record] {
	return r.where(func(Counted) bool { return true })
}

func (r *Records) where(wanted func(Counted) bool) iter.Seq[results.Record] {
	return func(yield func(results.Record) bool) {
		for rec := range r.All() {
			if wanted(rec) && !yield(rec.Record) {
				return
			}
		}
	}
}

// ParseRecord parses "17", "17-2" or the name of a record's file. Attempt 0 means the last one.
func ParseRecord(s string) (slot, attempt int, err error) {
	slotText, attemptText, both := strings.Cut(strings.TrimSuffix(s, ".json.gz"), "-")
	slot, err = strconv.Atoi(slotText)
	if err != nil || slot < 0 {
		return 0, 0, fmt.Errorf(
			"%q is not a slot; give its number, such as 17, or with the attempt, such as 17-1", s)
	}
	if !both {
		return slot, 0, nil
	}
	attempt, err = strconv.Atoi(attemptText)
	if err != nil || attempt < 1 {
		return 0, 0, fmt.Errorf("%q is not a slot and an attempt; attempts count from 1, such as 17-1", s)
	}
	return slot, attempt, nil
}

// RecordFile returns the file of the record of a slot's attempt; of its last one when attempt is 0.
func (e Experiment) RecordFile(slot, attempt int) (string, error) {
	if attempt == 0 {
		var err error
		if attempt, err = e.lastAttempt(slot); err != nil {
			return "", err
		}
	}
	name := results.Name{Slot: slot, Attempt: attempt}
	file := filepath.Join(e.Results(), name.String())
	if _, err := e.FS().Lstat(file); errors.Is(err, fs.ErrNotExist) {
		if e.Reader().Replaced(name) { // by a rerun; a person may still look at it
			return filepath.Join(e.Results(), name.Replaced()), nil
		}
		return "", fmt.Errorf("%s has no record of slot %d, attempt %d", e.Dir(), slot, attempt)
	}
	return file, nil
}

// lastAttempt returns the highest attempt of a slot that has a record.
func (e Experiment) lastAttempt(slot int) (int, error) {
	list, err := e.Reader().List()
	if err != nil {
		return 0, err
	}
	last := 0
	for _, n := range list.Records {
		if n.Slot == slot {
			last = max(last, n.Attempt)
		}
	}
	if last == 0 {
		return 0, fmt.Errorf("%s has no record of slot %d; `krunctl status %s` shows how far it is",
			e.Dir(), slot, display.ShellPath(e.Dir()))
	}
	return last, nil
}

// RecordFile returns the file of the record SLOT or SLOT-ATTEMPT of the experiment that arg names.
func RecordFile(fsys durable.FS, arg, which string) (string, error) {
	slot, attempt, err := ParseRecord(which)
	if err != nil {
		return "", UsageError{Err: err}
	}
	f, err := Open(fsys, arg)
	if err != nil {
		return "", err
	}
	return f.RecordFile(slot, attempt)
}
