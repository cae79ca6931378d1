package runners

import (
	"path"
	"strconv"
	"strings"
)

// A Language is one that there is a runner for.
type Language struct {
	Name  string   // as a configuration says: runner = "python"
	Files []string // of the runner, below the directory of installed runners; the first one is started
}

// languages in the order in which they are offered. A runner whose compiler was
// missing when krund was built is not installed.
var languages = []Language{
	{"c", []string{"runner-c"}},
	{"python", []string{"runner.py"}},
	{"lua", []string{"runner.lua"}},
	{"javascript", []string{"runner.js", "krun.node"}},
	{"java", []string{"java/KrunRunner.class", "java/BaseKrunEntry.class", "java/libkrunjava.so"}},
	{"ruby", []string{"runner.rb", "krunruby.so"}},
	{"php", []string{"runner.php"}},
}

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

// Command is the command line of a process execution: the VM at program with its
// arguments, the runner out of the directory of installed runners, the benchmark's
// file and the parameter. For native code program replaces the runner unless it
// is "".
func (l Language) Command(program string, args []string, directory, entry string, parameter int) []string {
	runner := path.Join(directory, l.Files[0])
	n := strconv.Itoa(parameter)
	switch l.Name {
	case "c":
		if program == "" {
			program = runner
		}
		return append(append([]string{program}, args...), entry, n)
	case "java": // classes are found by their names, in directories
		class := strings.TrimSuffix(path.Base(entry), ".class")
		return append(append([]string{program}, args...), "-cp", path.Dir(runner)+":"+path.Dir(entry), strings.TrimSuffix(path.Base(runner), ".class"), class, n)
	}
	return append(append([]string{program}, args...), runner, entry, n)
}
