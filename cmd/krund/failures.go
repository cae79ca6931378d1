package main

import (
	"fmt"
	"io"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/durable/trust"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
)

// failedError ends a krund whose experiment has ended, but with executions that failed.
type failedError struct {
	failed, slots int
	first         string // the first of them, and why it failed
}

func (e *failedError) Error() string {
	return fmt.Sprintf("%d of %d process executions failed (`krunctl run --again` runs them again); the first: %s",
		e.failed, e.slots, e.first)
}

// failures returns a *failedError if slots of the experiment in dir ended with an error or a
// timeout, in this process or an earlier one.
func failures(dir string) error {
	f, err := directory.Open(durable.OS(), dir)
	if err != nil {
		return err
	}
	s, err := schedule.Open(f.FS(), f.Schedule(), false)
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // read-only
	e := &failedError{slots: s.Header().Slots}
	for slot, err := range s.Slots() {
		if err != nil || slot.Flag != schedule.Error && slot.Flag != schedule.Timeout {
			continue // a damaged slot is not a failure of the benchmark
		}
		if e.failed++; e.failed == 1 {
			e.first = fmt.Sprintf("%s, execution %d: %s", slot.Key, slot.Pexec, whyFailed(f, slot))
		}
	}
	if e.failed == 0 {
		return nil
	}
	return e
}

// whyFailed returns the first reason in the record of a slot's last attempt.
func whyFailed(f directory.Directory, slot schedule.Slot) string {
	name := results.Name{Slot: slot.Index, Attempt: slot.Attempts}
	record, err := results.NewReader(f.FS(), f.Results()).Load(name)
	if err != nil || len(record.Reasons) == 0 {
		return slot.Flag.String()
	}
	const most = 500
	return display.PlainLine(display.Clip(record.Reasons[0], most))
}

// longestReason bounds an error in the log, in bytes. It may quote what others have written.
const longestReason = 4 << 10

// keepReason logs in the experiment's log why `krund run` with these arguments ends with a status
// other than 0. Standard error may not be saved anywhere, and the journal may not outlive the boot.
// If the directory does not exist or is not trusted, nothing is logged.
func keepReason(args []string, code int, err error) {
	o, usageErr := parseRun(args)
	if usageErr != nil {
		return // no experiment is named
	}
	f, openErr := directory.OpenChecked(durable.OS(), o.directory, trust.Verdict.OneOwner)
	if openErr != nil {
		return
	}
	log, closeLog, openErr := newLog(f.FS(), f.Log(), o, io.Discard) // the error was printed already
	if openErr != nil {
		return
	}
	defer closeLog()
	log.Error("krund ended", "status", code, "error", display.Head(err.Error(), longestReason))
}
