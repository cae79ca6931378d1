package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/results"
)

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
