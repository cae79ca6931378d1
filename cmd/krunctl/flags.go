package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/pflag"

	"krund/internal/display"
)

// Defaults that depend on the machine are described, not printed: the manual pages are made from
// the help text on another machine.

// jobsFlag adds --jobs; the default is the number of processors.
func jobsFlag(f *pflag.FlagSet, jobs *int) {
	f.IntVarP(jobs, "jobs", "j", runtime.NumCPU(),
		"number of processors to use; does not affect the result (default all)")
	f.Lookup("jobs").DefValue = "0"
}

// unitFlag adds --unit.
func unitFlag(f *pflag.FlagSet, unit *string) {
	f.StringVar(unit, "unit", "",
		"unit of the values, such as ms or Mcycles (default: each value has the prefix that fits)")
}

// parseUnit parses the text of --unit for values that are in base.
func parseUnit(text, base string) (display.Unit, error) {
	unit, err := display.ParseUnit(text, base)
	if err != nil {
		return unit, usageError(fmt.Errorf("--unit: %w", err))
	}
	return unit, nil
}

// hostFlag adds --host; the default is the name of this machine. when is added to the text.
func (a *app) hostFlag(f *pflag.FlagSet, host *string, when string) {
	f.StringVar(host, "host", a.host,
		"machine whose [machines] sections apply"+when+" (default: this machine)")
	f.Lookup("host").DefValue = ""
}
