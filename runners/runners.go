// Package runners contains the iteration runners, one directory per language. A runner is started
// as
//
//	[VM and its options] RUNNER BENCHMARK_FILE PARAMETER
//
// attaches to libkrun (krun_init), loads the benchmark file in the way of its language, calls its
// run_iter with the integer PARAMETER between krun_begin and krun_end until krun_should_stop, calls
// krun_done and exits with 0. The planned number of iterations is in libkrun's buffer, not among
// the arguments. README.md explains how to write a runner.
//
// The runner for whole commands is started as RUNNER [OPTIONS] COMMAND... instead; one run of the
// command is an iteration.
//
// The Go code here is what krund and krunctl need to know about runners: their languages and exit
// statuses. Package external parses the output of external suites. Nothing here starts a process.
// Start reading at Language.
package runners

import "strings"

// Exit statuses of a runner that could not measure. They follow sysexits.h where it has a suitable
// status. A benchmark that exits by itself, with any status, ends the runner with that status.
const (
	ExitUsage     = 64 // wrong arguments
	ExitNoEntry   = 65 // the benchmark has no function run_iter
	ExitBenchmark = 66 // the benchmark file cannot be loaded
	ExitLibrary   = 69 // libkrun cannot be loaded
	ExitException = 70 // the benchmark raised an exception in run_iter
	ExitInit      = 71 // krun_init failed
	ExitCommand   = 72 // a whole command, or one that runs before or after it, failed
	ExitMeasure   = 76 // krun_begin or krun_end failed

	// ExitInstrument: the VM cannot report what KRUN_INSTRUMENT asks for.
	ExitInstrument = 78
)

// CommandFailure returns which command failed, and how, from the exit status of the runner for
// whole commands and the last line of its stderr. ok is false if the runner ended otherwise.
func CommandFailure(status int, lastWords string) (said string, ok bool) {
	if status != ExitCommand && status != ExitBenchmark {
		return "", false
	}
	return strings.CutPrefix(lastWords, "runner: ")
}

// Explain returns the meaning of a runner's exit status as a clause without a full stop, or "" if
// the status is not one of the runner's own. The runner's message on stderr has the details.
func Explain(status int) string {
	switch status {
	case ExitUsage:
		return "the runner was called with wrong arguments"
	case ExitNoEntry:
		return "the benchmark has no function run_iter"
	case ExitBenchmark:
		return "the benchmark file cannot be loaded"
	case ExitLibrary:
		return "the runner could not load libkrun"
	case ExitException:
		return "the benchmark raised an exception in run_iter"
	case ExitInit:
		return "the runner could not attach to libkrun's buffer"
	case ExitCommand:
		return "the command, or one that runs before or after it, failed"
	case ExitMeasure:
		return "libkrun failed to begin or end an iteration"
	case ExitInstrument:
		return "the VM cannot report what instrument asks for"
	}
	return ""
}
