package runners

import (
	"path"
	"strconv"
	"strings"
)

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
	for _, l := range languages {
		if l.Name == name {
			return l, true
		}
	}
	return Language{}, false
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
	case "c":
		if program == "" {
			command[0] = runner
		}
		return append(command, entry, n)
	case CommandName:
		if program == "" {
			command[0] = runner
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
