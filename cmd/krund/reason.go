package main

import (
	"io"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/durable/trust"
	"krund/internal/experiment/directory"
)

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
