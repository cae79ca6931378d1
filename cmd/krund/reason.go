package main

import (
	"io"

	"krund/internal/directory"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/trust"
)

// longestReason bounds an error in the log, in bytes. It may quote what others have written.
const longestReason = 4 << 10

// keepReason adds to the experiment's log why `krund run` with these arguments ends with a status
// other than 0. Standard error may be gone by the time that anybody looks, and the journal with the
// boot. A directory that is not there or not to be trusted keeps no log.
func keepReason(args []string, code int, err error) {
	o, usageErr := parseRun(args)
	if usageErr != nil {
		return // it names no experiment
	}
	f, openErr := directory.OpenChecked(durable.OS(), o.directory, trust.Verdict.OneOwner)
	if openErr != nil {
		return
	}
	log, closeLog, openErr := newLog(f.FS(), f.Log(), o, io.Discard) // standard error has been told
	if openErr != nil {
		return
	}
	defer closeLog()
	log.Error("krund ended", "status", code, "error", display.Head(err.Error(), longestReason))
}
