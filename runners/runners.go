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

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

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

// meanings of the exit statuses, as clauses without a full stop.
var meanings = map[int]string{
	ExitUsage:      "the runner was called with wrong arguments",
	ExitNoEntry:    "the benchmark has no function run_iter",
	ExitBenchmark:  "the benchmark file cannot be loaded",
	ExitLibrary:    "the runner could not load libkrun",
	ExitException:  "the benchmark raised an exception in run_iter",
	ExitInit:       "the runner could not attach to libkrun's buffer",
	ExitCommand:    "the command, or one that runs before or after it, failed",
	ExitMeasure:    "libkrun failed to begin or end an iteration",
	ExitInstrument: "the VM cannot report what instrument asks for",
}

// Explain returns the meaning of a runner's exit status, or "" if the status is not one of the
// runner's own. The runner's message on stderr has the details.
func Explain(status int) string { return meanings[status] }

// A Language is a language with a runner.
type Language struct {
	Name  string   // as in a configuration: runner = "python"
	Files []string // files of the runner in the directory of installed runners; the first one is started
	// Native reports whether benchmarks are machine code, so that a VM needs no program.
	Native bool
	// Inputs reports whether run_iter may take a second argument that differs by iteration.
	Inputs bool
}

// CommandName is the name under which whole commands are measured: each iteration is one run of the
// command that the arguments of the VM contain.
const CommandName = "command"

// languages in the order in which they are offered. A runner whose compiler was missing when krund
// was built is not installed.
var languages = []Language{
	{"c", []string{"runner-c"}, true, true},
	{"python", []string{"runner.py", "instrument.py"}, false, true},
	{"lua", []string{"runner.lua", "instrument.lua"}, false, false},
	{"javascript", []string{"runner.js", "instrument.js", "krun.node"}, false, true},
	{"java", []string{"java/KrunRunner.class", "java/BaseKrunEntry.class", "java/KrunSuite.class",
		"java/KrunInstrument.class",
		"java/KrunEvents.class", "java/KrunStamps.class", "java/KrunCollection.class",
		"java/libkrunjava.so"}, false, false},
	{"ruby", []string{"runner.rb", "instrument.rb", "krunruby.so"}, false, false},
	{"php", []string{"runner.php", "instrument.php", "krunphp.so"}, false, false},
	{"dotnet", []string{"dotnet/KrunRunner.exe", "dotnet/libkrun.so"}, false, false},
	{"go", nil, true, false}, // the runner is a part of each benchmark's program
	{CommandName, []string{"runner-command"}, true, false},
}

// instrumentOptions are the options that a VM needs to report what a level of instrumentation asks
// for, by language and level ("columns" or "events").
var instrumentOptions = map[string]map[string][]string{
	"javascript": {"events": {"--log-code", "--no-logfile-per-isolate", "--logfile=+"}},
}

// InstrumentOptions returns the options of the VM, behind those of the configuration, for a level
// of instrumentation: "columns", "events" or "".
func (l Language) InstrumentOptions(level string) []string { return instrumentOptions[l.Name][level] }

// Names lists the languages.
func Names() []string {
	var names []string
	for _, l := range languages {
		names = append(names, l.Name)
	}
	return names
}

// Lookup finds a language by its name.
func Lookup(name string) (Language, bool) {
	i := slices.IndexFunc(languages, func(l Language) bool { return l.Name == name })
	if i < 0 {
		return Language{}, false
	}
	return languages[i], true
}

// Command returns the command line of a process execution: the VM program with its arguments, the
// runner in the directory of installed runners, the benchmark's file and the parameter. Java finds
// classes in library, too, unless it is "". For native
// code and whole commands, program replaces the runner unless it is ""; a command has neither file
// nor parameter. A program in Go contains the runner; program starts it unless it is "".
func (l Language) Command(program string, args []string, directory, entry, library string,
	parameter int) []string {
	command := append([]string{program}, args...)
	n := strconv.Itoa(parameter)
	if len(l.Files) == 0 {
		if program == "" {
			command = command[1:]
		}
		return append(command, entry, n)
	}
	runner := path.Join(directory, l.Files[0])
	switch l.Name {
	case "c", CommandName:
		if program == "" {
			command[0] = runner
		}
		if l.Name == "c" {
			command = append(command, entry, n)
		}
		return command
	case "java": // classes are looked up by name in directories
		class := strings.TrimSuffix(path.Base(entry), ".class")
		classes := path.Dir(runner) + ":" + path.Dir(entry)
		if library != "" {
			classes += ":" + library
		}
		return append(command, "-cp", classes, strings.TrimSuffix(path.Base(runner), ".class"), class, n)
	}
	return append(command, runner, entry, n)
}
