package main

import (
	"runtime"

	"github.com/spf13/pflag"
)

// Defaults that depend on the machine are described, not printed: the manual pages are made from the help on another one.

// jobsFlag adds --jobs: by default as many as there are processors.
func jobsFlag(f *pflag.FlagSet, jobs *int) {
	f.IntVarP(jobs, "jobs", "j", runtime.NumCPU(), "processors to use; the result is the same (default all)")
	f.Lookup("jobs").DefValue = "0"
}

// hostFlag adds --host: by default the name of this machine. when is added to the text.
func (a *app) hostFlag(f *pflag.FlagSet, host *string, when string) {
	f.StringVar(host, "host", a.host, "the machine whose [machines] sections count"+when+" (default this one's name)")
	f.Lookup("host").DefValue = ""
}
