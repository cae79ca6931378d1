// Package starter makes a first experiment: a configuration and a benchmark that runs, for a
// language or a command. Start reading at [New].
package starter

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"krund/internal/display"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/runners/suites"
)

//go:embed _files
var files embed.FS

// language is how a benchmark of a language is run. Its file is NAME/SUBFOLDER/SOURCE.
type language struct {
	name, vm, runner, program string
	source, entry             string // entry is what the runner loads
	build                     string // command in the directory of the source; "": none is needed
	parameter                 int    // whose Fibonacci number takes some milliseconds
}

// languages in the order in which they are listed.
var languages = []language{
	{"c", "C", "c", "", "bench.c", "bench.so", "cc -O2 -fPIC -shared bench.c -o bench.so", 30},
	{"python", "CPython", "python", "python3", "bench.py", "bench.py", "", 20},
	{"javascript", "Node", "javascript", "node", "bench.js", "bench.js", "", 27},
	{"java", "HotSpot", "java", "java", "KrunEntry.java", "KrunEntry.class",
		"javac -cp RUNNERS/java KrunEntry.java", 29},
	{"ruby", "Ruby", "ruby", "ruby", "bench.rb", "bench.rb", "", 21},
	{"lua", "LuaJIT", "lua", "luajit", "bench.lua", "bench.lua", "", 27},
	{"php", "PHP", "php", "php", "bench.php", "bench.php", "", 22},
	// A program that imports krund's krun.go, copied beside it.
	{"go", "Go", "go", "", "bench.go", "bench", "mkdir -p krun && cp RUNNERS/go/krun.go krun/ && " +
		"{ [ -e go.mod ] || go mod init bench; } && CGO_ENABLED=1 go build -o bench", 28},
	{"rust", "Rust", "c", "", "bench.rs", "bench.so",
		"rustc --crate-type cdylib -O bench.rs -o bench.so", 30},
}

// Languages are the names that New knows.
func Languages() []string {
	var names []string
	for _, l := range languages {
		names = append(names, l.name)
	}
	return names
}

// Experiment is what New makes.
type Experiment struct {
	Name   string
	Config string // text of NAME.toml
	File   string // of the benchmark, relative to the directory of NAME.toml; "": a command
	Text   string // of that file
	Build  string // command that must be run in that directory first; "": none

	LeftOut []string // what of a suite cannot run, and why
}

// New makes the experiment NAME for a language, or for a command if it is not nil. runners is the
// directory of krund's runners, which compiling needs for Java.
func New(name, of string, command []string, runners string) (Experiment, error) {
	if err := key.CheckName(name); err != nil {
		return Experiment{}, fmt.Errorf("the name of the experiment: %w", err)
	}
	if command != nil {
		return Experiment{Name: name, Config: text(name, "[vms.command]\nrunner = \"command\"\nargs = "+
			config.QuoteList(append([]string{"--"}, command...))+"  # each iteration is one run of it\n"+
			"iterations = 20\nvariants = [\"command\"]\n\n[variants.command]\n", "1")}, nil
	}
	i := slices.IndexFunc(languages, func(l language) bool { return l.name == of })
	if i < 0 {
		hint := ""
		if near, ok := display.Nearest(of, Languages()); ok {
			hint = fmt.Sprintf("; did you mean %s?", near)
		}
		return Experiment{}, fmt.Errorf("there is no beginning for %q: choose one of %s, or give a command "+
			"after --%s", display.Clip(of, 100), strings.Join(Languages(), ", "), hint)
	}
	l := languages[i]
	source, err := files.ReadFile("_files/" + l.source)
	if err != nil {
		return Experiment{}, err
	}
	e := Experiment{Name: name, File: path.Join(name, l.name, l.source), Text: string(source),
		Build: strings.ReplaceAll(l.build, "RUNNERS", display.ShellPath(runners))}
	variant := "default-" + l.name
	vm := fmt.Sprintf("[vms.%s]\nrunner = %q\n", l.vm, l.runner)
	if l.program != "" {
		vm += fmt.Sprintf("path = %q  # or another one, such as a build of yours\n", l.program)
	}
	vm += fmt.Sprintf("iterations = 200        # calls of run_iter in each process\nvariants = [%q]\n\n"+
		"[variants.%s]\nentry = %q      # %s\nsubfolder = %q\n", variant, variant, l.entry,
		path.Join(name, l.name, l.entry), l.name)
	e.Config = text(name, vm, strconv.Itoa(l.parameter))
	return e, nil
}

