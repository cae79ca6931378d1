package main

import (
	"runtime"

	"github.com/spf13/pflag"
)

// Defaults that depend on the machine are described, not printed: the manual pages are made from
// the help text on another machine.

// jobsFlag adds --jobs; the default is the number of processors.
func jobsFlag(f *pflag.FlagSet, jobs *int) {
	f.IntVarP(jobs, "jobs", "j", runtime.NumCPU(),
		"number of processors to use; does not affect the result (default all)")
	f.Lookup("jobs").DefValue = "0"
}

// hostFlag adds --host; the default is the name of this machine. when is added to the text.
func (a *app) hostFlag(f *pflag.FlagSet, host *string, when string) {
	f.StringVar(host, "host", a.host,
		"machine whose [machines] sections apply"+when+" (default: this machine)")
	f.Lookup("host").DefValue = ""
}