// Suite makes the experiment of a published suite in the directory at path, named after the suite:
// a VM for each language of it whose program is here.
func Suite(suite, at string) (Experiment, error) {
	kind, ok := suites.Lookup(suite)
	if !ok {
		return Experiment{}, fmt.Errorf("there is no suite %q: choose one of %s",
			display.Clip(suite, 100), strings.Join(suites.Names(), ", "))
	}
	at, err := filepath.Abs(at)
	if err != nil {
		return Experiment{}, err
	}
	found, err := kind.Read(at)
	if err != nil {
		return Experiment{}, err
	}
	var vms strings.Builder
	for _, l := range append(slices.Clip(languages), language{name: "external", vm: "Go", runner: "external",
		program: "sh"}) { // sh runs gobench
		if kind.Hooks[l.runner] == "" || l.name == "rust" { // its runner is that of C
			continue
		}
		path := ""
		if l.program != "" {
			if _, err := config.LookPath(l.program); err != nil {
				found.LeftOut = append(found.LeftOut, l.name+": "+err.Error())
				continue
			}
			path = fmt.Sprintf("path = %q  # or another one, such as a build of yours\n", l.program)
		}
		fmt.Fprintf(&vms, "[vms.%s]\nrunner = %q\n%svariants = [%q]\n\n", l.vm, l.runner, path, suite)
	}
	header, _, _ := strings.Cut(text(suite, "", ""), "benchmarks = ")
	header += "iterations = 20         # of each benchmark, in each process\n\n"
	section := fmt.Sprintf("[suites.%s]  # read when the experiment begins\npath = %s\n\n", suite,
		config.Quote(at))
	return Experiment{Name: suite, LeftOut: found.LeftOut, Config: header + section + vms.String()}, nil
}

// text returns the configuration, of at most 25 lines. The machine is left as it is.
func text(name, vm, parameter string) string {
	return fmt.Sprintf(`# krunctl run %[1]s.toml, then krunctl report %[1]s.krun; docs/config.md explains every key
[experiment]
executions = 5          # processes of each key, one after the other; 30 for a publication
reboot = "none"         # "hardware" restarts the machine before each: krunctl enable, as root
account = "caller"      # run as you
benchmarks = "."        # the directory %[1]s is beside this file

[wait]                  # nothing has to settle: this is a first look
startup = "0s"
[temperature]
base_wait = "0s"

%[2]s
[benchmarks]
%[1]s = { parameter = %[3]s }
`, name, vm, parameter)
}

// Next returns what was written, what of a suite is left out, and what to type next. krunctl is how
// the program was called.
func (e Experiment) Next(krunctl string) string {
	var b strings.Builder
	if e.File != "" {
		fmt.Fprintf(&b, "wrote %s, the benchmark: replace its fib\n", e.File)
	}
	fmt.Fprintf(&b, "wrote %s.toml, the experiment\n", e.Name)
	for _, why := range e.LeftOut {
		fmt.Fprintf(&b, "  left out: %s\n", display.Clip(why, display.MaxMessage))
	}
	b.WriteString("\nnext:\n")
	if e.Build != "" {
		fmt.Fprintf(&b, "  (cd %s && %s)\n", display.ShellPath(path.Dir(e.File)), e.Build)
	}
	for _, line := range []string{"check %s.toml", "run %s.toml", "analyze %s.krun", "report %s.krun"} {
		fmt.Fprintf(&b, "  %s "+line+"\n", krunctl, e.Name)
	}
	return b.String()
}

// Write writes the files of an experiment into a directory. It replaces nothing: the error wraps
// fs.ErrExist.
func (e Experiment) Write(dir string) error {
	list := []struct{ name, text string }{{e.Name + ".toml", e.Config}, {e.File, e.Text}}
	for _, f := range list {
		if _, err := os.Lstat(filepath.Join(dir, f.name)); f.name != "" && err == nil {
			return fmt.Errorf("%s: %w; choose another name", f.name, fs.ErrExist)
		}
	}
	for _, f := range list {
		if f.name == "" {
			continue
		}
		file := filepath.Join(dir, f.name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(f.text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
